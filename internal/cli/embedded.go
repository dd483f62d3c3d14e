package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/debug"

	"example.com/till/internal/config"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// embedded connects to a sandbox inside this process: requests go to its handler without a network. Its state is in a
// file, so that the next command finds what this one has made.
func (s *session) embedded(opts []api.Option) (*api.Client, error) {
	const nowhere = "http://127.0.0.1"
	if s.DryRun { // what is only shown leaves no file behind
		return s.newClient(nowhere, append(opts, api.WithAPIKey(sandbox.KeyPrefix+"embedded")))
	}
	if s.SandboxState == "" {
		return nil, &config.Error{Msg: "the sandbox has no place for its state: HOME is not set", Advice: "name a file in TILL_SANDBOX_STATE"}
	}
	debug.SetMemoryLimit(math.MaxInt64) // all of the state is in memory
	server, err := sandbox.New(sandbox.WithState(s.SandboxState))
	if err != nil {
		return nil, err
	}
	s.box, s.key = server, server.Key()
	opts = append(opts, api.WithAPIKey(server.Key()), api.WithTransport(inProcess{server}))
	return s.newClient(nowhere, opts)
}

// leave tidies up at the end of the program. Nothing depends on it: a sandbox's state is safe at any moment.
func (a *app) leave() {
	if a.journal != nil {
		a.journal.Close()
	}
	if a.box != nil {
		a.box.Close()
	}
}

// inProcess is a transport that hands requests to a handler.
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
	t.handler.ServeHTTP(w, in)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}, nil
}

// recorder keeps what a handler writes.
type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
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
