package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

const orderColumns = `orders.id, account, order_id, run, state, orders.currency, orders.unit, orders.minor, orders.address, orders.memo, orders.callback, orders.note, withdrawal, shown, version, sent,
	code, reason, user_name, host, fingerprint, decided, decided_at, decided_user, decided_host, decided_why, created, changed, number, sender, began, ended, outcome, decimals, attempts.demand, consent, boot, since_boot, skew`

// withAttempts adds the attempts of orders. There is one row for each attempt, and one row with nulls for an
// order without any.
const withAttempts = `LEFT JOIN attempts ON attempts.order_row = orders.id`

// scanOrder reads a row of orderColumns: an order and at most one of its attempts.
func scanOrder(rows *sql.Rows, more ...any) (o Record, err error) {
	var state, sent, decidedAt, created, changed string
	var d order.Resolution
	var number, sender, decimals, demand, consent, since sql.NullInt64
	var began, ended, outcome, boot, skew sql.NullString
	err = rows.Scan(slices.Concat([]any{&o.row, &o.account, &o.OrderID, &o.Run, &state}, contentColumns(&o.Content),
		[]any{&o.Callback, &o.Note, &o.ID, &o.Shown, &o.version, &sent, &o.Code, &o.Reason, &o.User, &o.Host, &o.Key, &d.As, &decidedAt, &d.User, &d.Host, &d.Reason,
			&created, &changed,
			&number, &sender, &began, &ended, &outcome, &decimals, &demand, &consent, &boot, &since, &skew}, more)...)
	o.State, o.Sent, o.Created, o.Changed = order.State(state), unstamp(sent), unstamp(created), unstamp(changed)
	o.ID, o.Shown = restored(o.ID), restored(o.Shown)
	if d.As != "" {
		d.At = unstamp(decidedAt)
		o.Resolved = &d
	}
	o.Attempts = []order.Attempt{} // in JSON, none is an empty list
	if number.Valid {
		o.Attempts = append(o.Attempts, order.Attempt{Number: number.Int64, Began: unstamp(began.String), Ended: unstamp(ended.String),
			Outcome: order.Ending(outcome.String), Decimals: decimals.Int64, Demand: demand.Int64, Consent: consent.Int64})
		o.origins = []origin{{sender.Int64, boot.String, time.Duration(since.Int64), skew.String}}
	}
	return o, err
}

// contentColumns are the destinations of the columns currency, unit, minor, address and memo.
func contentColumns(c *order.Content) []any {
	return []any{unit{&c.Currency.Kind, &c.Currency.Code}, unit{&c.Amount.Kind, &c.Amount.Code}, &c.Amount.Minor, &c.Address, &c.Memo}
}

// A unit is the destination of a column that has what order.UnitText returns.
type unit struct {
	kind *api.Kind
	code *string
}

// Scan is for database/sql.
func (u unit) Scan(column any) error {
	var text sql.NullString
	err := text.Scan(column)
	c := unitOf(text.String)
	*u.kind, *u.code = c.Kind, c.Code
	return err
}

// unitOf is the inverse of order.UnitText.
func unitOf(text string) api.Currency {
	kind, code, _ := strings.Cut(text, ":")
	if kind == "fiat" {
		return api.FiatCurrency(code)
	}
	return api.CryptoCurrency(code)
}

