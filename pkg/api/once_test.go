package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A fault is one way for an answer to come or fail to come, after the whole request has arrived.
type fault struct {
	name string
	// answer is written. The connection is closed after it unless it is a whole answer.
	answer string
	do     func(c *wireConn) // instead of answer

	create Outcome // the outcome of a create
	status int     // the status in its Error
	reads  int     // how often a read is sent; it may be retried three times
	read   Outcome // the outcome of the read
}

const once, again = 1, 4

// replied returns a fault that is a complete answer.
func replied(name string, status, reads int, body string, headers ...string) fault {
	return fault{name: name, answer: reply(status, body, headers...), status: status, reads: reads}
}

// unknownFaults returns the faults that leave the outcome of a create unknown, with the outcome of a read.
func unknownFaults(elsewhere string) []fault {
	all := []fault{
		{name: "closed without an answer", reads: again},
		{name: "reset", do: (*wireConn).reset, reads: again},
		{name: "not HTTP", answer: "SSH-2.0-OpenSSH_9.6\r\n", reads: again},
		{name: "cut in the status line", answer: "HTTP/1.1 20", reads: again},
		{name: "cut in the headers", answer: "HTTP/1.1 200 OK\r\nContent-Le", reads: again},
		{name: "cut body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n\"w-1\"", reads: again},
		{name: "whole value in a cut chunked body",
			answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\"w-1\"\r\n", reads: again},
		{name: "reset in the body", do: func(c *wireConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n\"w-1\"")
			c.reset()
		}, reads: again},
		{name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n\"w-1\"",
			reads: again},
		{name: "headers without end", do: func(c *wireConn) {
			c.say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 200))
		}, reads: again},
		{name: "only informational answers", do: func(c *wireConn) {
			for range 100 {
				c.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
			}
		}, reads: again},
		{name: "another protocol, for ever", do: func(c *wireConn) {
			c.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n\"w-1\"")
			c.in.Peek(1) // until the client hangs up
		}, status: 101, reads: once},
		{name: "broken gzip", answer: reply(200, `"w-1"`, "Content-Encoding: gzip"), reads: again},
		{name: "503 with an endless Retry-After", answer: reply(503, "", "Retry-After: 99999999999999999999"),
			status: 503, reads: once},
	}
	for name, body := range map[string]string{
		"HTML": "<!DOCTYPE html><p>OK", "null": "null", "an empty string": `""`, "two strings": `"a" "b"`,
		"trailing data":    `"a" x`,
		"a trailing comma": `"a",`, "nothing": "", "blanks": " \r\n", "an array": `["a"]`, "a number": "5",
		"a boolean": "true", "a bare word": "ok",
		"an open string": `"a`, "invalid UTF-8": "\"\xff\"", "half a surrogate": `"\ud800"`,
		"a byte order mark": "\ufeff\"a\"", "a control character": "\"\x01\"",
		"an envelope": goodEnvelope, "an empty object": "{}",
	} {
		all = append(all, replied("200 with "+name, 200, once, body, "Content-Type: application/json"))
	}
	for _, status := range []int{201, 202, 203, 206, 226} {
		all = append(all, replied(fmt.Sprint(status), status, once, `"w-1"`))
	}
	all = append(all, fault{name: "204", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, reads: once})
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		for name, headers := range map[string][]string{
			"itself":         {"Location: /api/merchant_withdrawal/create"},
			"another server": {"Location: " + elsewhere + "/api/merchant_withdrawal/create"},
			"nowhere":        nil,
		} {
			f := replied(fmt.Sprintf("%d to %s", status, name), status, once, goodEnvelope, headers...)
			if status == 304 { // it has no body
				f.answer = "HTTP/1.1 304 Not Modified\r\n" + headerLines(headers) + "\r\n"
			}
			all = append(all, f)
		}
	}
	attempts := func(status int) int {
		if slices.Contains([]int{429, 502, 503, 504}, status) {
			return again
		}
		return once
	}
	// With the envelope, any 4xx is definite for a read, but these are not for a create.
	for _, status := range []int{402, 406, 408, 409, 410, 412, 418, 423, 425, 451, 499} {
		f := replied(fmt.Sprintf("%d with an envelope", status), status, once, goodEnvelope)
		f.read = Rejected
		all = append(all, f)
	}
	for _, status := range []int{500, 501, 502, 503, 504, 505, 507, 520, 599} {
		all = append(all, replied(fmt.Sprintf("%d with an envelope", status), status, attempts(status), goodEnvelope))
	}
	for _, status := range []int{400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 502, 503, 504} {
		f := replied(fmt.Sprintf("%d without an envelope", status), status, attempts(status), "<h1>Bad day</h1>")
		if status == 401 || status == 403 || status == 429 {
			f.read = Rejected
		}
		all = append(all, f)
	}
	for _, body := range illFormedEnvelopes() {
		all = append(all, replied("400 with "+body, 400, once, body))
	}
	for i := range all {
		if all[i].read == 0 {
			all[i].read = Failed
		}
	}
	return all
}

