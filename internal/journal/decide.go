package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// A Decision is what a person says about an order: one of PaidAs and NotSent. An empty id says neither.
type Decision struct {
	OrderID string
	PaidAs  string // the service's id of the withdrawal
	NotSent bool   // which needs a reason
	Reason  string
	// About is the order as it was when the decision was made; nil: whatever it is by now. A decision about an attempt says
	// nothing about one that was made since.
	About *Order
}

// Decide records a person's decision about an order that is unknown or in conflict, or about which a person has decided
// before. What the service has accepted is not a person's to undo, though it came to be in conflict: that is a *GoneError, and
// so is an order that has moved on since the decision was made.
func (j *Journal) Decide(ctx context.Context, a Account, d Decision) (o Order, err error) {
	if (d.PaidAs != "") == d.NotSent || d.NotSent && d.Reason == "" {
		return Order{}, fmt.Errorf("a decision about order %s is either the id it was paid as, or that it was not sent and why", d.OrderID)
	}
	err = j.write(ctx, func(t *tx) error {
		account, old, err := t.living(a, d.OrderID)
		if err != nil {
			return err
		}
		if old.State != Unknown && old.State != Conflict && (old.Decided == nil || old.State == Sending) {
			return &GoneError{OrderID: d.OrderID, State: old.State, Alive: old.State == Sending}
		}
		if d.About != nil && (d.About.State != old.State || d.About.attempt != old.attempt) {
			return &GoneError{OrderID: d.OrderID, State: old.State}
		}
		if d.NotSent {
			taken, err := t.taken(old.id)
			if err != nil {
				return err
			}
			if taken != "" {
				return &GoneError{OrderID: d.OrderID, State: old.State, Taken: taken}
			}
		}
		next := old
		next.Code = 0
		next.Decided = &Decided{At: unstamp(t.now), User: t.j.options.User, Host: t.j.options.Host, As: eventNotSent, Reason: d.Reason}
		e := Event{What: eventNotSent, Reason: d.Reason}
		next.State, next.Withdrawal, next.Reason = Planned, "", d.Reason
		if d.PaidAs != "" {
			other, err := t.holder(account, d.PaidAs, old.id)
			if err != nil {
				return err
			}
			if other != "" {
				return &HolderError{d.PaidAs, other}
			}
			e.What, e.Withdrawal, next.Decided.As = eventPaidAs, d.PaidAs, eventPaidAs
			next.State, next.Withdrawal = Accepted, d.PaidAs
		}
		o, err = t.move(old, next, e)
		return err
	})
	return o, err
}

// taken returns the id under which the service has said that it took an order, in an answer or on its list; empty where it
// never has.
func (t *tx) taken(order int64) (withdrawal string, err error) {
	err = t.row(`SELECT withdrawal FROM events WHERE order_row = ?1 AND what IN ('answered', 'answered late', 'found') AND withdrawal <> '' ORDER BY id DESC LIMIT 1`, order).Scan(&withdrawal)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return withdrawal, err
}
