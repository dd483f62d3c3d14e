package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

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
