package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"example.com/till/internal/place"
)

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

// IsPostgres reports whether a name is the address of a database, rather than the name of a file.
func IsPostgres(name string) bool { return place.IsPostgres(name) }

// Open opens a journal. The name is a file or the address of a PostgreSQL database. Open makes the file or
// the tables if there are none, unless o.Existing is set. The error is an *Error.
func Open(ctx context.Context, name string, o Options) (*Journal, error) {
	if err := usable(name); err != nil {
		return nil, err
	}
	o.wait = cmp.Or(o.wait, wait)
	if o.steps == nil {
		o.steps = schema()
	}
	if clock := hooks(ctx).SinceBoot; clock != nil {
		o.SinceBoot = clock
	}
	j := &Journal{shared: IsPostgres(name), options: o, sender: randomNumber(),
		dialect: &sqliteDialect{name: name, wait: o.wait, existing: o.Existing}}
	if j.shared {
		j.dialect = &postgresDialect{address: name, wait: o.wait, existing: o.Existing}
	}
	j.runs.sending = map[string]int{}
	var err error
	if j.db, err = j.dialect.open(ctx); err != nil {
		return nil, j.failed(err)
	}
	err = j.migrate(ctx)
	if f := j.file(); f != nil && err == nil {
		err = j.failed(f.opened(ctx, func() error { return j.noteRestored(ctx, "") }))
	}
	if err == nil {
		err = j.failed(j.findCopy(ctx))
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// usable returns an error if a name can be neither that of a file nor the address of a database.
func usable(name string) error {
	if err := place.Check(name); err != nil {
		return &Error{Kind: Misplaced, Place: place.Redact(name), Msg: "cannot be used: " + err.Error(), Err: err}
	}
	return nil
}

// Place returns the journal's name, without a password.
func (j *Journal) Place() string { return j.dialect.place() }

// Shared reports whether several machines can share the journal.
func (j *Journal) Shared() bool { return j.shared }

// file returns the journal's file; nil: it is in PostgreSQL.
func (j *Journal) file() *sqliteDialect {
	f, _ := j.dialect.(*sqliteDialect)
	return f
}

// Close closes the journal and releases this process's lock.
func (j *Journal) Close() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.disconnect()
	return j.dialect.close(j.db)
}

func (j *Journal) failed(err error) error {
	if err == nil || AsError(err) != nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Kind: Broken, Place: j.dialect.place(), Msg: j.dialect.explain(err), Err: err}
}

func randomNumber() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]) >> 2) // the largest numbers are for the range of a lock
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

func (j *Journal) person() Person { return Person{j.options.User, j.options.Host} }

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

// Hooks change how Open opens a journal, for the tests of other packages.
type Hooks struct {
	// Driver returns the driver that is used instead of the database's own. So a test can watch, delay or fail
	// every statement. The connections must have the methods of the database's that are not in package driver.
	Driver func(driver.Connector) driver.Connector
	// SinceBoot takes the place of that of the options, which real time moves.
	SinceBoot func() (boot string, since time.Duration)
	// Copies says that a copy is taken for the journal itself. So the state of a disk can be rebuilt elsewhere.
	Copies bool
}

// WithHooks returns a context that makes Open use hooks.
func WithHooks(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

type hooksKey struct{}

func hooks(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

func openDB(ctx context.Context, c driver.Connector) *sql.DB {
	if wrap := hooks(ctx).Driver; wrap != nil {
		c = wrap(c)
	}
	return sql.OpenDB(c)
}
