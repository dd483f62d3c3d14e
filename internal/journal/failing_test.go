package journal

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/order"
	"modernc.org/sqlite"
)

// failing is a connector of which one statement fails: the one after as many as left says.
type failing struct {
	driver.Connector
	left *int
}

var errStatement = errors.New("the statement failed")

func (f failing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return failingConn{c.(sqliteConn), f.left}, nil
}

type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	sqlite.FileControl
}

type failingConn struct {
	sqliteConn
	left *int
}

func fail(left *int) error {
	if *left--; *left == 0 {
		return errStatement
	}
	return nil
}

func (c failingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if query != "ROLLBACK" && !strings.HasPrefix(query, "PRAGMA") {
		if err := fail(c.left); err != nil {
			return nil, err
		}
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c failingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !strings.Contains(query, "pragma") {
		if err := fail(c.left); err != nil {
			return nil, err
		}
	}
	return c.sqliteConn.QueryContext(ctx, query, args)
}

func (c failingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	return failingStmt{s, c.left}, err
}

type failingStmt struct {
	driver.Stmt
	left *int
}

func (s failingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := fail(s.left); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s failingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := fail(s.left); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// An operation is a call of the journal.
type operation struct {
	name string
	do   func() error
}

// operations returns calls of everything that runs a statement, in an order in which all of them succeed.
func operations(ctx context.Context, j *Journal) []operation {
	l, renamed := j.Ledger(shop), j.Ledger(order.Account{Address: shop.Address, Name: "new"})
	var ticket Ticket
	run := Run{Name: "run", Digest: "run", Batch: "may", Required: 1, Approvals: []approval.Approval{annApproves}}
	return []operation{
		{"note a key", func() error { return l.NoteKey(ctx, "key1", KeyFirst) }},
		{"note the service", func() error { return l.NoteService(ctx, "merchant", Kept) }},
		{"claim", func() (err error) { ticket, err = l.Claim(ctx, claim("0")); return err }},
		{"finish", func() error { _, err := l.Finish(ctx, ticket, accepted("w0")); return err }},
		{"show", func() error { return l.Show(ctx, map[string]string{"0": "w0"}) }},
		{"alone", func() error { return l.Alone(ctx, run.Name, true) }},
		{"alone again", func() error { return l.Alone(ctx, run.Name, true) }},
		{"begin a run", func() (err error) { _, err = l.BeginRun(ctx, run, rows(row("1"), row("2"))); return err }},
		{"continue a run", func() (err error) { _, err = l.BeginRun(ctx, run, rows()); return err }},
		{"appliers", func() error { _, err := j.Appliers(ctx); return err }},
		{"leave", func() error { return l.Leave(ctx, run.Name) }},
		{"settle", func() error {
			_, err := l.Settle(ctx, Evidence{OrderID: "3", Withdrawal: "w3", Key: "key1", Content: row("3").Content})
			return err
		}},
		{"claim another", func() (err error) { ticket, err = l.Claim(ctx, claim("4")); return err }},
		{"an unknown outcome", func() error { _, err := l.Finish(ctx, ticket, unknown); return err }},
		{"decide", func() error { _, err := l.Decide(ctx, Decision{OrderID: "4", NotSent: true, Reason: "x"}); return err }},
		{"freeze", func() error { return l.Freeze(ctx, true, "x") }},
		{"claim for an account that is frozen", func() error {
			if _, err := l.Claim(ctx, claim("5")); !errors.Is(err, Frozen) || AsError(err).Freeze.Reason != "x" {
				return cmp.Or(err, errors.New("it was not refused"))
			}
			return nil
		}},
		{"unfreeze", func() error { return l.Freeze(ctx, false, "x") }},
		{"freezes", func() error { _, err := l.Freezes(ctx); return err }},
		{"accept", func() error { return l.Accept(ctx, Exceptions{Surplus: 1, NoList: true}, "x") }},
		{"adopt a merchant", func() error { return l.AdoptMerchant(ctx, "other", "x") }},
		{"reap", func() error { return l.Reap(ctx) }},
		{"agree", func() error { return l.Agree(ctx) }},
		{"narrow", func() error { return l.Narrow(ctx, Exceptions{Surplus: 1, NoList: true}, 0) }},
		{"status", func() error { _, err := l.Status(ctx); return err }},
		{"narrow what another process has narrowed", func() error {
			err := l.Narrow(ctx, Exceptions{Surplus: 1, NoList: true}, 1)
			a, e := l.Exceptions(ctx)
			if err = cmp.Or(err, e); err == nil && (a.Surplus > 0 || a.NoList) {
				err = fmt.Errorf("it is %+v", a)
			}
			return err
		}},
		{"an order", func() error { _, err := l.Order(ctx, "0"); return err }},
		{"held", func() error { _, err := l.Held(ctx, []string{"0"}); return err }},
		{"none held", func() error { _, err := l.Held(ctx, nil); return err }},
		{"none by withdrawal", func() error { _, err := l.ByWithdrawal(ctx, nil); return err }},
		{"nobody paid", func() error { _, err := l.Paid(ctx, nil); return err }},
		{"paid", func() error { _, err := l.Paid(ctx, []string{coffee.Address}); return err }},
		{"runs", func() error { _, err := l.Runs(ctx); return err }},
		{"sums", func() error { _, err := l.Sums(ctx, run.Name); return err }},
		{"approvals", func() error { _, err := l.Approvals(ctx, run.Name); return err }},
		{"consents", func() error { _, err := l.Consents(ctx); return err }},
		{"set the demand", func() error { return renamed.SetDemand(ctx, Demand{Reason: "x"}) }},
		{"demands", func() error { _, err := renamed.Demands(ctx); return err }},
		{"begin a run of the other account", func() error {
			run.Name = "other"
			_, err := renamed.BeginRun(ctx, run, rows())
			return err
		}},
		{"accept for the other account", func() error { return renamed.Accept(ctx, Exceptions{}, "x") }},
		{"note a key of the other account", func() error { return renamed.NoteKey(ctx, "key2", KeyFirst) }},
		{"rename to the empty account", func() error { return j.Rename(ctx, shop, renamed.account) }},
	}
}

func TestOperations(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, op := range operations(t.Context(), j.Journal) {
			if err := op.do(); err != nil {
				t.Fatalf("%s: %v", op.name, err)
			}
		}
	})
}

