package journal

import (
	"context"

	"example.com/till/pkg/payout/order"
)

// Freeze records such a decision. Every later claim of the account, by any process, sees it.
func (l *Ledger) Freeze(ctx context.Context, frozen bool, reason string) error {
	what, mark := thawed, 0
	if frozen {
		what, mark = froze, 1
	}
	return l.accept(ctx, reason, [][2]string{{what, ""}}, func(t *tx, account int64) {
		t.exec(`UPDATE accounts SET frozen = ?1 WHERE id = ?2`, mark, account)
	})
}

// How the decisions are recorded among the acceptances.
const (
	froze  = "frozen"
	thawed = "unfrozen"
)

const freezes = `SELECT what = '` + froze + `', at, user_name, host, reason FROM acceptances WHERE account = ?1 AND what IN ('` + froze + `', '` + thawed + `') ORDER BY id`

func freezeFields(f *order.Freeze) []any {
	return []any{&f.Frozen, stamped(&f.At), &f.User, &f.Host, &f.Reason}
}

// Freezes returns every such decision about the account, the oldest first. The last one is in force.
func (l *Ledger) Freezes(ctx context.Context) ([]order.Freeze, error) {
	return allOf(ctx, l, freezeFields, freezes)
}

// frozen returns the Error for a claim of an account that is frozen.
func (t *tx) frozen(a *lockedAccount) error {
	e := &Error{Kind: Frozen, Account: a.Account}
	for f := range each(t, freezeFields, freezes+` DESC LIMIT 1`, a.id) {
		e.Freeze = f
	}
	return e
}
