package journal

import (
	"slices"
	"strconv"
)

// Rows that come together are given to the database with one statement: most of what a statement costs does not depend on how
// many they are.

// maxRowsAtOnce is how many rows one statement takes.
const maxRowsAtOnce = 64

// inPieces does something for rows in pieces that a statement can take.
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

// filled is rows about orders, filled up to a power of two with some about none: so there are few statements to be prepared.
func filled(rows [][]any) [][]any {
	rows = slices.Clip(rows)
	none := append([]any{int64(0)}, rows[0][1:]...)
	for len(rows)&(len(rows)-1) != 0 {
		rows = append(rows, none)
	}
	return rows
}

// valueList makes rows of int64 and string a table v at the head of a statement. It returns that head, what the statement calls
// each column, and all arguments, of which the given ones come first. The first column tells the rows apart; another one that is
// the same in all of them is given once.
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
			if r == 0 { // PostgreSQL gives the types of the first row to all
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

// numbers runs a statement that returns numbers.
func (t *tx) numbers(query string, args ...any) (map[int64]bool, error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[int64]bool{}
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		found[n] = true
	}
	return found, rows.Err()
}
