package cmdutil

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/exit"
	"example.com/till/internal/render"
)

// ErrDryRun ends a call that is only shown.
var ErrDryRun = errors.New("dry run")

// dryRun is a transport that prints the exact request and sends nothing. It prints text unless JSON or YAML is asked
// for.
type dryRun struct{ s *Session }

// RequestLine is a request as JSON. Its key is hidden.
type RequestLine struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body,omitempty"`
}

func (t dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	line := RequestLine{Method: req.Method, URL: req.URL.String(), Headers: map[string]string{}}
	for name := range req.Header {
		line.Headers[name] = req.Header.Get(name)
	}
	if line.Headers["Authorization"] != "" {
		line.Headers["Authorization"] = "Bearer [hidden]"
	}
	if req.Body != nil {
		var err error
		if line.Body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	if o := t.s.Render; o.Format == render.Table || o.Format == render.CSV || o.Quiet {
		return nil, cmp.Or(t.s.WriteData(line.String()), ErrDryRun)
	}
	if len(line.Body) > 0 && !json.Valid(line.Body) {
		line.Body = render.Encode(string(line.Body))
	}
	err := render.View[RequestLine]{JSON: render.Value[RequestLine]()}.One(t.s.IO.Out, t.s.Render, line)
	return nil, cmp.Or(err, ErrDryRun)
}

// checkDryRun refuses a filter alone: it was written for the answer, which a dry run does not have.
func (s *Session) checkDryRun() error {
	if from := s.Origin("output").Name; s.DryRun && (from == "jq" || from == "template") {
		return exit.UsageError(fmt.Sprintf("--dry-run prints the request, and --%s alone is for the answer", from),
			fmt.Sprintf("add -o json to filter the request, or leave --%s out", from))
	}
	return nil
}

// String returns a request as it is sent.
func (l RequestLine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", l.Method, l.URL)
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		fmt.Fprintf(&b, "%s: %s\n", name, l.Headers[name])
	}
	if len(l.Body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", l.Body)
	}
	return b.String()
}

// inProcess is a transport that calls a handler directly. The caller sees what the handler does to a connection as
// a client on a network would.
type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	in.Host = req.URL.Host
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w, cut := &recorder{header: http.Header{}}, true
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { // which cuts the connection on a network
				panic(p)
			}
		}()
		t.ServeHTTP(w, in)
		cut = false
	}()
	switch {
	case w.refused:
		return nil, notSent(req.URL.Host)
	case cut && req.Context().Err() != nil:
		return nil, req.Context().Err()
	case cut && w.status == 0:
		return nil, io.EOF // the same error as from net/http
	}
	w.WriteHeader(http.StatusOK) // if nothing was written
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

// notSent is the error of a closed port, to which nothing of a request is written; see api.WithTransport.
type notSent string

func (host notSent) Error() string { return "dial tcp " + string(host) + ": connection refused" }
func (notSent) NotSent() bool      { return true }

// broken is the end of a truncated answer.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type recorder struct {
	header  http.Header
	status  int // 0: nothing was written
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
	r.status = cmp.Or(r.status, status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
