package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.com/till/pkg/payout/order"
)

// Finish records how the attempt of a ticket ended, and returns the order after that. When it returns without
// an error, the record is on the disk. The state of the order can differ from the outcome. After a rejection,
// the order is unknown if an earlier attempt is in doubt. After an acceptance, it is unknown if the
// withdrawal's id belongs to another order.
//
// Finish also records an outcome that comes late, when the order is already unknown because this process was
// taken for dead. It also does so if the account was renamed meanwhile.
func (l *Ledger) Finish(ctx context.Context, ticket Ticket, out Outcome) (Record, error) {
	if err := ticket.allows(out); err != nil {
		return Record{}, err
	}
	p, order := returning(func(t *tx) (Record, error) { return t.finish(ticket, out) })
	l.j.do(ctx, p)
	return order()
}

func (t *tx) finish(ticket Ticket, out Outcome) (Record, error) {
	old := ticket.order
	t.lockNumber(old.account)
	out.Reason = keepable(out.Reason)
	e := ended{attempt: old.Last().Number, content: old.Content, Outcome: out, holder: t.holder(old.account, out.Withdrawal, old.row), at: t.at}
	now, err := t.happen(old, e)
	if errors.Is(err, errStale) {
		found := load(t, `id = ?1`, old.row)
		if len(found) == 0 {
			return Record{}, errors.New("the record of the order is gone")
		}
		now, err = t.happen(found[0], e)
	}
	if err == nil && out.Ending == order.SaidNothing && out.Status == 0 { // the call never left
		t.untieKey(old.account, old.Key)
	}
	return now, err
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
// that counts. seen says that the service has shown the withdrawal since its answer.
func (l *Ledger) Missing(ctx context.Context, o Record, seen bool) (now Record, err error) {
	err = l.j.write(ctx, func(t *tx) (err error) {
		if now, err = t.current(l, o.OrderID); err == nil && now.version == o.version {
			now, err = t.happen(now, missing{o.ID, seen})
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
			for _, o := range load(t, ofList, a.id, listOf(some)) {
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

// holder returns the other order of the account that has a withdrawal's id; empty: none.
func (t *tx) holder(account int64, withdrawal string, but int64) (orderID string) {
	if withdrawal == "" {
		return ""
	}
	return one[string](t, `SELECT order_id FROM orders WHERE account = ?1 AND withdrawal <> '' AND substr(withdrawal, 1, 200) = substr(?2, 1, 200) AND withdrawal = ?2 AND id <> ?3 ORDER BY id LIMIT 1`,
		account, storable(withdrawal), but)
}

// current returns an order of the account. If the order's sender has died, the order becomes unknown
// first. The order's state is empty if the journal does not have the order.
func (t *tx) current(l *Ledger, orderID string) (Record, error) {
	a, err := t.lock(l)
	if err != nil {
		return Record{}, err
	}
	for _, o := range load(t, `account = ?1 AND order_id = ?2`, a.id, orderID) {
		return t.reap(o), nil
	}
	return Record{Order: order.Order{OrderID: orderID}, account: a.id}, nil
}

// tieKey ties a key to an account, in the commit that records that something is sent with it. A first key is
// tied only if no other key is tied to the account, and this key to no other account.
func (t *tx) tieKey(a *lockedAccount, fingerprint string) error {
	// A key that is not noted counts as tied.
	if !a.untied || one[int](t, `SELECT count(*) FROM keys WHERE account = ?1 AND fingerprint = ?2 AND answered = ''`, a.id, fingerprint) == 0 {
		return nil
	}
	others := one[int](t, `SELECT count(*) FROM keys WHERE answered <> '' AND (account = ?1 AND fingerprint <> ?2 OR account <> ?1 AND fingerprint = ?2)`, a.id, fingerprint)
	if others > 0 {
		return &Error{Kind: AccountChanged, Account: a.Account, Msg: "was first used with another key meanwhile, or this key with another account"}
	}
	t.exec(`UPDATE keys SET answered = ?1 WHERE account = ?2 AND fingerprint = ?3`, t.now, a.id, fingerprint)
	return nil
}

// untieKey lets a first key be used with another account again, if nothing that was sent for the account has
// ever left this machine. An attempt has left it if the service answered about the key or the number of
// calls. Then its event has a status.
func (t *tx) untieKey(account int64, fingerprint string) {
	n := t.exec(`UPDATE keys SET answered = '' WHERE account = ?1 AND fingerprint = ?2 AND how = '`+KeyFirst+`'
		AND NOT EXISTS (SELECT 1 FROM orders JOIN attempts ON order_row = orders.id WHERE orders.account = ?1 AND outcome <> '`+string(order.SaidNothing)+`')
		AND NOT EXISTS (SELECT 1 FROM orders JOIN events ON order_row = orders.id WHERE orders.account = ?1 AND events.status <> 0)`, account, fingerprint)
	if n > 0 {
		t.lockNumber(account).untied = true
	}
}
