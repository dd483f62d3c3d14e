package journal

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"example.com/till/pkg/payout/order"
	"github.com/jackc/pgx/v5/pgconn"
)

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

// pending is a write that waits for its commit.
type pending struct {
	work func(*tx) error
	done chan struct{}
	err  error
}

// A Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	dialect dialect
	shared  bool // it is in PostgreSQL
	options Options
	sender  int64 // number of this process's lock
	db      *sql.DB

	queueing sync.Mutex
	queue    []*pending // writes that wait
	commits  bool       // a goroutine is committing the queue

	writing sync.Mutex // guards what follows
	conn    *sql.Conn  // the connection that writes; nil: none, or it broke
	held    bool       // sender's lock is held
	sends   bool       // the lock was held at least once
	stmts   map[string]*sql.Stmt

	runs struct { // that this process is sending, with how often
		sync.Mutex
		sending map[string]int
	}
}

// Options describe the process that opens a journal.
type Options struct {
	Now        func() time.Time
	User, Host string // user and machine, for the record
	// SinceBoot returns a clock that cannot be set, see SinceBoot; nil: there is none.
	SinceBoot func() (boot string, since time.Duration)
	Existing  bool // make no journal: if there is none, the error is an *Error with fs.ErrNotExist in its chain

	ownClock bool // in tests, Now is also the clock of a database's server

	wait  time.Duration // time to wait for other writers; 0: the default in sqlite.go
	steps []string      // replaces the steps of schema.go
}

// dialect has the differences between the two kinds of journal. What only one of them has is a method of its
// own, see Shared and file.
type dialect interface {
	// open opens the database and checks that it can be used, but neither reads nor changes its tables.
	open(ctx context.Context) (*sql.DB, error)
	// begin begins a transaction that writes, and commit makes it durable, or returns an error.
	begin(ctx context.Context, conn *sql.Conn) error
	commit(ctx context.Context, conn *sql.Conn) error
	// rewrite translates a statement with ?1, ?2 ... and the types of SQLite to the dialect.
	rewrite(query string) string
	// tables returns a query that counts the tables named till_journal.
	tables() string
	// kept describes where the journal is kept in a way that no copy shares; empty: the system does not say it.
	kept(t *tx) string
	// hold takes a sender's lock until this process or this connection ends. holds reports whether any process
	// holds one.
	hold(ctx context.Context, conn *sql.Conn, sender int64) error
	holds(t *tx, sender int64) bool
	// place returns the journal's name, without a password.
	place() string
	// explain returns a sentence that says what is wrong and what to do.
	explain(err error) string
	close(db *sql.DB) error
}

// Place returns the journal's name, without a password.
func (j *Journal) Place() string { return j.dialect.place() }

// Shared reports whether several machines can share the journal.
func (j *Journal) Shared() bool { return j.shared }

func (j *Journal) failed(err error) error {
	if err == nil || AsError(err) != nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Kind: Broken, Place: j.dialect.place(), Msg: j.dialect.explain(err), Err: err}
}

func (j *Journal) person() Person { return Person{j.options.User, j.options.Host} }

func (j *Journal) connect(ctx context.Context) error {
	if j.conn != nil {
		return nil
	}
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return err
	}
	j.conn, j.stmts = conn, map[string]*sql.Stmt{}
	if j.file() != nil {
		if _, err = conn.ExecContext(ctx, writerSettings); err != nil {
			j.disconnect()
		}
	}
	return err
}

func (j *Journal) disconnect() {
	for _, s := range j.stmts {
		s.Close()
	}
	if j.conn != nil {
		j.conn.Raw(func(any) error { return driver.ErrBadConn }) // not back into the pool: its session holds a lock
		j.conn.Close()
	}
	j.conn, j.stmts, j.held = nil, nil, false
}

// timeLayout formats times so that their texts sort by time.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func unstamp(text string) time.Time {
	t, _ := time.Parse(timeLayout, text) // the zero time if text is empty
	return t
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

func (j *Journal) moment(at time.Time) Moment {
	m := Moment{At: at}
	if j.options.SinceBoot != nil && !j.Shared() {
		m.boot, m.since = j.options.SinceBoot()
	}
	return m
}

// lockedAccount is an account that no other process can change until the commit.
type lockedAccount struct {
	id int64
	order.Account
	demand   int64 // number of the demand in force; 0: there was none
	frozen   bool  // nothing is sent
	counting bool  // the sums of what was claimed are kept
	untied   bool  // a key of it may not be tied yet, see tieKey
}

// broken reports whether an error means that the connection broke since it was last used.
func broken(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Severity == "FATAL" || server.Severity == "PANIC"
	}
	return true
}

// commitLimit is the time limit for a commit. A machine that is gone may never answer.
const commitLimit = 2 * time.Minute

// maxConnections is how many connections a process has: one that writes, and others that read.
const maxConnections = 4

const pause = time.Millisecond // between two tries to get what other processes hold

// patiently tries something until it is done or fails, for at most about so long, and reports whether it is
// done.
func patiently(ctx context.Context, limit, pause time.Duration, try func() (done bool, err error)) (bool, error) {
	for began := time.Now(); ; {
		if done, err := try(); done || err != nil || time.Since(began) > limit {
			return done, err
		}
		if err := rest(ctx, pause); err != nil {
			return false, err
		}
	}
}

// rest waits for about this long. The time varies, so that two processes do not keep trying at the same
// moments.
func rest(ctx context.Context, about time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(about/2 + rand.N(about)):
		return nil
	}
}
