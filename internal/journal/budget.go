package journal

import (
	"context"
	"time"

	"example.com/till/internal/period"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// Period returns the beginning of the day or month that a moment is in, and of the next one.
func (b Budget) Period(at time.Time) (from, to time.Time) {
	year, month, day := at.In(b.Zone).Date()
	if b.Month {
		return period.Midnight(year, month, 1, b.Zone), period.Midnight(year, month+1, 1, b.Zone)
	}
	return period.Midnight(year, month, day, b.Zone), period.Midnight(year, month, day+1, b.Zone)
}

// counts returns how many times an order counts in a budget: once if it was claimed and not definitely refused
// since. If the service has paid it otherwise than expected, each attempt counts that may have been paid.
func (r Record) counts() (times int64) {
	if r.Sent.IsZero() || r.State == order.Planned || r.State == order.Rejected {
		return 0
	}
	if r.State == order.Conflict || r.Resolved != nil && r.Resolved.As == eventPaidAs {
		for _, a := range r.Attempts {
			if a.Outcome != order.WasRejected && a.Outcome != order.SaidNothing {
				times++
			}
		}
	}
	return max(1, times)
}

// quarter is the length of the time in which claims are summed up. In every time zone of today, a day begins
// with such a time.
const quarter = 15 * time.Minute

// spend keeps the sums of an account right when an order changes.
func (t *tx) spend(old, now Record) {
	if old.counts() == now.counts() {
		return
	}
	if a := t.lockNumber(now.account); a != nil && a.counting {
		t.addSpent(old, -old.counts())
		t.addSpent(now, now.counts())
	}
}

// addSpent adds an order to the sums, so many times. A sum is high * 2^32 + low, so that it fits into columns.
func (t *tx) addSpent(o Record, times int64) {
	if times != 0 {
		t.exec(`INSERT INTO spent (account, unit, quarter, high, low) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (account, unit, quarter) DO UPDATE SET high = spent.high + excluded.high, low = spent.low + excluded.low`,
			o.account, order.UnitText(LowerCase(o.Amount.Unit())), stamp(o.Sent.Truncate(quarter)), o.Amount.Minor>>32*times, o.Amount.Minor&(1<<32-1)*times)
	}
}

// startCounting makes the sums of an account from its orders. Only an account with a budget needs them.
func (t *tx) startCounting(a *lockedAccount) {
	if a.counting {
		return
	}
	t.exec(`INSERT INTO spent (account, unit, quarter, high, low)
		SELECT account, unit, quarter, CAST(sum(minor / 4294967296 * times) AS BIGINT), CAST(sum(minor % 4294967296 * times) AS BIGINT) FROM (
			SELECT account, lower(unit) AS unit, substr(sent, 1, 14) || substr('00153045', CAST(substr(sent, 15, 2) AS INTEGER) / 15 * 2 + 1, 2) || ':00.000000Z' AS quarter,
				minor, CASE WHEN state = 'conflict' OR decided = '`+eventPaidAs+`' THEN
					(SELECT CASE count(*) WHEN 0 THEN 1 ELSE count(*) END FROM attempts WHERE order_row = orders.id AND outcome NOT IN ('`+string(order.WasRejected)+`', '`+string(order.SaidNothing)+`'))
					ELSE 1 END AS times
			FROM orders WHERE account = ?1 AND sent <> '' AND state NOT IN ('planned', 'rejected')) AS sums
		GROUP BY account, unit, quarter`, a.id)
	t.exec(`UPDATE accounts SET counting = 1 WHERE id = ?1`, a.id)
	a.counting = true
}

// withinBudgets returns an Error if an amount would exceed one of the budgets in its unit.
func (t *tx) withinBudgets(a *lockedAccount, budgets []Budget, amount api.BigAmount) error {
	unit := LowerCase(amount.Unit())
	for _, b := range budgets {
		if LowerCase(b.Most.Unit()) != unit {
			continue
		}
		t.startCounting(a)
		from, to := b.Period(t.at)
		left := api.SumOf(b.Most.Minor)
		for spent := range each(t, pair[int64], `SELECT CAST(COALESCE(sum(high), 0) AS BIGINT), CAST(COALESCE(sum(low), 0) AS BIGINT) FROM spent WHERE account = ?1 AND unit = ?2 AND quarter >= ?3 AND quarter < ?4`,
			a.id, order.UnitText(unit), stamp(from), stamp(to)) {
			left.Plus(api.SumOfHalves(-spent[0], -spent[1]))
		}
		if amount.Minor.Compare(left) > 0 {
			return &Error{Kind: OverBudget, Over: Overrun{b, amount, left, to}}
		}
	}
	return nil
}

// WithinBudgets returns an Error if one of these totals would exceed a budget now. Only a claim decides.
func (l *Ledger) WithinBudgets(ctx context.Context, budgets []Budget, totals []api.BigAmount) error {
	if len(budgets) == 0 {
		return nil
	}
	return l.change(ctx, func(t *tx, a *lockedAccount) error {
		for _, total := range totals {
			if err := t.withinBudgets(a, budgets, total); err != nil {
				return err
			}
		}
		return nil
	})
}
