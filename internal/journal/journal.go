package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"time"

	"example.com/till/internal/place"
)

// A Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	dialect dialect
	options Options
	sender  int64 // the number of this process's lock
	db      *sql.DB

	queueing sync.Mutex
	queue    [][]*pending // those that come together
	commits  bool         // somebody takes from it

	writing sync.Mutex // holds what follows
	conn    *sql.Conn  // the one that writes; nil: none, or one that has broken
	held    bool       // sender's lock is
	sends   bool       // it was held at least once
	stmts   map[string]*sql.Stmt
	tied    map[keyTie]bool // keys that are known to be tied to their accounts
}

// Options are what a journal needs to know of the process that opens it.
type Options struct {
	Now        func() time.Time
	User, Host string // who it is, for the record
	Existing   bool   // make nothing: a journal that is not there is an *Error with fs.ErrNotExist in its chain

	ownClock bool // in tests, Now is also the clock of a database's server

	wait  time.Duration // for others that write; 0: as long as it says in sqlite.go
	steps []string      // in the place of those of schema.go
}

// dialect is what differs between the two kinds of journal.
type dialect interface {
	// open opens the database and checks that it can be used, but neither reads nor changes its tables.
	open(ctx context.Context) (*sql.DB, error)
	// limit ends a commit that would go on for ever.
	limit(ctx context.Context) (context.Context, context.CancelFunc)
	// writer is a statement for the connection that writes, once it is there, or nothing.
	writer() string
	// opened is called once the tables are what they should be. It calls lost if the journal does not have all that was
	// recorded in it.
	opened(ctx context.Context, lost func() error) error
	// still returns an error if the journal is no longer what was opened.
	still() error
	// begin begins a transaction that writes.
	begin(ctx context.Context, conn *sql.Conn) error
	// broken reports whether an error says that a connection has gone since it was last used.
	broken(err error) bool
	// commit makes what was done durable, or returns an error.
	commit(ctx context.Context, conn *sql.Conn) error
	// rewrite turns a statement with ?1, ?2 ... and the types of SQLite into the dialect's own.
	rewrite(query string) string
	// tables is a query that counts the table till_journal, and exclude keeps other processes from making it.
	tables() string
	exclude(t *tx) error
	// snapshot is the statement that begins a transaction which reads one moment, and numbered lets the numbers that the
	// database gives go on after rows that came with theirs.
	snapshot() string
	numbered(t *tx) error
	// hold takes a sender's lock for as long as this process and this connection live.
	hold(ctx context.Context, conn *sql.Conn, sender int64) error
	// holds reports whether any process holds that lock.
	holds(ctx context.Context, q querier, sender int64) (bool, error)
	// now is the time by the clock that all who share the journal have in common; the zero time where that is this machine's.
	now(q querier) (time.Time, error)
	// place names the journal, without a password.
	place() string
	// explain says in a sentence what is wrong and what to do.
	explain(err error) string
	close(db *sql.DB) error
}

// IsPostgres tells a database's address from a file's name.
func IsPostgres(name string) bool { return place.IsPostgres(name) }

// Open opens a journal: a file, which is made where there is none, or the address of a PostgreSQL database, whose tables are
// made where there are none, unless the options say that it is there. The error is an *Error.
func Open(ctx context.Context, name string, o Options) (*Journal, error) {
	if err := place.Check(name); err != nil {
		return nil, &Error{Place: place.Redact(name), Msg: "cannot be used: " + err.Error(), Err: err, Config: true}
	}
	if o.wait == 0 {
		o.wait = wait
	}
	if o.steps == nil {
		o.steps = schema()
	}
	j := &Journal{options: o, tied: map[keyTie]bool{}, dialect: newSQLite(name, o.wait, o.Existing), sender: randomNumber()}
	if IsPostgres(name) {
		j.dialect = newPostgres(name, o.wait, o.Existing)
	}
	var err error
	if j.db, err = j.dialect.open(ctx); err != nil {
		return nil, j.failed(err)
	}
	err = j.migrate(ctx)
	if err == nil {
		err = j.failed(j.dialect.opened(ctx, func() error { return j.markRestored(ctx) }))
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Place names the journal as it may be shown.
func (j *Journal) Place() string { return j.dialect.place() }

// Shared reports whether several machines can share the journal.
func (j *Journal) Shared() bool { return IsPostgres(j.dialect.place()) }

// Claims reports whether an order is one that this process is sending, as the record says.
func (j *Journal) Claims(o Order) bool { return o.State == Sending && o.last().sender == j.sender }

// Close lets go of the journal and of this process's lock.
func (j *Journal) Close() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.disconnect()
	return j.dialect.close(j.db)
}

func (j *Journal) failed(err error) error {
	if err == nil || errors.As(err, new(*Error)) || errors.As(err, new(*RunError)) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Place: j.dialect.place(), Msg: j.dialect.explain(err), Err: err}
}

