package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
)

var errChecked = errors.New("the record is too old")

// counted counts the bytes that reach the server on all of its connections, and the creates among the
// requests.
type counted struct {
	net.Listener
	mu      sync.Mutex
	bytes   int
	creates int
}

func (l *counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l}, err
}

type countedConn struct {
	net.Conn
	l *counted
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.bytes += n
	return n, err
}

func (l *counted) count() (bytes, creates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes, l.creates
}

// startCounted serves withdrawals, with or without TLS. stop returns after everything that was sent has
// arrived.
func startCounted(t *testing.T, secure bool) (client *Client, l *counted, stop func()) {
	l = &counted{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			l.mu.Lock()
			l.creates++
			l.mu.Unlock()
			io.WriteString(w, `"w-1"`)
			return
		}
		io.WriteString(w, sampleWithdrawal)
	}))
	l.Listener = server.Listener
	server.Listener = l
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	var roots *x509.CertPool
	if secure {
		server.StartTLS()
		roots = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	} else {
		server.Start()
	}
	client = must[*Client](t)(New(server.URL, WithAPIKey("key"), WithRootCAs(roots)))
	stop = func() {
		// The creates share these connections.
		client.keyed().reads.GetClient().Transport.(whole).next.(*http.Transport).CloseIdleConnections()
		server.Close()
	}
	t.Cleanup(stop)
	return client, l, stop
}

// TestBeforeSending checks that the check runs when there is a connection, and before any byte of the request
// is written to it. If the check refuses, no byte of the request reaches the server.
func TestBeforeSending(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, reused := range []bool{false, true} {
			for _, refuse := range []bool{false, true} {
				name := strings.Join([]string{map[bool]string{true: "TLS", false: "plain"}[secure],
					map[bool]string{true: "reused", false: "new"}[reused],
					map[bool]string{true: "no", false: "yes"}[refuse]}, "/")
				t.Run(name, func(t *testing.T) {
					client, l, stop := startCounted(t, secure)
					if reused {
						warm(t, client)
					}
					before, _ := l.count()
					var steps []string
					ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
						TLSHandshakeDone: func(tls.ConnectionState, error) { steps = append(steps, "TLS") },
						GotConn: func(i httptrace.GotConnInfo) {
							steps = append(steps, map[bool]string{true: "reused", false: "new"}[i.Reused])
						},
					})
					ctx = BeforeSending(ctx, func() error {
						steps = append(steps, "asked")
						if refuse {
							return errChecked
						}
						return nil
					})
					id, err := client.Withdrawals.Create(ctx, sampleCreate())
					stop()
					var want []string
					if secure && !reused {
						want = append(want, "TLS")
					}
					want = append(want, map[bool]string{true: "reused", false: "new"}[reused], "asked")
					after, creates := l.count()
					if refuse {
						if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) ||
							!strings.Contains(e.Error(), errChecked.Error()) || id != "" {
							t.Errorf("got %q, %v", id, err)
						}
						if creates != 0 || (!secure || reused) && after != before {
							t.Errorf("%d bytes and %d creates reached the server", after-before, creates)
						}
					} else {
						if err != nil || id != "w-1" || creates != 1 {
							t.Errorf("got %q, %v after %d creates", id, err, creates)
						}
					}
					if !slices.Equal(steps, want) {
						t.Errorf("it went %v, want %v", steps, want)
					}
				})
			}
		}
	}
}

// TestEachCreateCallsItsOwnCheck checks that each create calls its own check once, and that a read calls
// none, even on the same connection.
func TestEachCreateCallsItsOwnCheck(t *testing.T) {
	client, l, stop := startCounted(t, false)
	var asked []string
	under := func(name string) context.Context {
		return BeforeSending(context.Background(), func() error { asked = append(asked, name); return nil })
	}
	create := func(ctx context.Context) {
		t.Helper()
		must[string](t)(client.Withdrawals.Create(ctx, sampleCreate()))
	}
	create(under("first"))
	create(under("second"))
	create(context.Background())
	must[Withdrawal](t)(client.Withdrawals.Get(under("read"), warmUp))
	create(under("third"))
	if _, err := client.Invites.Create(under("invite"), "7c9e6679-7425-40de-944b-e07fc1f90ae7"); err == nil {
		t.Error("that is no invite")
	}
	stop()
	if _, creates := l.count(); creates != 5 || !slices.Equal(asked, []string{"first", "second", "third", "invite"}) {
		t.Errorf("asked were %v, for %d creates", asked, creates)
	}
}

