package journal

import (
	"context"
	"database/sql"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// A Budget is the most that may be claimed for an account in a day or in a month, and not definitely refused
// since. What was claimed counts in the period in which its last attempt began, by the journal's clock.
type Budget struct {
	Most  api.Amount
	Month bool           // a month, and not a day
	Zone  *time.Location // in which the day or the month begins
}

// Period returns the beginning of the day or month that a moment is in, and of the next one.
func (b Budget) Period(at time.Time) (from, to time.Time) {
	year, month, day := at.In(b.Zone).Date()
	if b.Month {
		return time.Date(year, month, 1, 0, 0, 0, 0, b.Zone), time.Date(year, month+1, 1, 0, 0, 0, 0, b.Zone)
	}
	return time.Date(year, month, day, 0, 0, 0, 0, b.Zone), time.Date(year, month, day+1, 0, 0, 0, 0, b.Zone)
}

// An Overrun says which budget an amount exceeds.
type Overrun struct {
	Budget Budget
	Amount api.BigAmount
	Left   api.Sum // of the budget, in minor units; negative: it was lowered since
	Until  time.Time
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

// spending returns where an order counts: its unit, and the quarter of an hour.
func spending(amount api.Amount, sent time.Time) [2]string {
	return [2]string{order.UnitText(LowerCase(amount.Unit())), stamp(sent.Truncate(quarter))}
}

// spend keeps the sums of an account right when an order changes.
func (t *tx) spend(old, now Record) error {
	if old.counts() == now.counts() {
		return nil
	}
	if _, err := t.lockNumber(now.account); err != nil || !t.locked[now.account].counting {
		return err
	}
	if err := t.addSpent(now.account, spending(old.Amount, old.Sent), halvesOf(old.Amount.Minor, -old.counts())); err != nil {
		return err
	}
	return t.addSpent(now.account, spending(now.Amount, now.Sent), halvesOf(now.Amount.Minor, now.counts()))
}

// halvesOf returns a number, times another, as high * 2^32 + low, so that sums of such numbers fit into a
// column.
func halvesOf(minor, times int64) [2]int64 {
	return [2]int64{minor >> 32 * times, minor & (1<<32 - 1) * times}
}

func (t *tx) addSpent(account int64, where [2]string, halves [2]int64) error {
	if halves == [2]int64{} {
		return nil
	}
	_, err := t.exec(`INSERT INTO spent (account, unit, quarter, high, low) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (account, unit, quarter) DO UPDATE SET high = spent.high + excluded.high, low = spent.low + excluded.low`,
		account, where[0], where[1], halves[0], halves[1])
	return err
}

// startCounting makes the sums of an account from its orders. Only an account with a budget needs them.
func (t *tx) startCounting(account int64) error {
	if t.locked[account].counting {
		return nil
	}
	type counted struct {
		order.Order
		times int64
	}
	scan := func(rows *sql.Rows) (o counted, err error) {
		err = rows.Scan(unit(&o.Amount.Kind, &o.Amount.Code), &o.Amount.Minor, stamped(&o.Sent), &o.times)
		return o, err
	}
	sums := map[[2]string][2]int64{}
	for o, err := range each(t, scan, `SELECT unit, minor, sent, CASE WHEN state = 'conflict' OR decided = '`+eventPaidAs+`' THEN
			(SELECT count(*) FROM attempts WHERE order_row = orders.id AND outcome NOT IN ('`+string(order.WasRejected)+`', '`+string(order.SaidNothing)+`'))
			ELSE 1 END FROM orders WHERE account = ?1 AND sent <> '' AND state NOT IN ('planned', 'rejected')`, account) {
		if err != nil {
			return err
		}
		where, more := spending(o.Amount, o.Sent), halvesOf(o.Amount.Minor, max(1, o.times))
		sums[where] = [2]int64{sums[where][0] + more[0], sums[where][1] + more[1]}
	}
	for where, halves := range sums {
		if err := t.addSpent(account, where, halves); err != nil {
			return err
		}
	}
	_, err := t.exec(`UPDATE accounts SET counting = 1 WHERE id = ?1`, account)
	a := t.locked[account]
	a.counting = true
	t.locked[account] = a
	return err
}

// withinBudgets returns an Error if an amount would exceed one of the budgets in its unit.
func (t *tx) withinBudgets(account int64, budgets []Budget, amount api.BigAmount) error {
	for _, b := range budgets {
		unit := LowerCase(amount.Unit())
		if LowerCase(b.Most.Unit()) != unit {
			continue
		}
		if err := t.startCounting(account); err != nil {
			return err
		}
		from, to := b.Period(t.at)
		var high, low int64
		if err := t.row(`SELECT CAST(COALESCE(sum(high), 0) AS BIGINT), CAST(COALESCE(sum(low), 0) AS BIGINT) FROM spent WHERE account = ?1 AND unit = ?2 AND quarter >= ?3 AND quarter < ?4`,
			account, order.UnitText(unit), stamp(from), stamp(to)).Scan(&high, &low); err != nil {
			return err
		}
		left := api.SumOf(b.Most.Minor)
		left.Plus(api.SumOfHalves(-high, -low))
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
	return l.change(ctx, func(t *tx, account int64) error {
		for _, total := range totals {
			if err := t.withinBudgets(account, budgets, total); err != nil {
				return err
			}
		}
		return nil
	})
}
