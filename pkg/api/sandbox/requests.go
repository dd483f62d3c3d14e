package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/till/internal/secret"
	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A Request is one request to the interface that the sandbox has received, whatever became of it.
type Request struct {
	ID     int64           `json:"id"` // counts the requests of this server, from 1
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  string          `json:"query"`  // as it was sent, without the question mark
	Body   json.RawMessage `json:"body"`   // as it was sent; a string if it is not JSON, null if there is none
	Cut    bool            `json:"cut"`    // Body is only the beginning, as a string
	Status int             `json:"status"` // of the HTTP answer; 0 while there is none
	Fault  string          `json:"fault"`  // what the faults that struck it do, such as drop-after
}

// Requests returns the requests to the interface since the start or the last Reset, oldest first, including
// those that were refused and those that a fault has struck. It leaves out the headers, and shows [hidden]
// for the sandbox's key and for the key in the request's Authorization header, also where it is quoted for
// JSON, a URL or HTML, or is in base64. It does not find a part of a key. The log is in memory, for this
// server only, and holds the newest 100,000 requests at most, fewer if they have more than 32 MiB: if the
// first ID is not the expected one, requests before it were dropped. Of a body it has the first 64 KiB.
func (s *Server) Requests() []Request { return s.log.find(requestFilter{}).Requests }

// The bounds of the log. A request that does not fit takes the place of the oldest ones.
const (
	maxLogged      = 100_000
	maxLoggedBytes = 32 << 20
	maxLoggedBody  = 64 << 10 // of one request; the rest is cut
)

// pageBytes bounds the texts of the requests of one answer, if it has a limit. A client reads at most 6 MiB and
// 200,000 commas at once. As JSON a text may be six times as long, and it may be nothing but commas.
const pageBytes = 128 << 10

// perRequest is about what a request needs in memory without its texts.
const perRequest = 192

// A requestLog keeps requests in the order of their arrival. The hot path only stores what was received;
// everything else is left to a reader.
type requestLog struct {
	key string // of the sandbox, which is never shown

	mu       sync.Mutex
	requests []*received
	bytes    int
	last     int64 // the id of the newest
	base     int64 // the last id before clear
}

type received struct {
	id                  int64
	method, path, query string
	body                []byte
	cut                 bool
	keys                []string // that it was sent with, except requestLog.key
	status              atomic.Int32
	fault               atomic.Pointer[string]
}

func (e *received) size() int {
	size := perRequest + len(e.method) + len(e.path) + len(e.query) + len(e.body)
	for _, key := range e.keys {
		size += len(key)
	}
	return size
}

func (e *received) struck(do string) {
	if old := e.fault.Load(); old != nil {
		do = *old + ", " + do
	}
	e.fault.Store(&do)
}

func (l *requestLog) add(e *received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.id = l.last
	l.requests = append(l.requests, e)
	l.bytes += e.size()
	for len(l.requests) > maxLogged || l.bytes > maxLoggedBytes {
		l.bytes -= l.requests[0].size()
		l.requests[0] = nil // append copies only what follows
		l.requests = l.requests[1:]
	}
}

// clear removes all requests. The ids go on, so that an id names one request for ever.
func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests, l.bytes, l.base = nil, 0, l.last
}

// logged is the writer of a request in the log. It notes the status before the client can see it.
type logged struct {
	http.ResponseWriter
	entry *received
}

func (w *logged) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *logged) WriteHeader(status int) {
	w.entry.status.CompareAndSwap(0, int32(status))
	w.ResponseWriter.WriteHeader(status)
}

