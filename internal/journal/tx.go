package journal

import (
	"context"
	"database/sql"
	"iter"
	"strings"
	"time"
)

// A tx runs statements: those of a transaction that writes or, if it is made by read, each by itself on any
// connection that reads.
//
// After a statement has failed, the others do nothing and have no results. err is the error of that statement.
// It undoes the transaction and takes the place of whatever was concluded from missing results, so it is checked
// only at the end.
type tx struct {
	j      *Journal
	ctx    context.Context
	reads  bool
	err    error
	at     time.Time // by the journal's clock
	now    string    // at, as it is recorded
	moment Moment    // at, and since the machine has started
	locked map[int64]*lockedAccount
	ties   []keyTie // ties that it has recorded
}

func (j *Journal) read(ctx context.Context) *tx { return &tx{j: j, ctx: ctx, reads: true} }

// fail keeps an error, unless there is one already. It does nothing if err is nil.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = t.j.failed(err)
	}
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.j.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.j.conn.PrepareContext(t.ctx, t.j.dialect.rewrite(query))
	if err == nil {
		t.j.stmts[query] = s
	}
	return s, err
}

// exec runs a statement, and returns how many rows it has changed.
func (t *tx) exec(query string, args ...any) (changed int64) {
	if t.err != nil {
		return 0
	}
	var done sql.Result
	s, err := t.stmt(query)
	if err == nil {
		done, err = s.ExecContext(t.ctx, args...)
	}
	if err == nil {
		changed, err = done.RowsAffected()
	}
	t.fail(err)
	return changed
}

// script runs statements without preparing them: each of them runs only once.
func (t *tx) script(text string) {
	for statement := range strings.SplitSeq(t.j.dialect.rewrite(text), ";") {
		if t.err == nil {
			_, err := t.j.conn.ExecContext(t.ctx, statement)
			t.fail(err)
		}
	}
}

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	if t.reads {
		return t.j.db.QueryContext(t.ctx, t.j.dialect.rewrite(query), args...)
	}
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(t.ctx, args...)
}

// each yields the rows of a query. fields returns the destinations of the columns.
func each[T any](t *tx, fields func(*T) []any, query string, args ...any) iter.Seq[T] {
	return func(yield func(T) bool) {
		if t.err != nil {
			return
		}
		rows, err := t.rows(query, args...)
		if err != nil {
			t.fail(err)
			return
		}
		defer func() { t.fail(rows.Close()) }()
		for rows.Next() {
			var value T
			if err := rows.Scan(fields(&value)...); err != nil {
				t.fail(err)
				return
			}
			if !yield(value) {
				return
			}
		}
		t.fail(rows.Err())
	}
}

// all returns the rows of a query; none if it fails.
func all[T any](t *tx, fields func(*T) []any, query string, args ...any) []T {
	return whole(t, each(t, fields, query, args...))
}

// whole returns all values; none if a statement fails.
func whole[T any](t *tx, values iter.Seq[T]) (all []T) {
	for value := range values {
		all = append(all, value)
	}
	if t.err != nil {
		return nil
	}
	return all
}

// one returns the value of a query for at most one row with one column; the zero value if there is none.
func one[T any](t *tx, query string, args ...any) (value T) {
	for value := range each(t, only[T], query, args...) {
		return value
	}
	return value
}

// only and pair are the destinations of one and of two columns.
func only[T any](value *T) []any     { return []any{value} }
func pair[T any](values *[2]T) []any { return []any{&values[0], &values[1]} }

// clock returns the time for the journal's records. It is the time of the database server, which several
// machines share, or of this machine.
func (t *tx) clock() (now time.Time) {
	if !t.j.options.ownClock {
		now = t.j.dialect.now(t)
	}
	if now.IsZero() {
		now = t.j.options.Now()
	}
	return now
}

// holdLock takes this process's lock, if it does not hold it yet.
func (t *tx) holdLock() { t.fail(t.j.holdLock(t.ctx)) }

func (j *Journal) holdLock(ctx context.Context) error {
	if j.held {
		return nil
	}
	err := j.dialect.hold(ctx, j.conn, j.sender)
	if err == nil {
		j.held, j.sends = true, true
	}
	return err
}

// alive reports whether the process with this lock is alive.
func (t *tx) alive(sender int64) bool {
	return sender == t.j.sender || t.err == nil && t.j.dialect.holds(t, sender)
}
