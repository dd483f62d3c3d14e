package journal

import (
	"slices"
	"strconv"
)

// Rows that come together are given to the database with one statement, because most of the cost of a
// statement does not depend on the number of rows.

// maxRowsAtOnce is the most rows in one statement.
const maxRowsAtOnce = 64

// inPieces calls do with pieces of rows that are small enough for a statement.
func inPieces[R any](rows []R, do func([]R) error) error {
	for len(rows) > 0 {
		n := min(len(rows), maxRowsAtOnce)
		if err := do(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// filled fills rows up to a power of two with rows about no order. So only a few different statements have to
// be prepared.
func filled(rows [][]any) [][]any {
	rows = slices.Clip(rows)
	none := append([]any{int64(0)}, rows[0][1:]...)
	for len(rows)&(len(rows)-1) != 0 {
		rows = append(rows, none)
	}
	return rows
}

// valueList returns the head of a statement that makes rows of int64 and string a table v. It also returns an
// expression for each column, and all arguments, which begin with first. The first column identifies the row.
// Any other column is passed as a single argument if it has the same value in all rows.
func valueList(rows [][]any, first ...any) (head string, names []string, args []any) {
	args = first
	names = make([]string, len(rows[0]))
	var differing []int
	for k, value := range rows[0] {
		same := k > 0
		for _, row := range rows[1:] {
			same = same && row[k] == value
		}
		if same {
			args = append(args, value)
			names[k] = typed(value, len(args))
			continue
		}
		names[k] = "v.c" + strconv.Itoa(k)
		differing = append(differing, k)
	}
	text := []byte("WITH v (")
	for i, k := range differing {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, names[k][2:]...)
	}
	text = append(text, ") AS (VALUES "...)
	for r, row := range rows {
		if r > 0 {
			text = append(text, ", "...)
		}
		for i, k := range differing {
			text = append(text, "(,"[min(i, 1)])
			args = append(args, row[k])
			if r == 0 { // PostgreSQL uses the types of the first row for all rows
				text = append(text, typed(row[k], len(args))...)
			} else {
				text = strconv.AppendInt(append(text, '?'), int64(len(args)), 10)
			}
		}
		text = append(text, ')')
	}
	return string(append(text, ')')), names, args
}

func typed(value any, place int) string {
	kind := "TEXT"
	if _, number := value.(int64); number {
		kind = "BIGINT"
	}
	return "CAST(?" + strconv.Itoa(place) + " AS " + kind + ")"
}

// numbers runs a query that returns numbers.
func (t *tx) numbers(query string, args ...any) (map[int64]bool, error) {
	found := map[int64]bool{}
	for rows, err := range each(t, query, args...) {
		var n int64
		if err == nil {
			err = rows.Scan(&n)
		}
		if err != nil {
			return nil, err
		}
		found[n] = true
	}
	return found, nil
}
