// Package inprocess connects an HTTP client to a handler without a network.
package inprocess

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// Transport is a transport that calls a handler directly. The caller sees what the handler does to a
// connection as a client on a network would.
type Transport struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	in.Host = req.URL.Host
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	cut := t.serve(w, in)
	switch {
	case w.refused:
		return nil, notSent{&net.OpError{Op: "dial", Net: "tcp", Addr: address(req.URL.Host), Err: errRefused}}
	case cut && req.Context().Err() != nil:
		return nil, req.Context().Err()
	case cut && !w.wrote:
		return nil, io.EOF // the same error as from net/http
	}
	body, length := io.Reader(&w.body), int64(w.body.Len())
	if cut {
		body = io.MultiReader(body, broken{})
		if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
			length = n
		}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(body), ContentLength: length, Request: req,
	}, nil
}

// serve reports whether the handler aborted, which cuts the connection on a network.
func (t Transport) serve(w *recorder, in *http.Request) (cut bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(p)
		}
	}()
	t.Handler.ServeHTTP(w, in)
	return false
}

var errRefused = errors.New("connection refused")

// notSent says that nothing of the request was written; see api.WithTransport.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }
func (e notSent) NotSent() bool { return true }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// broken is the end of a truncated answer.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// recorder records what a handler writes.
type recorder struct {
	header  http.Header
	status  int
	wrote   bool
	refused bool
	body    bytes.Buffer
}

// Hijack fails, because there is no connection. A handler that wants to reset the connection is treated as a
// closed port.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.refused = true
	return nil, nil, http.ErrNotSupported
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.body.Write(b)
}
