package api

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxTraced is the number of bytes of a body that a trace shows.
const maxTraced = 4 << 10

// tracer writes requests and answers as text, line by line, with the key hidden.
type tracer struct {
	next http.RoundTripper
	out  *log.Logger // which makes one write at a time
	hide func(text string) string
}

func (t tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s %s\n", req.Method, req.URL)
	traceHeader(&b, "> ", req.Header)
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			t.body(&b, "> ", text)
		}
	}
	t.out.Print(t.hide(b.String()))
	start := time.Now()
	resp, err := t.next.RoundTrip(req)
	took := time.Since(start).Round(time.Millisecond)
	b.Reset()
	if err != nil {
		fmt.Fprintf(&b, "< failed after %s: %v\n", took, err)
	} else {
		fmt.Fprintf(&b, "< %s %s after %s\n", resp.Proto, resp.Status, took)
		traceHeader(&b, "< ", resp.Header)
		if body, ok := resp.Body.(*answer); ok {
			t.body(&b, "< ", body.text)
		}
	}
	t.out.Print(t.hide(b.String()))
	return resp, err
}

func traceHeader(b *strings.Builder, mark string, header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := strings.Join(header[name], ", ")
		switch name {
		case "Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization":
			value = "[hidden]"
		}
		fmt.Fprintf(b, "%s%s: %s\n", mark, name, value)
	}
}

func (t tracer) body(b *strings.Builder, mark string, body []byte) {
	text := t.hide(string(body)) // before it is cut
	if len(text) > maxTraced {
		text = fmt.Sprintf("%s\n[%d bytes more]", text[:maxTraced], len(text)-maxTraced)
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "%s%s\n", mark, strings.TrimRight(line, "\r\n"))
	}
}
