package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

var ErrAnswered = errors.New("the answer is written")

type Call struct {
	Operation string
	Writer    http.ResponseWriter
	Request   *http.Request
	Body      []byte
	Handle    func(stale time.Duration) (any, error)             // carries out the request; lists hide what is younger than stale
	Reply     func(w http.ResponseWriter, answer any, err error) // writes what Handle returned
	Struck    func(do string)                                    // is told of each fault that strikes

	twice bool
	stale time.Duration
}

// Apply carries out a call, unless a fault strikes.
func Apply(s *store.Store, list []store.Fault, c *Call) (any, error) {
	in := &fields{}
	if slices.ContainsFunc(list, func(f store.Fault) bool { return len(f.Match) > 0 && IsOn(f.On, c.Operation) }) {
		in = newFields(c.Request.URL.RawQuery, c.Body)
	}
	if !slices.ContainsFunc(list, func(f store.Fault) bool { return asks(f, c.Operation, in) }) {
		return c.handle()
	}
	struck, err := struckBy(s, c.Operation, in)
	if err != nil {
		return nil, err
	}
	for _, f := range struck {
		do, _ := parseDo(f.Do) // it was checked when the fault was added
		c.Struck(f.Do)
		switch do.name {
		case "delay":
			c.wait(do.duration)
		case "deliver-twice":
			c.twice = true
		case "stale-list":
			c.stale = max(c.stale, do.duration)
		case "refuse":
			reset(c.Writer)
		case "drop-before":
			drop()
		case "drop-after":
			c.handle()
			drop()
		case "truncate":
			answer, err := c.handle()
			c.Reply(half{c.Writer}, answer, err)
			drop()
		default:
			send(c.Writer, f, do)
			return nil, ErrAnswered
		}
	}
	return c.handle()
}

// handle carries out the request, and, under deliver-twice, an accepted one once more, as if a proxy had sent
// it again. The answer is that of the first time.
func (c *Call) handle() (any, error) {
	answer, err := c.Handle(c.stale)
	if c.twice && err == nil {
		c.Handle(c.stale)
	}
	return answer, err
}

// servedUntil is the context key for the end of the server of a request.
type servedUntil struct{}

// WithEnd returns the base context for the requests of a server that ends with ctx.
func WithEnd(ctx context.Context) context.Context {
	return context.WithValue(ctx, servedUntil{}, ctx.Done())
}

// wait returns after a delay. A client that gives up does not end the delay, because tests want to see the
// request take effect late. The end of the server does. If that is unknown, the end of the request's context
// does.
func (c *Call) wait(d time.Duration) {
	end, known := c.Request.Context().Value(servedUntil{}).(<-chan struct{})
	if !known {
		end = c.Request.Context().Done()
	}
	// The write timeout of the server does not apply to a requested delay. The server sets it again for each
	// request.
	http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
		drop()
	}
}

// drop closes the connection without an answer, or without the rest of one.
func drop() { panic(http.ErrAbortHandler) }

// reset resets the connection at once, like a machine that has no listener. If it cannot take over the
// connection, it drops it.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		drop()
	}
	bare := conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		bare = secure.NetConn()
	}
	if tcp, ok := bare.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	bare.Close()
	drop() // the handler ends here in any case
}

type half struct{ http.ResponseWriter }

func (h half) Write(b []byte) (int, error) {
	h.ResponseWriter.Write(b[:len(b)/2])
	http.NewResponseController(h.ResponseWriter).Flush()
	drop()
	return 0, nil
}

// send writes the answer of a fault in place of one of the sandbox.
func send(w http.ResponseWriter, f store.Fault, do doing) {
	status, kind, text, header := do.status, "application/json", string(f.Body), w.Header()
	switch do.name {
	case "status":
		if status == http.StatusUnauthorized {
			header.Set("WWW-Authenticate", "Bearer")
		}
		if do.retryAfter != "" {
			header.Set("Retry-After", do.retryAfter)
		}
		if !do.bare && !hasNoBody(status) {
			wire.WriteError(w, status, 1901, "fault",
				fmt.Sprintf("The sandbox's fault %s answers this request, and nothing was done.", f.ID))
			return
		}
		if kind, text = "text/plain; charset=utf-8", statusLine(status)+"\n"; hasNoBody(status) {
			kind = ""
		}
	case "html": // the answer of a proxy that does not know the interface
		title := "Sign in to the network"
		if status != http.StatusOK {
			title = statusLine(status)
		}
		kind, text = "text/html; charset=utf-8", fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>%[1]s</title></head>\n<body>\n<h1>%[1]s</h1>\n<p>This page stands in for a proxy's.</p>\n</body>\n</html>\n", html.EscapeString(title))
	case "body":
		status = http.StatusOK
	case "respond":
		a := parseAnswer(f.Body)
		for name, value := range a.Headers {
			header.Set(name, value)
		}
		status, text = a.Status, ""
		if json.Unmarshal(a.Body, &text) == nil {
			kind = "text/plain; charset=utf-8"
		} else {
			text = string(a.Body)
		}
	}
	if kind != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", kind)
	}
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if !hasNoBody(status) {
		io.WriteString(w, text)
	}
}

func hasNoBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusNotModified
}

func statusLine(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return strconv.Itoa(status)
}
