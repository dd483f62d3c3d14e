package journal

import (
	"context"
	"errors"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// Claim records that a withdrawal is being sent, and returns the right to send it. When it returns a ticket,
// the record is on the disk. If there is none, an Error of the kind Exists or Duplicate says
// why, or AccountChanged or DemandChanged says that the account has changed since the ledger was found.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Ticket, error) {
	p, ticket := returning(func(t *tx) (Ticket, error) { return t.claim(l, c) })
	l.j.do(ctx, p)
	return ticket()
}

var errTried = errors.New("it was only tried")

// Try returns the error that Claim would return, and records nothing.
func (l *Ledger) Try(ctx context.Context, c Claim) error {
	if r := l.j.read(ctx); l.number(r) == 0 {
		return r.err
	}
	err := l.j.write(ctx, func(t *tx) error {
		if _, err := t.claim(l, c); err != nil {
			return err
		}
		return errTried // which undoes it
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// FinishAndClaim is Finish followed by Claim, without waiting for the disk in between. Each of them has its
// own error.
func (l *Ledger) FinishAndClaim(
	ctx context.Context, ticket Ticket, out Outcome, c Claim,
) (o Record, finished error, next Ticket, claimed error) {
	if err := ticket.allows(out); err != nil {
		return Record{}, err, Ticket{}, err
	}
	f, order := returning(func(t *tx) (Record, error) { return t.finish(ticket, out) })
	p, following := returning(func(t *tx) (Ticket, error) { return t.claim(l, c) })
	l.j.do(ctx, f, p)
	o, finished = order()
	next, claimed = following()
	return o, finished, next, claimed
}

func (t *tx) claim(l *Ledger, c Claim) (Ticket, error) {
	a, err := t.lock(l)
	if err != nil {
		return Ticket{}, err
	}
	if c.Known.account == a.id && c.Known.OrderID == c.OrderID {
		ticket, err := t.claimAs(a, c.Known, c)
		if !refused(err) && !errors.Is(err, errStale) {
			return ticket, err
		}
	}
	old, err := t.current(l, c.OrderID)
	if err != nil {
		return Ticket{}, err
	}
	return t.claimAs(a, old, c)
}

// claimAs makes a claim of an order as it was read.
func (t *tx) claimAs(a *lockedAccount, old Record, c Claim) (Ticket, error) {
	if old.State == "" && c.Run != "" { // the row of a run makes no order
		return Ticket{}, &Error{Kind: NotFound, OrderID: c.OrderID}
	}
	if old.State != "" && old.Run == "" && !old.Content.Same(c.Content) { // a single attempt does not take it from its run
		old.Run = one[string](t, `SELECT name FROM runs JOIN run_rows ON run_id = runs.id WHERE account = ?1 AND order_row = ?2 AND began <> '' ORDER BY runs.id DESC LIMIT 1`, a.id, old.row)
	}
	e := claimed{Claim: c, at: t.at, moment: t.moment, by: t.j.person(), sender: t.j.sender}
	if _, _, err := next(old, e); err != nil {
		return Ticket{}, err
	}
	if err := t.allows(a, c); err != nil {
		return Ticket{}, err
	}
	alone := !c.SameContent || c.Run != "" && c.Batch == "" && t.j.Shared() // others ask it once for all their rows
	if old.State != "" && alone &&
		one[int](t, `SELECT count(*) FROM orders WHERE `+replaced+` AND orders.id = ?4`, a.id, "", "", old.row) > 0 {
		return Ticket{}, &Error{Kind: BatchChanged, OrderID: c.OrderID}
	}
	t.holdLock()
	if old.State == "" {
		old = t.insert(a.id, order.Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback})
	}
	now, err := t.happen(old, e)
	return Ticket{Began: t.j.options.Now(), order: now}, err
}

// allows returns an Error if something other than the state of the order forbids the claim.
func (t *tx) allows(a *lockedAccount, c Claim) error {
	if a.demand != c.Demand {
		return &Error{Kind: DemandChanged, Account: a.Account}
	}
	if a.frozen {
		return t.frozen(a)
	}
	if err := t.stillNewest(a.id, c.Run, c.Batch, c.Run); err != nil {
		return err
	}
	if err := t.withinBudgets(a, c.Budgets, api.Big(c.Amount)); err != nil {
		return err
	}
	if err := t.duplicates(a.id, c); err != nil {
		return err
	}
	return t.tieKey(a, c.Key)
}

// duplicates returns an Error if another order with the same content forbids the claim.
func (t *tx) duplicates(account int64, c Claim) error {
	if c.AllowDuplicate {
		return nil
	}
	const same = `account = ?1 AND content = ?2 AND order_id <> ?3 AND state `
	const open = same + `IN ('unknown', 'sending')`
	key := c.Content.Key().String()
	var others []Record
	if one[int](t, `SELECT count(*) FROM orders WHERE `+open, account, key, c.OrderID) > 0 { // counting is faster than loading
		others = load(t, open, account, key, c.OrderID)
	}
	for _, o := range others {
		if o = t.reap(o); o.State == order.Unknown || c.Window > 0 {
			return &Error{Kind: Duplicate, Order: o, Alive: o.State != order.Unknown}
		}
	}
	if c.Window == 0 {
		return nil
	}
	for _, o := range load(t, same+`= 'accepted' AND payee = ?4`, account, key, c.OrderID, payee(c.Address)) {
		// The later of sent and changed counts: an order that was found on the list today may have been sent
		// by a machine whose clock was slow.
		if o.Age(t.moment, nil) < c.Window || t.at.Sub(o.Changed) < c.Window {
			return &Error{Kind: Duplicate, Order: o}
		}
	}
	return nil
}
