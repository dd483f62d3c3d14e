package cmdutil

import (
	"context"
	"net/http"
	"sync"
)

// callCounter counts the calls to the service, and how often they are repeated. A call and its repetitions
// have the same context.
type callCounter struct {
	mu             sync.Mutex
	calls, retries int
	failed         map[context.Context]bool // the calls that may be repeated
}

// wrap is a middleware of the client.
func (c *callCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		c.begin(ctx)
		resp, err := next.RoundTrip(req)
		if err != nil || resp.StatusCode >= http.StatusBadRequest {
			c.mayRepeat(ctx)
		}
		return resp, err
	})
}

func (c *callCounter) begin(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed[ctx] {
		c.retries++
	} else {
		c.calls++
	}
}

// mayRepeat remembers a call until it is over.
func (c *callCounter) mayRepeat(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed[ctx] {
		return
	}
	if c.failed == nil {
		c.failed = map[context.Context]bool{}
	}
	c.failed[ctx] = true
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.failed, ctx)
	})
}

func (c *callCounter) counts() (calls, retries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.retries
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
