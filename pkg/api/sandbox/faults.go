package sandbox

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// A Fault makes requests go wrong on purpose. It waits in the state until a
// request comes that it is for, and then strikes or lets it pass.
type Fault struct {
	ID    string            `json:"id"`    // the sandbox's own, unique in a state
	On    string            `json:"on"`    // one of Operations, or * (or nothing) for each of them
	Do    string            `json:"do"`    // what goes wrong, see the package documentation
	Rate  float64           `json:"rate"`  // how many of the requests it strikes, above 0 and up to 1; 0 means 1
	Times int64             `json:"times"` // after how many strikes it is spent; 0: never
	Match map[string]string `json:"match"` // fields of the query or the body and what they must hold, all of them
	Seed  int64             `json:"seed"`  // decides which requests a rate below 1 strikes; 0: one is chosen
	Seen  int64             `json:"seen"`  // the requests it was asked about
	Fired int64             `json:"fired"` // those that it has struck
}

// A FaultError says which field of a Fault cannot be as it is.
type FaultError struct {
	Field   string // as in JSON
	Problem string
	Advice  string // what to do about it
}

func (e *FaultError) Error() string { return (*fault.Error)(e).Error() }

// WithFault adds a fault when the sandbox is made, as AddFault does. With a state
// file that means each time.
func WithFault(f Fault) Option { return func(o *options) { o.faults = append(o.faults, f) } }

// CheckFault returns the fault with what was left out filled in, but for its ID
// and Seed, which only a sandbox knows. What is wrong with it is a *FaultError.
func CheckFault(f Fault) (Fault, error) {
	checked, err := fault.Check(store.Fault(f), Operations())
	if wrong, ok := errors.AsType[*fault.Error](err); ok {
		err = (*FaultError)(wrong)
	}
	return Fault(checked), err
}

// AddFault adds a fault behind those that are there, and returns it with its ID
// and with what was left out. Its own ID, Seen and Fired are not looked at. What
// is wrong with it is a *FaultError.
func (s *Server) AddFault(f Fault) (Fault, error) {
	f, err := CheckFault(f)
	if err != nil {
		return Fault{}, err
	}
	added, err := s.store.AddFault(store.Fault(f))
	return Fault(added), err
}

// Faults returns all faults, the spent ones too, in the order in which they are
// asked.
func (s *Server) Faults() ([]Fault, error) {
	if err := s.store.Refresh(); err != nil {
		return nil, err
	}
	return mapped(s.store.ListFaults(), viewFault), nil
}

func viewFault(f store.Fault) Fault { return Fault(f) }

// ClearFaults takes faults away, or all of them when it is given no id. It
// returns them as they were last.
func (s *Server) ClearFaults(ids ...string) (cleared []Fault, err error) {
	list, err := s.store.ClearFaults(ids)
	if err != nil {
		return nil, err
	}
	return mapped(list, viewFault), nil
}

// Operations returns the operations of the interface, each as METHOD PATH.
func Operations() []string {
	var all []string
	table := (&Server{}).routeTable()
	for _, path := range slices.Sorted(maps.Keys(table)) {
		for _, method := range slices.Sorted(maps.Keys(table[path])) {
			if r := table[path][method]; r.takesFaults() {
				all = append(all, r.operation())
			}
		}
	}
	return all
}

func (r route) operation() string { return r.method + " " + r.path }

// takesFaults leaves out what lies outside the interface: a control that a fault
// could hit could not take that fault away.
func (r route) takesFaults() bool { return strings.HasPrefix(r.path, "/api/") }

func (s *Server) controlFaults(r *request) (any, error) {
	return s.store.ListFaults(), nil
}

// controlAddFault takes a fault without its counters and answers with it. Only do
// is required.
func (s *Server) controlAddFault(r *request) (any, error) {
	in := r.object()
	f := Fault{Do: in.Text("do"), On: in.TextOr("on", ""), Times: in.IntegerOr("times", 0), Seed: in.IntegerOr("seed", 0)}
	if in.Has("rate") {
		f.Rate = in.Rate("rate")
	}
	if in.Has("match") {
		f.Match = in.Texts("match")
	}
	if err := in.Done(); err != nil {
		return nil, err
	}
	f, err := s.AddFault(f)
	if wrong, ok := errors.AsType[*FaultError](err); ok {
		err = refusal.New(refusal.InvalidBody, "%s: %s; %s.", wrong.Field, wrong.Problem, wrong.Advice)
	}
	return f, err
}

// controlClearFaults takes {} or {"id": id} and answers with the faults that are
// gone.
func (s *Server) controlClearFaults(r *request) (any, error) {
	in := r.object()
	var ids []string
	if in.Has("id") {
		ids = []string{in.Text("id")}
	}
	if err := in.Done(); err != nil {
		return nil, err
	}
	return s.ClearFaults(ids...)
}
