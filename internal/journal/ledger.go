package journal

import (
	"context"
	"database/sql"
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

// number returns the account's number; 0 if the journal does not have it.
func (l *Ledger) number(ctx context.Context) (int64, error) {
	if id := l.id.Load(); id != 0 {
		return id, nil
	}
	id, err := first[int64](l.j.read(ctx), `SELECT id FROM accounts WHERE address = ?1 AND name = ?2`, l.account.Address, l.account.Name)
	l.id.CompareAndSwap(0, id)
	return l.id.Load(), err
}

// Enter makes the account if the journal does not have it yet. Only Enter makes accounts.
func (l *Ledger) Enter(ctx context.Context) error {
	if l.id.Load() != 0 {
		return nil
	}
	var id int64
	err := l.j.write(ctx, func(t *tx) (err error) {
		if _, err := t.exec(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
			l.account.Address, l.account.Name, t.now); err != nil {
			return err
		}
		id, err = one[int64](t, `SELECT id FROM accounts WHERE address = ?1 AND name = ?2`, l.account.Address, l.account.Name)
		return err
	})
	if err == nil { // without the commit, there is no account of this number
		l.id.CompareAndSwap(0, id)
	}
	return err
}

// change makes a change of the account in one commit. If the journal does not have the account, it makes it
// first.
func (l *Ledger) change(ctx context.Context, do func(t *tx, account int64) error) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	return l.locked(ctx, do)
}

// locked is change for an account that the journal has.
func (l *Ledger) locked(ctx context.Context, do func(t *tx, account int64) error) error {
	return l.j.write(ctx, func(t *tx) error {
		account, err := t.lock(l)
		if err != nil {
			return err
		}
		return do(t, account)
	})
}

// lock keeps other processes from changing anything of the account until the commit, and returns the
// account's number. If the account was renamed or is gone, it returns AccountChanged, because the sender
// would otherwise send for another merchant.
func (t *tx) lock(l *Ledger) (id int64, err error) {
	if id = l.id.Load(); id == 0 { // another process may have made it since
		if id, err = t.accountNumber(l.account); err != nil {
			return 0, err
		}
		if id == 0 {
			return 0, &Error{Kind: AccountChanged, Account: l.account, Msg: "is not in the journal"}
		}
		l.id.CompareAndSwap(0, id)
	}
	now, err := t.lockNumber(id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, &Error{Kind: AccountChanged, Account: l.account, Msg: "was removed from the journal meanwhile"}
	case err != nil:
		return 0, err
	case now != l.account:
		return 0, &Error{Kind: AccountChanged, Account: l.account, Msg: "was renamed meanwhile: it is " + now.String() + " now"}
	}
	return id, nil
}

// lockNumber is lock for an account that may have been renamed. An outcome belongs to its attempt, and is
// recorded in any case.
func (t *tx) lockNumber(id int64) (order.Account, error) {
	if a, found := t.locked[id]; found {
		return a.Account, nil
	}
	var a lockedAccount
	if err := t.row(`SELECT address, name, demand, frozen = 1, counting = 1 FROM accounts WHERE id = ?1 {lock}`, id).
		Scan(&a.Address, &a.Name, &a.demand, &a.frozen, &a.counting); err != nil {
		return order.Account{}, err
	}
	t.locked[id] = a
	return a.Account, nil
}

// lockedAccount is an account that no other process can change until the commit.
type lockedAccount struct {
	order.Account
	demand   int64 // number of the demand in force; 0: there was none
	frozen   bool  // nothing is sent
	counting bool  // the sums of what was claimed are kept
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
	id, err := l.number(ctx)
	if err == nil {
		s.Restored, err = l.Restored(ctx)
	}
	if err != nil || id == 0 {
		return s, err
	}
	q := l.j.read(ctx)
	err = q.row(`SELECT merchant, order_ids FROM accounts WHERE id = ?1`, id).Scan(&s.Merchant, &s.OrderIDs)
	if errors.Is(err, sql.ErrNoRows) { // another account was renamed to its name
		return s, nil
	}
	if err != nil {
		return s, l.j.failed(err)
	}
	newest, err := load(q,
		`id = (SELECT id FROM orders WHERE account = ?1 AND state = 'accepted' AND NOT EXISTS (SELECT 1 FROM acceptances
			WHERE account = ?1 AND what = 'withdrawal' AND subject = withdrawal) ORDER BY `+byTime+` LIMIT 1)`, id)
	if err != nil {
		return s, l.j.failed(err)
	}
	if len(newest) > 0 {
		s.Newest = &newest[0]
	}
	s.Unknown, err = one[int](q, `SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending')`, id)
	if err == nil {
		s.Found, err = one[int](q, `SELECT count(*) FROM orders WHERE account = ?1 AND sent = '' AND state IN ('accepted', 'conflict')
			AND changed > (SELECT agreed FROM accounts WHERE id = ?1)`, id)
	}
	if err == nil {
		s.Keys, err = collect(each(q, scanOne[string], `SELECT fingerprint FROM keys WHERE account = ?1 AND answered <> '' ORDER BY noted`, id))
	}
	return s, err
}

