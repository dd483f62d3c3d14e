package journal

import (
	"context"
	"fmt"
)

// A Finding is what the service's list, or a single record of it, says about an order.
type Finding struct {
	OrderID    string
	Withdrawal string
	Dated      string // when the record is from, as the service writes it; empty: it does not say
	Differs    string // how the record differs from the order; empty: it does not
	// Content is what the record was held against: that of the order, or what an order that the journal does not have is to
	// have.
	Content
}

// Settle records a finding, and returns the order as it then stands. An order that a living process is sending is left
// alone, and so is one in conflict: a person decides about that. An order that is accepted under another id than the one
// found is in conflict. An order that has been sent with other content since the record was held against it is left alone, too:
// the finding is about something else.
func (j *Journal) Settle(ctx context.Context, a Account, f Finding) (o Order, err error) {
	if f.Withdrawal == "" {
		return Order{}, errNoID
	}
	f.Differs, f.Dated = keepable(f.Differs), keepable(f.Dated)
	err = j.write(ctx, func(t *tx) error {
		f := f
		account, old, err := t.living(a, f.OrderID)
		if err != nil {
			return err
		}
		if old.State != "" && old.Content != f.Content {
			o = old
			return nil
		}
		other, err := t.holder(account, f.Withdrawal, old.id)
		if err != nil {
			return err
		}
		if f.Differs == "" {
			if other != "" {
				f.Differs = fmt.Sprintf("the service's record %s belongs to order %s in the journal", f.Withdrawal, other)
			} else if old.State == Accepted && old.Withdrawal != f.Withdrawal {
				f.Differs = fmt.Sprintf("the service's record is %s, and the journal has %s", f.Withdrawal, old.Withdrawal)
			}
		}
		confirmed := old.State == Accepted && f.Differs == ""
		if old.State == Sending || old.State == Conflict || confirmed && old.Decided == nil {
			o = old
			return nil
		}
		if old.State == "" {
			if old, err = t.insert(account, Order{OrderID: f.OrderID, Content: f.Content}); err != nil {
				return err
			}
		}
		next := old
		next.Code, next.Decided = 0, nil
		e := Event{What: eventFound, Withdrawal: f.Withdrawal}
		if f.Differs == "" {
			next.State, next.Withdrawal, next.Reason = Accepted, f.Withdrawal, "found on the service's list"
			if f.Dated != "" {
				next.Reason += ", dated " + f.Dated
			}
		} else {
			next.State, next.Reason, e.What, e.Reason = Conflict, f.Differs, eventDiffers, f.Differs
			if next.Withdrawal == "" && other == "" {
				next.Withdrawal = f.Withdrawal
			}
		}
		o, err = t.move(old, next, e)
		return err
	})
	return o, err
}