func illFormedEnvelopes() []string {
	const inner = `{"code":1,"reason":"r","description":"d"}`
	return []string{
		`{"error":{"code":1,"reason":"r","description":"d"},"id":"w-1"}`,
		`{"error":` + inner + `,"trace":` + inner + `}`,
		`{"id":"w-1","error":{"code":1,"reason":"r","description":"d"}}`,
		`{"error":` + inner + `,"error":` + inner + `}`, `{"error":{"code":1.0,"reason":"r","description":"d"}}`,
		`{"error":{"code":1e3,"reason":"r","description":"d"}}`,
		`{"error":{"code":"1","reason":"r","description":"d"}}`,
		`{"error":{"code":9223372036854775808,"reason":"r","description":"d"}}`,
		`{"error":{"code":null,"reason":"r","description":"d"}}`, `{"error":{"reason":"r","description":"d"}}`,
		`{"error":{"code":1,"description":"d"}}`, `{"error":{"code":1,"reason":"r"}}`,
		`{"error":{"code":1,"reason":"r","description":null}}`, `{"error":{"code":1,"reason":2,"description":"d"}}`,
		`{"error":{"code":1,"code":2,"reason":"r","description":"d"}}`,
		`{"Error":{"code":1,"reason":"r","description":"d"}}`, `{"error":"no"}`, `{"error":null}`,
		`{"error":[{"code":1,"reason":"r","description":"d"}]}`, `{}`, `"error"`,
		`{"error":{"code":1,"reason":"r","description":"d"}} x`,
		`{"error":{"code":1,"reason":"r","description":"d"}`,
		"{\"error\":{\"code\":1,\"reason\":\"\xff\",\"description\":\"d\"}}", "", "<html>400 Bad Request</html>",
		`[{"error":{"code":1,"reason":"r","description":"d"}}]`,
		`{"error":{"error":{"code":1,"reason":"r","description":"d"}}}`,
	}
}

func rejectingFaults() []fault {
	var all []fault
	for _, status := range []int{400, 401, 403, 404, 405, 413, 415, 422, 429} {
		all = append(all, replied(fmt.Sprint(status), status, once, goodEnvelope, "Content-Type: text/html"))
	}
	all[len(all)-1].reads = again
	for name, body := range map[string]string{
		"more keys inside error": strings.Replace(goodEnvelope, `"reason"`, `"trace":{"id":[1.5,null]},"reason"`, 1),
		"empty texts":            `{"error":{"description":"","reason":"","code":-9223372036854775808}}`,
		"blanks around it":       "\n\t " + goodEnvelope + "\r\n",
	} {
		all = append(all, replied("an envelope with "+name, 422, once, body))
	}
	for i := range all {
		all[i].create, all[i].read = Rejected, Rejected
	}
	return all
}

// answerWith returns a script that causes a fault.
func answerWith(f fault) func(c *wireConn, r *http.Request) bool {
	return func(c *wireConn, r *http.Request) bool {
		if f.do != nil {
			f.do(c)
			return false
		}
		c.say(f.answer)
		return f.status != 0 // a whole answer keeps the connection open, as servers do
	}
}

// onBoth runs a test with a new connection, and with one that has carried a request.
func onBoth(
	t *testing.T, name string, script func(c *wireConn, r *http.Request) bool,
	test func(t *testing.T, w *wire, client *Client),
) {
	for _, reused := range []bool{false, true} {
		t.Run(fmt.Sprintf("%s/reused=%t", name, reused), func(t *testing.T) {
			w := newWire(t, script)
			client := newClient(t, w.url)
			if reused {
				warm(t, client)
			}
			test(t, w, client)
		})
	}
}