// NoteService records what the service has shown about the account: the merchant's id, if none is known yet,
// and whether order ids are kept. Empty values change nothing.
func (l *Ledger) NoteService(ctx context.Context, merchant string, keeping Keeping) error {
	return l.locked(ctx, func(t *tx, account int64) error {
		_, err := t.exec(`UPDATE accounts SET merchant = CASE WHEN merchant = '' THEN ?1 ELSE merchant END, order_ids = CASE WHEN ?2 = '' THEN order_ids ELSE ?2 END WHERE id = ?3`,
			keepable(merchant), string(keeping), account)
		return err
	})
}

// Rename moves the history of an account to a new name or address. If the new account has a history already,
// or the old one does not exist, it returns AccountChanged. While a living process sends or applies for one
// of the two, it returns Busy.
func (j *Journal) Rename(ctx context.Context, old, to order.Account) error {
	return j.write(ctx, func(t *tx) error {
		from, err := t.accountNumber(old)
		if err != nil {
			return err
		}
		if from == 0 {
			return &Error{Kind: AccountChanged, Account: old, Msg: "is not in the journal"}
		}
		if err := t.idle(from); err != nil {
			return err
		}
		other, err := t.accountNumber(to)
		if err != nil {
			return err
		}
		if other == from {
			return hasHistory(to)
		}
		if other != 0 {
			if err := t.removeAccount(to, other); err != nil {
				return err
			}
		}
		clear(t.locked)
		_, err = t.exec(`UPDATE accounts SET address = ?1, name = ?2 WHERE id = ?3`, to.Address, to.Name, from)
		return err
	})
}

func hasHistory(a order.Account) error {
	return &Error{Kind: AccountChanged, Account: a, Msg: "has a history of its own"}
}

// removeAccount removes an account that has no orders.
func (t *tx) removeAccount(a order.Account, number int64) error {
	n, err := one[int](t, `SELECT count(*) FROM orders WHERE account = ?1`, number)
	if err != nil {
		return err
	}
	if n > 0 {
		return hasHistory(a)
	}
	if err := t.idle(number); err != nil {
		return err
	}
	const ofRuns = `run_id IN (SELECT id FROM runs WHERE account = ?1)`
	for _, rows := range []string{`consent_approvals WHERE consent IN (SELECT id FROM consents WHERE ` + ofRuns + `)`,
		`consents WHERE ` + ofRuns, `approvals WHERE ` + ofRuns, `keys WHERE account = ?1`, `runs WHERE account = ?1`,
		`demands WHERE account = ?1`, `acceptances WHERE account = ?1`, `accounts WHERE id = ?1`} {
		if _, err := t.exec(`DELETE FROM `+rows, number); err != nil {
			return err
		}
	}
	return nil
}

// accountNumber finds an account and locks it. It returns 0 if there is none.
func (t *tx) accountNumber(a order.Account) (id int64, err error) {
	return first[int64](t, `SELECT id FROM accounts WHERE address = ?1 AND name = ?2 {lock}`, a.Address, a.Name)
}

// idle returns an error while another process sends for the account or applies a plan of it.
func (t *tx) idle(account int64) error {
	sending, err := load(t, `account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`, account)
	if err != nil {
		return err
	}
	for _, o := range sending {
		if o, err = t.reap(o); err != nil {
			return err
		}
		if o.State == order.Sending {
			return &Error{Kind: Busy, OrderID: o.OrderID, User: o.User, Host: o.Host}
		}
	}
	noted, err := appliers(t)
	if err != nil {
		return err
	}
	for _, a := range noted {
		if a.account != account {
			continue
		}
		alive, err := t.j.alive(t.ctx, t, a.sender)
		if err != nil {
			return err
		}
		if alive && a.sender != t.j.sender {
			return &Error{Kind: Busy, Run: a.Run, User: a.User, Host: a.Host}
		}
	}
	return nil
}

// Accounts returns every account of the journal.
func (j *Journal) Accounts(ctx context.Context) ([]order.Account, error) {
	return collect(each(j.read(ctx), scanAccount, `SELECT address, name FROM accounts ORDER BY id`))
}

func scanAccount(rows *sql.Rows) (a order.Account, err error) {
	err = rows.Scan(&a.Address, &a.Name)
	return a, err
}

var errNoID = errors.New("a withdrawal without an id cannot be recorded")

// holder returns the other order of the account that has a withdrawal's id; empty: none.
func (t *tx) holder(account int64, withdrawal string, but int64) (orderID string, err error) {
	if withdrawal == "" {
		return "", nil
	}
	return first[string](t, `SELECT order_id FROM orders WHERE account = ?1 AND withdrawal <> '' AND substr(withdrawal, 1, 200) = substr(?2, 1, 200) AND withdrawal = ?2 AND id <> ?3 ORDER BY id LIMIT 1`,
		account, storable(withdrawal), but)
}

// current returns an order of the account. If the order's sender has died, the order becomes unknown
// first. The order's state is empty if the journal does not have the order.
func (t *tx) current(l *Ledger, orderID string) (Record, error) {
	account, err := t.lock(l)
	if err != nil {
		return Record{}, err
	}
	found, err := load(t, `account = ?1 AND order_id = ?2`, account, orderID)
	if err != nil || len(found) == 0 {
		return Record{Order: order.Order{OrderID: orderID}, account: account}, err
	}
	return t.reap(found[0])
}

func (t *tx) byNumber(row int64) (Record, error) {
	found, err := load(t, `id = ?1`, row)
	if err == nil && len(found) == 0 {
		err = errors.New("the record of the order is gone")
	}
	if err != nil {
		return Record{}, err
	}
	return found[0], nil
}
