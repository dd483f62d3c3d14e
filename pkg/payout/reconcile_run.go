package payout

import (
	"context"
	"fmt"

	"example.com/till/internal/journal"
)

// Settled is the result of reconciling a run.
type Settled struct {
	// Results has the orders that were unknown, whose state has changed, that are in conflict, or that are
	// accepted and not on the list.
	Results []Result
	Held    int // how many orders were compared with the list
	Sending int // how many were left out, because another process is sending them
	// Uncompared is how many orders have an amount that could not be compared. Note explains one of them.
	Uncompared int
	Note       string
}

// ReconcileRun reconciles all orders of a run. It settles the unknown orders, and compares the others with
// the list. Without a run, it settles the unknown orders of all runs. Results are in the order of the plan.
func (s *Sender) ReconcileRun(ctx context.Context, run string) (settled Settled, err error) {
	defer toError(&err)
	if err := s.ledger.Reap(ctx); err != nil {
		return Settled{}, err
	}
	filter := Filter{Run: run}
	if run == "" {
		filter = Filter{Runs: true, States: []State{StateUnknown}}
	}
	sought, from, unknown, err := s.seek(ctx, filter)
	if err != nil {
		return Settled{}, err
	}
	if len(sought) == 0 { // there is nothing to read, but the key may belong to another account
		_, err := s.keyKnown(ctx)
		return Settled{}, err
	}
	if err := s.verifyKey(ctx); err != nil {
		return Settled{}, err
	}
	begun, err := s.ledger.Moment(ctx)
	if err != nil {
		return Settled{}, err
	}
	found, err := s.ask(ctx, sought, from)
	if err == nil {
		err = found.foreignError()
	}
	if err != nil {
		return Settled{}, stayUnknown(unknown, err)
	}
	for o, err := range s.ledger.Orders(ctx, filter) {
		if err != nil {
			return settled, stayUnknown(unknown, err)
		}
		take := s.settleInRun
		if tooNew(o, sought[o.OrderID], begun, found) {
			take = s.leaveOut
		}
		if err := take(ctx, o, found.records[o.OrderID], &settled); err != nil {
			return settled, stayUnknown(unknown, err)
		}
	}
	if err := found.undecided(stillUnknown(settled.Results)...); err != nil {
		return settled, stayUnknown(stillUnknown(settled.Results), err)
	}
	return settled, nil
}

// tooNew reports whether an order is left out: it is being sent, or was sent since the reading of the list began.
func tooNew(o, before journal.Record, begun journal.Moment, found answer) bool {
	accepted := o.State == StateAccepted && before.State != StateAccepted // since the reading began
	return o.State == StateSending || o.Sent.After(begun.At) || accepted && len(found.records[o.OrderID]) == 0
}

// leaveOut counts an order that is left out. If the list shows it all the same, it records that.
func (s *Sender) leaveOut(ctx context.Context, o journal.Record, records []record, settled *Settled) error {
	if len(records) > 0 {
		err := s.ledger.Show(ctx, map[string]string{o.OrderID: records[0].id})
		if err == nil {
			o, err = s.ledger.Order(ctx, o.OrderID)
		}
		if err != nil {
			return err
		}
		if o.State == StateUnknown {
			settled.Results = append(settled.Results, Result{Order: o.Order, Listed: true})
			return nil
		}
	}
	settled.Sending++
	return nil
}

// settleInRun compares an order with the list, and adds it to the results if they have such orders.
func (s *Sender) settleInRun(ctx context.Context, o journal.Record, records []record, settled *Settled) error {
	settled.Held++
	r, err := s.settleOne(ctx, o, records)
	if err != nil {
		return err
	}
	if r.Note != "" {
		settled.Uncompared++
		settled.Note = fmt.Sprintf("order %s: %s", o.OrderID, r.Note)
	}
	if o.State == StateUnknown || r.Order.State != o.State || r.Order.State == StateConflict ||
		r.Order.State == StateAccepted && !r.Listed {
		settled.Results = append(settled.Results, r)
	}
	return nil
}

// seek returns the orders that a filter chooses and that are not being sent, how far back the list must be
// read for them, and which of them are unknown.
func (s *Sender) seek(
	ctx context.Context, f Filter,
) (sought map[string]journal.Record, from string, unknown []string, err error) {
	sought, from = map[string]journal.Record{}, s.options.Since
	for o, err := range s.ledger.Orders(ctx, f) {
		if err != nil {
			return nil, "", nil, err
		}
		if o.State == StateSending {
			continue
		}
		sought[o.OrderID] = o
		from = s.since(from, o)
		if o.State == StateUnknown {
			unknown = append(unknown, o.OrderID)
		}
	}
	return sought, from, unknown, nil
}
