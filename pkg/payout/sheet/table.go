package sheet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"example.com/till/internal/near"
)

// A Table turns the fields of a file into rows. Each reader of a format with columns has one.
type Table struct {
	layout  Layout
	between string   // what separates the fields, in words; empty: each is a cell of its own
	header  []Column // of each field
	unread  []string // until the first row
	begun   bool
	ended   bool
	told    bool // that a column without a name has text
}

// NewTable returns a table that has no header yet.
func NewTable(l Layout) *Table { return &Table{layout: l} }

// column returns the column of a header: the one that the layout says, or the one of this name.
func (t *Table) column(header string) Column {
	header = plainName(header)
	for name, of := range t.layout.Columns {
		if header != "" && plainName(of) == header {
			return columnNamed(name)
		}
	}
	col := columnNamed(header)
	if col != noColumn {
		if _, mapped := t.layout.Columns[col.String()]; mapped { // another header has it, or none
			return noColumn
		}
	}
	return col
}

func (t *Table) knows(header string) bool { return t.column(header) != noColumn }

// Header takes the header of a file. With ErrInput, the rows below it cannot be checked. Without it, the
// fields of a column that is not known are skipped.
func (t *Table) Header(line int, names []string) (wrong []Detail, err error) {
	if !slices.ContainsFunc(names, func(name string) bool { return t.knows(name) || meantColumn(name) != noColumn }) {
		return Wrongf(line, "", "this is not a header: begin with order_id,currency,amount,address, say --skip-lines if it is below, or name its columns with --map"), ErrInput
	}
	for _, name := range names {
		t.header = append(t.header, t.column(name))
	}
	row := Row{Line: line}
	for i, name := range names {
		col, meant := t.header[i], meantColumn(name)
		switch {
		case col != noColumn && slices.Contains(t.header[:i], col):
			row.wrong(Shorten(name), "the column is there twice")
			t.header[i] = noColumn
		case col != noColumn:
		case plainName(name) == "":
			t.header[i] = unnamed
		case t.layout.Other == Ignore && !t.changesMoney(meant):
			t.unread = append(t.unread, Shorten(strings.TrimSpace(name)))
		default:
			row.wrong(Shorten(name), "%s", t.unknown(name))
			if _, mapped := t.layout.Columns[ownName(name)]; !mapped && !slices.Contains(t.header, meant) {
				t.header[i] = meant // it is not missing as well, and its values are checked
			}
		}
	}
	return t.missing(row, names)
}

// changesMoney reports whether a column, if it is what its header nearly says, changes what is paid, so that it
// is not ignored unless the layout says that the file has no such column.
func (t *Table) changesMoney(meant Column) bool {
	if meant != AmountCurrency && meant != AmountMinor && meant != Memo {
		return false
	}
	_, mapped := t.layout.Columns[meant.String()]
	return !mapped && !slices.Contains(t.header, meant)
}

// missing adds which columns the header has not, and returns what is wrong with it.
func (t *Table) missing(row Row, names []string) (wrong []Detail, err error) {
	missing := func(col Column, format string, args ...any) {
		if !slices.Contains(t.header, col) {
			row.wrong(col.String(), format, args...)
			err = ErrInput
		}
	}
	for col, name := range columnNames {
		if header := t.layout.Columns[name]; header != "" {
			missing(Column(col), "the file has no column %s: its header is %s", Quote(header), Quote(strings.Join(names, ", ")))
		}
	}
	if err != nil {
		return row.Wrong, err
	}
	if !t.layout.NoOrderIDs {
		missing(OrderID, "the column is missing: number the rows yourself, or let --auto-order-id BATCH do it")
	}
	if t.layout.Currency == "" {
		missing(Currency, "the column is missing: name it with --map, or say --currency for all rows")
	} else if slices.Contains(t.header, Currency) {
		row.wrong(Currency.String(), "the file has this column: leave --currency out")
		err = ErrInput
	}
	missing(Address, "the column is missing: name it with --map")
	if !slices.Contains(t.header, AmountMinor) {
		missing(Amount, "the column is missing, and so is amount_minor")
	}
	return row.Wrong, err
}

const maxHeader = 200 // bytes

// unknown says what to do about a column that is not till's.
func (t *Table) unknown(header string) string {
	meant := meantColumn(header)
	switch _, mapped := t.layout.Columns[ownName(header)]; {
	case len(header) > maxHeader: // a command with all of it would fill the screen
		return fmt.Sprintf("there is no column %s: --other-columns ignore leaves it out", Quote(header))
	case mapped:
		return "the layout takes another column for it: --other-columns ignore leaves it out"
	case meant != noColumn && t.layout.Other == Ignore:
		return fmt.Sprintf("it looks like %s: --map %s takes it, and --map %s= says that the file has no %s", meant,
			quoteShell(meant.String()+"="+strings.TrimSpace(header)), meant, meant)
	case meant != noColumn:
		return unknownName(header)
	}
	column := "COLUMN"
	for _, name := range columnNames {
		if slices.Contains(strings.FieldsFunc(plainName(header), notLetter), name) {
			column = name
		}
	}
	return fmt.Sprintf("there is no column %s: --map %s says which one it is, and --other-columns ignore leaves it out",
		Quote(header), quoteShell(column+"="+strings.TrimSpace(header)))
}

func notLetter(r rune) bool { return r != '_' && !unicode.IsLetter(r) }

