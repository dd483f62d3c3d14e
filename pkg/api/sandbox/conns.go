package sandbox

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// freshConns are the connections on which no request has arrived yet. A server that
// shuts down waits five seconds for a request on each of them, although browsers and
// load balancers open connections that they may never use.
type freshConns struct {
	mu  sync.Mutex
	all map[net.Conn]bool
}

// note is the ConnState of a server.
func (f *freshConns) note(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state != http.StateNew {
		delete(f.all, c)
		return
	}
	if f.all == nil {
		f.all = map[net.Conn]bool{}
	}
	f.all[c] = true
}

// interrupt ends the waits for a first request, until ctx is done. It does not close
// connections: a request that has just arrived still gets its answer. It repeats,
// because the server sets a deadline of its own when it begins to read.
func (f *freshConns) interrupt(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		f.mu.Lock()
		for c := range f.all {
			c.SetReadDeadline(time.Unix(1, 0))
		}
		f.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// interruptible returns a handler that does not wait for the rest of a body once ctx is
// done. The request is then answered as one whose body is not complete.
func interruptible(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			r.Body = &interruptibleBody{r.Body, ctx, http.NewResponseController(w)}
		}
		h.ServeHTTP(w, r)
	})
}

type interruptibleBody struct {
	io.ReadCloser
	ctx     context.Context
	control *http.ResponseController
}

func (b *interruptibleBody) Read(p []byte) (int, error) {
	stop := context.AfterFunc(b.ctx, func() { b.control.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	return b.ReadCloser.Read(p)
}