// TestCreateIsSentOnce checks that a create reaches the server once, whatever the answer, and ends as the
// table in the package documentation says.
func TestCreateIsSentOnce(t *testing.T) {
	elsewhere := newWire(t, accepting)
	for _, f := range append(unknownFaults(elsewhere.url), rejectingFaults()...) {
		onBoth(t, f.name, answerWith(f), func(t *testing.T, w *wire, client *Client) {
			id, err := client.Withdrawals.Create(context.Background(), sampleCreate())
			e := failure(t, err)
			if e.Outcome != f.create || e.Status != f.status || id != "" {
				t.Errorf("got %v, HTTP %d, id %q (%v), want %v, HTTP %d", e.Outcome, e.Status, id, err, f.create, f.status)
			}
			if e.Outcome == Rejected && (e.Reason == "no_funds") != (e.Code == 1001) {
				t.Errorf("the envelope is not in the error: %+v", e)
			}
			if began, whole := w.began.Load(), w.whole.Load(); began != 1 || whole != 1 {
				t.Errorf("%d requests began to arrive and %d arrived, want 1", began, whole)
			}
		})
	}
	if n := elsewhere.conns.Load(); n != 0 {
		t.Errorf("%d connections were made to where a redirect pointed", n)
	}
}

// TestEveryCreateIsSentOnce checks that invoices, invites, and raw requests that are not reads are sent once
// too.
func TestEveryCreateIsSentOnce(t *testing.T) {
	ctx := context.Background()
	do := func(method string, body []byte) func(c *Client) error {
		return func(c *Client) error { return err2(c.Do(ctx, method, "/api/other", body)) }
	}
	calls := map[string]func(c *Client) error{
		"invoice": func(c *Client) error {
			return err2(c.Invoices.Create(ctx, CreateInvoice{Title: "Tea", Currency: Currency{Fiat, "Usd"},
				Items: []InvoiceItem{{"Tea", 250}}}))
		},
		"invite":   func(c *Client) error { return err2(c.Invites.Create(ctx, someID)) },
		"raw POST": do("POST", []byte("{}")), "raw POST, no body": do("POST", nil), "raw PUT": do("PUT", []byte("{}")),
		"raw PATCH, no body": do("PATCH", nil), "raw DELETE": do("DELETE", nil),
	}
	for _, f := range []fault{
		{name: "reset", do: (*wireConn).reset}, {name: "closed"},
		{name: "503", answer: reply(503, goodEnvelope), status: 503},
		{name: "307", answer: reply(307, "", "Location: /api/again"), status: 307},
		{name: "429", answer: reply(429, ""), status: 429},
	} {
		for name, call := range calls {
			onBoth(t, name+"/"+f.name, answerWith(f), func(t *testing.T, w *wire, client *Client) {
				if e := failure(t, call(client)); e.Outcome != Unknown {
					t.Errorf("got %v, want unknown", e)
				}
				if n := w.began.Load() + w.reads.Load(); n != 1 { // a wire counts a DELETE as a read
					t.Errorf("%d requests, want 1", n)
				}
			})
		}
	}
}

func TestCreateAccepted(t *testing.T) {
	for name, answer := range map[string]string{
		"blanks":            reply(200, " \"w-1\"\n"),
		"as HTML":           reply(200, `"w-1"`, "Content-Type: text/html"),
		"escaped":           reply(200, `"w\u002d1"`),
		"after 100 and 103": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + reply(200, `"w-1"`),
	} {
		w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(answer); return true })
		id, err := newClient(t, w.url).Withdrawals.Create(t.Context(), sampleCreate())
		if err != nil || id != "w-1" || w.began.Load() != 1 {
			t.Errorf("%s: got %q, %v after %d requests", name, id, err, w.began.Load())
		}
	}
}

