package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// embedded connects to a sandbox inside this process: requests go to its handler without a network.
func (s *session) embedded(opts []api.Option) (*api.Client, error) {
	server, err := sandbox.New(sandbox.WithSeed("demo"))
	if err != nil {
		return nil, err
	}
	opts = append(opts, api.WithAPIKey(server.Key()), api.WithTransport(inProcess{server}))
	return s.newClient("http://127.0.0.1", opts)
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
