package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A wire is a server that speaks HTTP by hand, so that it can break off anywhere, and that counts what
// reaches it. It listens on a real socket, or in memory for tests with a fake clock.
type wire struct {
	url      string
	listener net.Listener
	script   func(c *wireConn, r *http.Request) (open bool)
	// takes is how many bytes of a request it reads before it stops; 0: all.
	takes atomic.Int32

	conns  atomic.Int32 // connections
	began  atomic.Int32 // requests that create something and arrived at least in part
	whole  atomic.Int32 // such requests that arrived whole
	reads  atomic.Int32 // other requests
	served sync.WaitGroup
	gone   chan struct{}
	once   sync.Once
}

type wireConn struct {
	net.Conn
	in *bufio.Reader
}

// newWire serves a script on a real socket. The script runs for every request except the warm-up's.
func newWire(t testing.TB, script func(c *wireConn, r *http.Request) (open bool)) *wire {
	t.Helper()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	w := &wire{url: "http://" + listener.Addr().String(), listener: listener, script: script}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *wire) start() {
	w.gone = make(chan struct{})
	w.served.Go(func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return
			}
			w.conns.Add(1)
			w.served.Go(func() { w.serve(conn) })
		}
	})
}

// stop returns after every connection has been served to its end, so that the counters are final. The client
// must have closed its idle connections.
func (w *wire) stop() {
	w.once.Do(func() { close(w.gone) })
	w.listener.Close()
	w.served.Wait()
}

func (w *wire) serve(conn net.Conn) {
	defer conn.Close()
	c := &wireConn{conn, bufio.NewReader(conn)}
	for {
		if n := w.takes.Load(); n > 0 {
			io.ReadFull(conn, make([]byte, n))
			<-w.gone
			return
		}
		first, err := c.in.Peek(1)
		if err != nil {
			return
		}
		creates := first[0] == 'P'
		if creates {
			w.began.Add(1)
		}
		r, err := http.ReadRequest(c.in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		switch {
		case r.URL.Query().Get("id") == warmUp:
			c.say(reply(200, sampleWithdrawal))
			continue
		case creates:
			w.whole.Add(1)
		default:
			w.reads.Add(1)
		}
		if !w.script(c, r) {
			return
		}
	}
}

// warmUp is the id of a withdrawal that is read only to leave an idle connection.
const warmUp = "warm-up"

const sampleWithdrawal = `{"id":"w-1","external_id":4711,"merchant_id":"m-1","currency":{"Crypto":"Btc"},` +
	`"amount":{"Crypto":{"Btc":1500000}},"statuses":[{"status":"New","at":"2026-05-01T10:00:00"}],"current":"New",` +
	`"address":"bc1qexample","is_testnet":false,"callback":"https://shop.example.com/withdrawn",` +
	`"external_order_id":"4711"}`

func (c *wireConn) say(text string) { io.WriteString(c, text) }

// reset ends the connection like a crash. In memory this is not possible, so it closes the connection
// instead.
func (c *wireConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// reply returns a complete answer.
func reply(status int, body string, headers ...string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body),
		headerLines(headers), body)
}

func headerLines(headers []string) string {
	if len(headers) == 0 {
		return ""
	}
	return strings.Join(headers, "\r\n") + "\r\n"
}

const goodEnvelope = `{"error":{"code":1001,"reason":"no_funds","description":"The balance is short."}}`

// newClient returns a client whose idle connections are closed before the wire stops.
func newClient(t testing.TB, url string, opts ...Option) *Client {
	t.Helper()
	client := must[*Client](t)(New(url, append([]Option{WithAPIKey("key")}, opts...)...))
	t.Cleanup(client.closeIdle)
	return client
}

// network returns the transport at the bottom of a client without middlewares.
func (c *Client) network() *http.Transport {
	rt := c.keyed().reads.GetClient().Transport
	if traced, ok := rt.(tracer); ok {
		rt = traced.next
	}
	return rt.(whole).next.(*http.Transport)
}

// closeIdle ends the connections of a client, so that a server can stop.
func (c *Client) closeIdle() { c.network().CloseIdleConnections() }

func sampleCreate() CreateWithdrawal {
	return CreateWithdrawal{
		Currency: Currency{Crypto, "Btc"}, Amount: Amount{Crypto, "Btc", 1500000}, Address: "bc1qexample",
		ExternalOrderID: "4711",
	}
}

// warm leaves an idle connection.
func warm(t testing.TB, c *Client) {
	t.Helper()
	must[Withdrawal](t)(c.Withdrawals.Get(context.Background(), warmUp))
}

// failure expects an *Error.
func failure(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want an *Error", err, err)
	}
	return e
}

// memory is a network without sockets: only sleeping takes time on it, so it works with a fake clock.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return &gatedConn{Conn: client}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.closed:
		return nil, errors.New("connection refused")
	}
}

// inMemory returns a client and its wire, for use inside a synctest bubble. The bubble must end with the call
// of end.
func inMemory(t testing.TB, script func(c *wireConn, r *http.Request) bool, opts ...Option) (client *Client,
	w *wire, end func()) {
	t.Helper()
	m := newMemory()
	w = &wire{url: "http://127.0.0.1:1", listener: m, script: script}
	w.start()
	client = must[*Client](t)(New(w.url, append([]Option{WithAPIKey("key")}, opts...)...))
	client.network().DialContext = m.dial
	return client, w, func() { client.closeIdle(); w.stop() }
}
