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
	const sending = `account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`
	waiting, err := one[int](l.j.read(ctx), `SELECT count(*) FROM orders WHERE `+sending, account)
	if err == nil && waiting > 0 {
		err = l.j.write(ctx, func(t *tx) error {
			if _, err := t.lockNumber(account); err != nil {
				return err
			}
			orders, err := load(t, sending, account)
			for _, o := range orders {
				if err == nil {
					_, err = t.reap(o)
				}
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	return l.discardUnfinished(ctx, account)
}
