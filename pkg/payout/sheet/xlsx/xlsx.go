// Package xlsx reads and writes payments in workbooks of Excel and LibreOffice (Office Open XML, ISO 29500-1,
// SpreadsheetML). It reads a sheet row by row, and refuses what a library for all uses lets pass: two rows
// with one number, a date that is paid as 46143.00, a workbook that fills the memory.
package xlsx

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// Rows reads a sheet of a workbook, whose lines are the numbers of its rows. The value of a cell counts, and
// not how it is shown. A value that no person has typed as it is stored is refused: a date, a percentage, an
// error, a number of more than 15 digits.
func Rows(workbook []byte, l sheet.Layout) sheet.Rows {
	return func(yield func(sheet.Row, error) bool) {
		r := &reader{table: sheet.NewTable(l), layout: l, yield: yield}
		if err := read(workbook, l.Sheet, r.row, r.merged); err != nil && !errors.Is(err, errStop) {
			yield(sheet.Row{Wrong: sheet.Wrongf(0, "", "%s", sheet.Shorten(err.Error()))}, sheet.ErrInput)
		} else if err == nil && !r.headed {
			yield(sheet.Row{Wrong: sheet.Wrongf(0, "", "the sheet has no header: name the sheet of the payments with --sheet")}, sheet.ErrInput)
		}
	}
}

// Look proposes a layout for a sheet of a workbook; without a name, for its first. See sheet.Look.
func Look(workbook []byte, name string) (sheet.Layout, error) {
	var rows [][]string
	err := read(workbook, name, func(line int, _ bool, cells []cell) error {
		if line > sheet.MaxRows {
			return errStop
		}
		for len(rows) < line {
			rows = append(rows, nil)
		}
		rows[line-1] = texts(cells, sheet.Layout{})
		return nil
	}, nil)
	if err != nil && !errors.Is(err, errStop) {
		return sheet.Layout{}, err
	}
	l := sheet.Look(rows)
	l.Sheet = name
	return l, nil
}

// Texts yields the rows of a workbook's first sheet, up to one that cannot be read.
func Texts(workbook []byte) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		read(workbook, "", func(_ int, _ bool, cells []cell) error {
			if !yield(texts(cells, sheet.Layout{})) {
				return errStop
			}
			return nil
		}, nil)
	}
}

// errStop ends the reading of a workbook whose reader wants no more.
var errStop = errors.New("no more is wanted")

// reader turns the rows of a sheet into those of a table.
type reader struct {
	table       *sheet.Table
	layout      sheet.Layout
	yield       func(sheet.Row, error) bool
	headed      bool
	line        int // the last one that was read
	first, last int // of the table
}

func (r *reader) row(line int, hidden bool, cells []cell) error {
	if r.headed && line > r.line+1 {
		r.table.Row(line-1, nil) // a row that nothing was ever written into is blank
	}
	r.line = line
	fields := texts(cells, r.layout)
	blank := strings.TrimSpace(strings.Join(fields, "")) == ""
	switch {
	case line <= r.layout.SkipLines, !r.headed && blank:
		return nil
	case !r.headed:
		return r.header(line, fields)
	}
	out := r.table.Row(line, fields)
	switch {
	case out.Blank:
		return nil
	case !out.Below:
		if r.last = line; r.first == 0 {
			r.first = line
		}
		out.Wrong = append(r.wrong(line, cells), out.Wrong...)
		if hidden {
			out.Wrong = sheet.Wrongf(line, "", "the row is hidden, perhaps by a filter: show it, or delete it")
		}
	}
	return r.pass(out, nil)
}

func (r *reader) header(line int, fields []string) error {
	r.headed = true
	for len(fields) > 0 && strings.TrimSpace(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1]
	}
	wrong, err := r.table.Header(line, fields)
	if wrong == nil && err == nil {
		return nil
	}
	if err := r.pass(sheet.Row{Line: line, Wrong: wrong}, err); err != nil {
		return err
	}
	return nil
}

func (r *reader) pass(row sheet.Row, err error) error {
	if !r.yield(row, err) || err != nil {
		return errStop
	}
	return nil
}

// wrong tells which cells of a row mean nothing.
func (r *reader) wrong(line int, cells []cell) (wrong []sheet.Detail) {
	for i, c := range cells {
		if !r.table.Takes(i) {
			continue
		}
		col := r.table.Column(i)
		if c.styled && col != sheet.Amount && col != sheet.AmountMinor {
			c.wrong = "is a number that is shown otherwise, such as with more zeros: format it as text, and write it again"
		}
		if c.wrong != "" {
			wrong = append(wrong, sheet.Wrongf(line, col.String(), "the cell %s %s", place(i, line), c.wrong)...)
		}
	}
	return wrong
}

// merged refuses cells of the table that are merged with others. A workbook has them behind its rows.
func (r *reader) merged(from, to coordinates) error {
	for line := max(from.line, r.first); line <= min(to.line, r.last) && r.first > 0; line++ {
		for column := from.column; column <= to.column; column++ {
			if r.table.Takes(column) {
				return r.pass(sheet.Row{Line: line, Wrong: sheet.Wrongf(line, r.table.Column(column).String(),
					"the cell %s is merged with others: split it", place(from.column, from.line))}, nil)
			}
		}
	}
	return nil
}

// texts returns the values of cells. Numbers get the decimal mark of the layout.
func texts(cells []cell, l sheet.Layout) []string {
	fields := make([]string, len(cells))
	for i, c := range cells {
		if fields[i] = c.text; c.number && l.Decimal == "," {
			fields[i] = strings.Replace(c.text, ".", ",", 1)
		}
	}
	return fields
}

// coordinates are the place of a cell: its column from 0, and its line from 1.
type coordinates struct{ column, line int }

// place returns the name of a cell, such as C7.
func place(column, line int) string {
	letters := ""
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		letters = string(rune('A'+(n-1)%26)) + letters
	}
	return fmt.Sprintf("%s%d", letters, line)
}

// placed returns the coordinates of a name such as C7 or $C$7. It reports whether it is one.
func placed(name string) (at coordinates, ok bool) {
	name = strings.ReplaceAll(name, "$", "")
	i := strings.IndexAny(name, "0123456789")
	if i < 1 || i > 3 || len(name)-i > 7 || strings.Trim(name[i:], "0123456789") != "" {
		return at, false
	}
	for _, letter := range name[:i] {
		if letter < 'A' || letter > 'Z' {
			return at, false
		}
		at.column = at.column*26 + int(letter-'A') + 1
	}
	fmt.Sscan(name[i:], &at.line)
	at.column--
	return at, at.line > 0
}
