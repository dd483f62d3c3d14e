package explore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
)

type stmt struct {
	driver.Stmt
	c     *conn
	query string
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(s.query, args, func() (driver.Result, error) {
		return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	})
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(s.query, args, func() (driver.Rows, error) {
		return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	})
}

// rows has the whole result of a query, which was read at once.
type rows struct {
	columns []string
	values  [][]driver.Value
}

func (r *rows) read(query func() (driver.Rows, error)) (text string, err error) {
	all, err := query()
	if err != nil {
		return "", err
	}
	defer all.Close()
	r.columns = all.Columns()
	var seen strings.Builder
	for {
		row := make([]driver.Value, len(r.columns))
		if err := all.Next(row); err == io.EOF {
			return seen.String(), nil
		} else if err != nil {
			return "", err
		}
		r.values = append(r.values, row)
		for _, v := range row {
			if n, ok := v.(int64); ok && n > 1<<40 {
				v = "sender"
			}
			fmt.Fprint(&seen, v, "|")
		}
	}
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(row []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(row, r.values[0])
	r.values = r.values[1:]
	return nil
}