// TestCreateNotSent checks that a failure before the first byte is NotSent, and that no server sees any of
// the request.
func TestCreateNotSent(t *testing.T) {
	plain := newWire(t, accepting)
	stopped := newWire(t, accepting)
	stopped.stop()
	untrusted, _ := tlsWire(t, accepting, 0)
	old, _ := tlsWire(t, accepting, tls.VersionTLS11)
	for name, tt := range map[string]struct{ url, says string }{
		"connection refused": {stopped.url, ""},
		// A name with two dots in a row is invalid, so the resolver does not ask a server.
		"no such host":                {"https://pay..example", ""},
		"a certificate nobody trusts": {untrusted.url, ""},
		"TLS 1.1":                     {old.url, "protocol version"},
		// Its first bytes begin a ClientHello, which this server takes as a request that it cannot read.
		"no TLS at all": {"https" + strings.TrimPrefix(plain.url, "http"), ""},
	} {
		_, err := newClient(t, tt.url).Withdrawals.Create(t.Context(), sampleCreate())
		if e := failure(t, err); e.Outcome != NotSent || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want not sent", name, e)
		}
	}
	for _, w := range []*wire{plain, stopped, untrusted, old} {
		if w.began.Load() != 0 {
			t.Errorf("%d requests reached a server", w.began.Load())
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := newWire(t, accepting)
	_, err := newClient(t, w.url).Withdrawals.Create(ctx, sampleCreate())
	if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, context.Canceled) || w.conns.Load() != 0 {
		t.Errorf("given up before: got %v after %d connections", e, w.conns.Load())
	}
}

// TestConnectionIsCut checks that a create is NotSent if its connection ends in the handshake of TLS, and
// Unknown if it ends in the request, of which nothing arrives.
func TestConnectionIsCut(t *testing.T) {
	w, roots := tlsWire(t, accepting, 0)
	create := func(most int64) (passed int64, err error) {
		relay := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		done := make(chan int64, 1)
		go func() {
			near, _ := relay.Accept()
			far, _ := net.Dial("tcp", strings.TrimPrefix(w.url, "https://"))
			go io.Copy(near, far)
			n, _ := io.CopyN(far, near, most)
			near.Close()
			far.Close()
			done <- n
		}()
		client := newClient(t, "https://"+relay.Addr().String(), WithRootCAs(roots))
		_, err = client.Withdrawals.Create(t.Context(), sampleCreate())
		client.closeIdle()
		relay.Close()
		return <-done, err
	}
	all, err := create(1 << 20)
	check(t, err)
	for most, want := range map[int64]Outcome{0: NotSent, 1: NotSent, 150: NotSent, all - 50: Unknown} {
		if _, err := create(most); failure(t, err).Outcome != want || w.whole.Load() != 1 {
			t.Errorf("after %d of %d bytes: got %v, want %v; %d requests arrived", most, all, err, want, w.whole.Load())
		}
	}
}

// tlsWire returns a wire behind TLS, and what trusts its certificate.
func tlsWire(
	t *testing.T, script func(c *wireConn, r *http.Request) bool, maxVersion uint16,
) (*wire, *x509.CertPool) {
	t.Helper()
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	defer borrowed.Close()
	config := &tls.Config{Certificates: borrowed.TLS.Certificates, MaxVersion: maxVersion,
		MinVersion: min(maxVersion, tls.VersionTLS10)}
	w := &wire{listener: tls.NewListener(must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), config), script: script}
	w.url = "https://" + w.listener.Addr().String()
	w.start()
	t.Cleanup(w.stop)
	return w, borrowed.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
}

// TestCanceledCreateIsUnknown checks that canceling after the request has arrived leaves the outcome unknown,
// however much of the answer has come.
func TestCanceledCreateIsUnknown(t *testing.T) {
	for name, answered := range map[string]string{
		"before the answer": "",
		"in the headers":    "HTTP/1.1 200 OK\r\nX: ",
		"in the body":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\"w",
	} {
		var cancel context.CancelFunc
		onBoth(t, name, func(c *wireConn, r *http.Request) bool {
			c.say(answered)
			cancel()
			c.in.Peek(1) // until the client hangs up
			return false
		}, func(t *testing.T, w *wire, client *Client) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			_, err := client.Withdrawals.Create(ctx, sampleCreate())
			if e := failure(t, err); e.Outcome != Unknown || !errors.Is(err, context.Canceled) || w.began.Load() != 1 {
				t.Errorf("got %v after %d requests, want unknown and the reason", e, w.began.Load())
			}
		})
	}
}

