package payout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/till/internal/journal"
)

// A Result is what reconciling found out about an order.
type Result struct {
	Order  journal.Order
	Listed bool   // the service's list has it
	Note   string // what could not be compared
	Status string // the service's own status of it, where it is listed
	Agrees bool   // it is in conflict, and what the list has of it now is what was sent: that settles nothing, a person does

	withdrawal string // its id there
}

// Reconcile reads the service's list and settles what it finds: an order that is listed as it was sent is accepted, one that
// is listed otherwise is in conflict, and one that is not listed stays as it is, because a list can hide a row and a
// withdrawal can come late. Without order ids, it is about every order of the account that is unknown.
//
// An error changes nothing. Results come in the order of the ids.
func (b *Book) Reconcile(ctx context.Context, orderIDs ...string) ([]Result, error) {
	orders, err := b.toReconcile(ctx, orderIDs)
	if err != nil {
		return nil, err
	}
	if len(orders) == 0 { // which says nothing where the orders stand under another account
		_, err := b.knows(ctx)
		return nil, err
	}
	if err := b.Admit(ctx); err != nil {
		return nil, err
	}
	results, err := b.settle(ctx, orders)
	if err != nil {
		return results, unsettled(orders, err)
	}
	return results, nil
}

// settle reads the list and records what it says about the orders.
func (b *Book) settle(ctx context.Context, orders []journal.Order) ([]Result, error) {
	listed, err := b.lookTwice(ctx, orders, nil, b.Since)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(orders))
	for i, o := range orders {
		if results[i], err = b.settleOne(ctx, o, listed[o.OrderID]); err != nil {
			return results[:i], err
		}
	}
	return results, nil
}

// settleOne records what the list says about an order. Of most there is nothing to record: they were accepted, and are there.
func (b *Book) settleOne(ctx context.Context, o journal.Order, records []record) (r Result, err error) {
	r = Result{Order: o, Listed: len(records) > 0}
	if !r.Listed {
		return r, nil
	}
	r.Status, r.Note, r.withdrawal = records[0].status, uncompared(o.Content, records[0]), records[0].id
	f := finding(o.OrderID, o.Content, records)
	if o.State == journal.Accepted && o.Withdrawal == f.Withdrawal && f.Differs == "" {
		return r, nil
	}
	if r.Order, err = b.Journal.Settle(ctx, b.Account, f); err == nil {
		r.Agrees = r.Order.State == journal.Conflict && r.Order.Withdrawal == f.Withdrawal && f.Differs == ""
	}
	return r, err
}

func (b *Book) toReconcile(ctx context.Context, orderIDs []string) (orders []journal.Order, err error) {
	if _, err := b.Journal.Reap(ctx, b.Account); err != nil {
		return nil, err
	}
	if len(orderIDs) == 0 {
		for o, err := range b.Journal.Orders(ctx, b.Account, journal.Filter{States: []journal.State{journal.Unknown}}) {
			if err != nil {
				return nil, err
			}
			orders = append(orders, o)
		}
		return orders, nil
	}
	for _, id := range orderIDs {
		o, err := b.Journal.Order(ctx, b.Account, id)
		if err != nil {
			return nil, err
		}
		if o.State == journal.Sending {
			return nil, b.standing(o, true)
		}
		orders = append(orders, o)
	}
	return orders, nil
}

// unsettled is the error of a reading that failed: it leaves what is unknown unknown.
func unsettled(orders []journal.Order, err error) error {
	var unknown []string
	for _, o := range orders {
		if o.State == journal.Unknown {
			unknown = append(unknown, o.OrderID)
		}
	}
	return stayUnknown(unknown, err)
}

// stayUnknown is unsettled for orders that are known to be unknown.
func stayUnknown(unknown []string, err error) error {
	if own := (*Error)(nil); len(unknown) > 0 && errors.As(err, &own) && own.Kind == Conflict { // the next reading will say no more
		return &Error{Kind: Unknown, Err: err, Msg: fmt.Sprintf("what became of order %s cannot be found out: %v", strings.Join(unknown, ", "), err),
			Hint: "do not send it again: ask the service's provider, and record what you know with: till withdraw resolve " + strings.Join(unknown, " ")}
	}
	switch len(unknown) {
	case 0:
		return err
	case 1:
		return &Error{Kind: Unknown, Err: err, Msg: fmt.Sprintf("order %s stays unknown: %v", unknown[0], err), Hint: "do not send it again; run this again"}
	}
	return &Error{Kind: Unknown, Err: err, Msg: fmt.Sprintf("%d orders stay unknown: %v", len(unknown), err), Hint: "do not send them again; run this again"}
}

// A Decision is a person's, about one order or several.
type Decision struct {
	OrderIDs []string
	PaidAs   string // the service's id of the withdrawal, for one order; empty: none of them was sent
	Reason   string
}