func (w *logged) Write(b []byte) (int, error) {
	w.entry.status.CompareAndSwap(0, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// record reads the body of a request, and adds the request to the log. No reader of the log sees a key that ends
// a header Authorization.
func (s *Server) record(w http.ResponseWriter, req *request) *logged {
	r := req.http
	req.received, req.broken = readBody(r.Body, req.choices.MaxBody)
	e := &received{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, cut: len(req.received) > maxLoggedBody,
		body: bytes.Clone(req.received[:min(len(req.received), maxLoggedBody)])}
	for _, header := range r.Header["Authorization"] {
		words := strings.Fields(header)
		if n := len(words) - 1; n >= 0 && words[n] != s.key {
			e.keys = append(e.keys, words[n])
		}
	}
	s.log.add(e)
	req.entry = e
	return &logged{w, e}
}

type requestFilter struct {
	on    string            // METHOD PATH; empty or *: all
	match map[string]string // as of a fault
	since int64             // only requests after this id
	limit int64             // at most so many, and about pageBytes; 0: all
}

// requestsView is what a filter selects, oldest first.
type requestsView struct {
	Requests  []Request `json:"requests"`
	Dropped   int64     `json:"dropped"`   // requests after since that the bounds have removed
	Undecided int64     `json:"undecided"` // requests whose body is cut, so that match cannot decide
	More      bool      `json:"more"`      // the limit has left some out, after the last one of Requests
	last      int64     // the newest id of the log
}

func (l *requestLog) find(f requestFilter) requestsView {
	l.mu.Lock()
	all, oldest, found := slices.Clone(l.requests), l.last+1, requestsView{Requests: []Request{}, last: l.last}
	if len(all) > 0 {
		oldest = all[0].id
	}
	found.Dropped = max(0, oldest-1-max(f.since, l.base))
	l.mu.Unlock()
	bytes := 0
	for _, e := range all {
		switch {
		case e.id <= f.since || !fault.IsOn(f.on, e.method+" "+e.path):
		case fault.Holds(f.match, e.query, e.body):
			if n := int64(len(found.Requests)); f.limit > 0 && (n == f.limit || n > 0 && bytes+e.size() > pageBytes) {
				found.More = true
				return found
			}
			bytes += e.size()
			found.Requests = append(found.Requests, l.view(e))
		case e.cut:
			found.Undecided++
		}
	}
	return found
}

func (l *requestLog) view(e *received) Request {
	keys := slices.Concat(e.keys, []string{l.key})
	hide := func(text string) string { return secret.Hide(text, keys...) }
	r := Request{ID: e.id, Method: hide(e.method), Path: hide(e.path), Query: hide(e.query),
		Body: asJSON([]byte(hide(string(e.body))), e.cut), Cut: e.cut, Status: int(e.status.Load())}
	if do := e.fault.Load(); do != nil {
		r.Fault = *do
	}
	return r
}

// asJSON returns a body as a JSON value, or as a string if it is cut, is no JSON, or is nested so deeply that
// the answer with it would be none.
func asJSON(body []byte, cut bool) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	const levels = "[[[[[[[[[["
	if !cut && json.Valid(body) && json.Valid(slices.Concat([]byte(levels), body, bytes.Repeat([]byte("]"), len(levels)))) {
		return body
	}
	text, _ := json.Marshal(string(body))
	return text
}

// controlRequests takes the query on=METHOD PATH, match=FIELD=VALUE, which may be given again, since=ID, and
// limit=N for a part of the log that a client can read at once.
func (s *Server) controlRequests(r *request) action {
	q := r.query
	f := requestFilter{q.TextOr("on", ""), map[string]string{}, q.Integer("since", 0), q.Integer("limit", 0)}
	for _, text := range q.All("match") {
		field, value, found := strings.Cut(text, "=")
		if _, twice := f.match[field]; twice || !found {
			q.Fail("match: %q is not FIELD=VALUE, with each field once; write it like external_order_id=5001.",
				refusal.Shorten(text))
		}
		f.match[field] = value
	}
	return func() (any, error) {
		if err := fault.CheckFilter(f.on, f.match, Operations()); err != nil {
			return nil, fault.Refused(refusal.InvalidQuery, err)
		}
		found := s.log.find(f)
		if f.since > found.last {
			return nil, refusal.New(refusal.InvalidQuery,
				"since: the log has no request %d yet, its newest is %d; the id may be of another sandbox.", f.since, found.last)
		}
		return found, nil
	}
}