// TestCreateGivenUpBeforeTheFirstByte cancels between getting a connection and the first byte. The request
// does not arrive, but its outcome is unknown, because an interrupted write cannot be trusted.
func TestCreateGivenUpBeforeTheFirstByte(t *testing.T) {
	for n := range 4 {
		secure, reused := n&1 > 0, n&2 > 0
		w, roots := newWire(t, accepting), (*x509.CertPool)(nil)
		if secure {
			w, roots = tlsWire(t, accepting, 0)
		}
		client := newClient(t, w.url, WithRootCAs(roots))
		if reused {
			warm(t, client)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var conn net.Conn
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { conn = info.Conn },
			WroteHeaders: func() { // into a buffer, which is not flushed yet
				cancel()
				for conn.SetDeadline(time.Time{}) == nil { // until the connection is closed
					runtime.Gosched()
				}
			},
		})
		_, err := client.Withdrawals.Create(ctx, sampleCreate())
		client.closeIdle()
		w.stop() // waits for the requests in flight
		if e := failure(t, err); e.Outcome != Unknown && e.Outcome != NotSent || !errors.Is(err, context.Canceled) ||
			w.whole.Load() != 0 {
			t.Errorf("TLS=%t, reused=%t: got %v, and %d arrived", secure, reused, e, w.whole.Load())
		}
	}
}

func TestGateShutsOnlyBeforeTheFirstByte(t *testing.T) {
	client, server := net.Pipe()
	go io.Copy(io.Discard, server)
	defer client.Close()
	c := &gatedConn{Conn: client}
	write := func() error { _, err := c.Write([]byte("x")); return err }
	if write() != nil || c.shut() {
		t.Error("a gate that something passed can be shut")
	}
	c.next()
	if first, second := write(), write(); first != nil || second != nil || c.shut() {
		t.Error("a gate that something passed can be shut, on the second request")
	}
	c.next()
	if first, second := c.shut(), c.shut(); !first || !second || write() == nil {
		t.Error("a gate that nothing passed cannot be shut")
	}
	if c.next(); write() == nil {
		t.Error("a shut gate opens again")
	}
	for _, tt := range []struct {
		n    int
		err  error
		shut bool
	}{
		{0, syscall.ECONNRESET, true},
		{0, syscall.EPIPE, true},
		{1, syscall.ECONNRESET, false},
		{0, net.ErrClosed, runtime.GOOS != "windows"},          // interrupted by this side
		{0, os.ErrDeadlineExceeded, runtime.GOOS != "windows"}, // likewise
		{1, net.ErrClosed, false},
	} {
		c := &gatedConn{Conn: brokenConn{n: tt.n, err: &net.OpError{Op: "write", Err: tt.err}}}
		if c.Write([]byte("xy")); c.shut() != tt.shut {
			t.Errorf("after a write of %d bytes that ended in %q: shut is %t", tt.n, tt.err, !tt.shut)
		}
	}
}

type brokenConn struct {
	net.Conn
	n   int
	err error
}

func (c brokenConn) Write([]byte) (int, error) { return c.n, c.err }

type goneConn struct {
	net.Conn
	gone *atomic.Bool
}

func (c goneConn) Write(b []byte) (int, error) {
	if c.gone.Load() {
		return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

// follows sends a request to the gate over a transport, within the record of one create.
func follows(t *testing.T, s *sending, rt roundTripper) error {
	req := must[*http.Request](t)(http.NewRequestWithContext(s, "POST", "http://127.0.0.1", strings.NewReader("x")))
	_, err := gate{rt, &http.Transport{}}.RoundTrip(req)
	if req.GetBody == nil {
		t.Error("the caller's request was changed")
	}
	return err
}

// TestGateFollowsEachRequest checks that the gate takes GetBody away, because net/http resends a body only if it can
// get it a second time, that the writes of a request do not count for the next one, and that no request is NotSent
// on a connection that is not watched.
func TestGateFollowsEachRequest(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go io.Copy(io.Discard, far)
	watched := &gatedConn{Conn: near}
	on := func(conn net.Conn, write string) roundTripper {
		return func(r *http.Request) (*http.Response, error) {
			if r.GetBody != nil {
				t.Error("the body can still be had twice")
			}
			if conn != nil {
				httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: conn})
				io.WriteString(conn, write)
			}
			return nil, errors.New("broken")
		}
	}
	s := follow(t.Context())
	for _, tt := range []struct {
		name   string
		rt     roundTripper
		unsent bool
	}{
		{"no connection", on(nil, ""), true}, {"written", on(watched, "x"), false}, {"after it", on(nil, ""), true},
		{"not watched", on(near, ""), false},
	} {
		if err := follows(t, s, tt.rt); err == nil || errors.As(err, new(notSentError)) != tt.unsent {
			t.Errorf("%s: %v", tt.name, err)
		}
		s.left = false // as if the request had not been sent, so that another may pass
	}
}

