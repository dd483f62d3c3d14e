package cmdutil

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
)

// ErrDryRun ends a call that is only shown.
var ErrDryRun = errors.New("dry run")

// dryRun is a transport that prints the exact request and sends nothing.
type dryRun struct{ out io.Writer }

func (t dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", req.Method, req.URL)
	var names []string
	for name := range req.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := req.Header.Get(name)
		if name == "Authorization" {
			value = "Bearer [hidden]"
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n%s\n", body)
	}
	text := b.String()
	if terminal.Of(t.out) != nil {
		text = render.Screen(text)
	}
	if _, err := io.WriteString(t.out, text); err != nil {
		return nil, &render.WriteError{Err: err}
	}
	return nil, ErrDryRun
}
