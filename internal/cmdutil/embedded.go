package cmdutil

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"

	"example.com/till/internal/config"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// embedded connects to a sandbox inside this process, without a network. Its state is in a file, so that the
// next command finds what this one has made.
func (s *Session) embedded(opts []api.Option) (*api.Client, error) {
	const nowhere = "http://127.0.0.1"
	if s.DryRun { // a dry run leaves no file behind
		return s.newClient(nowhere, append(opts, api.WithAPIKey(sandbox.KeyPrefix+"embedded")))
	}
	if s.SandboxState == "" {
		return nil, &config.Error{Msg: "the sandbox has no place for its state: " + s.NoHome(),
			Advice: "name a file in TILL_SANDBOX_STATE"}
	}
	debug.SetMemoryLimit(math.MaxInt64) // the whole state is in memory
	server, err := sandbox.New(sandbox.WithSharedState(s.SandboxState))
	if err != nil {
		return nil, err
	}
	s.box, s.key = server, server.Key()
	opts = append(opts, api.WithAPIKey(server.Key()), api.WithTransport(inProcess{server}))
	return s.newClient(nowhere, opts)
}

// Close closes the journal and the sandbox at the end of the program. Both are consistent without it.
func (a *App) Close() {
	if a.journal != nil {
		a.journal.Close()
	}
	if a.box != nil {
		a.box.Close()
	}
}

// inProcess is a transport that calls a handler directly. The caller sees what the handler does to a
// connection as a client on a network would.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
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
		return nil, notSent{&net.OpError{Op: "dial", Net: "tcp", Addr: inProcessAddr(req.URL.Host), Err: errRefused}}
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
func (t inProcess) serve(w *recorder, in *http.Request) (cut bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(p)
		}
	}()
	t.handler.ServeHTTP(w, in)
	return false
}

var errRefused = errors.New("connection refused")

// notSent says that nothing of the request was written; see api.WithTransport.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }
func (e notSent) NotSent() bool { return true }

type inProcessAddr string

func (inProcessAddr) Network() string  { return "tcp" }
func (a inProcessAddr) String() string { return string(a) }

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
