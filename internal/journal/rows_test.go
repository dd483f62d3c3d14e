package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
)

// torn is a database whose connection breaks after the first row of every result.
type torn struct{ db *sql.DB }

func (t torn) rows(query string, _ ...any) (*sql.Rows, error) { return t.db.Query(query) }
func (torn) failed(err error) error                           { return err }
func (t torn) row(query string, _ ...any) *sql.Row            { return t.db.QueryRow(query) }

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
	db := sql.OpenDB(tornConnector{})
	defer db.Close()
	q := torn{db}
	if all, err := collect(each(q, scanOne[string], "SELECT")); !errors.Is(err, errTorn) || all != nil {
		t.Errorf("collect returned %v, %v", all, err)
	}
	var last error
	n := 0
	for _, err := range each(q, scanOne[string], "SELECT") {
		n, last = n+1, err
	}
	if n != 2 || !errors.Is(last, errTorn) {
		t.Errorf("each yielded %d times, and %v at last", n, last)
	}
	if orders, err := load(q, "true"); err == nil || orders != nil {
		t.Errorf("load returned %v, %v", orders, err)
	}
	if _, err := collect(each(q, func(*sql.Rows) (int, error) { return 0, io.ErrUnexpectedEOF },
		"SELECT")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("collect lost the error of a row: %v", err)
	}
}
