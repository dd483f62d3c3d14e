package journal

import (
	"context"
	"errors"
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

// lockedAccount is an account that no other process can change until the commit.
type lockedAccount struct {
	id int64
	order.Account
	demand   int64 // number of the demand in force; 0: there was none
	frozen   bool  // nothing is sent
	counting bool  // the sums of what was claimed are kept
	untied   bool  // a key of it may not be tied yet, see tieKey
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

// An AccountStatus is what the journal knows of an account as a whole.
type AccountStatus struct {
	Newest   *Record // the order that was accepted last, and that no person has accepted to be missing on the list; nil: none
	Unknown  int     // how many orders are unknown or being sent
	Found    int     // how many it has learned from the service's list since that agreed with the journal
	Merchant string  // the service's id of the merchant; empty: not known
	// OrderIDs says whether the service's records have the order ids that they were sent with.
	OrderIDs Keeping
	Keys     []string // fingerprints of the keys that were used with it
	// Restored reports whether the journal may lack orders that were sent. Then each order has to be looked
	// up before it is sent.
	Restored bool
}

// Keeping says whether a service's records have the order ids that they were sent with.
type Keeping string

const (
	NotTried Keeping = ""
	Kept     Keeping = "kept"
	Dropped  Keeping = "dropped"
)

// byTime sorts the newest order first. The index orders_newest has the same expression, because each
// withdrawal asks for the newest order.
const byTime = `CASE WHEN sent = '' THEN changed ELSE sent END DESC, id DESC`

// Status returns what the journal knows of the account. It is the zero value if the journal does not have the
// account.
func (l *Ledger) Status(ctx context.Context) (s AccountStatus, err error) {
	t := l.j.read(ctx)
	id := l.number(t)
	s.Restored = t.restored(id)
	fields := func(s *AccountStatus) []any { return []any{&s.Merchant, &s.OrderIDs} }
	for found := range each(t, fields, `SELECT merchant, order_ids FROM accounts WHERE id = ?1`, id) {
		s.Merchant, s.OrderIDs = found.Merchant, found.OrderIDs
	}
	for _, o := range load(t, `id = (SELECT id FROM orders WHERE account = ?1 AND state = 'accepted' AND NOT EXISTS (SELECT 1 FROM acceptances
			WHERE account = ?1 AND what = 'withdrawal' AND subject = withdrawal) ORDER BY `+byTime+` LIMIT 1)`, id) {
		s.Newest = &o
	}
	s.Unknown = one[int](t, `SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending')`, id)
	s.Found = one[int](t, `SELECT count(*) FROM orders WHERE account = ?1 AND sent = '' AND state IN ('accepted', 'conflict')
		AND changed > (SELECT agreed FROM accounts WHERE id = ?1)`, id)
	s.Keys = all(t, only[string], `SELECT fingerprint FROM keys WHERE account = ?1 AND answered <> '' ORDER BY noted`, id)
	return s, t.err
}

// NoteService records what the service has shown about the account: the merchant's id, if none is known yet,
// and whether order ids are kept. Empty values change nothing.
func (l *Ledger) NoteService(ctx context.Context, merchant string, keeping Keeping) error {
	return l.locked(ctx, func(t *tx, a *lockedAccount) error {
		t.exec(`UPDATE accounts SET merchant = CASE WHEN merchant = '' THEN ?1 ELSE merchant END, order_ids = CASE WHEN ?2 = '' THEN order_ids ELSE ?2 END WHERE id = ?3`,
			keepable(merchant), string(keeping), a.id)
		return nil
	})
}

// Rename moves the history of an account to a new name or address. If the new account has a history already, is
// frozen or requires other approvals, or the old one does not exist, it returns AccountChanged. While a living
// process sends or applies for one of the two, it returns Busy.
func (j *Journal) Rename(ctx context.Context, old, to order.Account) error {
	number := func(t *tx, a order.Account) int64 { return one[int64](t, accountID+` {lock}`, a.Address, a.Name) }
	return j.write(ctx, func(t *tx) error {
		from := number(t, old)
		if from == 0 {
			return &Error{Kind: AccountChanged, Account: old, Msg: "is not in the journal"}
		}
		if err := t.idle(from); err != nil {
			return err
		}
		if other := number(t, to); other != 0 {
			if other == from || one[int](t, `SELECT count(*) FROM orders WHERE account = ?1`, other) > 0 {
				return &Error{Kind: AccountChanged, Account: to, Msg: "has a history of its own"}
			}
			if err := t.idle(other); err != nil {
				return err
			}
			const first = ", which would be lost: if that is over, end it with a profile of the account: till journal "
			if one[int](t, `SELECT frozen FROM accounts WHERE id = ?1`, other) == 1 {
				return &Error{Kind: AccountChanged, Account: to, Msg: "is frozen" + first + "unfreeze --reason TEXT --profile NAME"}
			}
			if d := t.demand(other); d.Persons > 0 && !d.equal(t.demand(from)) {
				return &Error{Kind: AccountChanged, Account: to, Msg: "requires approvals" + first + "approvals 0 --reason TEXT --profile NAME"}
			}
			t.removeAccount(other)
		}
		clear(t.locked)
		t.exec(`UPDATE accounts SET address = ?1, name = ?2 WHERE id = ?3`, to.Address, to.Name, from)
		return nil
	})
}

// removeAccount removes an account that has no orders.
func (t *tx) removeAccount(number int64) {
	const ofRuns = `run_id IN (SELECT id FROM runs WHERE account = ?1)`
	for _, rows := range []string{`consent_approvals WHERE consent IN (SELECT id FROM consents WHERE ` + ofRuns + `)`,
		`consents WHERE ` + ofRuns, `approvals WHERE ` + ofRuns, `keys WHERE account = ?1`, `runs WHERE account = ?1`,
		`demands WHERE account = ?1`, `acceptances WHERE account = ?1`, `accounts WHERE id = ?1`} {
		t.exec(`DELETE FROM `+rows, number)
	}
}

// idle returns an error while another process sends for the account or applies a plan of it.
func (t *tx) idle(account int64) error {
	for _, o := range load(t, underWay, account) {
		if o = t.reap(o); o.State == order.Sending {
			return &Error{Kind: Busy, OrderID: o.OrderID, User: o.User, Host: o.Host}
		}
	}
	for _, a := range all(t, (*Applier).fields, appliers) {
		if a.account == account && a.sender != t.j.sender && t.alive(a.sender) {
			return &Error{Kind: Busy, Run: a.Run, User: a.User, Host: a.Host}
		}
	}
	return nil
}

// Accounts returns every account of the journal.
func (j *Journal) Accounts(ctx context.Context) ([]order.Account, error) {
	t := j.read(ctx)
	return all(t, accountFields, `SELECT address, name FROM accounts ORDER BY id`), t.err
}

func accountFields(a *order.Account) []any { return []any{&a.Address, &a.Name} }

var errNoID = errors.New("a withdrawal without an id cannot be recorded")

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

// The ways in which a key came to be noted for an account.
const (
	KeyFirst   = "first"   // nothing was accepted or unknown before it
	KeyChecked = "checked" // it could read what was accepted before it
	KeyAdopted = "adopted" // a person said so
)

// KeyUsedBy returns the accounts that a key was used with. The key is given by its fingerprint. A key is tied
// to an account once the service has answered a call with it, or may have. A first attempt that never left
// this machine ties nothing.
func (j *Journal) KeyUsedBy(ctx context.Context, fingerprint string) ([]order.Account, error) {
	t := j.read(ctx)
	return t.usersOf(fingerprint, 0), t.err
}

// usersOf returns the accounts that a key was used with, except one.
func (t *tx) usersOf(fingerprint string, except int64) []order.Account {
	return all(t, accountFields, `SELECT a.address, a.name FROM keys k JOIN accounts a ON a.id = k.account
		WHERE k.fingerprint = ?1 AND k.account <> ?2 AND k.answered <> '' ORDER BY k.noted`, fingerprint, except)
}

// NoteKey notes that a key is used with the account. If the key has been used with another account meanwhile,
// it returns AccountChanged, unless a person adopts the key: then the account may have sent orders under another name,
// and counts as restored. It also does so for a first key if another key was first. While another process sends or
// applies, a person's adoption is refused as Busy.
func (l *Ledger) NoteKey(ctx context.Context, fingerprint, how string) error {
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		others := t.usersOf(fingerprint, a.id)
		if how == KeyAdopted {
			if err := t.idle(a.id); err != nil {
				return err
			}
			if len(others) > 0 {
				t.exec(`UPDATE accounts SET checked = -1 WHERE id = ?1`, a.id)
			}
		} else if len(others) > 0 {
			return &Error{Kind: AccountChanged, Account: others[0], Msg: "has used this key meanwhile"}
		}
		answered := t.now
		if how == KeyFirst {
			answered = ""
			if one[int](t, `SELECT count(*) FROM keys WHERE account = ?1 AND fingerprint <> ?2 AND answered <> ''`, a.id, fingerprint) > 0 {
				return &Error{Kind: AccountChanged, Account: l.account, Msg: "was first used with another key meanwhile"}
			}
		}
		t.exec(`INSERT INTO keys (fingerprint, account, noted, how, user_name, host, answered) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (fingerprint, account) DO UPDATE SET answered = CASE WHEN keys.answered = '' THEN excluded.answered ELSE keys.answered END`,
			fingerprint, a.id, t.now, how, t.j.options.User, t.j.options.Host, answered)
		return nil
	})
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