// TestForeignTransport checks that a failed create on the caller's transport, which cannot be watched, is Unknown
// unless the error says that nothing was sent, and that what BeforeSending refuses does not reach the transport.
func TestForeignTransport(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	fails := func(err error) roundTripper { return func(*http.Request) (*http.Response, error) { return nil, err } }
	pass := WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return next })
	for i, tt := range []struct {
		answer roundTripper
		err    error
		want   Outcome // -1: no error
	}{
		{answering(200, `"w-1"`), nil, -1}, {fails(nil), nil, Unknown}, {fails(refused), refused, Unknown},
		{func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }, nil, Unknown},
		{fails(perhapsSent{notSentError{refused}}), refused, Unknown}, {fails(notSentError{refused}), refused, NotSent},
		{fails(errors.Join(errors.New("first"), notSentError{refused})), refused, NotSent},
	} {
		for _, middleware := range []Option{WithRetries(0), pass} {
			var check error
			trips, asked := 0, 0
			client := must[*Client](t)(New("http://127.0.0.1", WithRetries(0), middleware,
				WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					if trips++; r.Method == "POST" && asked != trips {
						t.Errorf("%d: it was not asked before", i)
					}
					return tt.answer(r)
				}))))
			ctx := BeforeSending(BeforeSending(t.Context(), func() error { asked++; return check }), nil)
			_, err := client.Withdrawals.Create(ctx, sampleCreate())
			if tt.want == -1 && err != nil || tt.want != -1 && (failure(t, err).Outcome != tt.want ||
				tt.err != nil && !errors.Is(err, tt.err)) {
				t.Errorf("%d: a create ends in %v", i, err)
			}
			check = errChecked
			_, err = client.Withdrawals.Create(ctx, sampleCreate())
			if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) || trips != 1 || asked != 2 {
				t.Errorf("%d: got %v after %d trips", i, err, trips)
			}
			if _, err := client.Invites.List(ctx); failure(t, err).Outcome != Failed || asked != 2 {
				t.Errorf("%d: a read ends in %v", i, err)
			}
		}
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("the transport's panic has become %v", got)
		}
	}()
	panics := WithTransport(roundTripper(func(*http.Request) (*http.Response, error) { panic(http.ErrAbortHandler) }))
	must[*Client](t)(New("http://127.0.0.1", panics)).Withdrawals.Create(t.Context(), sampleCreate())
}

// perhapsSent makes no claim about what was sent, even if the error that it wraps does.
type perhapsSent struct{ error }

func (e perhapsSent) Unwrap() error { return e.error }
func (e perhapsSent) NotSent() bool { return false }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// From here on, the clock is fake and the network is in memory: pauses and time-outs pass at once, and
// exactly.

// inBubble runs a test with a client and its wire in memory.
func inBubble(
	t *testing.T, name string, script func(c *wireConn, r *http.Request) bool,
	test func(t *testing.T, client *Client, w *wire, took func() time.Duration), opts ...Option,
) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, w, end := inMemory(t, script, opts...)
			defer end()
			start := time.Now()
			test(t, client, w, func() time.Duration { return time.Since(start) })
		})
	})
}

