package journal

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"
)

// pending is a write that waits for its commit.
type pending struct {
	work func(*tx) error
	done chan struct{}
	err  error
}

// write runs work in a transaction, and returns when the transaction is on the disk. Writes that wait at the
// same time are committed together. If work returns a refusal, which is one of the types in error.go, the
// other writes are not affected. The changes that work made before the refusal are kept, so they must be
// valid by themselves. Any other error undoes all of the writes, and they run again without the failing one.
// So work may run several times, and must start from the beginning each time.
//
// write cannot be interrupted: if no caller waited for the outcome of a commit, no caller would know of its
// record.
func (j *Journal) write(ctx context.Context, work func(*tx) error) error {
	p := &pending{work: work}
	j.do(ctx, p)
	return p.err
}

// returning returns a pending write, and what it returns after its commit.
func returning[T any](work func(*tx) (T, error)) (p *pending, result func() (T, error)) {
	var value T
	p = &pending{work: func(t *tx) (err error) {
		value, err = work(t)
		return err
	}}
	return p, func() (T, error) {
		if p.err != nil {
			var none T
			return none, p.err
		}
		return value, nil
	}
}

// do is write for works that nearly always go into the same commit, in their order. A separate goroutine
// commits as long as writes wait: while it writes some, other callers can work with what they have.
func (j *Journal) do(ctx context.Context, all ...*pending) {
	for _, p := range all {
		p.done, p.err = make(chan struct{}), errNotWritten
	}
	j.queueing.Lock()
	j.queue = append(j.queue, all...)
	if !j.commits {
		j.commits = true
		go func() {
			for j.commitSome(context.WithoutCancel(ctx)) {
			}
		}()
	}
	j.queueing.Unlock()
	for _, p := range all {
		<-p.done
	}
}

// mostInACommit is how many writes go into one commit.
const mostInACommit = 32

// commitSome makes one commit. It reports whether there was anything to commit.
func (j *Journal) commitSome(ctx context.Context) (more bool) {
	j.writing.Lock()
	defer j.writing.Unlock()
	runtime.Gosched() // what is about to wait comes along: a commit takes far longer
	j.queueing.Lock()
	n := min(len(j.queue), mostInACommit)
	batch := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	more = n > 0 // also after a panic
	j.commits = more
	j.queueing.Unlock()
	if !more {
		return false
	}
	defer func() {
		if fault := recover(); fault != nil { // what is not committed must not look as if it were
			for _, p := range batch {
				p.err = fmt.Errorf("%w: %v", errNotWritten, fault)
			}
		}
		for _, p := range batch {
			close(p.done)
		}
	}()
	if j.Shared() {
		limited, done := context.WithTimeout(ctx, commitLimit)
		defer done()
		ctx = limited
	}
	j.commit(ctx, slices.Clone(batch))
	return true
}

var errNotWritten = errors.New("the record was not written")

// commit runs the waiting writes in one transaction. If one of them fails, it repeats the others: they may
// record that money was sent.
func (j *Journal) commit(ctx context.Context, batch []*pending) {
	for len(batch) > 0 {
		said := make([]error, len(batch))
		failing := -1
		err := j.transact(ctx, func(t *tx) error {
			for i, p := range batch {
				if said[i] = t.do(p.work); said[i] != nil && !refused(said[i]) {
					failing = i
					return said[i]
				}
			}
			return nil
		})
		err = j.failed(err)
		if failing >= 0 {
			batch[failing].err = err
			batch = slices.Delete(batch, failing, failing+1)
			continue
		}
		for i, p := range batch {
			if p.err = err; err == nil { // otherwise even a refusal may be based on what was undone
				p.err = said[i]
			}
		}
		return
	}
}

// transact runs work between BEGIN and COMMIT on the connection that writes.
func (j *Journal) transact(ctx context.Context, work func(*tx) error) (err error) {
	if err := j.begin(ctx); err != nil {
		return err
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		if _, e := j.conn.ExecContext(ctx, "ROLLBACK"); e != nil || errors.Is(err, driver.ErrBadConn) {
			j.disconnect() // its state is unknown
		}
	}()
	t := &tx{j: j, ctx: ctx, locked: map[int64]*lockedAccount{}}
	t.now = stamp(t.clock())
	t.at = unstamp(t.now) // with the precision of a stored time
	t.moment = j.moment(t.at)
	if j.sends && t.err == nil { // on a new connection: the orders that this process is sending must not look abandoned
		if err := j.holdLock(ctx); err != nil && AsError(err) == nil {
			return err
		}
	}
	if err := t.do(work); err != nil {
		return err
	}
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
	return nil
}

// do runs work, and returns the error of the statement that failed or, if none did, that of work.
func (t *tx) do(work func(*tx) error) error {
	err := work(t)
	return cmp.Or(t.err, err)
}

// begin begins a transaction. The connection that was kept from the last one may be broken by now, and so may
// those that have only read. Nothing was done on it yet, so begin replaces it. It gives up if even a new
// connection fails.
func (j *Journal) begin(ctx context.Context) error {
	for tries := 1; ; tries++ {
		if err := j.connect(ctx); err != nil {
			return err
		}
		err := j.dialect.begin(ctx, j.conn)
		if err == nil {
			return nil
		}
		j.disconnect() // its state is unknown
		if !j.Shared() || !broken(err) || tries > maxConnections {
			return err
		}
	}
}

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
func (t *tx) clock() time.Time {
	if t.j.Shared() && !t.j.options.ownClock {
		return one[time.Time](t, "SELECT clock_timestamp()")
	}
	return t.j.options.Now()
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
