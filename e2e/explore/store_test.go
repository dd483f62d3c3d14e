package explore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"

	"example.com/till/internal/journal"
)

// watched returns the context with which a process opens its journal: each statement passes through conn.
func (p *process) watched() context.Context {
	return journal.WithHooks(context.Background(), journal.Hooks{
		SinceBoot: func() (string, time.Duration) {
			return fmt.Sprint("start ", p.r.outside.starts), time.Duration(p.r.clock().UnixNano())
		},
		Driver: func(c driver.Connector) driver.Connector { return connector{c, p} },
	})
}

type connector struct {
	driver.Connector
	p *process
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.p.dead {
		return nil, errGone
	}
	real, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	_, isFile := real.(sqlite.FileControl)
	watched := &conn{real: real, p: c.p, file: isFile}
	c.p.conns = append(c.p.conns, watched)
	return watched, nil
}

var (
	errGone   = errors.New("this process is dead")
	errBroken = errors.New("the connection broke")
)

// conn is a connection to the journal. A process waits for its turn after every statement, and before a
// commit. Within a transaction of SQLite, others could see no difference until its commit, and none of them
// can write: so there is nothing to wait for.
type conn struct {
	real   driver.Conn
	p      *process
	file   bool // SQLite
	tx     bool
	locked bool     // PostgreSQL: the transaction holds locks
	wrote  []string // the tables to which the transaction wrote
	log    uint64   // hash of what it wrote
	broken bool
}

var (
	fromTable = regexp.MustCompile(`(?:FROM|INTO|UPDATE) (?:v JOIN )?(\w+)`)
	isWrite   = regexp.MustCompile(`\b(?:INSERT|UPDATE|DELETE)\b`)
)

// statement runs a statement. do returns its result as text.
func (c *conn) statement(query string, args []driver.NamedValue, do func() (string, error)) error {
	verb, _, _ := strings.Cut(query, " ")
	switch {
	case c.broken || c.p.dead:
		return errGone
	case c.p.quiet || verb == "PRAGMA" || strings.Contains(query, "UPDATE till_journal SET opened"):
		_, err := do()
		return err
	case verb == "BEGIN":
		return c.begin(do)
	case verb == "COMMIT":
		return c.commit(do)
	case verb == "ROLLBACK":
		_, err := do()
		c.ended()
		return err
	}
	writes := isWrite.MatchString(query)
	if !c.file && locks(query) {
		c.awaitLock()
		c.locked = c.tx
	}
	if c.broken {
		return errGone
	}
	result, err := do()
	c.p.saw(query, result, err)
	if *statements {
		c.p.r.tell("%s: %s [%s]: %s %v", c.p.name, strings.Join(strings.Fields(query), " "), c.p.known(args), result, err)
	}
	table := tableOf(query)
	if writes {
		c.log = mix(c.log, query, c.p.known(args))
		if c.tx && !slices.Contains(c.wrote, table) {
			c.wrote = append(c.wrote, table)
		}
	}
	if err != nil || c.tx && c.file {
		return err
	}
	at := &point{what: strings.TrimSpace("reads " + table), silent: true, choices: []choice{{}, dead}}
	return c.pass(at)
}

// pass lets the process wait for its turn, after which it may be dead or the connection broken.
func (c *conn) pass(at *point) error {
	switch c.p.pass(at).kind {
	case dies:
		return errGone
	case breaks:
		c.breakNow()
		return errBroken
	}
	return nil
}

// tableOf returns the table that a statement reads or writes, or "".
func tableOf(query string) string {
	if table := fromTable.FindStringSubmatch(query); table != nil {
		return table[1]
	}
	return ""
}

// locks reports whether a statement waits in PostgreSQL for what another transaction has locked. What is
// written to orders needs no lock of its own: the account is locked before, or the code has a bug.
func locks(query string) bool {
	switch {
	case strings.Contains(query, "FOR UPDATE"):
		return true
	case slices.Contains([]string{"orders", "attempts", "events"}, tableOf(query)):
		return false
	}
	return isWrite.MatchString(query)
}

// known returns the arguments of a statement, without the random number of the process.
func (p *process) known(args []driver.NamedValue) string {
	var all []string
	for _, a := range args {
		if n, ok := a.Value.(int64); ok && n > 1<<40 {
			all = append(all, "sender")
			continue
		}
		all = append(all, fmt.Sprint(a.Value))
	}
	return strings.Join(all, ", ")
}

// begin begins to write. In SQLite, only one process writes at a time: another one waits here.
func (c *conn) begin(do func() (string, error)) error {
	if c.file && c.p.r.writer != nil {
		c.p.pass(&point{what: "has waited for the journal", silent: true,
			ready: func() bool { return c.p.r.writer == nil }})
	}
	if c.broken {
		return errGone
	}
	_, err := do()
	if err == nil {
		if c.tx = true; c.file {
			c.p.r.writer = c
		}
	}
	return err
}

