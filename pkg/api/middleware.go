package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// A middleware is the caller's code between this package and the network. It may do anything with a request
// and its answer, so it must not decide whether a create can be run again. A create with middlewares
// therefore passes through two layers of this package:
//
//	judge         compares what came back with what sender has seen
//	middlewares
//	sender        sends a request at most once, and records its result
//	whole, gate, network
//
// The middlewares decide an outcome only if sender has seen the same:
//
//	WHAT SENDER HAS SEEN                     WHAT CAME BACK                    RESULT
//
//	one request, and its answer              that answer, status and body      the answer
//	one request, and its answer              anything else                     Unknown
//	one request that may have been written   anything                          Unknown
//	requests without a byte written          an error                          NotSent
//	requests without a byte written          an answer                         Unknown
//	nothing                                  an error that says NotSent        NotSent
//	nothing                                  anything else                     Unknown
//
// After judge has decided, sender sends nothing.

// journey records what sender sees of one create.
type journey struct {
	mu     sync.Mutex
	tries  int  // requests that sender let pass
	left   bool // a request may have been written, or is in flight
	closed bool
	status int
	text   []byte // of the answer; nil: no answer
}

type journeyKey struct{}

// begin returns an error if a request must not pass.
func (j *journey) begin() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return errors.New("a middleware sent a create after its call had ended")
	case j.left:
		return errors.New("a middleware sent a create a second time")
	}
	j.tries++
	j.left = true
	return nil
}

func (j *journey) end(resp *http.Response, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.left = !saysNotSent(err)
		return
	}
	if body, ok := resp.Body.(*answer); ok {
		j.status, j.text = resp.StatusCode, append([]byte{}, body.text...)
	}
}

// saysNotSent reports whether an error says that no byte was written.
func saysNotSent(err error) bool {
	var unsent interface{ NotSent() bool }
	return errors.As(err, &unsent) && unsent.NotSent()
}

// sender is the layer below the middlewares. Reads have no journey and always pass.
type sender struct {
	next    http.RoundTripper
	creates bool
}

func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	j, _ := req.Context().Value(journeyKey{}).(*journey)
	if s.creates {
		err := errors.New("a middleware took the context of a create away: derive another one from it")
		if j != nil {
			err = j.begin()
		}
		if err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, notSentError{err}
		}
	}
	resp, err := s.next.RoundTrip(req)
	if err == nil && resp == nil {
		err = errors.New("the transport returned no answer")
	}
	if err == nil { // the body is read and decompressed
		if body, ok := resp.Body.(*answer); ok {
			resp.Header.Del("Content-Encoding")
			resp.Header.Del("Content-Length")
			resp.ContentLength, resp.Uncompressed = int64(len(body.text)), true
		}
	}
	if s.creates {
		j.end(resp, err)
	}
	return resp, err
}

// judge is the layer above the middlewares of creates.
type judge struct{ next http.RoundTripper }

func (g judge) RoundTrip(req *http.Request) (*http.Response, error) {
	j := &journey{}
	resp, err := g.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), journeyKey{}, j)))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	switch {
	case err != nil && !j.left && j.tries > 0:
		return nil, notSentError{err}
	case err != nil && !j.left:
		return nil, err // which may say itself that nothing was sent
	case err != nil:
		return nil, perhapsSent{err}
	case j.tries == 0 || !j.left:
		return nil, perhapsSent{errors.New("a middleware answered by itself: what it did with the request is not known")}
	case j.text == nil:
		return nil, perhapsSent{errors.New("a middleware answered although the service had not")}
	}
	if resp == nil {
		return nil, perhapsSent{errors.New("a middleware returned no answer")}
	}
	if body, ok := resp.Body.(*answer); !ok || resp.StatusCode != j.status || !bytes.Equal(body.text, j.text) {
		return nil, perhapsSent{fmt.Errorf("a middleware changed the answer, which had the status %d", j.status)}
	}
	return resp, nil
}

// perhapsSent is an error that makes no claim about what was sent, even if the error that it wraps does.
type perhapsSent struct{ error }

func (e perhapsSent) Unwrap() error { return e.error }
func (e perhapsSent) NotSent() bool { return false }
