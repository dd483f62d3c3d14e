package journal

import (
	"context"
	"iter"
	"slices"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// A Sum counts orders of a run that are in the same state.
type Sum struct {
	State   order.State
	SentBy  bool // this run has sent them
	Claimed bool // the journal says that this process is sending them
	Rows    int
	Amount  api.BigAmount // of all of them
	OrderID string        // one of them
	// First and Last are when they were sent or, if they were not, when they reached their state.
	First, Last time.Time
	halves      [2]int64 // of the amount, which may have more than 64 bits
}

// Sums counts the orders of a run.
func (l *Ledger) Sums(ctx context.Context, run string) ([]Sum, error) {
	fields := func(s *Sum) []any {
		return []any{&s.State, unit(&s.Amount.Kind, &s.Amount.Code), &s.SentBy, &s.Claimed, &s.Rows, &s.halves[0], &s.halves[1], &s.OrderID,
			stamped(&s.First), stamped(&s.Last)}
	}
	sums, err := allOf(ctx, l, fields, `SELECT state, orders.unit, CASE WHEN orders.run = ?2 AND sent <> '' THEN 1 ELSE 0 END AS own,
		CASE WHEN state = 'sending' AND EXISTS (SELECT 1 FROM attempts WHERE attempts.order_row = orders.id AND sender = ?3 AND outcome = '') THEN 1 ELSE 0 END AS claimed,
		count(*), CAST(sum(orders.minor / 4294967296) AS BIGINT), CAST(sum(orders.minor % 4294967296) AS BIGINT), min(order_id), min(CASE WHEN sent = '' THEN changed ELSE sent END), max(CASE WHEN sent = '' THEN changed ELSE sent END)
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE `+ofRun+`
		GROUP BY state, orders.unit, own, claimed ORDER BY min(place)`, run, l.j.sender)
	for i, s := range sums {
		sums[i].Amount.Minor = api.SumOfHalves(s.halves[0], s.halves[1])
	}
	return sums, err
}

// DecimalsSent returns, for each unit of the orders of a run that were sent, the most decimals with which an amount
// was shown when its order was sent last. Units whose decimals are unknown are left out.
func (l *Ledger) DecimalsSent(ctx context.Context, run string) (map[api.Currency]int64, error) {
	type shown struct {
		unit     api.Currency
		decimals int64
	}
	fields := func(s *shown) []any { return []any{unit(&s.unit.Kind, &s.unit.Code), &s.decimals} }
	units, err := allOf(ctx, l, fields, `SELECT orders.unit, max(decimals)
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row JOIN attempts ON attempts.order_row = orders.id
		WHERE `+ofRun+` AND number = (SELECT max(number) FROM attempts AS a WHERE a.order_row = orders.id)
		GROUP BY orders.unit HAVING max(decimals) >= 0`, run)
	sent := map[api.Currency]int64{}
	for _, u := range units {
		sent[u.unit] = u.decimals
	}
	return sent, err
}

// Results returns the orders of a run in the order of its plan. Each has its order id, state, id and
// reason, and the content, note and reference of its row. It stops after an error. An order whose outcome this process could not record is unknown: the next
// process makes it so.
func (l *Ledger) Results(ctx context.Context, run string) iter.Seq2[order.Order, error] {
	fields := func(o *order.Order) []any {
		return slices.Concat([]any{&o.OrderID, &o.State, storedID(&o.ID), &o.Reason}, contentFields(&o.Content), []any{&o.Note, &o.Reference})
	}
	return eachOf(ctx, l, fields, `SELECT order_id, CASE WHEN state = 'sending' AND EXISTS (SELECT 1 FROM attempts WHERE attempts.order_row = orders.id AND outcome = '' AND sender = ?3) THEN 'unknown' ELSE state END,
		withdrawal, reason, run_rows.currency, run_rows.unit, run_rows.minor, run_rows.address, run_rows.memo, run_rows.note, run_rows.reference
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE `+ofRun+` ORDER BY place`, run, l.j.sender)
}
