package sandbox

import (
	"bytes"
	"net/http"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/requestlog"
)

// A Request is one request to the interface that the sandbox has received, whatever became of it. Its ID
// counts the requests of this server, from 1. Method, Path, Query and Body are as they were sent; the Body is a
// string if it is not JSON or was Cut. Status is that of the answer, or 0 while there is none, and Fault what
// the faults that struck it do.
type Request = requestlog.Request

// Requests returns the requests to the interface since the start or the last Reset, oldest first, including
// those that were refused and those that a fault has struck. It leaves out the headers, and shows [hidden]
// for the sandbox's key and for the key in the request's Authorization header, also where it is quoted for
// JSON, a URL or HTML, or is in base64. It does not find a part of a key. The log is in memory, for this
// server only, and holds the newest 100,000 requests at most, fewer if they have more than 32 MiB: if the
// first ID is not the expected one, requests before it were dropped. Of a body it has the first 64 KiB.
func (s *Server) Requests() []Request { return s.log.Select(requestlog.Filter{}).Requests }

// logged is the writer of a request in the log. It notes the status before the client can see it.
type logged struct {
	http.ResponseWriter
	entry *requestlog.Entry
}

func (w *logged) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *logged) WriteHeader(status int) {
	w.entry.Answered(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *logged) Write(b []byte) (int, error) {
	w.entry.Answered(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

func (s *Server) record(w http.ResponseWriter, req *request) *logged {
	r := req.http
	req.received, req.broken = readBody(r.Body, req.choices.maxBody)
	body := bytes.Clone(req.received[:min(len(req.received), requestlog.MaxBody)]) // the log keeps no more than this
	req.entry = s.log.Add(r.Method, r.URL.Path, r.URL.RawQuery, body, len(body) < len(req.received),
		r.Header["Authorization"])
	return &logged{w, req.entry}
}

// controlRequests takes the query on=METHOD PATH, match=FIELD=VALUE, which may be given again, since=ID, and
// limit=N for a part of the log that a client can read at once.
func (s *Server) controlRequests(r *request) action {
	q := r.query
	f := requestlog.Filter{On: q.TextOr("on", ""), Since: q.Integer("since", 0), Limit: q.Integer("limit", 0),
		Match: map[string]string{}}
	for _, text := range q.All("match") {
		field, value, found := strings.Cut(text, "=")
		if _, twice := f.Match[field]; twice || !found {
			q.Fail("match: %q is not FIELD=VALUE, with each field once; write it like external_order_id=5001.",
				refusal.Shorten(text))
		}
		f.Match[field] = value
	}
	return func() (any, error) {
		if err := fault.CheckFilter(f.On, f.Match, Operations()); err != nil {
			return nil, fault.Refused(refusal.InvalidQuery, err)
		}
		rows := s.log.Select(f)
		if f.Since > rows.Last {
			return nil, refusal.New(refusal.InvalidQuery,
				"since: the log has no request %d yet, its newest is %d; the id may be of another sandbox.", f.Since, rows.Last)
		}
		return rows, nil
	}
}
