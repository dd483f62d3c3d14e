package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
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
	state atomic.Int32
}

func (c *gatedConn) Write(b []byte) (int, error) {
	first := c.state.CompareAndSwap(gateOpen, gatePassed)
	if !first && c.state.Load() == gateShut {
		return 0, errGateShut
	}
	n, err := c.Conn.Write(b)
	if first && n == 0 && err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		// The other side was gone already. (A write that is broken off from this side may have sent something, on some
		// systems, and say nothing of it.)
		c.state.CompareAndSwap(gatePassed, gateShut)
	}
	return n, err
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
	trace httptrace.ClientTrace
	conn  atomic.Pointer[gatedConn]
	lost  atomic.Bool // got a connection that is not ours to watch
	taken atomic.Bool // by its one request
}

// neverLeft reports whether no byte of the request was or will be written.
func (s *sending) neverLeft() bool {
	if s.lost.Load() {
		return false
	}
	conn := s.conn.Load()
	return conn == nil || conn.shut()
}

// follow returns a context for one request, with a trace that tells which connection it goes out on.
func follow(ctx context.Context) *sending {
	s := new(sending)
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
	s.conn.Store(conn)
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
