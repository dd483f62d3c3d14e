package described

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// Serve lets a sandbox answer a request, and fails the test if the description does
// not have the answer. It leaves out the pages of the checkout, which are HTML, and the
// operations of a sandbox in which a fault has struck: faults exist to answer otherwise.
// It returns the description and the status of an answer that it has checked.
func Serve(t testing.TB, box *sandbox.Server, w http.ResponseWriter, r *http.Request) (*API, int) {
	t.Helper()
	method, path := r.Method, r.URL.Path // the sandbox may change r
	seen := &recording{ResponseWriter: w, status: http.StatusOK}
	box.ServeHTTP(seen, r)
	page := strings.HasPrefix(path, "/invoice/") || strings.HasPrefix(path, "/invite/") || path == "/"
	if page || strings.HasPrefix(path, "/api/") && struck(box) {
		return nil, 0
	}
	api, err := Load()
	if err == nil {
		err = api.CheckAnswer(method, path, seen.status, w.Header(), seen.body.Bytes())
	}
	if err != nil {
		t.Errorf("%v", err)
		return nil, 0
	}
	return api, seen.status
}

// ServeClient is Serve for the requests of a client. It also fails the test if the
// description does not have a request that the sandbox carries out.
func ServeClient(t testing.TB, box *sandbox.Server, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	var sent bytes.Buffer
	if r.Body != nil {
		r.Body = io.NopCloser(io.TeeReader(r.Body, &sent))
	}
	method, to := r.Method, *r.URL
	if api, status := Serve(t, box, w, r); api != nil && status == http.StatusOK {
		if err := api.CheckRequest(method, &to, sent.Bytes()); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func struck(box *sandbox.Server) bool {
	faults, _ := box.Faults() // a state that cannot be read has none that strike
	return slices.ContainsFunc(faults, func(f sandbox.Fault) bool { return f.Fired > 0 })
}

// A recording is a ResponseWriter that keeps what is written.
type recording struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recording) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recording) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recording) Unwrap() http.ResponseWriter { return r.ResponseWriter }