func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// unknownName says what to write instead of a name that is not a column's.
func unknownName(name string) string {
	plain := ownName(name)
	if columnNamed(plain) != noColumn {
		return fmt.Sprintf("there is no column %s: write %s", Quote(name), plain)
	}
	if question := near.Question(plain, "", columnNames[:]); question != "" && meantColumn(name) != noColumn {
		return fmt.Sprintf("there is no column %s; %s", Quote(name), question)
	}
	return fmt.Sprintf("there is no column %s: they are %s", Quote(name), strings.Join(columnNames[:], ", "))
}

// ownName returns the name of a column of till's that a header probably means.
func ownName(header string) string { return strings.ReplaceAll(plainName(header), " ", "_") }

// meantColumn returns the column that a header probably means, or noColumn.
func meantColumn(header string) Column {
	name := ownName(header)
	if col := columnNamed(name); col != noColumn {
		return col
	}
	if found := near.Names(name, columnNames[:]); len(found) > 0 && len(name) > 2 { // a value may begin a name
		return columnNamed(found[0])
	}
	return noColumn
}

// Column returns the column of a field.
func (t *Table) Column(field int) Column { return t.header[field] }

// Takes reports whether a field belongs to a column. The others are not read.
func (t *Table) Takes(field int) bool { return field < len(t.header) && t.header[field] >= 0 }

// isBlank reports whether a row has no text.
func isBlank(fields []string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// Row returns the row of a line.
func (t *Table) Row(line int, fields []string) Row {
	row := Row{Line: line}
	if isBlank(fields) {
		t.ended, row.Blank = t.ended || t.begun && t.layout.UntilBlank, true
		return row
	}
	t.begun, row.Below = true, t.ended
	row.Unread, t.unread = t.unread, nil
	if len(fields) != len(t.header) && t.between != "" && !row.Below {
		t.otherWidth(&row, fields)
		return row
	}
	row.Cells[Currency] = t.layout.Currency
	for i, field := range fields {
		switch {
		case t.Takes(i):
			row.Cells[t.header[i]] = field
		case row.Below || t.told || t.layout.Other == Ignore || strings.TrimSpace(field) == "":
		case i >= len(t.header) || t.header[i] == unnamed: // once for all rows and columns
			t.told = true
			row.wrong("", "%s stands in a column without a name: name it, or say --other-columns ignore", Quote(field))
		}
	}
	if !row.Below { // its values are not checked
		t.clean(&row)
	}
	return row
}

// otherWidth says that a row has another number of fields than the header.
func (t *Table) otherWidth(row *Row, fields []string) {
	got, want := len(fields), len(t.header)
	has := "one field"
	if got > 1 {
		has = fmt.Sprintf("%d fields", got)
	}
	advice := "an empty field still needs its " + t.between
	if got > want {
		advice = "a text with a " + t.between + " in it belongs between double quotes"
		if isBlank(fields[want:]) {
			advice += ", and if the last column is empty, the header needs its " + t.between + " too"
		}
	}
	row.wrong("", "it has %s, and the header has %d: %s", has, want, advice)
}

// clean reads the values of a row as its layout writes them, and adds what is wrong with them.
func (t *Table) clean(row *Row) {
	for _, col := range []Column{OrderID, Currency, Amount, AmountMinor, AmountCurrency} { // not in what is sent as it was written
		row.Cells[col] = strings.TrimSpace(row.Cells[col])
	}
	for _, col := range []Column{OrderID, Address, Memo} {
		if IsSpoiled(row.Cells[col]) {
			row.wrong(col.String(), "%s was changed by a spreadsheet: format the column as text and enter it again", Quote(row.Cells[col]))
		}
	}
	row.Grouped = t.between != delimiterNames[","] && t.layout.isGrouped(row.Cells[Amount])
	row.Plain = !row.Grouped && strings.Contains(row.Cells[Amount], ".")
	for _, col := range []Column{Amount, AmountMinor} {
		amount, wrong := t.layout.amount(row.Cells[col])
		if wrong != "" && col == AmountMinor {
			wrong = Quote(row.Cells[col]) + " is no whole number: write all its digits, such as 198050"
		}
		if row.Cells[col] = amount; wrong != "" {
			row.wrong(col.String(), "%s", wrong)
		}
		if _, code, _ := strings.Cut(amount, " "); t.layout.Currency != "" && strings.ContainsFunc(code, unicode.IsLetter) && !sameCode(code, t.layout.Currency) {
			row.wrong(col.String(), "%s is in %s, and all rows are in %s: if both are meant, the file needs a column currency",
				Quote(amount), code, t.layout.Currency)
		}
	}
}

// sameCode reports whether two codes are those of one currency. Each may have its kind in front.
func sameCode(a, b string) bool {
	return strings.EqualFold(a[strings.LastIndex(a, ":")+1:], b[strings.LastIndex(b, ":")+1:])
}

// spreadsheetErrors are what a spreadsheet shows instead of a value.
var spreadsheetErrors = []string{"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!",
	"#CALC!", "#GETTING_DATA"}

// rounded matches a long number as a spreadsheet shows it.
var rounded = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?[0-9]{1,3}([.,][0-9]*)?[eE][+-][0-9]{2,}$`)
})

// IsSpoiled reports whether a spreadsheet has replaced a value: a long number by 1.23457E+12 or ####, or a
// formula by an error.
func IsSpoiled(text string) bool {
	if strings.HasPrefix(text, "#") {
		return len(text) > 1 && strings.Trim(text, "#") == "" ||
			slices.ContainsFunc(spreadsheetErrors, func(e string) bool { return strings.EqualFold(e, text) })
	}
	return strings.ContainsAny(text, "+-") && rounded().MatchString(text)
}
