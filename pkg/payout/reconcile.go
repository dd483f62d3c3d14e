package payout

import (
	"context"
	"fmt"
	"time"

	"example.com/till/internal/journal"
)

// A Result is the result of reconciling one order.
type Result struct {
	Order  Order
	Listed bool   // the order is on the service's list
	NoList bool   // the service shows no list, as a person has accepted, so nothing is known of an unknown order
	Note   string // what could not be compared
	Status string // the service's status, if the order is listed
	Shown  string // the id with which the service has shown the order before: nobody can decide that it was not sent
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
	if err == nil {
		err = s.verifyToReconcile(ctx, len(orders))
	}
	if err != nil || len(orders) == 0 {
		return nil, err
	}
	for i, o := range orders {
		if orders[i], err = s.stillThere(ctx, o); err != nil {
			return nil, err
		}
	}
	q := s.newQuestion(orders...)
	results, found, err := s.settle(ctx, q, orders)
	if err == nil {
		err = found.undecided(stillUnknown(results)...)
	}
	if err != nil {
		return results, stayUnknown(q.unknown, err)
	}
	if len(orderIDs) > 0 {
		return results, nil
	}
	after, err := s.toReconcile(ctx, nil)
	for _, o := range after {
		if _, before := q.sought[parseID(o.OrderID)]; !before {
			results = append(results, Result{Order: o.Order, Listed: o.Shown != ""})
		}
	}
	return results, err
}

// verifyToReconcile verifies the key. If there are no orders, there is nothing to read, but the key may belong to
// another account.
func (s *Sender) verifyToReconcile(ctx context.Context, orders int) error {
	if orders > 0 {
		return s.verifyKey(ctx)
	}
	_, err := s.keyKnown(ctx)
	return err
}

// settle asks the list and records what it says about the orders.
func (s *Sender) settle(ctx context.Context, q *question, orders []journal.Record) (results []Result, found answer, err error) {
	if found, err = s.ask(ctx, q); err != nil {
		return nil, found, err
	}
	now, err := s.ledger.Moment(ctx)
	if err != nil {
		return nil, found, err
	}
	for _, o := range orders {
		r, err := s.settleOne(ctx, o, found)
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
func (s *Sender) settleOne(ctx context.Context, o journal.Record, found answer) (r Result, err error) {
	records := found.records[o.OrderID]
	r = Result{Order: o.Order, Listed: len(records) > 0, NoList: found.none, Shown: o.Shown}
	if !r.Listed {
		return r, nil
	}
	r.Status, r.Note, r.withdrawal = records[0].status, s.uncompared(o.Content, records[0]), records[0].id
	e := evidence(o, records)
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
	if _, err := s.client.Withdrawals.GetLenient(ctx, o.ID); !rejects(err) {
		return o, nil // it has it, or does not say
	}
	readBack := o.Run == "" && s.options.Lookup != LookupNever // of a run, only the first one is
	o, err = s.ledger.Missing(ctx, o, readBack)
	return o, accountChanged(err)
}

// toReconcile returns the orders with these ids or, without ids, the unknown ones.
func (s *Sender) toReconcile(ctx context.Context, orderIDs []string) (orders []journal.Record, err error) {
	if err := s.ledger.Reap(ctx); err != nil {
		return nil, err
	}
	if len(orderIDs) == 0 {
		return collect(s.ledger.Orders(ctx, Filter{States: []State{StateUnknown}}))
	}
	for _, id := range orderIDs {
		o, err := s.ledger.Order(ctx, id)
		if err != nil {
			return nil, err
		}
		if o.State == StateSending {
			return nil, unsettled(o)
		}
		orders = append(orders, o)
	}
	return orders, nil
}

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

// toReconcileOf returns the filter for the orders of a run or, without one, for the unknown orders of all runs.
func (s *Sender) toReconcileOf(ctx context.Context, run string) (Filter, error) {
	if run == "" {
		return Filter{Runs: true, States: []State{StateUnknown}}, s.ledger.Reap(ctx)
	}
	r, err := s.Run(ctx, run)
	return Filter{Run: r.Name}, err
}

// ReconcileRun reconciles all orders of a run. It settles the unknown orders, and compares the others with
// the list. Without a run, it settles the unknown orders of all runs. Results are in the order of the plan.
func (s *Sender) ReconcileRun(ctx context.Context, run string) (settled Settled, err error) {
	defer toError(&err)
	filter, err := s.toReconcileOf(ctx, run)
	if err != nil {
		return Settled{}, err
	}
	q := s.newQuestion()
	paid := map[string]bool{} // before the reading begins
	for o, err := range s.ledger.Orders(ctx, filter) {
		if err != nil {
			return Settled{}, err
		}
		paid[o.OrderID] = o.State == StateAccepted
		if o.State != StateSending {
			q.add(o)
		}
	}
	if err := s.verifyToReconcile(ctx, len(q.sought)); err != nil || len(q.sought) == 0 {
		return Settled{}, err
	}
	begun, err := s.ledger.Moment(ctx)
	if err != nil {
		return Settled{}, err
	}
	found, err := s.ask(ctx, q)
	if err == nil {
		err = found.foreignError()
	}
	if err != nil {
		return Settled{}, stayUnknown(q.unknown, err)
	}
	for o, err := range s.ledger.Orders(ctx, filter) {
		records := found.records[o.OrderID]
		accepted := o.State == StateAccepted && !paid[o.OrderID] // since the reading began
		switch {
		case err != nil, found.none && o.State == StateAccepted: // there is no list to compare it with
		case o.State == StateSending, o.Sent.After(begun.At), accepted && len(records) == 0:
			err = s.leaveOut(ctx, o, records, &settled)
		default:
			err = s.settleInRun(ctx, o, found, &settled)
		}
		if err != nil {
			return settled, stayUnknown(q.unknown, err)
		}
	}
	unknown := stillUnknown(settled.Results)
	if err := found.undecided(unknown...); err != nil {
		return settled, stayUnknown(unknown, err)
	}
	return settled, nil
}

// leaveOut counts an order that is being sent, or was sent since the reading of the list began. If the list shows it all the same, it records that.
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
func (s *Sender) settleInRun(ctx context.Context, o journal.Record, found answer, settled *Settled) error {
	settled.Held++
	r, err := s.settleOne(ctx, o, found)
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

// roundedUp formats a time to wait in whole minutes, or in seconds if it is less than a minute.
func roundedUp(d time.Duration) string {
	if d <= time.Minute {
		return fmt.Sprintf("%ds", (d+time.Second-1)/time.Second)
	}
	minutes := (d + time.Minute - 1) / time.Minute
	if minutes > 120 {
		return fmt.Sprintf("%dh%dm", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%dm", minutes)
}
