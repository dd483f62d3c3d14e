package sandbox

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
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
	in := r.fields()
	f := Fault{Do: in.Text("do"), On: in.TextOr("on", ""), Times: in.IntegerOr("times", 0),
		Seed: in.IntegerOr("seed", 0)}
	if in.Has("rate") {
		f.Rate = in.Rate("rate")
	}
	if in.Has("match") {
		f.Match = in.Texts("match")
	}
	if in.Has("body") {
		body, err := base64.StdEncoding.DecodeString(in.Text("body"))
		if f.Body = body; err != nil {
			in.FailAt("body", "is not base64; encode the bytes of the answer in it")
		}
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
