package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-resty/resty/v2"
)

// A failed create may be run again only if it was not sent at all. An error does not show it: the same
// time-out occurs before and after the first byte. So every connection is a gate. It knows whether the
// current request has written to it, and can be shut before that: then the request can no longer be sent.

const (
	gateOpen   int32 = iota // nothing of this request was written
	gatePassed              // something was or may have been written
	gateShut                // nothing was and nothing will be written
)

var errGateShut = errors.New("the call had already been given up")

type gatedConn struct {
	net.Conn
	state  atomic.Int32
	before []func() error // the checks of the create that took the connection
	why    atomic.Value   // the error of one, if it has shut the gate
}

func (c *gatedConn) Write(b []byte) (int, error) {
	first := c.state.CompareAndSwap(gateOpen, gatePassed)
	if !first && c.state.Load() == gateShut {
		return 0, errGateShut
	}
	for i := 0; first && i < len(c.before); i++ {
		if err := c.before[i](); err != nil {
			c.why.Store(notSentError{err})
			c.state.Store(gateShut)
			return 0, err
		}
	}
	n, err := c.Conn.Write(b)
	if first && n == 0 && err != nil && saysWhatItWrote(err) {
		c.state.CompareAndSwap(gatePassed, gateShut) // the connection was closed before, by either side
	}
	return n, err
}

// saysWhatItWrote reports whether a write that failed after 0 bytes has sent nothing. On Windows, one that
// this side interrupts may have sent something without saying so.
func saysWhatItWrote(err error) bool {
	return runtime.GOOS != "windows" || !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded)
}

// Close ends the connection. A write that has not begun by then will not happen.
func (c *gatedConn) Close() error {
	c.state.CompareAndSwap(gateOpen, gateShut)
	return c.Conn.Close()
}

// next prepares the connection for another request. A shut connection stays shut.
func (c *gatedConn) next() { c.state.CompareAndSwap(gatePassed, gateOpen) }

// shut reports whether nothing of the request was written, and if so keeps it from being written later.
func (c *gatedConn) shut() bool {
	return c.state.CompareAndSwap(gateOpen, gateShut) || c.state.Load() == gateShut
}

// A middleware is the caller's code between this package and the network. It may do anything with a request
// and its answer, so it must not decide whether a create can be run again. A create passes from send through
// the middlewares to the gate, which sends it at most once and records what happened. In the end, judge
// compares what came back with the record. After that, the gate sends nothing.

// sending is the record of one create. It is also the context of its requests.
type sending struct {
	context.Context
	trace  httptrace.ClientTrace
	before []func() error

	mu     sync.Mutex
	tries  int  // requests that the gate let pass
	left   bool // the last of them may have been written, or is in flight
	ended  bool // the call has
	status int  // of the answer; 0: none
	text   []byte

	// Of the last request:
	conn   *gatedConn
	lost   bool // its connection is of another type, and cannot be watched
	reused bool // its connection had carried a request before
}

// follow returns the context for the requests of a create, with a trace that records which connection they
// use.
func follow(ctx context.Context) *sending {
	s := &sending{before: askedBefore(ctx)}
	s.trace.GotConn = s.gotConn
	s.Context = httptrace.WithClientTrace(ctx, &s.trace)
	return s
}

type sendingKey struct{}

// Value finds the sending in its own context and in derived ones.
func (s *sending) Value(key any) any {
	if key == (sendingKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, ok := underTLS(info.Conn).(*gatedConn)
	if !ok {
		s.lost = true
		return
	}
	conn.next()
	conn.before = s.before
	s.conn, s.reused = conn, info.Reused
}

func (s *sending) begin() error {
	if s == nil {
		return errors.New("a middleware took the context of a create away: derive another one from it")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return errors.New("a middleware sent a create after its call had ended")
	case s.left:
		return errors.New("a middleware sent a create a second time")
	}
	s.tries++
	s.left, s.conn, s.lost, s.reused = true, nil, false, false
	return nil
}

func (s *sending) end(resp *http.Response, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resp == nil { // without an error too, the transport has panicked
		s.left = !saysNotSent(err)
		return
	}
	s.status, s.text = resp.StatusCode, resp.Body.(*answer).text
}

// judge ends the call with what the middlewares returned, which must be the answer that the gate has seen.
// Any other is an error. The outcome is that of a call with an error: it is NotSent if the gate has seen
// that no byte was written, or has seen nothing and the error says so.
func (s *sending) judge(resp *resty.Response, err error) (Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	switch {
	case err != nil && !s.left && (s.tries > 0 || saysNotSent(err)):
		return NotSent, err
	case err != nil:
	case s.status == 0:
		err = errors.New("a middleware answered by itself: what it did with the request is not known")
	case resp.StatusCode() != s.status || !bytes.Equal(resp.RawResponse.Body.(*answer).text, s.text):
		err = fmt.Errorf("a middleware changed the answer, which had the status %d", s.status)
	}
	return Unknown, err
}

// unsent returns the error of a request of which no byte was or will be written, and whether another
// connection may help: the service may close a kept one at any moment. It returns nil if a byte may have
// been written.
func (s *sending) unsent(err error) (unsent error, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lost || s.conn != nil && !s.conn.shut():
		return nil, false
	case s.conn == nil:
		return notSentError{err}, false
	}
	if why, ok := s.conn.why.Load().(notSentError); ok { // the transport may notice first that it is closed
		return why, false
	}
	return notSentError{err}, s.reused
}

// notSentError is a failure before the first byte of the request was written.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

// NotSent reports that no byte of the request was or will be written. Transports use it to say so.
func (e notSentError) NotSent() bool { return true }

// saysNotSent reports whether an error says that no byte was written.
func saysNotSent(err error) bool {
	var unsent interface{ NotSent() bool }
	return errors.As(err, &unsent) && unsent.NotSent()
}

type beforeSending struct{}

// BeforeSending returns a context that makes every create call check right before the first byte of its
// request is written to the network. If check returns an error, nothing is written, and the call ends in an
// Error with the outcome NotSent. So the caller can make sure that its record of the request is still current
// when the request is sent. With WithTransport, check is called before the transport. If a kept connection
// turns out to be closed, check is called once more, before the create is written to a new one. Checks that
// ctx has already are called before check.
func BeforeSending(ctx context.Context, check func() error) context.Context {
	if check == nil {
		return ctx
	}
	return context.WithValue(ctx, beforeSending{}, append(slices.Clip(askedBefore(ctx)), check))
}

func askedBefore(ctx context.Context) []func() error {
	checks, _ := ctx.Value(beforeSending{}).([]func() error)
	return checks
}

func underTLS(conn net.Conn) net.Conn {
	for {
		secure, ok := conn.(*tls.Conn)
		if !ok {
			return conn
		}
		conn = secure.NetConn()
	}
}
