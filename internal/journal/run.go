package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// A Run is a plan that has begun to be applied.
type Run struct {
	Name   string    `json:"run"` // the first characters of the digest
	Digest string    `json:"digest"`
	Plan   string    `json:"plan"`  // the name of its file
	Batch  string    `json:"batch"` // from which its order ids were derived; empty: they were given
	Since  string    `json:"-"`     // the newest run of the batch when the plan was made; empty: none had begun
	Before int       `json:"-"`     // how many of its orders may be paid already, by a person's word
	Began  time.Time `json:"-"`
	User   string    `json:"user"`
	Host   string    `json:"host"`

	id, account int64
	made        []int64 // the orders that BeginRun has made, by place; 0: it was there before
}

// A Row is one withdrawal of a plan.
type Row struct {
	OrderID string
	Content
	Callback string
	Note     string
}

// BeginRun records a run and all its rows, or none of them, and returns the run; of one that has begun before it records
// only that more of its orders may be paid already. An order that the journal has keeps its state; if it has other content, if
// another run of the batch has begun since the plan was made, or if another plan has the run's name, that is a *RunError.
// What Made of the run says afterwards is as old as this call.
func (j *Journal) BeginRun(ctx context.Context, a Account, r Run, rows iter.Seq2[Row, error]) (run Run, err error) {
	var unread error // of the rows, which is no fault of the journal's
	err = j.write(ctx, func(t *tx) error {
		account, err := t.account(a)
		if err != nil {
			return err
		}
		switch run, err = t.run(account, r.Name); {
		case err != nil:
			return err
		case run.Digest != "" && run.Digest != r.Digest:
			return &RunError{Run: r.Name, Msg: "is another plan's: make this plan anew"}
		case run.Digest != "":
			if newest, err := t.newestOf(account, run.Batch); err != nil || run.Batch != "" && newest != run.Name {
				return cmp.Or[error](err, &RunError{r.Name, fmt.Sprintf("is of the batch %q, which has gone on with run %s", run.Batch, newest), true})
			}
			run.Before = max(run.Before, r.Before)
			_, err := t.exec(`UPDATE runs SET paid_before = ?1 WHERE id = ?2`, run.Before, run.id)
			return err
		}
		if newest, err := t.newestOf(account, r.Batch); err != nil || newest != r.Since {
			return cmp.Or[error](err, &RunError{r.Name, fmt.Sprintf("is of the batch %q, of which run %s has begun since its plan was made", r.Batch, newest), true})
		}
		run = r
		run.account, run.made = account, nil
		run.Began, run.User, run.Host = unstamp(t.now), t.j.options.User, t.j.options.Host
		if err := t.row(`INSERT INTO runs (account, name, digest, plan, batch, paid_before, began, user_name, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id`,
			account, r.Name, r.Digest, r.Plan, r.Batch, r.Before, t.now, run.User, run.Host).Scan(&run.id); err != nil {
			return err
		}
		place := 0
		for rows, err := range chunks(rows) {
			if err != nil {
				unread = err
				return err
			}
			made, err := t.addRows(account, run, rows, place)
			if err != nil {
				return err
			}
			run.made = append(run.made, made...)
			place += len(rows)
		}
		_, err = t.exec(`INSERT INTO events (order_row, at, user_name, host, what, state, currency, unit, minor, address, memo, callback)
			SELECT orders.id, ?1, ?2, ?3, '`+eventPlanned+`', state, currency, unit, minor, address, memo, callback
			FROM run_rows JOIN orders ON orders.id = order_row WHERE run_id = ?4 AND run = ?5 AND created = ?1`, t.now, run.User, run.Host, run.id, run.Name)
		return err
	})
	if unread != nil {
		err = unread
	}
	if err != nil {
		return Run{}, err
	}
	return run, nil
}

// newestOf is the run of a batch that began last; empty where there is none.
func (t *tx) newestOf(account int64, batch string) (run string, err error) {
	if batch == "" {
		return "", nil
	}
	err = t.row(`SELECT name FROM runs WHERE account = ?1 AND batch = ?2 ORDER BY id DESC LIMIT 1`, account, batch).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return run, err
}