// awaitLock waits while another transaction holds locks. All orders here belong to one account, whose row
// every writer locks first.
func (c *conn) awaitLock() {
	free := func() bool { return c.p.r.unlocked(c) }
	if !free() {
		c.p.pass(&point{what: "has waited for a lock", silent: true, ready: free})
	}
}

// unlocked reports whether no other connection is about to write.
func (r *run) unlocked(but *conn) bool {
	for _, p := range r.processes {
		if slices.ContainsFunc(p.conns, func(o *conn) bool { return o.locked && o != but }) {
			return false
		}
	}
	return r.writer == nil || r.writer == but
}

func (c *conn) ended() {
	c.tx, c.locked, c.wrote = false, false, nil
	if c.p.r.writer == c {
		c.p.r.writer = nil
	}
}

// commit commits, unless the process dies or the connection breaks before. It can also break afterwards: then
// the process does not know that it has committed.
func (c *conn) commit(do func() (string, error)) error {
	if c.wrote == nil {
		_, err := do()
		c.ended()
		return err
	}
	faults := []choice{{}, {breaks, "and loses the connection to the journal"}, dead}
	at := &point{what: "is about to commit", choices: faults, silent: true}
	if err := c.pass(at); err != nil {
		return err
	}
	if _, err := do(); err != nil {
		return err
	}
	c.p.r.commits = mix(c.p.r.commits, c.p.name, c.log)
	tables := strings.Join(c.wrote, " and ")
	c.ended()
	changed := c.p.r.recorded(c.p)
	if changed == "" {
		changed = " a change of " + tables
	}
	at = &point{what: "has committed" + changed, choices: faults}
	return c.pass(at)
}

// breakNow ends the session: the database undoes its transaction and releases its locks.
func (c *conn) breakNow() {
	if c.broken {
		return
	}
	c.broken = true
	ctx := context.Background()
	execer := c.real.(driver.ExecerContext)
	if c.tx {
		execer.ExecContext(ctx, "ROLLBACK", nil)
	}
	c.ended()
	if pg, ok := c.real.(interface{ Conn() *pgx.Conn }); ok {
		execer.ExecContext(ctx, "SELECT pg_advisory_unlock_all()", nil)
		pg.Conn().Close(ctx)
	}
}

// Conn is called by the journal in PostgreSQL to commit, which it then does once more, without effect.
func (c *conn) Conn() *pgx.Conn {
	real := c.real.(interface{ Conn() *pgx.Conn }).Conn()
	err := errGone
	if !c.broken {
		err = c.commit(func() (string, error) {
			tag, err := real.Exec(context.Background(), "COMMIT")
			if err == nil && tag.String() != "COMMIT" {
				err = errBroken
			}
			return "", err
		})
	}
	if err != nil {
		c.breakNow()
	}
	return real
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.broken {
		return nil, errGone
	}
	s, err := c.real.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return &stmt{s, c, query}, err
}

// Close is also called when the time for a statement is over. The database undoes the transaction then.
func (c *conn) Close() error {
	if _, pg := c.real.(interface{ Conn() *pgx.Conn }); pg && c.broken {
		return nil // breakNow closes it, perhaps at this moment: another call of the process has died
	}
	c.broken = true
	c.ended()
	return c.real.Close()
}

func (c *conn) Begin() (driver.Tx, error) {
	return nil, errors.New("the journal begins with a statement")
}

func (c *conn) IsValid() bool { return !c.broken }

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if real, ok := c.real.(driver.NamedValueChecker); ok {
		return real.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) FileControlPersistWAL(name string, mode int) (int, error) {
	return c.real.(sqlite.FileControl).FileControlPersistWAL(name, mode)
}

func (c *conn) FileControlDataVersion(name string) (uint32, error) {
	return c.real.(sqlite.FileControl).FileControlDataVersion(name)
}

// exec and query run a statement whose result do returns.
func (c *conn) exec(
	query string, args []driver.NamedValue, do func() (driver.Result, error),
) (result driver.Result, err error) {
	err = c.statement(query, args, func() (string, error) {
		if result, err = do(); err != nil {
			return "", err
		}
		n, _ := result.RowsAffected()
		return fmt.Sprint(n), nil
	})
	return result, err
}

func (c *conn) query(query string, args []driver.NamedValue, do func() (driver.Rows, error)) (driver.Rows, error) {
	all := &rows{}
	if query == askClock {
		all.columns, all.values = []string{"now"}, [][]driver.Value{{c.p.r.clock()}}
		return all, c.alive()
	}
	err := c.statement(query, args, func() (string, error) { return all.read(do) })
	return all, err
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(query, args, func() (driver.Result, error) {
		return c.real.(driver.ExecerContext).ExecContext(ctx, query, args)
	})
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(query, args, func() (driver.Rows, error) {
		return c.real.(driver.QueryerContext).QueryContext(ctx, query, args)
	})
}

// askClock is the statement that asks a database for the time. The answer is the time of the bubble.
const askClock = "SELECT clock_timestamp()"

func (c *conn) alive() error {
	if c.broken || c.p.dead {
		return errGone
	}
	return nil
}