// TestNoStatementFailsUnnoticed lets each statement of each operation fail once. The operation then fails too.
func TestNoStatementFailsUnnoticed(t *testing.T) {
	left := 0
	ctx := WithHooks(t.Context(), Hooks{Driver: func(c driver.Connector) driver.Connector { return failing{c, &left} }})
	opened, err := Open(ctx, filepath.Join(t.TempDir(), "journal.db"),
		Options{Now: time.Now, User: "ann", Host: "till1", ownClock: true})
	must(t, err)
	t.Cleanup(func() { opened.Close() })
	dir, copies := t.TempDir(), 0
	for _, op := range append(operations(ctx, opened), operation{"copy", func() error {
		copies++
		return opened.Copy(ctx, filepath.Join(dir, fmt.Sprint(copies)))
	}}) {
		for n := 1; ; n++ {
			left = n
			err := op.do()
			if done := left > 0; done {
				if err != nil {
					t.Fatalf("%s: %v", op.name, err)
				}
				break
			}
			if left = 0; !errors.Is(err, errStatement) {
				t.Errorf("%s returns %v although its statement %d has failed", op.name, err, n)
				break
			}
		}
	}
}

// tornConn is a connection that breaks after the first row of every result.
type tornConn struct{ driver.Conn }

var errTorn = errors.New("the connection is broken")

func (tornConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &tornRows{}, nil
}
func (tornConn) Close() error { return nil }

type tornRows struct{ read int }

func (*tornRows) Columns() []string { return []string{"text"} }
func (*tornRows) Close() error      { return nil }
func (r *tornRows) Next(to []driver.Value) error {
	if r.read++; r.read > 1 {
		return errTorn
	}
	to[0] = "first"
	return nil
}

type tornConnector struct{}

func (tornConnector) Connect(context.Context) (driver.Conn, error) { return tornConn{}, nil }
func (tornConnector) Driver() driver.Driver                        { return nil }

// An incomplete result would hide orders, and a hidden order could be sent again.
func TestBrokenResultIsAnError(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	torn := &Journal{dialect: j.dialect, options: Options{Now: time.Now}, db: sql.OpenDB(tornConnector{})}
	defer torn.db.Close()
	r := torn.read(t.Context())
	if all := all(r, only[string], "SELECT"); !errors.Is(r.err, errTorn) || all != nil {
		t.Errorf("all returned %v, %v", all, r.err)
	}
	if value := one[string](r, "SELECT"); value != "" {
		t.Errorf("after an error, a query returned %q", value)
	}
	r = torn.read(t.Context())
	if got := slices.Collect(each(r, only[string], "SELECT")); len(got) != 1 || !errors.Is(r.err, errTorn) {
		t.Errorf("each yielded %q, and %v at last", got, r.err)
	}
	r = torn.read(t.Context())
	if orders := load(r, "true"); r.err == nil || orders != nil {
		t.Errorf("load returned %v, %v", orders, r.err)
	}
	r = torn.read(t.Context())
	if all(r, only[int], "SELECT"); r.err == nil || errors.Is(r.err, errTorn) {
		t.Errorf("the error of a row is lost: %v", r.err)
	}
}