func chunks(rows iter.Seq2[Row, error]) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		part := make([]Row, 0, mostTogether)
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if part = append(part, row); len(part) == mostTogether {
				if !yield(part, nil) {
					return
				}
				part = part[:0]
			}
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}

// addRows makes the orders that are not there yet, which is their step to planned, and notes all of them as the run's.
func (t *tx) addRows(account int64, run Run, rows []Row, place int) (made []int64, err error) {
	orders := make([][]any, len(rows))
	for i, r := range rows {
		orders[i] = []any{r.OrderID, r.Currency, r.Unit, r.Minor, r.Address, r.Memo, r.Callback, r.Note}
	}
	ids, err := t.insertPlanned(account, run, orders)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		made = append(made, ids[r.OrderID])
	}
	if err := t.findRest(account, run, rows, ids); err != nil {
		return nil, err
	}
	places := make([][]any, len(rows))
	for i, r := range rows {
		places[i] = []any{int64(place + i), ids[r.OrderID]}
	}
	list, names, args := together(places, run.id)
	_, err = t.exec(list+` INSERT INTO run_rows (run_id, place, order_row) SELECT ?1, `+strings.Join(names, ", ")+` FROM v`, args...)
	return made, err
}

// Made returns the order of a row as BeginRun has made it, if it has just made it.
func (r Run) Made(place int, row Row) (o Order, made bool) {
	if place >= len(r.made) || r.made[place] == 0 {
		return Order{}, false
	}
	return Order{
		OrderID: row.OrderID, State: Planned, Content: row.Content, Callback: row.Callback, Note: row.Note, Run: r.Name,
		Created: r.Began, Changed: r.Began, User: r.User, Host: r.Host, id: r.made[place], account: r.account,
	}, true
}

// insertPlanned makes the orders that are not there yet, and returns the rows that they have.
func (t *tx) insertPlanned(account int64, run Run, orders [][]any) (ids map[string]int64, err error) {
	list, names, args := together(orders, account, run.Name, t.j.options.User, t.j.options.Host, t.now)
	inserted, err := t.rows(list+` INSERT INTO orders (account, run, state, order_id, currency, unit, minor, address, memo, callback, note, user_name, host, created, changed)
		SELECT ?1, ?2, 'planned', `+strings.Join(names, ", ")+`, ?3, ?4, ?5, ?5 FROM v WHERE TRUE ON CONFLICT (account, order_id) DO NOTHING RETURNING id, order_id`, args...)
	if err != nil {
		return nil, err
	}
	defer inserted.Close()
	ids = make(map[string]int64, len(orders))
	for inserted.Next() {
		var id int64
		var orderID string
		if err := inserted.Scan(&id, &orderID); err != nil {
			return nil, err
		}
		ids[orderID] = id
	}
	return ids, inserted.Err()
}

// findRest finds the rows of the orders that were there before, which must be the same that the run is to send.
func (t *tx) findRest(account int64, run Run, rows []Row, ids map[string]int64) error {
	for _, r := range rows {
		if ids[r.OrderID] != 0 {
			continue
		}
		o, err := t.order(account, r.OrderID)
		if err != nil {
			return err
		}
		if o.Content != r.Content {
			return &RunError{Run: run.Name, Msg: "has an order that the journal has with other content"}
		}
		ids[r.OrderID] = o.id
	}
	return nil
}

// marks are n placeholders after the first ones.
func marks(after, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("?%d", after+i+1)
	}
	return strings.Join(all, ", ")
}

const runColumns = `runs.id, runs.name, digest, plan, batch, paid_before, began, runs.user_name, runs.host`

func scanRun(scan func(...any) error) (r Run, err error) {
	var began string
	err = scan(&r.id, &r.Name, &r.Digest, &r.Plan, &r.Batch, &r.Before, &began, &r.User, &r.Host)
	r.Began = unstamp(began)
	return r, err
}

// run finds a run; its digest is empty where there is none.
func (t *tx) run(account int64, name string) (Run, error) {
	r, err := scanRun(t.row(`SELECT `+runColumns+` FROM runs WHERE account = ?1 AND name = ?2`, account, name).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, nil
	}
	return r, err
}

