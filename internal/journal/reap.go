package journal

import (
	"context"

	"example.com/till/pkg/payout/order"
)

// reap makes an order unknown if its sender died while sending it, and returns the order after that.
func (t *tx) reap(o Record) Record {
	if o.State != order.Sending || t.alive(o.origin().sender) {
		return o
	}
	o, err := t.happen(o, senderDied{})
	t.fail(err)
	return o
}

// underWay is the condition for the orders of an account that are being sent. It repeats that of an index.
const underWay = `account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`

// Reap cleans up after processes that have died. Every order of the account that one of them was sending
// becomes unknown. A run that one of them had not recorded completely is removed.
func (l *Ledger) Reap(ctx context.Context) error {
	r := l.j.read(ctx)
	account := l.number(r)
	waiting := one[int](r, `SELECT count(*) FROM orders WHERE `+underWay, account)
	unfinished := one[int](r, `SELECT count(*) FROM runs WHERE account = ?1 AND began = '' AND sender <> ?2`, account, l.j.sender)
	if waiting+unfinished == 0 {
		return r.err
	}
	var dead []Run
	err := l.j.write(ctx, func(t *tx) error {
		t.lockNumber(account)
		for _, o := range load(t, underWay, account) {
			t.reap(o)
		}
		dead, _ = t.unfinished(account)
		return nil
	})
	for _, d := range dead {
		if err == nil {
			err = l.discard(ctx, d)
		}
	}
	return err
}
