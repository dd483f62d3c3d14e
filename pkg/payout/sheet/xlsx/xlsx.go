// Package xlsx reads and writes payments in workbooks of Excel and LibreOffice (Office Open XML, ISO 29500).
package xlsx

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"example.com/till/pkg/payout/sheet"
	"github.com/tealeg/xlsx/v3"
)

// MaxFile is the most bytes of a workbook, packed and unpacked.
const (
	MaxFile     = 32 << 20
	maxUnpacked = 128 << 20
	maxColumns  = 256
)

// errStop ends the reading of a workbook whose reader wants no more rows.
var errStop = errors.New("no more rows are wanted")

// Rows reads a sheet of a workbook, whose lines are the numbers of its rows. The value of a cell counts, and
// not how it is shown. A cell whose value a program has computed from something else is refused, unless its
// value is exact: a date, an error, a number of more than 15 digits.
func Rows(workbook []byte, l sheet.Layout) sheet.Rows {
	return func(yield func(sheet.Row, error) bool) {
		wanted := true
		r := &reader{table: sheet.NewTable(l), layout: l, yield: func(row sheet.Row, err error) bool {
			wanted = wanted && yield(row, err)
			return wanted
		}}
		if err := r.read(workbook); err != nil && wanted {
			yield(sheet.Row{Wrong: sheet.Wrongf(0, "", "%s", sheet.Shorten(err.Error()))}, sheet.ErrInput)
		}
	}
}

type reader struct {
	table  *sheet.Table
	layout sheet.Layout
	yield  func(sheet.Row, error) bool
	each   func(line int, fields []string) bool // instead of yield, for the fields as they are
	headed bool
}

// read reads the sheet. The library may panic on a file that is no workbook.
func (r *reader) read(workbook []byte) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("it is no workbook that can be read: save it again as .xlsx, or as CSV")
		}
	}()
	if err := checkSize(workbook); err != nil {
		return err
	}
	file, err := xlsx.OpenBinary(workbook, xlsx.ColLimit(maxColumns))
	if err != nil {
		return errors.New("it is no workbook that can be read: save it again as .xlsx, or as CSV")
	}
	s, err := r.choose(file)
	if err != nil {
		return err
	}
	err = s.ForEachRow(r.row)
	if err == nil && !r.headed {
		return errors.New("the sheet " + sheet.Quote(s.Name) + " has no header: name the sheet of the payments with --sheet")
	}
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (r *reader) choose(file *xlsx.File) (*xlsx.Sheet, error) {
	var names []string
	for _, s := range file.Sheets {
		if s.Name == r.layout.Sheet {
			return s, nil
		}
		names = append(names, sheet.Quote(s.Name))
	}
	switch {
	case r.layout.Sheet != "":
		return nil, fmt.Errorf("there is no sheet %s: it has %s", sheet.Quote(r.layout.Sheet), strings.Join(names, ", "))
	case len(file.Sheets) == 0:
		return nil, errors.New("it has no sheet")
	case file.Sheets[0].Hidden:
		return nil, fmt.Errorf("its first sheet %s is hidden: name the sheet of the payments with --sheet", names[0])
	}
	return file.Sheets[0], nil
}

