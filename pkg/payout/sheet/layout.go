package sheet

import (
	"fmt"
	"slices"
	"strings"
)

// The encodings of a text file.
const (
	UTF8        = "utf-8"
	UTF16       = "utf-16"
	Windows1252 = "windows-1252"
)

// A Layout says how a person's file is to be read. The zero Layout is a file with till's own columns and
// nothing else.
type Layout struct {
	// Columns has the headers of the file, by till's name of the column; empty: the file has no such column.
	Columns    map[string]string `json:"columns,omitzero"`
	Other      string            `json:"other_columns,omitzero"` // "ignore" leaves the other columns out; refused otherwise
	SkipLines  int               `json:"skip_lines,omitzero"`    // above the header
	UntilBlank bool              `json:"until_blank,omitzero"`   // the table ends with the first blank row
	Delimiter  string            `json:"delimiter,omitzero"`     // of CSV: "," or ";" or a tab; empty: found in the header
	Encoding   string            `json:"encoding,omitzero"`      // UTF8, UTF16 or Windows1252; empty: UTF8. A byte order mark decides by itself
	Decimal    string            `json:"decimal,omitzero"`       // "." or ","; empty: "."
	Group      string            `json:"group,omitzero"`         // what separates thousands: "." or "," or "'" or "space"; empty: nothing
	Currency   string            `json:"currency,omitzero"`      // of all rows, in a file without that column
	Sheet      string            `json:"sheet,omitzero"`         // of a workbook; empty: its first

	NoOrderIDs bool     `json:"-"` // the order ids are derived, so their column may be missing
	Unsure     []string `json:"-"` // by Look: each column that one of several headers may be, with these
}

// Ignore is the value of Layout.Other that leaves out the columns that till does not know.
const Ignore = "ignore"

// Check refuses a layout that means nothing. The error names the field as in a configuration.
func (l Layout) Check() error {
	oneOf := func(field, value string, values ...string) error {
		if value == "" || slices.Contains(values, value) {
			return nil
		}
		return fmt.Errorf("%s: there is no %s: use %s", field, Quote(value), strings.Join(values, " or "))
	}
	for _, err := range []error{
		oneOf("other_columns", l.Other, Ignore, "refuse"),
		oneOf("delimiter", l.Delimiter, ",", ";", "\t"),
		oneOf("encoding", l.Encoding, UTF8, UTF16, Windows1252),
		oneOf("decimal", l.Decimal, ".", ","),
		oneOf("group", l.Group, ".", ",", "'", "space"),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case l.SkipLines < 0:
		return fmt.Errorf("skip_lines: %d is less than 0", l.SkipLines)
	case l.Group == l.decimal():
		return fmt.Errorf("group: %s is the decimal mark already: say which one is, such as decimal ,", Quote(l.Group))
	}
	headers := map[string]string{}
	for _, name := range Names() {
		header := plainName(l.Columns[name])
		if other, taken := headers[header]; taken && header != "" { // without a header, the file has no such column
			return fmt.Errorf("columns: %s is both %s and %s: leave one out", Quote(l.Columns[name]), other, name)
		}
		headers[header] = name
	}
	for name := range l.Columns {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("columns: there is no column %s: they are %s", Quote(name), strings.Join(Names(), ", "))
		}
	}
	return nil
}

func (l Layout) decimal() string {
	if l.Decimal == "" {
		return "."
	}
	return l.Decimal
}

// plainName returns a header without what does not count: case, and white space at the ends.
func plainName(header string) string { return strings.ToLower(strings.TrimSpace(header)) }