// Check refuses a decision that what is known speaks against. An order that is said not to have been sent is reconciled
// first, and what its record on the list says is recorded. Nothing else is.
func (b *Book) Check(ctx context.Context, d Decision) error {
	if _, err := b.Journal.Reap(ctx, b.Account); err != nil {
		return err
	}
	var orders []journal.Order
	for _, id := range d.OrderIDs {
		o, err := b.Journal.Order(ctx, b.Account, id)
		if err != nil {
			return err
		}
		if err := b.decidable(o); err != nil {
			return err
		}
		orders = append(orders, o)
	}
	if err := b.Admit(ctx); err != nil {
		return err
	}
	b.checked = map[string]journal.Order{}
	for _, o := range orders {
		b.checked[o.OrderID] = o
	}
	if d.PaidAs != "" {
		return b.checkPaid(ctx, orders[0], d.PaidAs)
	}
	return b.checkNotSent(ctx, orders)
}

func (b *Book) decidable(o journal.Order) error {
	switch {
	case o.State == journal.Sending:
		return b.standing(o, true)
	case o.State == journal.Unknown, o.State == journal.Conflict, o.Decided != nil:
		return nil
	case o.State == journal.Accepted:
		return refused(RuleDecision, fmt.Sprintf("order %s was accepted by the service as %s, and that is not a person's to undo", o.OrderID, o.Withdrawal), "ask the service's provider if you think otherwise")
	}
	return refused(RuleDecision, fmt.Sprintf("order %s is %s, so there is nothing to decide", o.OrderID, inWords(o.State)), "")
}

func (b *Book) checkPaid(ctx context.Context, o journal.Order, id string) error {
	w, err := b.Client.Withdrawals.Get(ctx, id)
	if err != nil {
		return err
	}
	if w.ID != id && strings.EqualFold(w.ID, id) { // the journal's ids are those that the list shows
		return refused(RuleDecision, fmt.Sprintf("the service writes that id as %s", w.ID), "write it as the service does: --paid-as "+w.ID)
	}
	if w.ID != id {
		return &Error{Kind: ReadFailed, Msg: fmt.Sprintf("the answer is about withdrawal %q, and not about %q", w.ID, id), Hint: "nothing was changed, run it again"}
	}
	r, search := recordOf(w), "look for the right one with: till withdraw list --all"
	for _, other := range r.orderIDs {
		if other != o.OrderID {
			return refused(RuleDecision, fmt.Sprintf("withdrawal %s belongs to order %s, and not to %s", id, other, o.OrderID), search)
		}
	}
	if why := differs(o.Content, r); why != "" {
		return refused(RuleDecision, fmt.Sprintf("withdrawal %s is not what order %s asked for: %s", id, o.OrderID, why), search)
	}
	return nil
}

func (b *Book) checkNotSent(ctx context.Context, orders []journal.Order) error {
	results, err := b.settle(ctx, orders)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Listed {
			return refused(RuleDecision, fmt.Sprintf("the service lists order %s, as withdrawal %s: it is %s now", r.Order.OrderID, r.withdrawal, inWords(r.Order.State)),
				"see what is known of it with: till journal show "+r.Order.OrderID)
		}
	}
	for _, o := range orders { // only now: what is on the list has landed
		if wait := b.SettleAfter - b.Now().Sub(o.Sent); !o.Sent.IsZero() && wait > 0 {
			return refused(RuleDecision, fmt.Sprintf("order %s was sent at %s, and may still land", o.OrderID, o.Sent.UTC().Format(time.RFC3339)),
				"say it again in "+roundedUp(wait)+" (settle_after in the profile)")
		}
	}
	return nil
}

// roundedUp is a time to wait as a person says it: in whole minutes, or in seconds where it is less than one.
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

// Resolve records a decision that Check has let pass. What has changed since then, while a person was asked, is refused: the
// order may have been sent again, and that attempt is another one.
func (b *Book) Resolve(ctx context.Context, d Decision) (orders []journal.Order, err error) {
	for _, id := range d.OrderIDs {
		decision := journal.Decision{OrderID: id, PaidAs: d.PaidAs, NotSent: d.PaidAs == "", Reason: d.Reason}
		if o, found := b.checked[id]; found {
			decision.About = &o
		}
		o, err := b.Journal.Decide(ctx, b.Account, decision)
		if holder := (*journal.HolderError)(nil); errors.As(err, &holder) {
			return orders, refused(RuleDecision, err.Error(), "see that order with: till journal show "+holder.OrderID)
		}
		if gone := (*journal.GoneError)(nil); errors.As(err, &gone) && gone.Taken != "" {
			return orders, refused(RuleDecision, fmt.Sprintf("order %s was accepted by the service as %s, and that is not a person's to undo", id, gone.Taken), "ask the service's provider if you think otherwise")
		}
		if gone := (*journal.GoneError)(nil); errors.As(err, &gone) && gone.State != "" {
			return orders, refused(RuleDecision, fmt.Sprintf("order %s has changed meanwhile: it is %s now", id, inWords(gone.State)), "see what happened with: till journal show "+id)
		}
		if err != nil {
			return orders, err
		}
		orders = append(orders, o)
	}
	return orders, nil
}
