package journal

import (
	"context"

	"example.com/till/pkg/payout/order"
)

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

// Restored reports whether the journal may lack orders that were sent for the account.
func (l *Ledger) Restored(ctx context.Context) (bool, error) {
	t := l.j.read(ctx)
	restored := t.restored(l.number(t))
	return restored, t.err
}

func (t *tx) restored(account int64) bool {
	return one[bool](t, `SELECT restored > coalesce((SELECT checked FROM accounts WHERE id = ?1), 0) FROM till_journal`, account)
}
