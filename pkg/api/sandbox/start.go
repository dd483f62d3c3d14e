package sandbox

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
)

// TB is what Start needs of a test: a *testing.T, *testing.B or *testing.F. It
// is defined here because package testing would come along into every program that
// serves a sandbox. Fatalf does not return.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// A Running is a sandbox that listens. It is a Server with an address.
type Running struct {
	*Server

	// URL is where it is, http and a loopback address with a port, without a
	// slash at the end.
	URL string

	served   *http.Server
	busy     sync.WaitGroup // its goroutines
	end      sync.Once
	endError error
	stop     context.CancelFunc // of the requests under way
}

// Start runs a sandbox for a test, on a loopback port of its own, and ends it
// when the test and its subtests have ended. Nothing is shared between two of
// them, so each parallel test may have one; one that is started in a fuzz test or
// a benchmark before the loop serves all of its rounds. The test fails at once
// when the sandbox cannot start, which is when an option is wrong or the file of
// WithState cannot be used.
func Start(t TB, opts ...Option) *Running {
	t.Helper()
	server, err := New(opts...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		listener, err = net.Listen("tcp", "[::1]:0") // a machine without IPv4
	}
	if err != nil {
		server.Close()
		t.Fatalf("sandbox: there is no loopback port to listen on: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Running{Server: server, URL: "http://" + listener.Addr().String(), stop: stop}
	r.served = &http.Server{Handler: http.HandlerFunc(r.serve), ConnState: r.count, ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return fault.WithEnd(ctx) }}
	r.busy.Go(func() { r.served.Serve(listener) }) // its error is that it was closed
	t.Cleanup(func() {
		t.Helper()
		if err := r.Close(); err != nil {
			t.Fatalf("sandbox: it was not closed cleanly: %v", err)
		}
	})
	return r
}

// Close ends it before the test ends, for one that wants the service to be gone:
// from then on connections are refused. It cuts off the requests that are under
// way and returns when nothing of it runs any more. A second Close does nothing.
func (r *Running) Close() error {
	r.end.Do(func() {
		r.stop()
		r.served.Close()
		r.busy.Wait()
		r.endError = r.Server.Close()
	})
	return r.endError
}

// count keeps a connection among the goroutines that Close waits for. A handler
// that has taken its connection over is counted by serve.
func (r *Running) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		r.busy.Add(1)
	case http.StateClosed, http.StateHijacked:
		r.busy.Done()
	}
}

func (r *Running) serve(w http.ResponseWriter, request *http.Request) {
	r.busy.Add(1)
	defer r.busy.Done()
	r.ServeHTTP(w, request)
}
