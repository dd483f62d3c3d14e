package xlsx

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/payout/sheet"
	"github.com/tealeg/xlsx/v3"
)

// book returns a workbook whose first sheet has a header and one row, which change may change.
func book(t *testing.T, change func(file *xlsx.File, s *xlsx.Sheet, row *xlsx.Row)) []byte {
	t.Helper()
	file := xlsx.NewFile()
	s, err := file.AddSheet("May")
	if err != nil {
		t.Fatal(err)
	}
	header, row := s.AddRow(), s.AddRow()
	for i, name := range []string{"order_id", "currency", "amount", "address", "memo", "Cost centre"} {
		header.AddCell().SetString(name)
		cell := row.AddCell()
		switch i {
		case 0:
			cell.SetNumeric("6001")
		case 2:
			cell.SetNumeric("1980.5")
		default:
			cell.SetString([]string{"", "Eur", "", "DE1", "", "x"}[i])
		}
	}
	if change != nil {
		change(file, s, row)
	}
	var b bytes.Buffer
	if err := file.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns the rows of a workbook, and everything that is wrong with them.
func read(workbook []byte, l sheet.Layout) (all []sheet.Cells, wrong []string) {
	for row := range Rows(workbook, l) {
		for _, d := range row.Wrong {
			wrong = append(wrong, d.String())
		}
		if row.Wrong == nil && !row.Below {
			all = append(all, row.Cells)
		}
	}
	return all, wrong
}

// TestWorkbook checks what cells mean: their value counts, in the column of their header, whatever marks the
// layout has for text.
func TestWorkbook(t *testing.T) {
	want := sheet.Cells{sheet.OrderID: "6001", sheet.Currency: "Eur", sheet.Amount: "1980.5", sheet.Address: "DE1"}
	for name, c := range map[string]struct {
		layout sheet.Layout
		change func(*xlsx.File, *xlsx.Sheet, *xlsx.Row)
		says   string // empty: read
	}{
		"plain":       {},
		"marks":       {layout: sheet.Layout{Decimal: ",", Group: "."}},
		"text":        {layout: sheet.Layout{Decimal: ",", Group: "."}, change: set(2, func(c *xlsx.Cell) { c.SetString("1.980,5") })},
		"an exponent": {change: set(2, func(c *xlsx.Cell) { c.SetNumeric("1.9805E+3") })},
		"a result":    {change: set(2, func(c *xlsx.Cell) { c.SetFormula("A1*2"); c.Value = "1980.5" })},
		"the second sheet": {layout: sheet.Layout{Sheet: "May"}, change: func(f *xlsx.File, s *xlsx.Sheet, _ *xlsx.Row) {
			f.Sheets = []*xlsx.Sheet{must(f.AddSheet("Notes")), s}
		}},
		"a blank row below": {layout: sheet.Layout{UntilBlank: true}, change: func(_ *xlsx.File, s *xlsx.Sheet, _ *xlsx.Row) {
			s.AddRow()
			s.AddRow().AddCell().SetString("Sum")
		}},
		"another cell is a date": {change: set(5, func(c *xlsx.Cell) { c.SetDate(time.Unix(0, 0)) })},

		"a date":      {change: set(2, func(c *xlsx.Cell) { c.SetDate(time.Unix(0, 0)) }), says: "line 2: amount: the cell C2 is a date"},
		"a sum":       {change: set(2, func(c *xlsx.Cell) { c.SetNumeric("0.30000000000000004") }), says: "line 2: amount: the cell C2 has the number"},
		"a long id":   {change: set(0, func(c *xlsx.Cell) { c.SetNumeric("9007199254740991") }), says: "line 2: order_id: the cell A2 has the number"},
		"an error":    {change: set(2, func(c *xlsx.Cell) { c.SetFormula("1/0"); c.Value = "#DIV/0!"; c.SetNumeric("#DIV/0!") }), says: "the cell C2 "},
		"true":        {change: set(3, func(c *xlsx.Cell) { c.SetBool(true) }), says: "line 2: address: the cell D2 is true or false"},
		"no result":   {change: set(2, func(c *xlsx.Cell) { c.SetFormula("A1*2"); c.Value = "" }), says: "line 2: amount: the cell C2 has a formula"},
		"lost zeros":  {change: set(4, func(c *xlsx.Cell) { c.SetNumeric("7"); c.NumFmt = "00000" }), says: "line 2: memo: the cell E2 is shown with zeros"},
		"merged":      {change: set(3, func(c *xlsx.Cell) { c.Merge(0, 1) }), says: "line 2: address: the cell D2 is merged"},
		"no sheet":    {layout: sheet.Layout{Sheet: "June"}, says: `there is no sheet "June": it has "May"`},
		"no header":   {change: func(f *xlsx.File, s *xlsx.Sheet, _ *xlsx.Row) { f.Sheets = []*xlsx.Sheet{must(f.AddSheet("Notes")), s} }, says: `the sheet "Notes" has no header`},
		"not ignored": {layout: sheet.Layout{Other: "refuse"}, says: "line 1: Cost centre: there is no column"},
	} {
		l := c.layout
		if l.Other == "" {
			l.Other = sheet.Ignore
		}
		got, wrong := read(book(t, c.change), l)
		switch {
		case c.says == "" && (wrong != nil || !slices.Equal(got, []sheet.Cells{want})):
			t.Errorf("%s: %q, %q", name, got, wrong)
		case c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says) && !strings.Contains(wrong[0], c.says)):
			t.Errorf("%s: %q, want %q", name, wrong, c.says)
		}
	}
	for _, text := range []string{"", "order_id", "PK\x03\x04", string(book(t, nil)[:900])} {
		if got, wrong := read([]byte(text), sheet.Layout{}); got != nil || len(wrong) != 1 {
			t.Errorf("%q: %q, %q", text, got, wrong)
		}
	}
}

