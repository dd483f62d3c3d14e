package journal

import (
	"context"
	"iter"
	"time"
)

// A Sum is of those orders of a run that stand alike.
type Sum struct {
	State   State
	Unit    string // what the amounts are counted in
	SentBy  bool   // it was this run that sent them
	Claimed bool   // this process is sending them, as the record says
	Rows    int
	Minor   int64  // of all of them, in minor units
	OrderID string // one of them
	// First and Last are when they were sent or, where they were not, when they came to stand where they are.
	First, Last time.Time
}

// Sums counts the orders of a run.
func (j *Journal) Sums(ctx context.Context, a Account, run string) (sums []Sum, err error) {
	rows, err := (reading{j, ctx}).rows(`SELECT state, unit, CASE WHEN orders.run = ?3 AND attempt <> 0 THEN 1 ELSE 0 END AS own, CASE WHEN state = 'sending' AND sender = ?4 THEN 1 ELSE 0 END AS claimed,
		count(*), CAST(sum(minor) AS BIGINT), min(order_id), min(CASE WHEN sent = '' THEN changed ELSE sent END), max(CASE WHEN sent = '' THEN changed ELSE sent END)
		FROM run_rows JOIN orders ON id = order_row WHERE `+ofRun(3)+`
		GROUP BY state, unit, own, claimed ORDER BY min(place)`, a.Address, a.Name, run, j.sender)
	if err != nil {
		return nil, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Sum
		var state, first, last string
		var own, claimed int
		if err := rows.Scan(&state, &s.Unit, &own, &claimed, &s.Rows, &s.Minor, &s.OrderID, &first, &last); err != nil {
			return nil, j.failed(err)
		}
		s.State, s.SentBy, s.Claimed, s.First, s.Last = State(state), own == 1, claimed == 1, unstamp(first), unstamp(last)
		sums = append(sums, s)
	}
	return sums, j.failed(rows.Err())
}

// Results returns the orders of a run in the order of its plan, each with its order id, state, withdrawal and reason only, and
// stops after an error.
func (j *Journal) Results(ctx context.Context, a Account, run string) iter.Seq2[Order, error] {
	return func(yield func(Order, error) bool) {
		rows, err := (reading{j, ctx}).rows(`SELECT order_id, state, withdrawal, reason, sender FROM run_rows JOIN orders ON id = order_row
			WHERE `+ofRun(3)+` ORDER BY place`, a.Address, a.Name, run)
		if err != nil {
			yield(Order{}, j.failed(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var o Order
			var state string
			if err := rows.Scan(&o.OrderID, &state, &o.Withdrawal, &o.Reason, &o.sender); err != nil {
				yield(Order{}, j.failed(err))
				return
			}
			o.State = State(state)
			if !yield(o, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Order{}, j.failed(err))
		}
	}
}
