package journal

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/pkg/payout/order"
)

// A person can accept what the service's list shows and the journal cannot explain: withdrawals that till did
// not send, records without an order id, orders that the list no longer shows, a total that counts too much.
// What was accepted no longer keeps the account from sending. Each acceptance is kept, with its reason.

// What was accepted.
const (
	acceptedWithdrawal = "withdrawal" // the subject is its id or, without one, the text of its record
	acceptedOrder      = "order"      // the subject is an order id of such a withdrawal
	acceptedSurplus    = "surplus"    // the subject is how many withdrawals the list counts and does not show
	acceptedMerchant   = "merchant"   // the subject is the merchant's id
	acceptedLosses     = "losses"     // that the journal may lack records; without a subject
	acceptedNoList     = "no list"    // that the service does not show its list; without a subject
)

// Exceptions are what persons have accepted about an account, or accept with one decision.
type Exceptions struct {
	Withdrawals map[string]bool // by the id or, without one, the text of the record
	OrderIDs    map[string]bool // that they show, and the journal did not have
	Surplus     int64           // how many withdrawals the list counts and does not show
	NoList      bool            // the service does not show its list
}

// Exceptions returns what was accepted about the account.
func (l *Ledger) Exceptions(ctx context.Context) (a Exceptions, err error) {
	t := l.j.read(ctx)
	return t.exceptions(l.number(t)), t.err
}

func (t *tx) exceptions(account int64) (a Exceptions) {
	a.Withdrawals, a.OrderIDs = map[string]bool{}, map[string]bool{}
	for accepted := range each(t, pair[string], `SELECT what, subject FROM acceptances WHERE account = ?1 ORDER BY id`, account) {
		switch what, subject := accepted[0], accepted[1]; what {
		case acceptedWithdrawal:
			a.Withdrawals[restored(subject)] = true
		case acceptedOrder:
			a.OrderIDs[subject] = true
		case acceptedSurplus:
			a.Surplus, _ = strconv.ParseInt(subject, 10, 64)
			a.NoList = false // it follows if it was accepted again
		case acceptedNoList:
			a.NoList = true
		}
	}
	return a
}

// OrderAccepted reports whether a withdrawal that was accepted shows an order id, which the journal may not have.
func (l *Ledger) OrderAccepted(ctx context.Context, orderID string) (bool, error) {
	t := l.j.read(ctx)
	n := one[int](t, `SELECT count(*) FROM acceptances WHERE account = ?1 AND what = ?2 AND subject = ?3`, l.number(t), acceptedOrder, orderID)
	return n > 0, t.err
}

// Accept records a person's decision about the whole list. Nothing that was noted about the account keeps it
// from sending after that, see Agree.
func (l *Ledger) Accept(ctx context.Context, a Exceptions, reason string) error {
	subjects := [][2]string{{acceptedLosses, ""}, {acceptedSurplus, strconv.FormatInt(a.Surplus, 10)}}
	if a.NoList {
		subjects = append(subjects, [2]string{acceptedNoList, ""})
	}
	for _, id := range slices.Sorted(maps.Keys(a.Withdrawals)) {
		subjects = append(subjects, [2]string{acceptedWithdrawal, id})
	}
	for _, id := range slices.Sorted(maps.Keys(a.OrderIDs)) {
		subjects = append(subjects, [2]string{acceptedOrder, id})
	}
	return l.accept(ctx, reason, subjects, (*tx).agree)
}

// Narrow records that the list is shown, and how many withdrawals it counts and does not show: no more than
// was accepted. It does nothing if anything else was recorded of that since.
func (l *Ledger) Narrow(ctx context.Context, was Exceptions, surplus int64) error {
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		if now := t.exceptions(a.id); now.Surplus == was.Surplus && now.NoList == was.NoList {
			t.accept(a.id, "the list shows more than was accepted", [][2]string{{acceptedSurplus, strconv.FormatInt(surplus, 10)}})
		}
		return nil
	})
}

// AdoptMerchant records a person's decision that the account is another merchant's than the service has
// shown.
func (l *Ledger) AdoptMerchant(ctx context.Context, merchant, reason string) error {
	return l.accept(ctx, reason, [][2]string{{acceptedMerchant, merchant}}, func(t *tx, account int64) {
		t.exec(`UPDATE accounts SET merchant = ?1 WHERE id = ?2`, keepable(merchant), account)
	})
}

func (l *Ledger) accept(ctx context.Context, reason string, subjects [][2]string, do func(t *tx, account int64)) error {
	if strings.TrimSpace(reason) == "" {
		return &Error{Kind: NoReason}
	}
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		t.accept(a.id, reason, subjects)
		do(t, a.id)
		return nil
	})
}

func (t *tx) accept(account int64, reason string, subjects [][2]string) {
	for _, s := range subjects {
		t.exec(`INSERT INTO acceptances (account, at, user_name, host, what, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			account, t.now, t.j.options.User, t.j.options.Host, s[0], keepable(storable(s[1])), keepable(reason))
	}
}

// Agree records that the journal and the whole list agree. From then on, the account is no longer treated as
// one whose journal may lack orders, or whose service does not show order ids.
func (l *Ledger) Agree(ctx context.Context) error {
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		t.agree(a.id)
		return nil
	})
}

func (t *tx) agree(account int64) {
	t.exec(`UPDATE accounts SET checked = (SELECT restored FROM till_journal), agreed = ?1, order_ids = '' WHERE id = ?2`,
		t.now, account)
}

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
