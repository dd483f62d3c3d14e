package journal

import (
	"context"
	"fmt"
)

// A Decision is what a person says about an order: either PaidAs or NotSent. An empty PaidAs does not mean
// NotSent.
type Decision struct {
	OrderID string
	PaidAs  string // the service's id of the withdrawal
	NotSent bool   // needs a reason
	Reason  string
	// AlthoughDifferent accepts a withdrawal that differs from the order, or that belongs to another order.
	// It needs a reason.
	AlthoughDifferent bool
	// About is the order when the decision was made; nil: its current state. A decision says nothing about
	// what has happened to the order since.
	About *Record
}

// Decide records a person's decision about an order that is unknown, in conflict, or already decided by a
// person. If the service has ever shown the order, the decision that it was not sent is refused as Shown. It
// is refused as OrderChanged if the order has changed since the decision was made.
func (l *Ledger) Decide(ctx context.Context, d Decision) (o Record, err error) {
	if (d.PaidAs != "") == d.NotSent || (d.NotSent || d.AlthoughDifferent) && d.Reason == "" {
		return Record{},
			fmt.Errorf("a decision about order %s is either the id it was paid as, or that it was not sent and why",
				d.OrderID)
	}
	d.Reason = keepable(d.Reason)
	err = l.j.write(ctx, func(t *tx) error {
		old, err := t.current(l, d.OrderID)
		if err != nil {
			return err
		}
		if old.State == "" {
			return &Error{Kind: NotFound, OrderID: d.OrderID}
		}
		o, err = t.happen(old, decided{d, t.holder(old.account, d.PaidAs, old.row), t.at, t.j.person()})
		return err
	})
	return o, err
}
