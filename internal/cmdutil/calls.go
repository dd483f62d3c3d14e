package cmdutil

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
)

// callCounter counts the calls to the service, and how often they are repeated. A call and its repetitions
// have the same context, which ends with the call.
type callCounter struct {
	calls, retries atomic.Int64
	begun          sync.Map // the contexts of the calls in flight
}

// wrap is a middleware of the client.
func (c *callCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		if _, again := c.begun.LoadOrStore(ctx, true); again {
			c.retries.Add(1)
		} else {
			c.calls.Add(1)
			context.AfterFunc(ctx, func() { c.begun.Delete(ctx) })
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
