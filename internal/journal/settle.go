package journal

import "context"

// Evidence is what the service's list, or a single record of it, says about an order.
type Evidence struct {
	OrderID    string
	Withdrawal string
	Key        string // fingerprint of the key with which it was read; empty: it does not matter
	Dated      string // when the record is from, as the service writes it; empty: it does not say
	Differs    string // how the record differs from the order; empty: it does not
	// Content is what the record was compared with: that of the order, or what an order that the journal does not have is to
	// have.
	Content
}

// Settle records evidence, and returns the order as it is then. An order that a living process is sending is left alone, and
// so is one in conflict: a person decides about that. An order that is accepted under another id than the one found is in
// conflict. Of an order that was sent with other content since the record was compared with it, only that the service has shown
// it is recorded.
func (l *Ledger) Settle(ctx context.Context, e Evidence) (o Order, err error) {
	if e.Withdrawal == "" {
		return Order{}, errNoID
	}
	e.Differs, e.Dated = keepable(e.Differs), keepable(e.Dated)
	if err := l.Enter(ctx); err != nil {
		return Order{}, err
	}
	err = l.j.write(ctx, func(t *tx) error {
		account, old, err := t.current(l, e.OrderID)
		if err != nil {
			return err
		}
		if err := t.tieKey(account, e.Key); err != nil {
			return err
		}
		holder, err := t.holder(account, e.Withdrawal, old.id)
		if err != nil {
			return err
		}
		if old.State == "" {
			if old, err = t.insert(account, Order{OrderID: e.OrderID, Content: e.Content}); err != nil {
				return err
			}
		}
		o, err = t.happen(old, listed{e, holder})
		return err
	})
	return o, err
}

// Show records that the service has shown an unknown order, under this id, in a reading that settles nothing: one that is
// incomplete, or about other orders. A person can no longer say of it that it was not sent.
func (l *Ledger) Show(ctx context.Context, orderID, withdrawal string) error {
	return l.j.write(ctx, func(t *tx) error {
		_, old, err := t.current(l, orderID)
		if err == nil {
			_, err = t.happen(old, shown{withdrawal})
		}
		return err
	})
}