func set(column int, change func(*xlsx.Cell)) func(*xlsx.File, *xlsx.Sheet, *xlsx.Row) {
	return func(_ *xlsx.File, _ *xlsx.Sheet, row *xlsx.Row) { change(row.GetCell(column)) }
}

func must(s *xlsx.Sheet, err error) *xlsx.Sheet {
	if err != nil {
		panic(err)
	}
	return s
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{"1980.5": "1980.5", "1.5E-2": "0.015", "1.5e+3": "1500", "-7": "-7", "0": "0", "0.10": "0.1",
		"123456789012345": "123456789012345", "1E15": "1000000000000000", "100000000000000000000": "100000000000000000000",
		"1234567890123456": "", "0.1234567890123456": "", "1E31": "", "1E": "", ".": "", "x": "", "1E1.5": ""} {
		if got, ok := exact(text); got != want || ok != (want != "") {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// TestWrite checks that a workbook that is written has its numbers as numbers, and is recognised.
func TestWrite(t *testing.T) {
	rows := [][]string{{"order_id", "amount", "address"}, {"6001", "1980.50", "DE1"}, {"6002", "0.30000000000000004", "=1+1"}}
	var all iter.Seq2[[]string, error] = func(yield func([]string, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
	var b bytes.Buffer
	if err := Write(&b, all, "amount"); err != nil {
		t.Fatal(err)
	}
	if got := Header(b.Bytes()); !slices.Equal(got, rows[0]) {
		t.Errorf("%q", got)
	}
	file, err := xlsx.OpenBinary(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[[2]int]xlsx.CellType{{1, 0}: xlsx.CellTypeString, {1, 1}: xlsx.CellTypeNumeric, {2, 1}: xlsx.CellTypeString,
		{2, 2}: xlsx.CellTypeString} {
		cell, err := file.Sheets[0].Cell(at[0], at[1])
		if err != nil || cell.Type() != want || cell.Value != rows[at[0]][at[1]] {
			t.Errorf("%v: %v, %q, %v", at, cell.Type(), cell.Value, err)
		}
	}
}

// FuzzRows checks that anything is read to its end, or has an error.
func FuzzRows(f *testing.F) {
	f.Add([]byte("PK\x03\x04"), "")
	f.Fuzz(func(t *testing.T, workbook []byte, name string) {
		read(workbook, sheet.Layout{Sheet: name})
		Look(workbook, name)
		Header(workbook)
	})
}
