package sandbox

import (
	"errors"
	"strconv"
)

func (s *Server) controlFaults(r *request) (any, error) {
	if err := r.query().done(); err != nil {
		return nil, err
	}
	return s.faults(), nil
}

// controlAddFault takes a fault without its counters and answers with it. Only do
// is required.
func (s *Server) controlAddFault(r *request) (any, error) {
	in, err := r.ordered()
	if err != nil {
		return nil, err
	}
	f := Fault{Do: in.text("do")}
	if in.has("on") {
		f.On = in.text("on")
	}
	if in.has("rate") {
		f.Rate = in.rate("rate")
	}
	if in.has("times") {
		f.Times = in.integer("times")
	}
	if in.has("match") {
		f.Match = in.texts("match")
	}
	if in.has("seed") {
		f.Seed = in.integer("seed")
	}
	if err := in.done(); err != nil {
		return nil, err
	}
	f, err = s.AddFault(f)
	if wrong, ok := errors.AsType[*FaultError](err); ok {
		return nil, fail(invalidBody, "%s: %s; %s.", wrong.Field, wrong.Problem, wrong.Advice)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// controlClearFaults takes {} or {"id": id} and answers with the faults that are
// gone.
func (s *Server) controlClearFaults(r *request) (any, error) {
	in, err := r.ordered()
	if err != nil {
		return nil, err
	}
	var ids []string
	if in.has("id") {
		ids = []string{in.text("id")}
	}
	if err := in.done(); err != nil {
		return nil, err
	}
	cleared, err := s.ClearFaults(ids...)
	if err != nil {
		return nil, err
	}
	return cleared, nil
}

// rate reads a number above 0. A 0 is not the same as nothing here: a person who writes
// it does not mean every request.
func (o *object) rate(key string) float64 {
	raw := o.take(key)
	if raw == nil {
		return 0
	}
	rate, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || rate <= 0 {
		o.failAt(key, "must be a number above 0 and at most 1, not %s", shorten(string(raw)))
	}
	return rate
}

// texts reads an object whose values are strings. They may be empty.
func (o *object) texts(key string) map[string]string {
	raw := o.take(key)
	if raw == nil {
		return nil
	}
	inner := newObject(raw, o.at(key), o.err)
	all := map[string]string{}
	for _, name := range sortedKeys(inner.fields) {
		text, ok := asString(inner.fields[name])
		if !ok {
			inner.failAt(name, "must be a string, not %s", jsonType(inner.fields[name]))
		}
		all[name] = text
	}
	return all
}
