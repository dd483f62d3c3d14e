package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func (a Account) String() string {
	if a.Name == "" {
		return a.Address
	}
	return fmt.Sprintf("the account %s at %s", a.Name, a.Address)
}

// account finds an account or makes it, and keeps every other process from changing anything of it until the commit.
func (t *tx) account(a Account) (id int64, err error) {
	if id := t.accounts[a]; id != 0 {
		return id, nil
	}
	if id, err = t.knownAccount(a); err != nil || id != 0 {
		return id, err
	}
	if _, err := t.exec(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`, a.Address, a.Name, t.now); err != nil {
		return 0, err
	}
	return t.knownAccount(a)
}

// knownAccount finds an account; 0 where the journal does not have it.
func (t *tx) knownAccount(a Account) (id int64, err error) {
	err = t.row(`SELECT id FROM accounts WHERE address = ?1 AND name = ?2 {lock}`, a.Address, a.Name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err == nil {
		t.accounts[a] = id
	}
	return id, err
}

// lockAccount keeps every other process from changing anything of an account until the commit.
func (t *tx) lockAccount(id int64) error {
	for _, locked := range t.accounts {
		if locked == id {
			return nil
		}
	}
	var a Account
	if err := t.row(`SELECT address, name FROM accounts WHERE id = ?1 {lock}`, id).Scan(&a.Address, &a.Name); err != nil {
		return err
	}
	t.accounts[a] = id
	return nil
}

// A Standing is what the journal knows of an account as a whole.
type Standing struct {
	Newest   *Order // the order that was accepted last; nil: none
	Unknown  int    // how many orders are unknown or being sent
	Found    int    // how many it has from the service's list alone: it was not there when they were sent
	Merchant string // the service's id of the merchant; empty: not known
	// OrderIDs says whether the service's records bear the order ids that they were sent with.
	OrderIDs Keeping
	Keys     []string // fingerprints of the keys that were used with it
}

// Keeping is whether a service's records bear the order ids that they were sent with.
type Keeping string

const (
	NotTried Keeping = ""
	Kept     Keeping = "kept"
	Dropped  Keeping = "dropped"
)

// byTime is the order in which the newest comes first. The index orders_newest has it, since it is asked for before each
// withdrawal.
const byTime = `CASE WHEN sent = '' THEN changed ELSE sent END DESC, id DESC`

// Standing returns what the journal knows of an account; of one that it does not know, that is nothing.
func (j *Journal) Standing(ctx context.Context, a Account) (s Standing, err error) {
	q := reading{j, ctx}
	var id int64
	var keeping string
	err = q.row(`SELECT id, merchant, order_ids FROM accounts WHERE address = ?1 AND name = ?2`, a.Address, a.Name).Scan(&id, &s.Merchant, &keeping)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	if err != nil {
		return s, j.failed(err)
	}
	s.OrderIDs = Keeping(keeping)
	newest, err := load(q, `account = ?1 AND state = 'accepted' ORDER BY `+byTime+` LIMIT 1`, id)
	if err != nil {
		return s, j.failed(err)
	}
	if len(newest) > 0 {
		s.Newest = &newest[0]
	}
	if err := q.row(`SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending')`, id).Scan(&s.Unknown); err != nil {
		return s, j.failed(err)
	}
	if err := q.row(`SELECT count(*) FROM orders WHERE account = ?1 AND attempt = 0 AND state IN ('accepted', 'conflict')`, id).Scan(&s.Found); err != nil {
		return s, j.failed(err)
	}
	rows, err := q.rows(`SELECT fingerprint FROM keys WHERE account = ?1 ORDER BY noted`, id)
	if err != nil {
		return s, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return s, j.failed(err)
		}
		s.Keys = append(s.Keys, key)
	}
	return s, j.failed(rows.Err())
}

// KeyUsedBy returns the accounts that a key, named by its fingerprint, was used with.
func (j *Journal) KeyUsedBy(ctx context.Context, fingerprint string) (accounts []Account, err error) {
	rows, err := (reading{j, ctx}).rows(`SELECT a.address, a.name FROM keys k JOIN accounts a ON a.id = k.account WHERE k.fingerprint = ?1 ORDER BY k.noted`, fingerprint)
	if err != nil {
		return nil, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a Account
		if err := rows.Scan(&a.Address, &a.Name); err != nil {
			return nil, j.failed(err)
		}
		accounts = append(accounts, a)
	}
	return accounts, j.failed(rows.Err())
}

