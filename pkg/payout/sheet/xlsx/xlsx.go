// Package xlsx reads and writes payments in workbooks of Excel and LibreOffice (Office Open XML, ISO 29500-1,
// SpreadsheetML). It reads a sheet row by row, and refuses what a library for all uses lets pass: two rows
// with one number, a date that is paid as 46143.00, a workbook that fills the memory.
package xlsx

import (
	"errors"
	"iter"
	"strconv"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// Rows reads a sheet of a workbook, whose lines are the numbers of its rows. The value of a cell counts, and
// not how it is shown. A value that no person has typed as it is stored is refused: a date, a percentage, an
// error, a number of more than 15 digits.
func Rows(workbook []byte, l sheet.Layout) sheet.Rows {
	return func(yield func(sheet.Row, error) bool) {
		r := &reader{table: sheet.NewTable(l), layout: l, yield: yield}
		b := open(workbook, l.Sheet)
		r.sheets = b.names
		for in := range b.rows() {
			if !r.row(in) {
				return
			}
		}
		if b.err == nil && !r.headed {
			b.err = errors.New("the sheet has no header: name the sheet of the payments with --sheet")
		}
		for _, merged := range b.merged {
			if !r.merged(merged) {
				return
			}
		}
		if b.err != nil {
			yield(sheet.Row{Wrong: sheet.Wrongf(0, "", "%s", sheet.Shorten(b.err.Error()))}, sheet.ErrInput)
		}
	}
}

// Look proposes a layout for a sheet of a workbook; without a name, for its first. See sheet.Look.
func Look(workbook []byte, name string) (sheet.Layout, error) {
	b := open(workbook, name)
	var points, commas [][]string // the rows, whose numbers have one mark or the other
	for in := range b.rows() {
		if in.line > sheet.MaxRows {
			break
		}
		above := make([][]string, in.line-1-len(points))
		points = append(append(points, above...), texts(in.cells, sheet.Layout{}))
		commas = append(append(commas, above...), texts(in.cells, sheet.Layout{Decimal: ","}))
	}
	if b.err != nil {
		return sheet.Layout{}, b.err
	}
	l := sheet.Look(points)
	if l.Decimal != sheet.Look(commas).Decimal { // nobody has typed it
		l.Decimal, l.Group = "", ""
	}
	l.Sheet = name
	return l, nil
}

// Texts yields the rows of a workbook's first sheet, up to one that cannot be read.
func Texts(workbook []byte) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for in := range open(workbook, "").rows() {
			if !yield(texts(in.cells, sheet.Layout{})) {
				return
			}
		}
	}
}

// reader turns the rows of a sheet into those of a table.
type reader struct {
	table       *sheet.Table
	layout      sheet.Layout
	yield       func(sheet.Row, error) bool
	headed      bool
	line        int // the last one that was read
	first, last int // of the table
	sheets      []string
}

// row yields a row, and reports whether more are wanted.
func (r *reader) row(in row) bool {
	if r.headed && in.line > r.line+1 {
		r.table.Row(in.line-1, nil) // a row that nothing was ever written into is blank
	}
	r.line = in.line
	fields := texts(in.cells, r.layout)
	switch {
	case in.line <= r.layout.SkipLines, !r.headed && strings.TrimSpace(strings.Join(fields, "")) == "":
		return true
	case !r.headed:
		return r.header(in.line, fields)
	}
	out := r.table.Row(in.line, fields)
	out.Sheets, r.sheets = r.sheets, nil
	switch {
	case out.Blank:
		return true
	case !out.Below:
		if r.last = in.line; r.first == 0 {
			r.first = in.line
		}
		r.check(in, &out)
		if in.hidden {
			out.Wrong = sheet.Wrongf(in.line, "", "the row is hidden, perhaps by a filter: show it, or delete it")
		}
	}
	return r.yield(out, nil)
}

func (r *reader) header(line int, fields []string) bool {
	r.headed = true
	for len(fields) > 0 && strings.TrimSpace(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1]
	}
	wrong, err := r.table.Header(line, fields)
	return wrong == nil && err == nil || r.yield(sheet.Row{Line: line, Wrong: wrong}, err) && err == nil
}

// check tells which cells of a row mean nothing. The point of a number is none that a person has typed.
func (r *reader) check(in row, out *sheet.Row) {
	var wrong []sheet.Detail
	for i, c := range in.cells {
		if !r.table.Takes(i) {
			continue
		}
		col := r.table.Column(i)
		if col == sheet.Amount && c.number {
			out.Grouped, out.Plain = false, false
		}
		if c.styled && col != sheet.Amount && col != sheet.AmountMinor {
			c.wrong = "is a number that is shown otherwise, such as with more zeros: format it as text, and write it again"
		}
		if c.wrong != "" {
			wrong = append(wrong, sheet.Wrongf(in.line, col.String(), "the cell %s %s", coordinates{i, in.line}, c.wrong)...)
		}
	}
	out.Wrong = append(wrong, out.Wrong...)
}

// merged refuses cells of the table that are merged with others.
func (r *reader) merged(a area) bool {
	for line := max(a.from.line, r.first); line <= min(a.to.line, r.last) && r.first > 0; line++ {
		for column := a.from.column; column <= min(a.to.column, maxColumns); column++ {
			if r.table.Takes(column) {
				return r.yield(sheet.Row{Line: line, Wrong: sheet.Wrongf(line, r.table.Column(column).String(),
					"the cell %s is merged with others: split it", a.from)}, nil)
			}
		}
	}
	return true
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

// String returns the name of a cell, such as C7.
func (c coordinates) String() string {
	letters := ""
	for n := c.column + 1; n > 0; n = (n - 1) / 26 {
		letters = string(rune('A'+(n-1)%26)) + letters
	}
	return letters + strconv.Itoa(c.line)
}

// placed returns the coordinates of a name such as C7 or $C$7. It reports whether it is one.
func placed(name string) (at coordinates, ok bool) {
	name = strings.ReplaceAll(name, "$", "")
	letters := strings.TrimRight(name, "0123456789")
	if len(letters) > 3 || len(name)-len(letters) > 7 || strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return at, false
	}
	for _, letter := range letters {
		at.column = at.column*26 + int(letter-'A') + 1
	}
	at.line, _ = strconv.Atoi(name[len(letters):])
	at.column--
	return at, at.column >= 0 && at.line > 0
}

// area is a rectangle of cells.
type area struct{ from, to coordinates }

// UnmarshalText reads an area such as A1:B2, from any of its corners.
func (a *area) UnmarshalText(text []byte) error {
	first, second, _ := strings.Cut(string(text), ":")
	from, ok := placed(first)
	to, also := placed(second)
	if !ok || !also {
		return errWorkbook
	}
	a.from = coordinates{min(from.column, to.column), min(from.line, to.line)}
	a.to = coordinates{max(from.column, to.column), max(from.line, to.line)}
	return nil
}