// TestBeforeSendingWithoutBody checks that a connection is not reused after its check has refused, and that
// net/http does not try another one for a request without a body.
func TestBeforeSendingWithoutBody(t *testing.T) {
	client, l, stop := startCounted(t, false)
	warm(t, client)
	ctx := BeforeSending(context.Background(), func() error { return errChecked })
	_, err := client.Do(ctx, "POST", "/api/other", nil)
	if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Withdrawals.Create(context.Background(), sampleCreate()); err != nil {
		t.Error(err)
	}
	stop()
	if _, creates := l.count(); creates != 1 {
		t.Errorf("%d creates reached the server", creates)
	}
}

// TestBeforeSendingWithoutConnection checks that the check does not run if no connection can be made.
func TestBeforeSendingWithoutConnection(t *testing.T) {
	client := must[*Client](t)(New("http://127.0.0.1:1", WithAPIKey("key")))
	ctx := BeforeSending(context.Background(), func() error { t.Error("it was asked"); return nil })
	_, err := client.Withdrawals.Create(ctx, sampleCreate())
	if e := failure(t, err); e.Outcome != NotSent {
		t.Error(err)
	}
}

// TestBeforeSendingOnAnotherTransport checks that a refused create does not reach the caller's transport.
func TestBeforeSendingOnAnotherTransport(t *testing.T) {
	trips, asked := 0, 0
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		if trips++; asked != trips {
			t.Error("it was not asked before")
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`"w-1"`)), Request: r}, nil
	})
	client := must[*Client](t)(New("http://127.0.0.1:1", WithAPIKey("key"), WithTransport(rt)))
	answer := error(nil)
	ctx := BeforeSending(context.Background(), func() error { asked++; return answer })
	if _, err := client.Withdrawals.Create(ctx, sampleCreate()); err != nil || trips != 1 {
		t.Errorf("got %v after %d trips", err, trips)
	}
	answer = errChecked
	_, err := client.Withdrawals.Create(ctx, sampleCreate())
	if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) || trips != 1 || asked != 2 {
		t.Errorf("got %v after %d trips", err, trips)
	}
}

// TestCheckRunsAtTheFirstWrite checks that the check runs at the first write of a request, and that nothing
// is written after it has refused.
func TestCheckRunsAtTheFirstWrite(t *testing.T) {
	wrote := 0
	conn := &gatedConn{Conn: recorder{write: func(b []byte) { wrote += len(b) }}}
	conn.Write([]byte("handshake"))
	conn.next()
	asked, answer := 0, error(nil)
	conn.before = func() error { asked++; return answer }
	conn.Write([]byte("a"))
	conn.Write([]byte("b"))
	if asked != 1 || wrote != len("handshake")+2 {
		t.Errorf("asked %d times, %d bytes written", asked, wrote)
	}
	conn.next()
	answer = errChecked
	for range 2 {
		if n, err := conn.Write([]byte("c")); n != 0 || err == nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	conn.next()
	if n, err := conn.Write([]byte("d")); n != 0 || err == nil || !conn.shut() {
		t.Errorf("wrote %d, %v: a connection that was shut opens again", n, err)
	}
	if asked != 2 || wrote != len("handshake")+2 {
		t.Errorf("asked %d times, %d bytes written", asked, wrote)
	}
}

// recorder is a connection that records what is written.
type recorder struct {
	net.Conn
	write func(b []byte)
}

func (r recorder) Write(b []byte) (int, error) { r.write(b); return len(b), nil }