// TestReadRetries tests every fault with reads: how often they are tried, and their outcome.
func TestReadRetries(t *testing.T) {
	calls := map[string]func(c *Client) error{
		"GET": func(c *Client) error { return err2(c.Withdrawals.Get(context.Background(), "w-1")) },
		"list": func(c *Client) error {
			return err2(c.Withdrawals.List(context.Background(), WithdrawalFilter{}, 0, 10))
		},
	}
	for _, f := range append(unknownFaults("http://127.0.0.1:2"), rejectingFaults()...) {
		for method, call := range calls {
			inBubble(t, f.name+"/"+method, answerWith(f),
				func(t *testing.T, client *Client, w *wire, took func() time.Duration) {
					e := failure(t, call(client))
					if e.Outcome != f.read || e.Status != f.status {
						t.Errorf("got %v, HTTP %d (%v), want %v, HTTP %d", e.Outcome, e.Status, e, f.read, f.status)
					}
					if n := int(w.reads.Load() + w.whole.Load()); n != f.reads {
						t.Errorf("it was sent %d times, want %d", n, f.reads)
					}
					if took() > 1400*time.Millisecond {
						t.Errorf("the pauses took %s, more than 200, 400 and 800 ms", took())
					}
				})
		}
	}
}

// TestRetries checks how often a read is sent and after which pauses, as WithRetries and Retry-After say: no pause
// begins that is too long or would outlast the call, and a read whose time ends in a pause returns the last answer.
func TestRetries(t *testing.T) {
	const ends = 8 * time.Second
	for _, tt := range []struct {
		after    string // Retry-After
		retries  int
		limit    time.Duration
		fail     int32 // so many answers fail
		requests int32
		took     time.Duration // -1: pauses at random
	}{
		{"", -1, time.Minute, 9, 1, 0}, {"", 0, time.Minute, 9, 1, 0}, {"", 1, time.Minute, 9, 2, -1},
		{"", 5, time.Minute, 9, 6, -1}, {"7", 3, time.Minute, 1, 2, 7 * time.Second},
		{"30", 3, time.Minute, 1, 2, 30 * time.Second},
		{"Sat, 01 Jan 2000 00:00:12 GMT", 3, time.Minute, 1, 2, 12 * time.Second}, // the fake clock begins at 00:00:00
		{"31", 3, time.Minute, 1, 1, 0},                                           // longer than a read waits by itself
		{"Sat, 01 Jan 2000 00:05:00 GMT", 3, time.Minute, 1, 1, 0}, {"99999999999999999999", 3, time.Minute, 1, 1, 0},
		{"9", 1000, ends, 1, 1, 0}, {"", 1000, ends, math.MaxInt32, 0, ends}, // how many it sends is random
	} {
		var w *wire
		inBubble(t, fmt.Sprint(tt), func(c *wireConn, r *http.Request) bool {
			if w.reads.Load() <= tt.fail {
				c.say(reply(429, goodEnvelope, "Retry-After: "+tt.after))
			} else {
				c.say(reply(200, sampleWithdrawal))
			}
			return true
		}, func(t *testing.T, client *Client, its *wire, took func() time.Duration) {
			w = its
			_, err := client.Withdrawals.Get(context.Background(), "w-1")
			if n := w.reads.Load(); tt.requests > 0 && n != tt.requests || tt.took >= 0 && took() != tt.took {
				t.Errorf("%d requests in %s, want %d in %s", n, took(), tt.requests, tt.took)
			}
			if tt.requests > tt.fail && err != nil || tt.requests <= tt.fail && failure(t, err).Status != 429 {
				t.Errorf("got %v", err)
			}
			if client.Withdrawals.Create(context.Background(), sampleCreate()); w.began.Load() != 1 {
				t.Errorf("the create was sent %d times", w.began.Load())
			}
		}, WithRetries(tt.retries), WithTimeouts(tt.limit, 0))
	}
}