// Runs returns the runs of an account, oldest first.
func (j *Journal) Runs(ctx context.Context, a Account) (runs []Run, err error) {
	rows, err := (reading{j, ctx}).rows(`SELECT `+runColumns+` FROM runs JOIN accounts ON accounts.id = account WHERE address = ?1 AND accounts.name = ?2 ORDER BY runs.id`, a.Address, a.Name)
	if err != nil {
		return nil, j.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRun(rows.Scan)
		if err != nil {
			return nil, j.failed(err)
		}
		runs = append(runs, r)
	}
	return runs, j.failed(rows.Err())
}

// Held returns those of some orders that the journal has.
func (j *Journal) Held(ctx context.Context, a Account, orderIDs []string) (held map[string]Order, err error) {
	held = make(map[string]Order)
	err = j.among(orderIDs, func(args []any, list string) error {
		orders, err := load(reading{j, ctx}, `account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2) AND order_id IN (`+list+`)`, append([]any{a.Address, a.Name}, args...)...)
		for _, o := range orders {
			held[o.OrderID] = o
		}
		return err
	})
	return held, err
}

// Paid returns those of some addresses to which a withdrawal of the account was accepted.
func (j *Journal) Paid(ctx context.Context, a Account, addresses []string) (paid map[string]bool, err error) {
	paid = make(map[string]bool)
	err = j.among(addresses, func(args []any, list string) error {
		rows, err := (reading{j, ctx}).rows(`SELECT DISTINCT address FROM orders
			WHERE account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2) AND state = 'accepted' AND address IN (`+list+`)`, append([]any{a.Address, a.Name}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var address string
			if err := rows.Scan(&address); err != nil {
				return err
			}
			paid[address] = true
		}
		return rows.Err()
	})
	return paid, err
}

// among asks about a list in parts that a statement can take; the first two arguments are the query's own.
func (j *Journal) among(list []string, ask func(args []any, list string) error) error {
	for len(list) > 0 {
		part := list[:min(len(list), mostTogether)]
		list = list[len(part):]
		args := make([]any, len(part))
		for i, text := range part {
			args[i] = text
		}
		if err := ask(args, marks(2, len(part))); err != nil {
			return j.failed(err)
		}
	}
	return nil
}

// Alone notes that this process applies a plan, and sees to it that it is the only one that does so from a journal in a file;
// another one that is at it is a *BusyError. A journal in PostgreSQL is for several.
func (j *Journal) Alone(ctx context.Context, run string) error {
	return j.write(ctx, func(t *tx) error {
		noted, err := appliers(t)
		if err != nil {
			return err
		}
		for _, a := range noted {
			alive, err := j.alive(t.ctx, t, a.sender)
			switch {
			case err != nil:
				return err
			case alive && a.sender != j.sender && j.Shared():
				continue
			case alive && a.sender != j.sender:
				return &BusyError{a.Run, a.User, a.Host}
			}
			if _, err := t.exec(`DELETE FROM appliers WHERE sender = ?1`, a.sender); err != nil {
				return err
			}
		}
		if err := t.holdLock(); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO appliers (sender, run, user_name, host) VALUES (?1, ?2, ?3, ?4)`, j.sender, run, j.options.User, j.options.Host)
		return err
	})
}

// An Applier is a process that applies a plan.
type Applier struct {
	Run, User, Host string

	sender int64
}

func appliers(q querier) (all []Applier, err error) {
	rows, err := q.rows(`SELECT sender, run, user_name, host FROM appliers`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a Applier
		if err := rows.Scan(&a.sender, &a.Run, &a.User, &a.Host); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

// Appliers returns the processes that apply a plan from the journal now, of whatever account.
func (j *Journal) Appliers(ctx context.Context) (living []Applier, err error) {
	r := reading{j, ctx}
	noted, err := appliers(r)
	for _, a := range noted {
		alive, e := j.alive(ctx, r, a.sender)
		if e != nil {
			return nil, j.failed(e)
		}
		if alive {
			living = append(living, a)
		}
	}
	return living, j.failed(err)
}
