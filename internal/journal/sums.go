package journal

import (
	"context"
	"database/sql"
	"iter"
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
}

// Sums counts the orders of a run.
func (l *Ledger) Sums(ctx context.Context, run string) ([]Sum, error) {
	account, err := l.number(ctx)
	if err != nil || account == 0 {
		return nil, err
	}
	sums, err := collect(l.j.read(ctx), scanSum, `SELECT state, orders.unit, CASE WHEN orders.run = ?2 AND sent <> '' THEN 1 ELSE 0 END AS own,
		CASE WHEN state = 'sending' AND EXISTS (SELECT 1 FROM attempts WHERE attempts.order_row = orders.id AND sender = ?3 AND outcome = '') THEN 1 ELSE 0 END AS claimed,
		count(*), CAST(sum(orders.minor / 4294967296) AS BIGINT), CAST(sum(orders.minor % 4294967296) AS BIGINT), min(order_id), min(CASE WHEN sent = '' THEN changed ELSE sent END), max(CASE WHEN sent = '' THEN changed ELSE sent END)
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE `+ofRun(2)+`
		GROUP BY state, orders.unit, own, claimed ORDER BY min(place)`, account, run, l.j.sender)
	return sums, l.j.failed(err)
}

func scanSum(rows *sql.Rows) (s Sum, err error) {
	var state, first, last string
	var own, claimed int
	var high, low int64 // of the sum, which may have more than 64 bits
	err = rows.Scan(&state, unit{&s.Amount.Kind, &s.Amount.Code}, &own, &claimed, &s.Rows, &high, &low, &s.OrderID, &first, &last)
	s.Amount.Minor = api.SumOfHalves(high, low)
	s.State, s.SentBy, s.Claimed, s.First, s.Last = order.State(state), own == 1, claimed == 1, unstamp(first), unstamp(last)
	return s, err
}

// Results returns the orders of a run in the order of its plan. Each has only its order id, state, id and reason.
// It stops after an error. An order whose outcome this process could not record is unknown: the next process makes
// it so.
func (l *Ledger) Results(ctx context.Context, run string) iter.Seq2[order.Order, error] {
	return func(yield func(order.Order, error) bool) {
		account, err := l.number(ctx)
		if err != nil || account == 0 {
			if err != nil {
				yield(order.Order{}, err)
			}
			return
		}
		for rows, err := range each(l.j.read(ctx), `SELECT order_id, state, withdrawal, reason, COALESCE((SELECT max(sender) FROM attempts WHERE attempts.order_row = orders.id AND outcome = ''), 0)
			FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE `+ofRun(2)+` ORDER BY place`, account, run) {
			var o order.Order
			var state string
			var sender int64
			if err == nil {
				err = rows.Scan(&o.OrderID, &state, &o.ID, &o.Reason, &sender)
			}
			o.State, o.ID = order.State(state), restored(o.ID)
			if o.State == order.Sending && sender == l.j.sender {
				o.State = order.Unknown
			}
			if !yield(o, l.j.failed(err)) || err != nil {
				return
			}
		}
	}
}