// each iterates over the rows of a query. It stops after an error.
func each(q querier, query string, args ...any) iter.Seq2[*sql.Rows, error] {
	return func(yield func(*sql.Rows, error) bool) {
		rows, err := q.rows(query, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(rows, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// collect returns what scan makes of each row of a query.
func collect[T any](q querier, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	for rows, err := range each(q, query, args...) {
		if err != nil {
			return nil, err
		}
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// scanOne reads a row of one column.
func scanOne[T any](rows *sql.Rows) (value T, err error) {
	err = rows.Scan(&value)
	return value, err
}

// ordersOf returns the orders in the rows of a query. The rows of one order must be adjacent.
func ordersOf(q querier, query string, args ...any) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var o Record
		for rows, err := range each(q, query, args...) {
			var row Record
			if err == nil {
				row, err = scanOrder(rows)
			}
			switch {
			case err != nil:
				yield(Record{}, err)
				return
			case row.row == o.row:
				o.Attempts, o.origins = append(o.Attempts, row.Attempts...), append(o.origins, row.origins...)
				continue
			case o.row != 0 && !yield(o, nil):
				return
			}
			o = row
		}
		if o.row != 0 {
			yield(o, nil)
		}
	}
}

// load returns the orders for which a condition holds, oldest first.
func load(q querier, where string, args ...any) (orders []Record, err error) {
	for o, err := range ordersOf(q,
		`SELECT `+orderColumns+` FROM orders `+withAttempts+` WHERE `+where+` ORDER BY orders.id, number`, args...) {
		if err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, nil
}

func (t *tx) orders(where string, args ...any) ([]Record, error) { return load(t, where, args...) }

// insert makes an order, unless there is one: then its number is 0. happen gives it a state, in the same transaction,
// unless it is planned.
func (t *tx) insert(account int64, made order.Order) (Record, error) {
	o := Record{Order: made, account: account}
	o.User, o.Host, o.Created, o.Changed, o.Attempts = t.j.options.User, t.j.options.Host, t.at, t.at, []order.Attempt{}
	err := t.row(`INSERT INTO orders (account, order_id, run, state, currency, unit, minor, address, memo, callback, note, user_name, host, created, changed, content, payee)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15, ?16) ON CONFLICT (account, order_id) DO NOTHING RETURNING id, version`,
		account, o.OrderID, o.Run, string(o.State), order.UnitText(o.Currency), order.UnitText(o.Amount.Unit()), o.Amount.Minor, o.Address, o.Memo, o.Callback, o.Note, o.User,
		o.Host, t.now, o.Content.Key().String(), payee(o.Address)).Scan(&o.row, &o.version)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return o, err
}

// Orders returns the orders of the account that a filter chooses, oldest first, or in the order of the plan
// for a run. It stops after an error.
func (l *Ledger) Orders(ctx context.Context, f order.Filter) iter.Seq2[Record, error] {
	return l.chosen(ctx, f)
}

// Unshown returns the orders that were sent or decided about, and that the service has never shown.
func (l *Ledger) Unshown(ctx context.Context) iter.Seq2[Record, error] {
	return l.chosen(ctx, order.Filter{}, unshown)
}

// unshown is the condition of the index orders_unshown.
const unshown = "shown = '' AND (sent <> '' OR decided <> '')"

func (l *Ledger) chosen(ctx context.Context, f order.Filter, conditions ...string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		account, err := l.number(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		if account == 0 {
			return
		}
		query, args := queryFor(account, f, conditions...)
		for o, err := range ordersOf(l.j.read(ctx), query, args...) {
			if !yield(o, l.j.failed(err)) || err != nil {
				return
			}
		}
	}
}

// queryFor returns the statement for a filter with further conditions.
func queryFor(account int64, f order.Filter, conditions ...string) (query string, args []any) {
	where, args := append([]string{"orders.account = ?1"}, conditions...), []any{account}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	const when = "CASE WHEN sent = '' THEN created ELSE sent END"
	if !f.From.IsZero() {
		add(when+" >= ?%d", stamp(f.From))
	}
	if !f.To.IsZero() {
		add(when+" < ?%d", stamp(f.To))
	}
	if len(f.States) > 0 {
		var marks []string
		for _, s := range f.States {
			args = append(args, string(s))
			marks = append(marks, fmt.Sprintf("?%d", len(args)))
		}
		where = append(where, "state IN ("+strings.Join(marks, ", ")+")")
	}
	if f.Currency != (api.Currency{}) {
		add("lower(orders.currency) = lower(?%d)", order.UnitText(f.Currency))
	}
	if f.Address != "" {
		add("payee = ?%d", payee(f.Address))
	}
	from, by := "orders", "orders.id"
	if f.Run != "" {
		from, by = "run_rows JOIN orders ON orders.id = run_rows.order_row", "place"
		args = append(args, f.Run)
		where = append(where, ofRun(len(args)))
	}
	if f.Runs {
		where = append(where, "orders.id IN (SELECT run_rows.order_row FROM run_rows)")
	}
	if f.OrderID != "" {
		add("order_id = ?%d", f.OrderID)
	}
	return `SELECT ` + orderColumns + ` FROM ` + from + ` ` + withAttempts + ` WHERE ` + strings.Join(where, " AND ") +
		` ORDER BY ` + by + `, number`, args
}

// ofRun returns the condition for the rows of a run that has begun. The account is the first argument.
func ofRun(name int) string {
	return fmt.Sprintf("run_id = (SELECT runs.id FROM runs WHERE runs.account = ?1 AND runs.name = ?%d AND runs.began <> '')", name)
}

// Order returns one order. If there is none, it returns NotFound.
func (l *Ledger) Order(ctx context.Context, orderID string) (Record, error) {
	for o, err := range l.Orders(ctx, order.Filter{OrderID: orderID}) {
		return o, err
	}
	return Record{}, &Error{Kind: NotFound, OrderID: orderID}
}

// Story returns the history of an order, oldest event first.
func (j *Journal) Story(ctx context.Context, o Record) ([]order.Event, error) {
	events, err := collect(j.read(ctx), scanEvent, `SELECT at, user_name, host, what, state, currency, unit, minor, address, memo, callback, fingerprint, withdrawal, status, code, reason
		FROM events WHERE order_row = ?1 ORDER BY id`, o.row)
	return events, j.failed(err)
}

func scanEvent(rows *sql.Rows) (e order.Event, err error) {
	var at, state string
	err = rows.Scan(slices.Concat([]any{&at, &e.User, &e.Host, &e.What, &state}, contentColumns(&e.Content),
		[]any{&e.Callback, &e.Key, &e.ID, &e.HTTPStatus, &e.Code, &e.Reason})...)
	e.At, e.State, e.ID = unstamp(at), order.State(state), restored(e.ID)
	return e, err
}
