package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers requests on a loopback listener, or with WithExposure on any, until ctx is done, and then lets
// the requests in flight finish. It closes the listener, and returns nil after such a stop. Meanwhile it moves
// withdrawals and invoices when the settings say that they are due, and posts the callbacks that the seed or the
// state's file has pending.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if tcp, ok := listener.Addr().(*net.TCPAddr); !s.exposed && (!ok || !tcp.IP.IsLoopback()) {
		listener.Close()
		return fmt.Errorf("sandbox: %s is not a loopback address; listen on 127.0.0.1 or [::1], the sandbox is for this "+
			"machine only", listener.Addr())
	}
	return s.serve(ctx, listener, endGrace)
}

// serve returns after all goroutines of the server have ended. Requests in flight when ctx ends have so long to
// finish.
func (s *Server) serve(ctx context.Context, listener net.Listener, grace time.Duration) error {
	open := &conns{}
	meanwhile, end := context.WithCancel(ctx)
	server := &http.Server{
		Handler:           s,
		ConnState:         open.note,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// The end of the server also ends waits for callbacks and faults.
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(meanwhile, servedUntil{}, meanwhile.Done())
		},
	}
	defer open.busy.Wait()
	defer end()
	open.busy.Go(func() { s.keepTime(meanwhile) })
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		open.busy.Go(func() { open.interrupt(late) })
		stopped <- server.Shutdown(late)
	})
	err := server.Serve(listener)
	if stop() { // ctx is not done: the listener failed
		server.Close()
		return fmt.Errorf("sandbox: the listener failed: %w", err)
	}
	if err := <-stopped; err != nil {
		server.Close()
		return fmt.Errorf("sandbox: requests that did not end within %s were cut off", grace)
	}
	return nil
}

// keepTime makes the moves of the clock when they are due, and posts what is pending, even without requests.
func (s *Server) keepTime(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		s.store.Refresh() // the next request reports an error of the file
		if n%10 == 0 {
			s.sender.StartMissing()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const endGrace = 5 * time.Second

// TB is the part of a test that Start needs: a *testing.T, *testing.B or *testing.F has it. TB is defined
// here because importing package testing would add it to every program that serves a sandbox. Fatalf must not
// return.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// A Running is a Server that listens on an address.
type Running struct {
	*Server

	// URL is the base address: http and a loopback address with a port, without a slash at the end.
	URL string

	close func() error
}

// Start runs a sandbox for a test, on its own loopback port, and closes it when the test and its subtests
// have ended. Two sandboxes share nothing, so each parallel test may have its own. A sandbox that is started
// in a fuzz test, or in a benchmark before the loop, serves all of its rounds. Like Serve, it moves
// withdrawals and invoices when they are due, and posts pending callbacks. Start fails the test if the
// sandbox cannot start: an option is wrong, the file of WithState cannot be used, or there is no loopback
// port.
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
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.serve(ctx, listener, 0) }) // its error says that requests were cut off
	r := &Running{server, "http://" + listener.Addr().String(), sync.OnceValue(func() error {
		stop()
		serving.Wait()
		return server.Close()
	})}
	t.Cleanup(func() {
		t.Helper()
		if err := r.Close(); err != nil {
			t.Fatalf("sandbox: it was not closed cleanly: %v", err)
		}
	})
	return r
}

// Close ends the sandbox before the test ends, for a test in which the service goes away: afterwards
// connections are refused. It cuts off the requests in flight and returns when all goroutines of the sandbox
// have ended. A client that has kept a connection may notice with its next call only, which is Unknown if it creates.
// A second Close does nothing.
func (r *Running) Close() error { return r.close() }

// conns are the connections of a server, each a net.Conn, and its goroutines.
type conns struct {
	sync.Map
	busy sync.WaitGroup
}

func (open *conns) note(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		open.busy.Add(1)
		open.Store(c, nil)
	case http.StateClosed, http.StateHijacked:
		open.Delete(c)
		open.busy.Done()
	}
}

// interrupt ends the waits for a request, or for the rest of one, until ctx is done. A server that shuts down
// would wait for both, although browsers and load balancers open connections that they may never use. It does
// not close connections: a request that has arrived gets its answer, and one without the rest of its body is
// answered as incomplete. It repeats, because the server sets a deadline of its own when it begins to read.
func (open *conns) interrupt(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		open.Range(func(c, _ any) bool {
			c.(net.Conn).SetReadDeadline(time.Unix(1, 0))
			return true
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
