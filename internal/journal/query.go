package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

const orderColumns = `orders.id, account, order_id, run, state, orders.currency, orders.unit, orders.minor, orders.address, orders.memo, orders.callback, ` + keptOfOrders + `, withdrawal, shown, version, sent,
	code, reason, user_name, host, fingerprint, decided, decided_at, decided_user, decided_host, decided_why, created, changed, number, sender, began, ended, outcome, decimals, attempts.demand, consent, boot, since_boot, skew`

// withAttempts adds the attempts of orders. There is one row for each attempt, and one row with nulls for an
// order without any.
const withAttempts = `LEFT JOIN attempts ON attempts.order_row = orders.id`

// orderRow is a row of orderColumns: an order and at most one of its attempts.
type orderRow struct {
	Record
	decided order.Resolution
	attempt order.Attempt
	from    origin
}

func (o *orderRow) fields() []any {
	d, a := &o.decided, &o.attempt
	return slices.Concat([]any{&o.row, &o.account, &o.OrderID, &o.Run, &o.State}, contentFields(&o.Content),
		[]any{&o.Callback}, keptFields(&o.Kept), []any{storedID(&o.ID), storedID(&o.Shown), &o.version, stamped(&o.Sent), &o.Code, &o.Reason, &o.User, &o.Host, &o.Key,
			&d.As, stamped(&d.At), &d.User, &d.Host, &d.Reason, stamped(&o.Created), stamped(&o.Changed),
			orZero(&a.Number), orZero(&o.from.sender), stamped(&a.Began), stamped(&a.Ended), orZero(&a.Outcome), orZero(&a.Decimals),
			orZero(&a.Demand), orZero(&a.Consent), orZero(&o.from.boot), orZero(&o.from.since), orZero(&o.from.skew)})
}

// contentFields are the destinations of the columns currency, unit, minor, address and memo.
func contentFields(c *order.Content) []any {
	return []any{unit(&c.Currency.Kind, &c.Currency.Code), unit(&c.Amount.Kind, &c.Amount.Code), &c.Amount.Minor, &c.Address, &c.Memo}
}

// A column is the destination of one column, for database/sql.
type column func(any) error

// Scan stores the value of the column.
func (c column) Scan(value any) error { return c(value) }

// orZero is the destination of a column that may be null: that is the zero value.
func orZero[T any](to *T) column {
	return func(value any) error {
		var v sql.Null[T]
		err := v.Scan(value)
		*to = v.V
		return err
	}
}

// parsed is the destination of a column with a text that is read, and that may be null.
func parsed(read func(text string)) column {
	return func(value any) error {
		var text string
		err := orZero(&text)(value)
		read(text)
		return err
	}
}

// stamped is the destination of a time, storedID of what storable returns, and unit of what order.UnitText returns.
func stamped(to *time.Time) column { return parsed(func(text string) { *to = unstamp(text) }) }
func storedID(to *string) column   { return parsed(func(text string) { *to = restored(text) }) }
func unit(kind *api.Kind, code *string) column {
	return func(value any) error {
		var text string
		err := orZero(&text)(value)
		c := unitOf(text)
		*kind, *code = c.Kind, c.Code
		if text != "" && (c.Code == "" || !utf8.ValidString(c.Code)) { // no amount could be printed with it
			err = cmp.Or(err, errDamaged)
		}
		return err
	}
}

// unitOf is the inverse of order.UnitText.
func unitOf(text string) api.Currency {
	kind, code, _ := strings.Cut(text, ":")
	if kind == "fiat" {
		return api.FiatCurrency(code)
	}
	return api.CryptoCurrency(code)
}

// eachOf is each for a query about the account of a ledger, whose number is ?1. It yields an error last.
func eachOf[T any](ctx context.Context, l *Ledger, fields func(*T) []any, query string, args ...any) iter.Seq2[T, error] {
	t := l.j.read(ctx)
	return orFailed(t, each(t, fields, query, append([]any{l.number(t)}, args...)...))
}

// orFailed yields values and, if a statement failed, its error.
func orFailed[T any](t *tx, values iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for value := range values {
			if !yield(value, nil) {
				return
			}
		}
		if t.err != nil {
			var none T
			yield(none, t.err)
		}
	}
}

// allOf is all for a query about the account of a ledger, whose number is ?1.
func allOf[T any](ctx context.Context, l *Ledger, fields func(*T) []any, query string, args ...any) ([]T, error) {
	t := l.j.read(ctx)
	values := all(t, fields, query, append([]any{l.number(t)}, args...)...)
	return values, t.err
}

// listOf returns texts as the second argument of a query that reads them from {list}.
func listOf(texts []string) string {
	list, _ := json.Marshal(append([]string{}, texts...)) // none are a list too
	return string(list)
}

