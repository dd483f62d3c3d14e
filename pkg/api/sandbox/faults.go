package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A Fault makes requests go wrong on purpose. It stays in the state, and strikes matching requests or lets
// them pass. Do says what goes wrong: see the package documentation. On is one of Operations, or * or nothing
// for all of them. Rate is the share of requests that it strikes, above 0 and up to 1; 0 means 1. Times is the
// number of strikes after which it is used up; 0 means never. Match has the values that fields of the query or
// the body must have. A Seed other than 0 decides which requests a Rate below 1 strikes. Body is the answer of
// the kinds body and respond. The sandbox sets the ID, and counts as Seen the requests that the fault was asked
// about and as Fired those that it has struck.
type Fault = store.Fault

// A FaultError reports an invalid Field of a Fault, as in JSON: its Problem, and the Advice what to write
// instead.
type FaultError = fault.Error

// WithFault adds a fault when the sandbox is made, as AddFault does. With an existing state file it adds the
// fault again.
func WithFault(f Fault) Option { return func(o *options) { o.faults = append(o.faults, f) } }

// CheckFault returns the fault with its defaults filled in, except for the ID and Seed, which only a sandbox
// can set. An invalid fault is a *FaultError.
func CheckFault(f Fault) (Fault, error) { return fault.Check(f, Operations()) }

// AddFault adds a fault after the existing ones and returns it with its ID and its defaults. It ignores the
// ID, Seen and Fired of f. An invalid fault is a *FaultError.
func (s *Server) AddFault(f Fault) (Fault, error) {
	f, err := CheckFault(f)
	if err != nil {
		return Fault{}, err
	}
	return s.store.AddFault(f)
}

// Faults returns all faults, including those that are used up, in the order in which they are asked.
func (s *Server) Faults() ([]Fault, error) {
	if err := s.store.Refresh(); err != nil {
		return nil, err
	}
	return s.store.ListFaults(), nil
}

// ClearFaults removes the faults with these ids, or all faults without an id, and returns them with their
// last counters.
func (s *Server) ClearFaults(ids ...string) ([]Fault, error) { return s.store.ClearFaults(ids) }

// Operations returns the operations of the interface, each as METHOD PATH. Faults can strike them, and not the
// controls: a fault that struck a control could prevent its own removal.
func Operations() []string {
	var all []string
	table := (&Server{}).routeTable()
	for _, path := range slices.Sorted(maps.Keys(table)) {
		for _, method := range slices.Sorted(maps.Keys(table[path])) {
			if strings.HasPrefix(path, apiPrefix) {
				all = append(all, method+" "+path)
			}
		}
	}
	return all
}

func (r route) operation() string { return r.method + " " + r.path }

// controlAddFault takes a fault without its counters and returns it. Only do is required.
func (s *Server) controlAddFault(r *request) action {
	in, f := r.fields(), Fault{}
	in.Asked = strings.Fields("do on rate times match seed body")
	if in.Has("match") {
		in.Field("match").AllTexts() // it refuses a field that is given twice
	}
	in.Into(&f)
	if in.Has("rate") && f.Rate <= 0 { // 0 is not the same as absent
		in.FailAt("rate", "must be a number above 0 and at most 1, not %v", f.Rate)
	}
	return func() (any, error) {
		f, err := s.AddFault(f)
		return f, fault.Refused(refusal.InvalidBody, err)
	}
}

func (s *Server) controlClearFaults(r *request) action {
	var ids []string
	if in := r.fields(); in.Has("id") {
		ids = []string{in.Text("id")}
	}
	return func() (any, error) { return s.ClearFaults(ids...) }
}

var errAnswered = errors.New("the answer is written")

// strike carries out a request, unless a fault strikes.
func (s *Server) strike(w http.ResponseWriter, req *request, route route) (any, error) {
	r, twice := req.http, false
	// Under deliver-twice, an accepted request is carried out once more, as if a proxy had sent it again. The
	// answer is that of the first time.
	handle := func() (any, error) {
		answer, err := req.carryOut(route.read)
		if twice && err == nil {
			_, _ = req.carryOut(route.read) // nobody sees its answer
		}
		return answer, err
	}
	struck, err := fault.Strike(s.store, route.operation(), r.URL.RawQuery, req.received)
	if err != nil {
		return nil, err
	}
	for _, f := range struck {
		req.entry.struck(f.Do)
		switch f.Name {
		case "delay":
			wait(w, r, f.Duration)
		case "deliver-twice":
			twice = true
		case "stale-list":
			req.stale = max(req.stale, f.Duration)
		case "refuse":
			reset(w)
		case "drop-before":
			drop()
		case "drop-after":
			handle()
			drop()
		case "truncate":
			answer, err := handle()
			s.reply(half{w}, r, answer, err)
			drop()
		default:
			send(w, f)
			return nil, errAnswered
		}
	}
	return handle()
}

// servedUntil is the context key for the end of the server of a request.
type servedUntil struct{}

// wait returns after a delay. A client that gives up does not end the delay, because tests want to see the
// request take effect late. The end of the server does. If that is unknown, the end of the request's context
// does.
func wait(w http.ResponseWriter, r *http.Request, d time.Duration) {
	end, known := r.Context().Value(servedUntil{}).(<-chan struct{})
	if !known {
		end = r.Context().Done()
	}
	// The write timeout of the server does not apply to a requested delay. The server sets it again for each
	// request.
	http.NewResponseController(w).SetWriteDeadline(time.Time{})
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
func send(w http.ResponseWriter, f fault.Struck) {
	status, kind, text, header := f.Status, "application/json", string(f.Body), w.Header()
	switch f.Name {
	case "status":
		if status == http.StatusUnauthorized {
			header.Set("WWW-Authenticate", "Bearer")
		}
		if f.RetryAfter != "" {
			header.Set("Retry-After", f.RetryAfter)
		}
		if !f.Bare && !hasNoBody(status) {
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
		a := fault.ParseAnswer(f.Body)
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
