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
	"runtime"
	"sync/atomic"
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
	before func() error // the check of the create that took the connection
	why    atomic.Value // the error of before, if it has shut the gate
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
	if first && n == 0 && err != nil && saysWhatItWrote(err) {
		c.state.CompareAndSwap(gatePassed, gateShut) // the connection was closed before, by either side
	}
	return n, err
}

// saysWhatItWrote reports whether a write that failed after 0 bytes has sent nothing. On Windows, one that this
// side interrupts may have sent something without saying so.
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

// sending follows one request through the transport. It is also the request's context.
type sending struct {
	context.Context
	trace  httptrace.ClientTrace
	before func() error
	conn   atomic.Pointer[gatedConn]
	lost   atomic.Bool // got a connection of another type, which cannot be watched
	reused atomic.Bool // the connection had carried a request before
	taken  atomic.Bool // by the one request that it follows
	body   []byte      // of the request, to send it on another connection; nil: no body
}

// neverLeft reports whether no byte of the request was or will be written.
func (s *sending) neverLeft() bool {
	if s.lost.Load() {
		return false
	}
	conn := s.conn.Load()
	return conn == nil || conn.shut()
}

// anew returns a copy of the request and a transport that dials a new connection for it, if nothing was
// written on the old connection and it had been used before. The service may close such a connection at any
// moment, and no byte was lost with it. Both results are nil if dialing cannot help.
func (s *sending) anew(req *http.Request, on http.RoundTripper) (*http.Request, http.RoundTripper) {
	conn, transport := s.conn.Load(), (*http.Transport)(nil)
	if transport, _ = on.(*http.Transport); transport == nil || conn == nil || !s.reused.Load() ||
		conn.why.Load() != nil {
		return nil, nil
	}
	again := *req
	if s.body != nil {
		again.Body = io.NopCloser(bytes.NewReader(s.body))
	} else if req.ContentLength != 0 {
		return nil, nil // not one of our requests: its body may be consumed
	}
	fresh := transport.Clone()
	fresh.DisableKeepAlives = true // it has no connections and is used only once
	return &again, fresh
}

// because returns the reason why the request was not written. If the check refused it, this is the error of
// the check: the transport may notice first that the connection is closed.
func (s *sending) because(err error) error {
	if conn := s.conn.Load(); conn != nil {
		if why, ok := conn.why.Load().(notSentError); ok {
			return why
		}
	}
	return notSentError{err}
}

// follow returns a context for one request, with a trace that records which connection it uses.
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

// BeforeSending returns a context that makes every create call check right before the first byte of its
// request is written to the network. If check returns an error, nothing is written, and the call ends in an
// Error with the outcome NotSent. So the caller can make sure that its record of the request is still current
// when the request is sent. With WithTransport, check is called before the transport. If a kept connection
// turns out to be closed, check is called once more, before the create is written to a new one.
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