// records yields the orders in rows of which each has one attempt. The rows of one order are adjacent.
func records(t *tx, rows iter.Seq[orderRow]) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		var o Record
		for row := range rows {
			if row.row != o.row {
				if o.row != 0 && !yield(o) {
					return
				}
				o = row.Record
				o.Attempts = []order.Attempt{} // in JSON, none is an empty list
				if row.decided.As != "" {
					o.Resolved = &row.decided
				}
			}
			if row.attempt.Number != 0 {
				o.Attempts, o.origins = append(o.Attempts, row.attempt), append(o.origins, row.from)
			}
		}
		if o.row != 0 && t.err == nil { // otherwise attempts may be missing
			yield(o)
		}
	}
}

// load returns the orders for which a condition holds, oldest first.
func load(t *tx, where string, args ...any) []Record {
	return whole(t, records(t, each(t, (*orderRow).fields, ordersWhere(where), args...)))
}

// ordersWhere returns a query for the orders for which a condition holds, oldest first.
func ordersWhere(condition string) string {
	return `SELECT ` + orderColumns + ` FROM orders ` + withAttempts + ` WHERE ` + condition + ` ORDER BY orders.id, number`
}

// insert makes an order, unless there is one: then its number is 0. happen gives it a state, in the same
// transaction, unless it is planned.
func (t *tx) insert(account int64, made order.Order) Record {
	o := Record{Order: made, account: account}
	o.User, o.Host, o.Created, o.Changed, o.Attempts = t.j.options.User, t.j.options.Host, t.at, t.at, []order.Attempt{}
	for made := range each(t, pair[int64], insertOrder, append([]any{account, o.OrderID, o.Run, string(o.State), order.UnitText(o.Currency),
		order.UnitText(o.Amount.Unit()), o.Amount.Minor, o.Address, o.Memo, o.Callback, o.User, o.Host, t.now,
		o.Content.Key().String(), payee(o.Address)}, keptFields(&o.Kept)...)...) {
		o.row, o.version = made[0], made[1]
	}
	return o
}

// Orders returns the orders of the account that a filter chooses, oldest first, or in the order of the plan
// for a run. It stops after an error.
func (l *Ledger) Orders(ctx context.Context, f order.Filter) iter.Seq2[Record, error] {
	query, args := queryFor(f)
	return l.orders(ctx, query, args...)
}

func (l *Ledger) orders(ctx context.Context, query string, args ...any) iter.Seq2[Record, error] {
	t := l.j.read(ctx)
	return orFailed(t, records(t, each(t, (*orderRow).fields, query, append([]any{l.number(t)}, args...)...)))
}

// Unshown yields the ids of orders that the service has never shown, if they were sent, decided about or replaced:
// another journal may have sent those.
func (l *Ledger) Unshown(ctx context.Context) iter.Seq2[string, error] {
	return eachOf(ctx, l, func(id *string) []any { return []any{id} },
		`SELECT order_id FROM orders WHERE `+unshown+` UNION SELECT order_id FROM orders WHERE shown = '' AND `+replaced, "", "")
}

// unshown has the condition of the index orders_unshown.
const unshown = "account = ?1 AND shown = '' AND (sent <> '' OR decided <> '')"

// Replaced yields the orders of older runs of a batch, or of all batches if it is empty, that its newest run
// does not have, and those of one more run, if that is not empty.
func (l *Ledger) Replaced(ctx context.Context, batch, run string) iter.Seq2[Record, error] {
	return l.orders(ctx, ordersWhere(replaced), batch, run)
}

const (
	goneOn   = `FROM runs WHERE account = ?1 AND began <> '' AND batch <> '' AND ?2 IN ('', batch) GROUP BY batch HAVING count(*) > 1`
	replaced = `account = ?1 AND orders.id IN (
		SELECT order_row FROM run_rows WHERE run_id IN (SELECT id FROM runs WHERE account = ?1 AND began <> '' AND batch IN (SELECT batch ` + goneOn + `))
		EXCEPT SELECT order_row FROM run_rows WHERE run_id IN (SELECT max(id) ` + goneOn + `)
		UNION SELECT order_row FROM run_rows WHERE run_id = (SELECT id FROM runs WHERE account = ?1 AND name = ?3))`
)

