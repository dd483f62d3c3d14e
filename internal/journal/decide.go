package journal

import (
	"context"
	"fmt"
)

// A Decision is what a person says about an order: one of PaidAs and NotSent. An empty id says neither.
type Decision struct {
	OrderID string
	PaidAs  string // the service's id of the withdrawal
	NotSent bool   // which needs a reason
	Reason  string
	// AlthoughDifferent takes a withdrawal that differs from the order, or that another order has; it needs a reason.
	AlthoughDifferent bool
	// About is the order as it was when the decision was made; nil: whatever it is by now. A decision says nothing about what
	// has happened since.
	About *Order
}

// Decide records a person's decision about an order that is unknown or in conflict, or about which a person has decided
// before. What the service has ever shown is not a person's to call not sent: that is a *GoneError, and so is an order that
// has moved on since the decision was made.
func (l *Ledger) Decide(ctx context.Context, d Decision) (o Order, err error) {
	if (d.PaidAs != "") == d.NotSent || (d.NotSent || d.AlthoughDifferent) && d.Reason == "" {
		return Order{}, fmt.Errorf("a decision about order %s is either the id it was paid as, or that it was not sent and why", d.OrderID)
	}
	d.Reason = keepable(d.Reason)
	err = l.j.write(ctx, func(t *tx) error {
		account, old, err := t.current(l, d.OrderID)
		if err != nil {
			return err
		}
		if old.State == "" {
			return &GoneError{OrderID: d.OrderID}
		}
		holder, err := t.holder(account, d.PaidAs, old.id)
		if err != nil {
			return err
		}
		o, err = t.happen(old, decided{d, holder, t.at, t.j.person()})
		return err
	})
	return o, err
}