func randomNumber() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]) >> 2) // leaves room above for a lock's range
}

// querier is what can be asked: the connection that writes inside a transaction, or any one that reads.
type querier interface {
	rows(query string, args ...any) (*sql.Rows, error)
	row(query string, args ...any) *sql.Row
}

// tx is a transaction that writes.
type tx struct {
	j      *Journal
	ctx    context.Context
	at     time.Time // by the journal's clock
	now    string    // the same as it is recorded
	locked map[int64]Account
	ties   []keyTie // that it has recorded
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

func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	done, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// script runs several statements that are needed once.
func (t *tx) script(text string) error {
	for statement := range strings.SplitSeq(t.j.dialect.rewrite(text), ";") {
		if _, err := t.j.conn.ExecContext(t.ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(t.ctx, args...)
}

func (t *tx) row(query string, args ...any) *sql.Row {
	s, err := t.stmt(query)
	if err != nil {
		return t.j.conn.QueryRowContext(t.ctx, t.j.dialect.rewrite(query), args...) // which fails in the same way
	}
	return s.QueryRowContext(t.ctx, args...)
}

// reader is a querier outside a transaction.
type reader struct {
	j   *Journal
	ctx context.Context
}

func (j *Journal) read(ctx context.Context) reader { return reader{j, ctx} }

func (r reader) rows(query string, args ...any) (*sql.Rows, error) {
	return r.j.db.QueryContext(r.ctx, r.j.dialect.rewrite(query), args...)
}

func (r reader) row(query string, args ...any) *sql.Row {
	return r.j.db.QueryRowContext(r.ctx, r.j.dialect.rewrite(query), args...)
}

func (j *Journal) connect(ctx context.Context) error {
	if j.conn != nil {
		return nil
	}
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return err
	}
	j.conn, j.stmts = conn, map[string]*sql.Stmt{}
	if w := j.dialect.writer(); w != "" {
		if _, err := conn.ExecContext(ctx, w); err != nil {
			j.disconnect()
			return err
		}
	}
	return nil
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

// clock is the time by which the journal's records are dated: that of the database's server, which several machines have in
// common, or this machine's.
func (j *Journal) clock(q querier) (now time.Time, err error) {
	if !j.options.ownClock {
		now, err = j.dialect.now(q)
	}
	if err == nil && now.IsZero() {
		now = j.options.Now()
	}
	return now, err
}

// Clock is what the journal's clock says now.
func (j *Journal) Clock(ctx context.Context) (time.Time, error) {
	now, err := j.clock(j.read(ctx))
	return now, j.failed(err)
}

func (j *Journal) person() Person { return Person{j.options.User, j.options.Host} }

// holdLock takes this process's lock, if it does not have it yet.
func (t *tx) holdLock() error {
	if t.j.held {
		return nil
	}
	if err := t.j.dialect.hold(t.ctx, t.j.conn, t.j.sender); err != nil {
		return err
	}
	t.j.held, t.j.sends = true, true
	return nil
}

// alive reports whether the process with this lock still lives.
func (j *Journal) alive(ctx context.Context, q querier, sender int64) (bool, error) {
	if sender == j.sender {
		return true, nil
	}
	return j.dialect.holds(ctx, q, sender)
}

// timeLayout writes times so that their order is that of their texts.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func unstamp(text string) time.Time {
	t, _ := time.Parse(timeLayout, text) // the zero time where there is none
	return t
}
