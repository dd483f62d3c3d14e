package journal

import (
	"errors"
	"fmt"
	"reflect"

	"example.com/till/pkg/payout/order"
)

// errStale is the error for an order that is not as it was read any more.
var errStale = errors.New("was changed by another process meanwhile")

// happen makes the change that an event causes, and returns the order after that. It is the only place that
// changes orders and attempts.
func (t *tx) happen(old Record, e event) (Record, error) {
	now, err := next(old, e)
	if err != nil || reflect.DeepEqual(old, now) {
		return old, err
	}
	now.Changed, now.version = t.at, old.version+1
	set, args := "", []any{old.row, old.version, old.OrderID, now.version, t.now}
	before, after := changeable(old), changeable(now)
	for i, name := range changeableColumns { // only those that change: naming a column rewrites its indexes
		if before[i] != after[i] {
			args = append(args, after[i])
			set += fmt.Sprintf(", %s = ?%d", name, len(args))
		}
	}
	n := t.exec(`UPDATE orders SET version = ?4, changed = ?5`+set+` WHERE id = ?1 AND version = ?2 AND order_id = ?3`, args...)
	if n != 1 {
		return old, fmt.Errorf("order %s %w", old.OrderID, errStale)
	}
	if now.Content != old.Content {
		t.exec(`UPDATE orders SET currency = ?2, unit = ?3, minor = ?4, address = ?5, memo = ?6, content = ?7, payee = ?8 WHERE id = ?1`,
			old.row, order.UnitText(now.Currency), order.UnitText(now.Amount.Unit()), now.Amount.Minor, now.Address, now.Memo, now.Content.Key().String(), payee(now.Address))
	}
	for i, a := range now.Attempts {
		switch o := now.origins[i]; {
		case i >= len(old.Attempts):
			t.exec(`INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals, demand, consent, boot, since_boot, skew)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
				old.row, a.Number, o.sender, stamp(a.Began), stamp(a.Ended), string(a.Outcome), a.Decimals, a.Demand, a.Consent, o.boot, int64(o.since), o.skew)
		case a != old.Attempts[i] || o != old.origins[i]:
			t.exec(`UPDATE attempts SET ended = ?3, outcome = ?4, skew = ?5 WHERE order_row = ?1 AND number = ?2`,
				old.row, a.Number, stamp(a.Ended), string(a.Outcome), o.skew)
		}
	}
	t.spend(old, now)
	story := e.told(old, now)
	t.exec(`INSERT INTO events (order_row, at, user_name, host, state, currency, unit, minor, address, memo, callback, what, fingerprint, withdrawal, status, code, reason)
		SELECT id, ?2, ?3, ?4, state, currency, unit, minor, address, memo, callback, ?5, ?6, ?7, CAST(?8 AS BIGINT), CAST(?9 AS BIGINT), ?10 FROM orders WHERE id = ?1`,
		old.row, t.now, t.j.options.User, t.j.options.Host, story.What, story.Key, storable(story.ID), story.HTTPStatus,
		story.Code, story.Reason)
	return now, nil
}

// changeableColumns are those that an event can change, apart from the content.
var changeableColumns = [...]string{"state", "run", "callback", "note", "reference", "withdrawal", "shown", "sent", "code", "reason", "user_name", "host",
	"fingerprint", "decided", "decided_at", "decided_user", "decided_host", "decided_why"}

// changeable returns what these columns have for an order.
func changeable(r Record) [len(changeableColumns)]any {
	var d order.Resolution
	if r.Resolved != nil {
		d = *r.Resolved
	}
	return [...]any{string(r.State), r.Run, r.Callback, r.Note, r.Reference, storable(r.ID), storable(r.Shown), stamp(r.Sent), r.Code, r.Reason, r.User, r.Host,
		r.Key, d.As, stamp(d.At), d.User, d.Host, d.Reason}
}