// queryFor returns the statement for a filter. The account is its first argument, before args.
func queryFor(f order.Filter) (query string, args []any) {
	where, from, by := []string{"orders.account = ?1"}, "orders", "orders.id"
	if f.OrderID == "" && f.Address == "" { // an index of the account would have SQLite sort all of its orders
		where[0] = "+orders.account = ?1"
	}
	if f.Run != "" {
		from, by = "run_rows JOIN orders ON orders.id = run_rows.order_row", "place"
		where, args = append(where, ofRun), append(args, f.Run)
	}
	mark := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("?%d", len(args)+1)
	}
	add := func(asked bool, condition string, value any) {
		if asked {
			where = append(where, strings.ReplaceAll(condition, "?", mark(value)))
		}
	}
	const when = "CASE WHEN sent = '' THEN created ELSE sent END"
	add(!f.From.IsZero(), when+" >= ?", stamp(f.From))
	add(!f.To.IsZero(), when+" < ?", stamp(f.To))
	if len(f.States) > 0 {
		var marks []string
		for _, s := range f.States {
			marks = append(marks, mark(string(s)))
		}
		where = append(where, "state IN ("+strings.Join(marks, ", ")+")")
	}
	add(f.Currency != (api.Currency{}), "lower(orders.currency) = lower(?)", order.UnitText(f.Currency))
	add(f.Address != "", "payee = ?", payee(f.Address))
	if f.Runs {
		where = append(where, "orders.id IN (SELECT run_rows.order_row FROM run_rows)")
	}
	add(f.OrderID != "", "order_id = ?", f.OrderID)
	add(f.Reference != "", "orders.reference = ?", f.Reference)
	return `SELECT ` + orderColumns + ` FROM ` + from + ` ` + withAttempts + ` WHERE ` + strings.Join(where, " AND ") +
		` ORDER BY ` + by + `, number`, args
}

// ofRun is the condition for the rows of a run that has begun. The account is ?1, and the name of the run is
// ?2.
const ofRun = "run_id = (SELECT runs.id FROM runs WHERE runs.account = ?1 AND runs.name = ?2 AND runs.began <> '')"

// Order returns one order. If there is none, it returns NotFound.
func (l *Ledger) Order(ctx context.Context, orderID string) (Record, error) {
	if orderID == "" { // as a filter, it chooses every order
		return Record{}, &Error{Kind: NotFound, OrderID: `""`}
	}
	for o, err := range l.Orders(ctx, order.Filter{OrderID: orderID}) {
		return o, err
	}
	return Record{}, &Error{Kind: NotFound, OrderID: orderID}
}

// ofList is the condition for the orders of an account with the order ids of a list.
const ofList = `account = ?1 AND order_id IN (SELECT value FROM {list})`

// Held returns those of the orders that the journal has.
func (l *Ledger) Held(ctx context.Context, orderIDs []string) (map[string]Record, error) {
	t := l.j.read(ctx)
	held := make(map[string]Record)
	for _, o := range load(t, ofList, l.number(t), listOf(orderIDs)) {
		held[o.OrderID] = o
	}
	return held, t.err
}

// ofWithdrawals is ofList for ids of withdrawals. The index has their beginnings.
const ofWithdrawals = `account = ?1 AND withdrawal <> '' AND substr(withdrawal, 1, 200) IN (SELECT substr(value, 1, 200) FROM {list})
	AND withdrawal IN (SELECT value FROM {list})`

// ByWithdrawal returns the orders of the account that have one of these withdrawals, by the id of the
// withdrawal.
func (l *Ledger) ByWithdrawal(ctx context.Context, ids []string) (map[string]Record, error) {
	t := l.j.read(ctx)
	held := make(map[string]Record)
	stored := make([]string, len(ids))
	for i, id := range ids {
		stored[i] = storable(keepable(id))
	}
	for _, o := range load(t, ofWithdrawals, l.number(t), listOf(stored)) {
		held[o.ID] = o
	}
	return held, t.err
}

// Paid returns those of the addresses to which a withdrawal of the account was accepted, in any spelling.
func (l *Ledger) Paid(ctx context.Context, addresses []string) (map[string]bool, error) {
	t := l.j.read(ctx)
	paid, spelt := make(map[string]bool), map[string][]string{}
	for _, a := range addresses {
		spelt[payee(a)] = append(spelt[payee(a)], a)
	}
	for form := range each(t, only[string],
		`SELECT DISTINCT payee FROM orders WHERE account = ?1 AND state = 'accepted' AND payee IN (SELECT value FROM {list})`,
		l.number(t), listOf(slices.Collect(maps.Keys(spelt)))) {
		for _, a := range spelt[form] {
			paid[a] = true
		}
	}
	return paid, t.err
}

// TimesPaid returns how many withdrawals of the account to an address were accepted, in any spelling.
func (l *Ledger) TimesPaid(ctx context.Context, to string) (int, error) {
	t := l.j.read(ctx)
	n := one[int](t, `SELECT count(*) FROM orders WHERE account = ?1 AND payee = ?2 AND state = 'accepted'`, l.number(t), payee(to))
	return n, t.err
}