// row reads a row.
func (r *reader) row(row *xlsx.Row) error {
	line := row.GetCoordinate() + 1
	if line <= r.layout.SkipLines {
		return nil
	}
	fields := make([]string, 0, 16)
	var wrong []sheet.Detail
	err := row.ForEachCell(func(c *xlsx.Cell) error {
		column, _ := c.GetCoordinates()
		for len(fields) <= column {
			fields = append(fields, "")
		}
		text, why := r.text(c)
		if fields[column] = text; why != "" && (!r.headed || r.table.Takes(column)) {
			name := ""
			if r.headed {
				name = r.table.Column(column).String()
			}
			wrong = append(wrong, sheet.Wrongf(line, name, "the cell %s %s", xlsx.GetCellIDStringFromCoords(column, row.GetCoordinate()), why)...)
		}
		return nil
	}, xlsx.SkipEmptyCells)
	switch {
	case err != nil:
		return err
	case r.each != nil:
		if r.headed = true; !r.each(line, fields) {
			return errStop
		}
		return nil
	case !r.headed && strings.TrimSpace(strings.Join(fields, "")) == "":
		return nil
	case !r.headed:
		r.headed = true
		for len(fields) > 0 && strings.TrimSpace(fields[len(fields)-1]) == "" {
			fields = fields[:len(fields)-1]
		}
		if wrong == nil {
			wrong, err = r.table.Header(line, fields)
		} else {
			err = sheet.ErrInput
		}
		if wrong != nil && (!r.yield(sheet.Row{Line: line, Wrong: wrong}, err) || err != nil) {
			return errStop
		}
		return nil
	}
	out := r.table.Row(line, fields)
	switch {
	case out.Blank:
		return nil
	case out.Below:
		wrong = nil
	case row.Hidden:
		wrong = sheet.Wrongf(line, "", "the row is hidden, perhaps by a filter: show it, or delete it")
	}
	if wrong != nil {
		out.Wrong = wrong
	}
	if !r.yield(out, nil) {
		return errStop
	}
	return nil
}

// text returns the value of a cell as text, or says why it is none. A number gets the decimal mark of the
// layout.
func (r *reader) text(c *xlsx.Cell) (text, why string) {
	text = c.Value
	for _, run := range c.RichText {
		text += run.Text
	}
	switch {
	case c.HMerge > 0 || c.VMerge > 0:
		return text, "is merged with others: split it"
	case c.Type() == xlsx.CellTypeError:
		return text, "has the error " + sheet.Quote(text)
	case c.Type() == xlsx.CellTypeBool:
		return text, "is true or false, and a text or a number belongs there"
	case text == "" && c.Formula() != "":
		return text, "has a formula without its result: open the workbook in a spreadsheet program and save it again"
	case text == "":
		return "", ""
	case c.Type() == xlsx.CellTypeDate, c.Type() == xlsx.CellTypeNumeric && c.IsTime():
		return text, "is a date: format it as text, and write it again"
	case c.Type() != xlsx.CellTypeNumeric:
		return text, ""
	}
	if format := strings.Trim(c.NumFmt, "0"); format == "" && len(c.NumFmt) > 1 {
		return text, "is shown with zeros that its number does not have: format it as text, and write it again"
	}
	number, ok := exact(text)
	switch {
	case !ok:
		return text, "has the number " + sheet.Quote(text) + ", which is no exact decimal: round it, or format the cell as text and write it again"
	case r.layout.Decimal == ",":
		return strings.Replace(number, ".", ",", 1), ""
	}
	return number, ""
}

// Look proposes a layout for a sheet of a workbook; without a name, for its first. See sheet.Look.
func Look(workbook []byte, name string) (l sheet.Layout, err error) {
	var rows [][]string
	r := &reader{layout: sheet.Layout{Sheet: name}, each: func(line int, fields []string) bool {
		for len(rows) < line-1 {
			rows = append(rows, nil)
		}
		rows = append(rows, fields)
		return len(rows) < sheet.MaxRows
	}}
	if err := r.read(workbook); err != nil {
		return l, err
	}
	l = sheet.Look(rows)
	l.Sheet = name
	return l, nil
}

// Header returns the first row of a workbook's first sheet, or nothing if there is none.
func Header(workbook []byte) (header []string) {
	r := &reader{each: func(_ int, fields []string) bool {
		header = fields
		return false
	}}
	if r.read(workbook) != nil {
		return nil
	}
	return header
}

// Write writes a workbook of one sheet, whose first row is its header. Cells are text, except exact numbers in
// the columns that are named.
func Write(w io.Writer, rows iter.Seq2[[]string, error], numbers ...string) error {
	file := xlsx.NewFile()
	s, err := file.AddSheet("results")
	if err != nil {
		return err
	}
	var header []string
	for fields, err := range rows {
		if err != nil {
			return err
		}
		if header == nil {
			header = fields
		}
		row := s.AddRow()
		for i, field := range fields {
			cell := row.AddCell()
			if _, ok := exact(field); ok && slices.Contains(numbers, header[i]) {
				cell.SetNumeric(field)
			} else {
				cell.SetString(field)
			}
		}
	}
	return file.Write(w)
}
