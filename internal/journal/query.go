package journal

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"
)

const orderColumns = `id, account, order_id, run, state, currency, unit, minor, address, memo, callback, note, withdrawal, attempt, sender, doubt, last_doubt, sent, code, reason,
	user_name, host, fingerprint, decided, decided_at, decided_user, decided_host, decided_why, created, changed`

func scanOrder(rows *sql.Rows, more ...any) (o Order, err error) {
	var state, sent, decidedAt, created, changed string
	var d Decided
	err = rows.Scan(append([]any{&o.id, &o.account, &o.OrderID, &o.Run, &state, &o.Currency, &o.Unit, &o.Minor, &o.Address, &o.Memo, &o.Callback, &o.Note, &o.Withdrawal,
		&o.attempt, &o.sender, &o.doubt, &o.lastDoubt, &sent, &o.Code, &o.Reason, &o.User, &o.Host, &o.Key, &d.As, &decidedAt, &d.User, &d.Host, &d.Reason, &created, &changed}, more...)...)
	o.State, o.Sent, o.Created, o.Changed = State(state), unstamp(sent), unstamp(created), unstamp(changed)
	if d.As != "" {
		d.At = unstamp(decidedAt)
		o.Decided = &d
	}
	return o, err
}

// load returns the orders that a condition holds for.
func load(q querier, where string, args ...any) (orders []Order, err error) {
	rows, err := q.rows(`SELECT `+orderColumns+` FROM orders WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		o, err := scanOrder(rows)
		if err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

func (t *tx) orders(where string, args ...any) ([]Order, error) { return load(t, where, args...) }

// order finds an order; its state is empty where there is none.
func (t *tx) order(account int64, orderID string) (Order, error) {
	found, err := t.orders(`account = ?1 AND order_id = ?2`, account, orderID)
	if err != nil || len(found) == 0 {
		return Order{OrderID: orderID}, err
	}
	return found[0], nil
}

func (t *tx) orderRow(id int64) (Order, error) {
	found, err := t.orders(`id = ?1`, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the record of the attempt is gone")
	}
	if err != nil {
		return Order{}, err
	}
	return found[0], nil
}

// insert makes an order that stands nowhere yet; move takes it from there, in the same transaction.
func (t *tx) insert(account int64, o Order) (Order, error) {
	err := t.row(`INSERT INTO orders (account, order_id, run, state, currency, unit, minor, address, memo, callback, note, user_name, host, created, changed)
		VALUES (?1, ?2, ?3, '', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13) RETURNING id`,
		account, o.OrderID, o.Run, o.Currency, o.Unit, o.Minor, o.Address, o.Memo, o.Callback, o.Note, t.j.options.User, t.j.options.Host, t.now).Scan(&o.id)
	o.account = account
	o.State, o.User, o.Host, o.Created, o.Changed = "", t.j.options.User, t.j.options.Host, unstamp(t.now), unstamp(t.now)
	return o, err
}

// A Filter chooses orders. Its zero value chooses all of an account.
type Filter struct {
	From, To time.Time // of the last attempt or, where there is none, of the first record; To is not included
	States   []State
	Currency string // kind and code
	Address  string
	Run      string // its name
	Runs     bool   // only those of any run
	OrderID  string
}

// Orders returns the orders of an account that a filter chooses, oldest first; those of a run in the order of its plan. It
// stops after an error.
func (j *Journal) Orders(ctx context.Context, a Account, f Filter) iter.Seq2[Order, error] {
	where, args := []string{"account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2)"}, []any{a.Address, a.Name}
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
	if f.Currency != "" {
		add("currency = ?%d", f.Currency)
	}
	if f.Address != "" {
		add("address = ?%d", f.Address)
	}
	from, order := "orders", "id"
	if f.Run != "" {
		from, order = "run_rows JOIN orders ON id = order_row", "place"
		args = append(args, f.Run)
		where = append(where, ofRun(len(args)))
	}
	if f.Runs {
		where = append(where, "id IN (SELECT order_row FROM run_rows)")
	}
	if f.OrderID != "" {
		add("order_id = ?%d", f.OrderID)
	}
	return func(yield func(Order, error) bool) {
		rows, err := (reading{j, ctx}).rows(`SELECT `+orderColumns+` FROM `+from+` WHERE `+strings.Join(where, " AND ")+` ORDER BY `+order, args...)
		if err != nil {
			yield(Order{}, j.failed(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			o, err := scanOrder(rows)
			if err != nil {
				yield(Order{}, j.failed(err))
				return
			}
			if !yield(o, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Order{}, j.failed(err))
		}
	}
}

// ofRun chooses the rows of a run, whose account is that of the first two arguments.
func ofRun(name int) string {
	return fmt.Sprintf("run_id = (SELECT runs.id FROM runs JOIN accounts ON accounts.id = runs.account WHERE accounts.address = ?1 AND accounts.name = ?2 AND runs.name = ?%d)", name)
}

// Order returns one order. One that is not there is a *GoneError.
func (j *Journal) Order(ctx context.Context, a Account, orderID string) (Order, error) {
	for o, err := range j.Orders(ctx, a, Filter{OrderID: orderID}) {
		return o, err
	}
	return Order{}, &GoneError{OrderID: orderID}
}

// Story returns everything that has happened to an order, oldest first.
func (j *Journal) Story(ctx context.Context, o Order) (events []Event, err error) {
	rows, err := (reading{j, ctx}).rows(`SELECT at, user_name, host, what, state, currency, unit, minor, address, memo, callback, fingerprint, withdrawal, status, code, reason
		FROM events WHERE order_row = ?1 ORDER BY id`, o.id)
	if err != nil {
		return nil, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e Event
		var at, state string
		if err := rows.Scan(&at, &e.User, &e.Host, &e.What, &state, &e.Currency, &e.Unit, &e.Minor, &e.Address, &e.Memo, &e.Callback, &e.Key, &e.Withdrawal, &e.Status, &e.Code, &e.Reason); err != nil {
			return nil, j.failed(err)
		}
		e.At, e.State = unstamp(at), State(state)
		events = append(events, e)
	}
	return events, j.failed(rows.Err())
}
