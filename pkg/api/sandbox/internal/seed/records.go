package seed

import (
	"encoding/json"
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// Deliveries and faults come from a dump more often than from a person, so they
// are taken as they are, and nothing in them is made up.

// exactly reads an object into a record whose fields it has.
func (p *seedReader) exactly(in *wire.Object, record any) bool {
	text, err := json.Marshal(in.Fields) // each of them is known: in.asked has them
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if err != nil {
		in.FailAt("", "cannot be read: %v", err)
	}
	return p.err == nil
}

func (p *seedReader) delivery(in *wire.Object) {
	var v store.Delivery
	if !p.exactly(in, &v) {
		return
	}
	v.ID = p.id(in, "id")
	switch {
	case p.byID[v.Withdrawal] == nil:
		in.FailAt("withdrawal", "is %q, which is not the id of a withdrawal here", refusal.Shorten(v.Withdrawal))
	case !refusal.IsName(v.Status):
		in.FailAt("status", "is %q; use letters, digits, - and _", refusal.Shorten(v.Status))
	case v.URL == "":
		in.FailAt("url", "is missing; it is required")
	case !json.Valid([]byte(v.Body)):
		in.FailAt("body", "is not JSON")
	case !slices.Contains(store.DeliveryStates, v.State):
		in.FailAt("state", "is %q, which there is not", refusal.Shorten(v.State))
	case slices.ContainsFunc(v.Attempts, func(a store.Attempt) bool { return a.At.IsZero() || a.At.Location() != time.UTC }):
		in.FailAt("attempts", "have no times in UTC")
	}
	p.d.Deliveries = append(p.d.Deliveries, &v)
}

func (p *seedReader) fault(in *wire.Object) {
	var f store.Fault
	if !p.exactly(in, &f) {
		return
	}
	n, ok := money.ParseInteger(f.ID)
	if !ok || n <= 0 || slices.ContainsFunc(p.d.Faults, func(other store.Fault) bool { return other.ID == f.ID }) {
		in.FailAt("id", "is %q; it must be a number that no other fault has", refusal.Shorten(f.ID))
	}
	whole, err := fault.Check(f, p.Operations)
	switch {
	case err != nil:
		in.FailAt("", "is wrong: %v", err)
	case whole.On != f.On || whole.Rate != f.Rate || f.Seed <= 0:
		in.FailAt("", "lacks what it is on, its rate or its seed")
	case f.Fired < 0 || f.Seen < f.Fired || f.Times != 0 && f.Fired > f.Times:
		in.FailAt("fired", "is more often than it can have struck")
	}
	p.d.Faults = append(p.d.Faults, f)
}
