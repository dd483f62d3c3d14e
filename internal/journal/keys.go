package journal

import (
	"context"

	"example.com/till/pkg/payout/order"
)

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
// it returns AccountChanged, unless a person adopts the key. It also does so for a first key if another key
// was first. While another process sends or applies, a person's adoption is refused as Busy.
func (l *Ledger) NoteKey(ctx context.Context, fingerprint, how string) error {
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		if how == KeyAdopted {
			if err := t.idle(a.id); err != nil {
				return err
			}
		} else if others := t.usersOf(fingerprint, a.id); len(others) > 0 {
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

// keyTie is a key that is tied to an account.
type keyTie struct {
	account     int64
	fingerprint string
}

// tieKey ties a key to an account, in the commit that records that something is sent with it. A first key is
// tied only if no other key is tied to the account, and this key to no other account.
func (t *tx) tieKey(a *lockedAccount, fingerprint string) error {
	tie := keyTie{a.id, fingerprint}
	if fingerprint == "" || t.j.tied[tie] {
		return nil
	}
	// A key that is not noted counts as tied.
	if one[int](t, `SELECT count(*) FROM keys WHERE account = ?1 AND fingerprint = ?2 AND answered = ''`, a.id, fingerprint) > 0 {
		others := one[int](t, `SELECT count(*) FROM keys WHERE answered <> '' AND (account = ?1 AND fingerprint <> ?2 OR account <> ?1 AND fingerprint = ?2)`, a.id, fingerprint)
		if others > 0 {
			return &Error{Kind: AccountChanged, Account: a.Account, Msg: "was first used with another key meanwhile, or this key with another account"}
		}
		t.exec(`UPDATE keys SET answered = ?1 WHERE account = ?2 AND fingerprint = ?3`, t.now, a.id, fingerprint)
	}
	t.ties = append(t.ties, tie)
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
		delete(t.j.tied, keyTie{account, fingerprint})
	}
}
