package journal

import (
	"errors"
	"fmt"
	"reflect"

	"example.com/till/pkg/payout/order"
)

// errStale is the error for an order that is not as it was read any more.
var errStale = errors.New("was changed by another process meanwhile")

// happen makes the change that an event causes, and returns the order after that. It is the only place that changes
// orders and attempts.
func (t *tx) happen(old Record, e event) (Record, error) {
	now, err := next(old, e)
	if err != nil || reflect.DeepEqual(old, now) {
		return old, err
	}
	now.Changed, now.version = t.at, old.version+1
	var d order.Resolution
	if now.Resolved != nil {
		d = *now.Resolved
	}
	n, err := t.exec(`UPDATE orders SET version = ?3, state = ?4, run = ?5, callback = ?6, note = ?7, withdrawal = ?8, shown = ?9, sent = ?10, code = ?11, reason = ?12,
		user_name = ?13, host = ?14, fingerprint = ?15, decided = ?16, decided_at = ?17, decided_user = ?18, decided_host = ?19, decided_why = ?20, changed = ?21
		WHERE id = ?1 AND version = ?2 AND order_id = ?22`,
		old.row, old.version, now.version, string(now.State), now.Run, now.Callback, now.Note, storable(now.ID),
		storable(now.Shown), stamp(now.Sent), now.Code, now.Reason, now.User, now.Host, now.Key, d.As, stamp(d.At), d.User,
		d.Host, d.Reason, t.now, old.OrderID)
	if err == nil && n != 1 {
		err = fmt.Errorf("order %s %w", old.OrderID, errStale)
	}
	if err == nil && now.Content != old.Content { // by itself: naming a column rewrites its indexes
		_, err = t.exec(`UPDATE orders SET currency = ?2, unit = ?3, minor = ?4, address = ?5, memo = ?6, content = ?7, payee = ?8 WHERE id = ?1`,
			old.row, order.UnitText(now.Currency), order.UnitText(now.Amount.Unit()), now.Amount.Minor, now.Address, now.Memo, now.Content.Key().String(), payee(now.Address))
	}
	for i, a := range now.Attempts {
		if err == nil && (i >= len(old.Attempts) || a != old.Attempts[i] || now.origins[i] != old.origins[i]) {
			err = t.putAttempt(old.row, a, now.origins[i])
		}
	}
	if err != nil {
		return old, err
	}
	story := e.told(old, now)
	_, err = t.exec(`INSERT INTO events (order_row, at, user_name, host, state, currency, unit, minor, address, memo, callback, what, fingerprint, withdrawal, status, code, reason)
		SELECT id, ?2, ?3, ?4, state, currency, unit, minor, address, memo, callback, ?5, ?6, ?7, CAST(?8 AS BIGINT), CAST(?9 AS BIGINT), ?10 FROM orders WHERE id = ?1`,
		old.row, t.now, t.j.options.User, t.j.options.Host, story.What, story.Key, storable(story.ID), story.HTTPStatus,
		story.Code, story.Reason)
	return now, err
}

// putAttempt records an attempt, either a new one or one that has changed.
func (t *tx) putAttempt(row int64, a order.Attempt, o origin) error {
	_, err := t.exec(`INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals, demand, consent, boot, since_boot, skew)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
		ON CONFLICT (order_row, number) DO UPDATE SET ended = excluded.ended, outcome = excluded.outcome, skew = excluded.skew`,
		row, a.Number, o.sender, stamp(a.Began), stamp(a.Ended), string(a.Outcome), a.Decimals, a.Demand, a.Consent, o.boot,
		int64(o.since), o.skew)
	return err
}