// How a key came to be noted under an account.
const (
	KeyFirst   = "first"   // nothing was accepted or unknown before it
	KeyChecked = "checked" // it could read what was accepted before it
	KeyAdopted = "adopted" // a person said so
)

// NoteKey notes that a key is used with an account. Unless a person says so, one that has come to be used with another
// account meanwhile is an *AccountError, and so is a first key that is not the first.
func (j *Journal) NoteKey(ctx context.Context, a Account, fingerprint, how string) error {
	return j.write(ctx, func(t *tx) error {
		account, err := t.account(a)
		if err != nil {
			return err
		}
		if how != KeyAdopted {
			var other Account
			err := t.row(`SELECT a.address, a.name FROM keys k JOIN accounts a ON a.id = k.account WHERE k.fingerprint = ?1 AND k.account <> ?2`, fingerprint, account).Scan(&other.Address, &other.Name)
			if err == nil {
				return &AccountError{other, "has used this key meanwhile"}
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		others := 0
		if how == KeyFirst {
			if err := t.row(`SELECT count(*) FROM keys WHERE account = ?1 AND fingerprint <> ?2`, account, fingerprint).Scan(&others); err != nil {
				return err
			}
		}
		if others > 0 {
			return &AccountError{a, "was first used with another key meanwhile"}
		}
		_, err = t.exec(`INSERT INTO keys (fingerprint, account, noted, how, user_name, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`,
			fingerprint, account, t.now, how, t.j.options.User, t.j.options.Host)
		return err
	})
}

// NoteService notes what a record of the service has shown about an account: the merchant's id, and whether order ids are
// kept. What is empty stays as it was.
func (j *Journal) NoteService(ctx context.Context, a Account, merchant string, keeping Keeping) error {
	return j.write(ctx, func(t *tx) error {
		account, err := t.account(a)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE accounts SET merchant = CASE WHEN ?1 = '' THEN merchant ELSE ?1 END, order_ids = CASE WHEN ?2 = '' THEN order_ids ELSE ?2 END WHERE id = ?3`,
			merchant, string(keeping), account)
		return err
	})
}

// Rename carries the history of an account to a new name or address. An account that has a history of its own is an
// *AccountError, and so are one that is not there and one from which a living process is sending.
func (j *Journal) Rename(ctx context.Context, old, to Account) error {
	return j.write(ctx, func(t *tx) error {
		from, err := t.knownAccount(old)
		if err != nil {
			return err
		}
		if from == 0 {
			return &AccountError{old, "is not in the journal"}
		}
		sending, err := t.orders(`account = ?1 AND state = 'sending' ORDER BY id`, from)
		if err != nil {
			return err
		}
		for _, o := range sending {
			if err := t.reap(&o); err != nil {
				return err
			}
			if o.State == Sending {
				return &AccountError{old, "is in use: order " + o.OrderID + " is being sent"}
			}
		}
		other, err := t.knownAccount(to)
		if err != nil {
			return err
		}
		if other != 0 {
			n := 0
			if err := t.row(`SELECT count(*) FROM orders WHERE account = ?1`, other).Scan(&n); err != nil {
				return err
			}
			if n > 0 || other == from {
				return &AccountError{to, "has a history of its own"}
			}
			if _, err := t.exec(`DELETE FROM keys WHERE account = ?1`, other); err != nil {
				return err
			}
			if _, err := t.exec(`DELETE FROM accounts WHERE id = ?1`, other); err != nil {
				return err
			}
		}
		clear(t.accounts)
		_, err = t.exec(`UPDATE accounts SET address = ?1, name = ?2 WHERE id = ?3`, to.Address, to.Name, from)
		return err
	})
}

// Accounts returns every account of the journal.
func (j *Journal) Accounts(ctx context.Context) (accounts []Account, err error) {
	rows, err := (reading{j, ctx}).rows(`SELECT address, name FROM accounts ORDER BY id`)
	if err != nil {
		return nil, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a Account
		if err := rows.Scan(&a.Address, &a.Name); err != nil {
			return nil, j.failed(err)
		}
		accounts = append(accounts, a)
	}
	return accounts, j.failed(rows.Err())
}
