// Package requestlog keeps the requests that a sandbox has received, so that a test can count them. It is in
// memory, and bounded.
package requestlog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/till/internal/secret"
	"example.com/till/pkg/api/sandbox/internal/fault"
)

// The bounds of a log. A request that does not fit takes the place of the oldest ones.
const (
	MaxRows  = 100_000
	MaxBytes = 32 << 20
	MaxBody  = 64 << 10 // of one request; the rest is cut
)

// pageBytes bounds the texts of the rows of one answer, if it has a Limit. A client reads at most 6 MiB and
// 200,000 commas at once. As JSON a text may be six times as long, and it may be nothing but commas.
const pageBytes = 128 << 10

// rowBytes is about what a row needs in memory without its texts.
const rowBytes = 192

// A Log keeps requests in the order of their arrival. The hot path only stores what was received; everything
// else is left to a reader.
type Log struct {
	key string // of the sandbox, which no row shows

	mu    sync.Mutex
	rows  []*Entry
	bytes int
	last  int64 // the id of the newest
	base  int64 // the last id before Clear
}

func New(key string) *Log { return &Log{key: key} }

type Entry struct {
	id                  int64
	method, path, query string
	body                []byte
	cut                 bool
	keys                []string // that the request was sent with, except Log.key
	status              atomic.Int32
	fault               atomic.Pointer[string]
}

// Add adds a request. Its body must not change afterwards. No reader sees a key that ends one of
// authorization, the headers of the request.
func (l *Log) Add(method, path, query string, body []byte, cut bool, authorization []string) *Entry {
	e := &Entry{method: method, path: path, query: query, body: body, cut: cut}
	for _, header := range authorization {
		words := strings.Fields(header)
		if n := len(words) - 1; n >= 0 && words[n] != l.key {
			e.keys = append(e.keys, words[n])
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.id = l.last
	l.rows = append(l.rows, e)
	l.bytes += e.size()
	for len(l.rows) > MaxRows || l.bytes > MaxBytes {
		l.bytes -= l.rows[0].size()
		l.rows[0] = nil // append copies only what follows
		l.rows = l.rows[1:]
	}
	return e
}

func (e *Entry) size() int {
	size := rowBytes + len(e.method) + len(e.path) + len(e.query) + len(e.body)
	for _, key := range e.keys {
		size += len(key)
	}
	return size
}

func (e *Entry) Answered(status int) { e.status.CompareAndSwap(0, int32(status)) }

func (e *Entry) Struck(do string) {
	if old := e.fault.Load(); old != nil {
		do = *old + ", " + do
	}
	e.fault.Store(&do)
}

// Clear removes all rows. The ids go on, so that an id names one request for ever.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows, l.bytes, l.base = nil, 0, l.last
}

type Request struct {
	ID     int64           `json:"id"` // counts the requests of the log, from 1
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  string          `json:"query"`  // as it was sent, without the question mark
	Body   json.RawMessage `json:"body"`   // as it was sent; a string if it is not JSON, null if there is none
	Cut    bool            `json:"cut"`    // Body is only the beginning, as a string
	Status int             `json:"status"` // of the HTTP answer; 0 while there is none
	Fault  string          `json:"fault"`  // what the faults that struck it do, such as drop-after
}

type Filter struct {
	On    string            // METHOD PATH; empty or *: all
	Match map[string]string // as of a fault
	Since int64             // only rows after this id
	Limit int64             // at most so many rows, and about pageBytes; 0: all
}

// Rows are the rows that a filter selects, oldest first.
type Rows struct {
	Requests  []Request `json:"requests"`
	Dropped   int64     `json:"dropped"`   // rows after Filter.Since that the bounds have removed
	Undecided int64     `json:"undecided"` // rows whose body is cut, so that Filter.Match cannot decide
	More      bool      `json:"more"`      // Filter.Limit has left rows out, after the last one of Requests
	Last      int64     `json:"-"`         // the newest id of the log
}

func (l *Log) Select(f Filter) Rows {
	l.mu.Lock()
	rows, oldest, found := slices.Clone(l.rows), l.last+1, Rows{Requests: []Request{}, Last: l.last}
	if len(rows) > 0 {
		oldest = rows[0].id
	}
	found.Dropped = max(0, oldest-1-max(f.Since, l.base))
	l.mu.Unlock()
	bytes := 0
	for _, e := range rows {
		switch {
		case e.id <= f.Since || !fault.IsOn(f.On, e.method+" "+e.path):
		case fault.Holds(f.Match, e.query, e.body):
			if n := int64(len(found.Requests)); f.Limit > 0 && (n == f.Limit || n > 0 && bytes+e.size() > pageBytes) {
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

func (l *Log) view(e *Entry) Request {
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