// AcceptedAddresses yields the order id and the address of each accepted order of the account.
func (l *Ledger) AcceptedAddresses(ctx context.Context) iter.Seq2[[2]string, error] {
	return eachOf(ctx, l, pair[string], `SELECT order_id, address FROM orders WHERE +account = ?1 AND state = 'accepted' ORDER BY id`)
}

// Attempted reports whether the account has an order in a unit that was sent, or that the service has
// accepted.
func (l *Ledger) Attempted(ctx context.Context, unit api.Currency) (bool, error) {
	t := l.j.read(ctx)
	n := one[int](t, `SELECT 1 FROM orders WHERE account = ?1 AND lower(unit) = ?2 AND (sent <> '' OR state = 'accepted') LIMIT 1`,
		l.number(t), order.UnitText(LowerCase(unit)))
	return n > 0, t.err
}

// Story returns the history of an order, oldest event first.
func (j *Journal) Story(ctx context.Context, o Record) ([]order.Event, error) {
	fields := func(e *order.Event) []any {
		return slices.Concat([]any{stamped(&e.At), &e.User, &e.Host, &e.What, &e.State}, contentFields(&e.Content),
			[]any{&e.Callback, &e.Key, storedID(&e.ID), &e.HTTPStatus, &e.Code, &e.Reason})
	}
	t := j.read(ctx)
	story := all(t, fields, `SELECT at, user_name, host, what, state, currency, unit, minor, address, memo, callback, fingerprint, withdrawal, status, code, reason
		FROM events WHERE order_row = ?1 ORDER BY id`, o.row)
	return story, t.err
}

// A Sum counts orders of a run that are in the same state.
type Sum struct {
	State   order.State
	SentBy  bool // this run has sent them
	Claimed bool // the journal says that this process is sending them
	Rows    int
	Amount  api.BigAmount // of all of them
	OrderID string        // one of them
	// Decimals are those with which an amount was shown at the last attempt: the most; negative: unknown, or there was
	// no attempt.
	Decimals int64
	// First and Last are when they were sent or, if they were not, when they reached their state.
	First, Last time.Time
	halves      [2]int64 // of the amount, which may have more than 64 bits
}

// Sums counts the orders of a run.
func (l *Ledger) Sums(ctx context.Context, run string) ([]Sum, error) {
	fields := func(s *Sum) []any {
		return []any{&s.State, unit(&s.Amount.Kind, &s.Amount.Code), &s.SentBy, &s.Claimed, &s.Rows, &s.halves[0], &s.halves[1], &s.OrderID,
			&s.Decimals, stamped(&s.First), stamped(&s.Last)}
	}
	sums, err := allOf(ctx, l, fields, `SELECT state, orders.unit, CASE WHEN orders.run = ?2 AND sent <> '' THEN 1 ELSE 0 END AS own,
		CASE WHEN state = 'sending' AND sender = ?3 AND outcome = '' THEN 1 ELSE 0 END AS claimed,
		count(*), CAST(sum(orders.minor / 4294967296) AS BIGINT), CAST(sum(orders.minor % 4294967296) AS BIGINT), min(order_id), coalesce(max(decimals), -1),
		min(CASE WHEN sent = '' THEN changed ELSE sent END), max(CASE WHEN sent = '' THEN changed ELSE sent END)
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row
			LEFT JOIN attempts ON attempts.order_row = orders.id AND number = (SELECT max(number) FROM attempts AS a WHERE a.order_row = orders.id)
		WHERE `+ofRun+` GROUP BY state, orders.unit, own, claimed ORDER BY min(place)`, run, l.j.sender)
	for i, s := range sums {
		sums[i].Amount.Minor = api.SumOfHalves(s.halves[0], s.halves[1])
	}
	return sums, err
}

// Results returns the orders of a run in the order of its plan. Each has its order id, state, id and reason, and
// the content of its row and what is kept of it. It stops after an error. An order whose outcome this process could
// not record is unknown: the next process makes it so.
func (l *Ledger) Results(ctx context.Context, run string) iter.Seq2[order.Order, error] {
	fields := func(o *order.Order) []any {
		return slices.Concat([]any{&o.OrderID, &o.State, storedID(&o.ID), &o.Reason}, contentFields(&o.Content), keptFields(&o.Kept))
	}
	return eachOf(ctx, l, fields, `SELECT order_id, CASE WHEN state = 'sending' AND EXISTS (SELECT 1 FROM attempts WHERE attempts.order_row = orders.id AND outcome = '' AND sender = ?3) THEN 'unknown' ELSE state END,
		withdrawal, reason, run_rows.currency, run_rows.unit, run_rows.minor, run_rows.address, run_rows.memo, `+keptOfRows+`
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE `+ofRun+` ORDER BY place`, run, l.j.sender)
}
