package sandbox

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
)

// TB is the part of a test that Start needs: a *testing.T, *testing.B or *testing.F
// has it. TB is defined here because importing package testing would add it to every
// program that serves a sandbox. Fatalf must not return.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// A Running is a Server that listens on an address.
type Running struct {
	*Server

	// URL is the base address: http and a loopback address with a port, without a
	// slash at the end.
	URL string

	served   *http.Server
	busy     sync.WaitGroup // its goroutines
	end      sync.Once
	endError error
	stop     context.CancelFunc // of the requests in flight
}

// Start runs a sandbox for a test, on its own loopback port, and closes it when the
// test and its subtests have ended. Two sandboxes share nothing, so each parallel
// test may have its own. A sandbox that is started in a fuzz test, or in a benchmark
// before the loop, serves all of its rounds. Like Serve, it moves withdrawals and
// invoices when they are due, and posts pending callbacks. Start fails the test if the sandbox
// cannot start: an option is wrong, the file of WithState cannot be used, or there
// is no loopback port.
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
	r.busy.Go(func() { r.served.Serve(listener) }) // its error says that it was closed
	r.busy.Go(func() { server.store.KeepTime(ctx) })
	r.busy.Go(func() { server.sender.DeliverPending(ctx) })
	t.Cleanup(func() {
		t.Helper()
		if err := r.Close(); err != nil {
			t.Fatalf("sandbox: it was not closed cleanly: %v", err)
		}
	})
	return r
}

// Close ends the sandbox before the test ends, for a test in which the service goes
// away: afterwards connections are refused. It cuts off the requests in flight and
// returns when all goroutines of the sandbox have ended. A second Close does
// nothing.
func (r *Running) Close() error {
	r.end.Do(func() {
		r.stop()
		r.served.Close()
		r.busy.Wait()
		r.endError = r.Server.Close()
	})
	return r.endError
}

// count adds a connection to the goroutines that Close waits for. serve counts a
// handler that has hijacked its connection.
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
