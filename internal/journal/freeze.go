package journal

import (
	"context"
	"database/sql"

	"example.com/till/pkg/payout/order"
)

// Freeze records such a decision. Every later claim of the account, by any process, sees it.
func (l *Ledger) Freeze(ctx context.Context, frozen bool, reason string) error {
	what, mark := thawed, 0
	if frozen {
		what, mark = froze, 1
	}
	return l.accept(ctx, reason, [][2]string{{what, ""}}, func(t *tx, account int64) error {
		_, err := t.exec(`UPDATE accounts SET frozen = ?1 WHERE id = ?2`, mark, account)
		return err
	})
}

// How the decisions are recorded among the acceptances.
const (
	froze  = "frozen"
	thawed = "unfrozen"
)

const freezeColumns = `what, at, user_name, host, reason FROM acceptances WHERE account = ?1 AND what IN ('` + froze + `', '` + thawed + `')`

func scanFreeze(rows *sql.Rows) (f order.Freeze, err error) {
	var what string
	err = rows.Scan(&what, stamped(&f.At), &f.User, &f.Host, &f.Reason)
	f.Frozen = what == froze
	return f, err
}

// Freezes returns every such decision about the account, the oldest first. The last one is in force.
func (l *Ledger) Freezes(ctx context.Context) ([]order.Freeze, error) {
	return collect(eachOf(ctx, l, scanFreeze, `SELECT `+freezeColumns+` ORDER BY id`))
}

// notFrozen returns an Error if nothing may be sent for an account.
func (t *tx) notFrozen(account int64) error {
	if !t.locked[account].frozen {
		return nil
	}
	for f, err := range each(t, scanFreeze, `SELECT `+freezeColumns+` ORDER BY id DESC LIMIT 1`, account) {
		if err != nil {
			return err
		}
		return &Error{Kind: Frozen, Account: t.locked[account].Account, Freeze: f}
	}
	return &Error{Kind: Frozen, Account: t.locked[account].Account}
}
