// Package sheet reads payments from the files in which people keep them: CSV, JSON lines and, with package
// xlsx, workbooks. It guesses nothing: a [Layout] says what a file means, and Look proposes one.
//
// A row that is not well-formed is told with its place. Nothing here checks amounts, addresses or order ids:
// payout.Ledger.MakePlan does.
package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Column is a field of a row.
type Column int

// The columns. AmountCurrency is the code for Amount and AmountMinor, as in an export. Those from Note on are in
// Kept.
const (
	OrderID Column = iota
	Currency
	Amount
	AmountMinor
	AmountCurrency
	Address
	Memo
	Callback
	Note
	Reference
	Columns // how many there are
)

var columnNames = [Columns]string{"order_id", "currency", "amount", "amount_minor", "amount_currency", "address",
	"memo", "callback", "note", "reference"}

// Kept has the columns for people: they are kept and shown, and never sent.
type Kept struct {
	Note      string `json:"note"`
	Reference string `json:"reference"` // of the merchant's books, such as the number of an invoice
}

// KeptIfAny is Kept in JSON that leaves out what is empty. The two have the same fields, or cannot be converted.
type KeptIfAny struct {
	Note      string `json:"note,omitzero"`
	Reference string `json:"reference,omitzero"`
}

// Texts returns where the columns from Address on are: the first three in what they belong to, the others in k.
func (k *Kept) Texts(address, memo, callback *string) [Columns - Address]*string {
	return [...]*string{address, memo, callback, &k.Note, &k.Reference}
}

// String returns the name of a column in a file.
func (c Column) String() string { return columnNames[c] }

// Names returns the names of all columns.
func Names() []string { return columnNames[:] }

// columnNamed returns the column of a name in any case, and noColumn if there is none.
func columnNamed(name string) Column {
	return Column(slices.Index(columnNames[:], strings.ToLower(name)))
}

// noColumn is the column of a header that is unknown, or that occurs a second time. unnamed is that of an
// empty header.
const (
	noColumn Column = -1
	unnamed  Column = -2
)

// Cells are the fields of a row; empty: missing.
type Cells [Columns]string

// A Row is a row of a file. If it is not well-formed, Wrong says why, and its cells mean nothing.
type Row struct {
	Line  int // from 1; 0: the file has no lines
	Cells Cells
	Wrong []Detail
	Blank bool // it is empty
	Below bool // it is below the table, and is not part of it
	// Grouped says that the point in its amount may separate thousands: three digits follow, other marks than
	// commas separate the fields, and the layout says nothing. Plain says that it has a point that cannot.
	Grouped, Plain bool

	Unread []string // of the first row: the headers of the columns that are not read
	Sheets []string // of the first row, if nobody has chosen a sheet: the one that is read, and those that are not
}

// wrong adds what is wrong with a field of the row or, without one, with all of it.
func (row *Row) wrong(field, format string, args ...any) {
	row.Wrong = append(row.Wrong, Wrongf(row.Line, field, format, args...)...)
}

// Rows are the rows of a file. An error ends them: the reader's, ErrInput or ErrEncoding. The row that is
// yielded with one of the last two says why.
type Rows = func(yield func(Row, error) bool)

// ErrInput says that a file cannot be read further.
var ErrInput = errors.New("the file cannot be read on")

// ErrEncoding says that a file has bytes that are no text in its encoding. They may cause the other errors.
var ErrEncoding = errors.New("the file is not in its encoding")

// A Detail is an error or a warning at one place of a file.
type Detail struct {
	Line    int    `json:"line,omitempty"`  // from 1; 0: no line
	Field   string `json:"field,omitempty"` // the column; empty: the whole line
	Message string `json:"message"`
	OrderID string `json:"-"` // of a row that is valid, and warned about; empty: it is about none or several
}

// String formats the detail as a line of text.
func (d Detail) String() string {
	text := d.Message
	if d.Field != "" {
		text = d.Field + ": " + text
	}
	if d.Line > 0 {
		text = fmt.Sprintf("line %d: %s", d.Line, text)
	}
	return text
}

// Wrongf returns one detail.
func Wrongf(line int, field, format string, args ...any) []Detail {
	return []Detail{{Line: line, Field: field, Message: fmt.Sprintf(format, args...)}}
}

const maxShown = 200 // bytes of a text in a message

// Quote quotes a text for a message, and cuts it if it is long.
func Quote(text string) string { return fmt.Sprintf("%q", Shorten(text)) }

// Shorten cuts a text for a message if it is long.
func Shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}
