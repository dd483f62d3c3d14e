package payout

import (
	"context"
	"errors"
	"time"

	"example.com/till/internal/journal"
)

// A Result is the result of reconciling one order.
type Result struct {
	Order  Order
	Listed bool   // the order is on the service's list
	Note   string // what could not be compared
	Status string // the service's status, if the order is listed
	Agrees bool   // the order is in conflict, and the list now shows it as it was sent; only a person can settle that
	// Wait is how long the decision that an unknown order was not sent is still refused, see
	// Options.SettleAfter.
	Wait time.Duration

	withdrawal string // its id on the list
}

// Hint says how a person settles the conflict of the order.
func (r Result) Hint() Hint {
	if r.Agrees {
		return NewHint("", "withdraw", "resolve", r.Order.OrderID, "--paid-as", r.Order.ID)
	}
	return settleConflict(r.Order.OrderID, r.Order.ID)
}

// WaitText formats Wait for a person.
func (r Result) WaitText() string { return roundedUp(r.Wait) }

// Reconcile reads the service's list and settles orders with it. An order that is listed as it was sent
// becomes accepted. One that is listed with other content becomes a conflict. One that was accepted, and
// whose withdrawal the service does not have, becomes unknown. Any other that is not listed does not change,
// because a list can hide a row, and a withdrawal can appear late. Without order ids, Reconcile settles every
// unknown order of the account. As in every scan, an order that counted as not taken becomes unknown if the
// list has it.
//
// If the list cannot be read, no order is settled. Results are in the order of the ids. Without order ids,
// those that have become unknown are at the end.
func (s *Sender) Reconcile(ctx context.Context, orderIDs ...string) (results []Result, err error) {
	defer toError(&err)
	orders, err := s.toReconcile(ctx, orderIDs)
	if err != nil {
		return nil, err
	}
	if len(orders) == 0 { // there is nothing to read, but the key may belong to another account
		_, err := s.keyKnown(ctx)
		return nil, err
	}
	if err := s.verifyKey(ctx); err != nil {
		return nil, err
	}
	for i, o := range orders {
		if orders[i], err = s.stillThere(ctx, o); err != nil {
			return nil, err
		}
	}
	results, found, err := s.settle(ctx, orders)
	if err == nil {
		err = found.foreignError()
	}
	if err == nil {
		err = found.undecided(stillUnknown(results)...)
	}
	if err != nil {
		var unknown []string
		for _, o := range orders {
			if o.State == StateUnknown {
				unknown = append(unknown, o.OrderID)
			}
		}
		return results, stayUnknown(unknown, err)
	}
	if len(orderIDs) > 0 {
		return results, nil
	}
	before := make(map[string]bool, len(orders))
	for _, o := range orders {
		before[o.OrderID] = true
	}
	after, err := s.toReconcile(ctx, nil)
	for _, o := range after {
		if !before[o.OrderID] {
			results = append(results, Result{Order: o.Order, Listed: o.Shown != ""})
		}
	}
	return results, err
}

// settle reads the list and records what it says about the orders.
func (s *Sender) settle(ctx context.Context, orders []journal.Record) (results []Result, found answer, err error) {
	sought, from := make(map[string]journal.Record, len(orders)), s.options.Since
	for _, o := range orders {
		sought[o.OrderID] = o
		from = s.since(from, o)
	}
	if found, err = s.ask(ctx, sought, from); err != nil {
		return nil, found, err
	}
	now, err := s.ledger.Moment(ctx)
	if err != nil {
		return nil, found, err
	}
	for _, o := range orders {
		r, err := s.settleOne(ctx, o, found.records[o.OrderID])
		if err != nil {
			return results, found, err
		}
		if r.Order.State == StateUnknown && !o.Sent.IsZero() {
			r.Wait = max(0, s.options.SettleAfter-o.Age(now, s.skew.Load()))
		}
		results = append(results, r)
	}
	return results, found, nil
}

// settleOne records what the list says about an order. Usually there is nothing to record, because the order
// was accepted and is on the list.
func (s *Sender) settleOne(ctx context.Context, o journal.Record, records []record) (r Result, err error) {
	r = Result{Order: o.Order, Listed: len(records) > 0}
	if !r.Listed {
		return r, nil
	}
	r.Status, r.Note, r.withdrawal = records[0].status, s.uncompared(o.Content, records[0]), records[0].id
	e := s.evidence(o.OrderID, o.Content, records)
	if o.State == StateAccepted && o.Resolved == nil && o.ID == e.Withdrawal && e.Differs == "" {
		return r, nil
	}
	if o, err = s.recordEvidence(ctx, e); err != nil {
		return r, err
	}
	r.Order = o.Order
	r.Agrees = o.State == StateConflict && o.ID == e.Withdrawal && e.Differs == ""
	return r, nil
}

// stillUnknown returns the orders that are unknown and not on the list.
func stillUnknown(results []Result) (orderIDs []string) {
	for _, r := range results {
		if r.Order.State == StateUnknown && !r.Listed {
			orderIDs = append(orderIDs, r.Order.OrderID)
		}
	}
	return orderIDs
}

// forgotten is the age from which an order that the service does not have any more may have been taken off
// its records.
const forgotten = 24 * time.Hour

// stillThere asks for the withdrawal of an order that was accepted a short time ago. If the service does not
// have it, the order becomes unknown.
func (s *Sender) stillThere(ctx context.Context, o journal.Record) (journal.Record, error) {
	now, err := s.ledger.Moment(ctx)
	if err != nil || o.State != StateAccepted || o.Resolved != nil || o.Age(now, nil) > forgotten {
		return o, err
	}
	if _, err := s.client.Withdrawals.Get(ctx, o.ID); !rejects(err) {
		return o, nil // it has it, or does not say
	}
	o, err = s.ledger.Missing(ctx, o)
	return o, accountChanged(err)
}

func (s *Sender) toReconcile(ctx context.Context, orderIDs []string) (orders []journal.Record, err error) {
	if err := s.ledger.Reap(ctx); err != nil {
		return nil, err
	}
	if len(orderIDs) == 0 {
		for o, err := range s.ledger.Orders(ctx, Filter{States: []State{StateUnknown}}) {
			if err != nil {
				return nil, err
			}
			orders = append(orders, o)
		}
		return orders, nil
	}
	for _, id := range orderIDs {
		o, err := s.ledger.Order(ctx, id)
		if err != nil {
			return nil, err
		}
		if o.State == StateSending {
			return nil, s.unsettled(o, true)
		}
		orders = append(orders, o)
	}
	return orders, nil
}

// stayUnknown returns the error for a scan that failed: the unknown orders stay unknown.
func stayUnknown(unknown []string, err error) error {
	again := NewHint("run this again")
	if own, ok := errors.AsType[*Error](err); ok && (own.Kind == Conflict || own.Kind == Refused) {
		again = own.Hint // another reading will find out no more
	}
	switch len(unknown) {
	case 0:
		return err
	case 1:
		e := failed(Unknown, "order %s stays unknown: %w", unknown[0], err)
		e.OrderID = unknown[0]
		return e.hint("do not send it again; "+again.Text, again.Command...)
	}
	e := failed(Unknown, "%d orders stay unknown: %w", len(unknown), err)
	e.OrderIDs = unknown
	return e.hint("do not send them again; "+again.Text, again.Command...)
}
