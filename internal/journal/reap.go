package journal

import (
	"context"

	"example.com/till/pkg/payout/order"
)

// reap makes an order unknown if its sender died while sending it, and returns the order after that.
func (t *tx) reap(o Record) (Record, error) {
	if o.State != order.Sending {
		return o, nil
	}
	alive, err := t.j.alive(t.ctx, t, o.origin().sender)
	if err != nil || alive {
		return o, err
	}
	return t.happen(o, senderDied{})
}

// Reap cleans up after processes that have died. Every order of the account that one of them was sending
// becomes unknown. A run that one of them had not recorded completely is removed.
func (l *Ledger) Reap(ctx context.Context) error {
	account, err := l.number(ctx)
	if err != nil || account == 0 {
		return err
	}
	q := l.j.read(ctx)
	waiting := 0
	if err := q.row(`SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`, account).Scan(&waiting); err != nil {
		return l.j.failed(err)
	}
	if waiting > 0 {
		if err := l.j.write(ctx, func(t *tx) error {
			if _, err := t.lockNumber(account); err != nil {
				return err
			}
			sending, err := t.orders(`account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`, account)
			if err != nil {
				return err
			}
			for _, o := range sending {
				if _, err := t.reap(o); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return l.discardUnfinished(ctx, account)
}
