package journal

import (
	"context"
	"maps"
	"slices"

	"example.com/till/pkg/payout/order"
)

// Evidence is what the service says about an order, on its list or in a single record.
type Evidence struct {
	OrderID    string
	Withdrawal string
	Key        string // fingerprint of the key that read the record; empty: not relevant
	Dated      string // date of the record, in the service's format; empty: it has none
	Differs    string // how the record differs from the order; empty: it does not
	// Content is what the record was compared with. If the journal does not have the order, it is the content
	// that the order is to have.
	order.Content
}

// Settle records evidence, and returns the order after that. It does not change an order in conflict, about
// which a person decides. An accepted order becomes a conflict if the record has another withdrawal id. If a
// living process is sending the order, or if it was sent with other content after the comparison, Settle
// records what Show does.
func (l *Ledger) Settle(ctx context.Context, e Evidence) (o Record, err error) {
	if e.Withdrawal == "" {
		return Record{}, errNoID
	}
	e.Differs, e.Dated = keepable(e.Differs), keepable(e.Dated)
	if err := l.Enter(ctx); err != nil {
		return Record{}, err
	}
	err = l.j.write(ctx, func(t *tx) error {
		old, err := t.current(l, e.OrderID)
		if err != nil {
			return err
		}
		if err := t.tieKey(t.lockNumber(old.account), e.Key); err != nil {
			return err
		}
		holder := t.holder(old.account, e.Withdrawal, old.row)
		if old.State == "" {
			old = t.insert(old.account, order.Order{OrderID: e.OrderID, Content: e.Content})
		}
		o, err = t.happen(old, listed{e, holder})
		return err
	})
	return o, err
}

// Missing records that the service does not have the withdrawal whose id it has just given an order. It
// returns the order after that. If the order has changed since, for example because the list has shown it,
// that counts.
func (l *Ledger) Missing(ctx context.Context, o Record) (now Record, err error) {
	err = l.j.write(ctx, func(t *tx) (err error) {
		if now, err = t.current(l, o.OrderID); err == nil && now.version == o.version {
			now, err = t.happen(now, missing{o.ID})
		}
		return err
	})
	return now, err
}

// Show records under which id the service has shown each of some orders, before anything is settled or
// because the scan settles nothing. After that, a person can no longer decide that such an order was not
// sent. A planned or rejected order becomes unknown.
func (l *Ledger) Show(ctx context.Context, withdrawals map[string]string) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(withdrawals)), mostShown) {
		if err := l.locked(ctx, func(t *tx, a *lockedAccount) (err error) {
			for _, o := range loadAmong(t, `account = ?1 AND order_id IN ({list})`, a.id, some) {
				if _, e := t.happen(t.reap(o), shown{withdrawals[o.OrderID]}); err == nil {
					err = e
				}
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// mostShown is how many orders Show changes in one commit.
const mostShown = 256
