package cmdutil

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

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
		return UsageError(fmt.Sprintf("--dry-run prints the request, and --%s alone is for the answer", from),
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
