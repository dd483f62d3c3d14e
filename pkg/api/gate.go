package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"
)

// Whether a failed create was sent at all decides whether it may be run again. Errors cannot tell: the same time-out
// arrives before and after the first byte. So every connection is a gate that knows whether the request at hand has
// written to it, and that can be shut while it has not: from then on the request cannot be sent any more.

const (
	gateOpen   int32 = iota // nothing of this request was written
	gatePassed              // something was, or may have been
	gateShut                // nothing was, and nothing will be
)

var errGateShut = errors.New("the call had already been given up")

type gatedConn struct {
	net.Conn
	state  atomic.Int32
	before func() error // of the create that the connection was taken for
	why    atomic.Value // the error of before, once it has shut the gate
}

func (c *gatedConn) Write(b []byte) (int, error) {
	first := c.state.CompareAndSwap(gateOpen, gatePassed)
	if !first && c.state.Load() == gateShut {
		return 0, errGateShut
	}
	if first && c.before != nil {
		if err := c.before(); err != nil {
			c.why.Store(notSentError{err})
			c.state.Store(gateShut)
			return 0, err
		}
	}
	n, err := c.Conn.Write(b)
	if first && n == 0 && err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		// The other side was gone already. (A write that is broken off from this side may have sent something, on some
		// systems, and say nothing of it.)
		c.state.CompareAndSwap(gatePassed, gateShut)
	}
	return n, err
}

// Close ends the connection. What was not begun by then is not written any more.
func (c *gatedConn) Close() error {
	c.state.CompareAndSwap(gateOpen, gateShut)
	return c.Conn.Close()
}

// next prepares the connection for another request. A connection that was shut stays so.
func (c *gatedConn) next() { c.state.CompareAndSwap(gatePassed, gateOpen) }

// shut reports whether nothing of the request was written, and if so makes sure of it for good.
func (c *gatedConn) shut() bool {
	return c.state.CompareAndSwap(gateOpen, gateShut) || c.state.Load() == gateShut
}

// sending follows one request through the transport. It is the request's context too.
type sending struct {
	context.Context
	trace  httptrace.ClientTrace
	before func() error
	conn   atomic.Pointer[gatedConn]
	lost   atomic.Bool // got a connection that is not ours to watch
	reused atomic.Bool // the connection had carried a request before
	taken  atomic.Bool // by its one request
	body   []byte      // of the request, to send it on another connection; nil: it has none
}

// neverLeft reports whether no byte of the request was or will be written.
func (s *sending) neverLeft() bool {
	if s.lost.Load() {
		return false
	}
	conn := s.conn.Load()
	return conn == nil || conn.shut()
}

// anew returns the request once more and a transport that dials for it, if the connection on which nothing was written
// had been used before: the service may close such a connection at any moment, and not one byte was lost with it. Both are
// nil if dialling cannot help.
func (s *sending) anew(req *http.Request, on http.RoundTripper) (*http.Request, http.RoundTripper) {
	conn, transport := s.conn.Load(), (*http.Transport)(nil)
	if transport, _ = on.(*http.Transport); transport == nil || conn == nil || !s.reused.Load() || conn.why.Load() != nil {
		return nil, nil
	}
	again := *req
	if s.body != nil {
		again.Body = io.NopCloser(bytes.NewReader(s.body))
	} else if req.ContentLength != 0 {
		return nil, nil // somebody else's request, whose body may be spent
	}
	fresh := transport.Clone()
	fresh.DisableKeepAlives = true // it has no connections, and is not used again
	return &again, fresh
}

// because is why the request was not written: what the check said, where it was that. The transport may come to know first
// that the connection is closed.
func (s *sending) because(err error) error {
	if conn := s.conn.Load(); conn != nil {
		if why, ok := conn.why.Load().(notSentError); ok {
			return why
		}
	}
	return notSentError{err}
}

// follow returns a context for one request, with a trace that tells which connection it goes out on.
func follow(ctx context.Context) *sending {
	s := &sending{before: askedBefore(ctx)}
	s.trace.GotConn = s.gotConn
	s.Context = httptrace.WithClientTrace(ctx, &s.trace)
	return s
}

type sendingKey struct{}

// Value finds the sending in its context, and in those made from it.
func (s *sending) Value(key any) any {
	if key == (sendingKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	conn, ok := underTLS(info.Conn).(*gatedConn)
	if !ok {
		s.lost.Store(true)
		return
	}
	conn.next()
	conn.before = s.before
	s.reused.Store(info.Reused)
	s.conn.Store(conn)
}

type beforeSending struct{}

// BeforeSending returns a context under which every create asks check right before the first byte of its request is written
// to the network. If check returns an error, nothing is written, and the call ends in an Error with the outcome NotSent. A
// record of what is being sent can so be kept from growing old between the moment it was made and the sending. With
// WithTransport, check is asked before the transport is. A create whose kept connection turns out to be closed is asked about once more, before it
// is written to a new one.
func BeforeSending(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, beforeSending{}, check)
}

func askedBefore(ctx context.Context) func() error {
	check, _ := ctx.Value(beforeSending{}).(func() error)
	return check
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