func TestCancelStopsRetriesAtOnce(t *testing.T) {
	for name, answer := range map[string]string{"in the pause": reply(503, "", "Retry-After: 20"), "without an answer": "",
		"in the answer": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"} {
		inBubble(t, name, func(c *wireConn, r *http.Request) bool { c.say(answer); c.in.Peek(1); return false },
			func(t *testing.T, client *Client, w *wire, took func() time.Duration) {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(3*time.Second, cancel)
				_, err := client.Withdrawals.Get(ctx, "w-1")
				if e := failure(t, err); !errors.Is(err, context.Canceled) || e.Outcome != Failed ||
					took() != 3*time.Second || w.reads.Load() != 1 {
					t.Errorf("got %v after %s and %d requests, want 3s and 1", err, took(), w.reads.Load())
				}
			})
	}
}

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		takes        int32 // bytes of the request; 0: all
	}{
		{"without an answer", "", 0}, {"in the headers", "HTTP/1.1 200 OK\r\n", 0},
		{"in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\"w-1\"", 0}, {"while sending", "", 1},
	} {
		inBubble(t, tt.name, func(c *wireConn, r *http.Request) bool { c.say(tt.answer); c.in.Peek(1); return false },
			func(t *testing.T, client *Client, w *wire, took func() time.Duration) {
				w.takes.Store(tt.takes)
				_, err := client.Withdrawals.Create(context.Background(), sampleCreate())
				if e := failure(t, err); e.Outcome != Unknown || !errors.Is(err, context.DeadlineExceeded) ||
					took() != DefaultCreateTimeout {
					t.Errorf("create: got %v after %s", err, took())
				}
				_, err = client.Withdrawals.Get(context.Background(), "w-1")
				if e := failure(t, err); e.Outcome != Failed || !errors.Is(err, context.DeadlineExceeded) ||
					took() != DefaultCreateTimeout+DefaultReadTimeout {
					t.Errorf("read: got %v after %s", err, took())
				}
				if w.began.Load() > 1 || w.reads.Load() > 1 {
					t.Errorf("%d creates and %d reads, want at most 1 each", w.began.Load(), w.reads.Load())
				}
			})
	}
}

// TestTimeoutsBeforeSending checks that a time-out before a connection is made is not an unknown outcome,
// whether it is the network's own or the call's.
func TestTimeoutsBeforeSending(t *testing.T) {
	connecting := func(context.Context, string, string) (net.Conn, error) {
		time.Sleep(10 * time.Second) // as long as the dialer tries
		return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	}
	negotiating := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server) // accepts everything and says nothing
		return &gatedConn{Conn: client}, nil
	}
	for base, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"http://127.0.0.1:1": connecting, "https://127.0.0.1:1": negotiating} {
		for timeout, want := range map[time.Duration]time.Duration{90 * time.Second: 10 * time.Second,
			3 * time.Second: 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				client := must[*Client](t)(New(base, WithTimeouts(0, timeout)))
				client.network().DialContext = dial
				start := time.Now()
				_, err := client.Withdrawals.Create(context.Background(), sampleCreate())
				if e := failure(t, err); e.Outcome != NotSent || time.Since(start) != want {
					t.Errorf("%s: got %v after %s, want not sent after %s", base, err, time.Since(start), want)
				}
				time.Sleep(10 * time.Second) // until the dialer has given up too
			})
		}
	}
}

// TestReadRetriesNetworkTimeouts checks that the network's own time-outs are connection errors, and are
// retried while the call has time.
func TestReadRetriesNetworkTimeouts(t *testing.T) {
	dials := 0
	synctest.Test(t, func(t *testing.T) {
		client := must[*Client](t)(New("http://127.0.0.1:1"))
		client.network().DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded} // as when a Dialer's Timeout ends
		}
		_, err := client.Withdrawals.Get(context.Background(), "w-1")
		if e := failure(t, err); e.Outcome != Failed || dials != 4 {
			t.Errorf("got %v after %d attempts, want 4", err, dials)
		}
	})
}

// TestIdleConnections checks that a connection that was idle for longer than a second is not reused.
func TestIdleConnections(t *testing.T) {
	inBubble(t, "", accepting, func(t *testing.T, client *Client, w *wire, _ func() time.Duration) {
		for _, tt := range []struct {
			idle  time.Duration
			conns int32
		}{{0, 1}, {0, 1}, {999 * time.Millisecond, 1}, {999 * time.Millisecond, 1}, {1001 * time.Millisecond, 2},
			{time.Hour, 3}, {0, 3}} {
			time.Sleep(tt.idle)
			must[string](t)(client.Withdrawals.Create(context.Background(), sampleCreate()))
			if n := w.conns.Load(); n != tt.conns {
				t.Errorf("after %s of idleness: %d connections, want %d", tt.idle, n, tt.conns)
			}
		}
	})
}
