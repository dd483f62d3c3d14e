package journal

import (
	"context"
	"sync/atomic"

	"example.com/till/pkg/payout/order"
)

// A Ledger is the record of one account. The account's name and address are only attributes. A sender finds
// its Ledger once and uses it for every claim and outcome. So they are recorded for the same account even if
// it is renamed.
type Ledger struct {
	j       *Journal
	account order.Account
	id      atomic.Int64 // 0: the journal does not have the account yet
}

// Ledger returns the record of an account. If the journal does not have the account, the record is empty
// until Enter makes the account.
func (j *Journal) Ledger(a order.Account) *Ledger { return &Ledger{j: j, account: a} }

// Account returns the account by which the ledger was found.
func (l *Ledger) Account() order.Account { return l.account }

// Journal returns the journal of the ledger.
func (l *Ledger) Journal() *Journal { return l.j }

const accountID = `SELECT id FROM accounts WHERE address = ?1 AND name = ?2`

// number returns the account's number; 0 if the journal does not have it.
func (l *Ledger) number(t *tx) int64 {
	if id := l.id.Load(); id != 0 {
		return id
	}
	l.id.CompareAndSwap(0, one[int64](t, accountID, l.account.Address, l.account.Name))
	return l.id.Load()
}

// Enter makes the account if the journal does not have it yet. Only Enter makes accounts.
func (l *Ledger) Enter(ctx context.Context) error {
	if l.id.Load() != 0 {
		return nil
	}
	err := l.j.write(ctx, func(t *tx) error {
		t.exec(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
			l.account.Address, l.account.Name, t.now)
		return nil
	})
	if err != nil {
		return err
	}
	t := l.j.read(ctx) // after the commit: without it, there is no account of this number
	l.number(t)
	return t.err
}

// change makes a change of the account in one commit. If the journal does not have the account, it makes it
// first.
func (l *Ledger) change(ctx context.Context, do func(*tx, *lockedAccount) error) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	return l.locked(ctx, do)
}

// locked is change for an account that the journal has.
func (l *Ledger) locked(ctx context.Context, do func(*tx, *lockedAccount) error) error {
	return l.j.write(ctx, func(t *tx) error {
		a, err := t.lock(l)
		if err != nil {
			return err
		}
		return do(t, a)
	})
}

// lock keeps other processes from changing anything of the account until the commit. If the account was renamed
// or is gone, it returns AccountChanged, because the sender would otherwise send for another merchant.
func (t *tx) lock(l *Ledger) (*lockedAccount, error) {
	id := l.number(t) // another process may have made it since
	if id == 0 {
		return nil, &Error{Kind: AccountChanged, Account: l.account, Msg: "is not in the journal"}
	}
	a := t.lockNumber(id)
	switch {
	case a == nil:
		return nil, &Error{Kind: AccountChanged, Account: l.account, Msg: "was removed from the journal meanwhile"}
	case a.Account != l.account:
		return nil, &Error{Kind: AccountChanged, Account: l.account, Msg: "was renamed meanwhile: it is " + a.Account.String() + " now"}
	}
	return a, nil
}

// lockNumber is lock for an account that may have been renamed. An outcome belongs to its attempt, and is
// recorded in any case. It returns nil if there is no such account.
func (t *tx) lockNumber(id int64) *lockedAccount {
	fields := func(a *lockedAccount) []any {
		return []any{&a.id, &a.Address, &a.Name, &a.demand, &a.frozen, &a.counting}
	}
	if t.locked[id] == nil {
		for a := range each(t, fields, `SELECT id, address, name, demand, frozen = 1, counting = 1 FROM accounts WHERE id = ?1 {lock}`, id) {
			t.locked[id] = &a
		}
		if a := t.locked[id]; a != nil { // a statement of its own, which sees what was committed before the lock was had
			a.untied = one[int](t, `SELECT count(*) FROM keys WHERE account = ?1 AND answered = ''`, id) > 0
		}
	}
	return t.locked[id]
}

// Moment returns the present moment.
func (l *Ledger) Moment(ctx context.Context) (Moment, error) {
	t := l.j.read(ctx)
	at := t.clock()
	return l.j.moment(at), t.err
}
