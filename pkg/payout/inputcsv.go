package payout

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"example.com/till/internal/near"
)

// csvRows reads a CSV file. No field may contain a line break, so each record is one line. A stray quote then
// spoils only its own line, and not the rest of the file.
type csvRows struct {
	text      *textLines
	delimiter string // empty until it is known
	derives   bool   // the order ids are derived, so the column may be missing
	header    []column
	fields    []string
	open      bool // the last row ended inside a field in double quotes
}

func (r *csvRows) next() (row cells, wrong []Detail, err error) {
	if r.header == nil {
		if wrong, err := r.readHeader(); wrong != nil || err != nil {
			return row, wrong, err
		}
	}
	for blank := true; blank; blank = r.blank() {
		text, wrong, err := r.text.next()
		if wrong != nil || err != nil {
			return row, wrong, err
		}
		open := r.open
		if r.open = false; open && r.closes(text) { // the rest of that row, which was reported
			r.fields = r.fields[:0]
			continue
		}
		if wrong := r.split(text); wrong != nil {
			return row, wrong, nil
		}
	}
	if got, want := len(r.fields), len(r.header); got != want {
		has, between := "one field", delimiterNames[r.delimiter]
		if got > 1 {
			has = fmt.Sprintf("%d fields", got)
		}
		advice := "an empty field still needs its " + between
		if got > want {
			advice = "a text with a " + between + " in it belongs between double quotes"
		}
		return row, wrongf(r.text.line, "", "it has %s, and the header has %d: %s", has, want, advice), nil
	}
	for i, col := range r.header {
		if col != noColumn {
			row[col] = r.fields[i]
		}
	}
	return row, nil, nil
}

// noColumn is the column of a header that is unknown, or that occurs a second time.
const noColumn column = -1

// delimiterNames has the characters that may separate fields.
var delimiterNames = map[string]string{",": "comma", ";": "semicolon", "\t": "tab"}

// blank reports whether a row has only empty fields, such as the rows that a spreadsheet adds at the end.
func (r *csvRows) blank() bool {
	return !slices.ContainsFunc(r.fields, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// closes reports whether a line looks like the end of a field in double quotes that began on an earlier line.
func (r *csvRows) closes(text string) bool {
	_, rest, found := strings.Cut(text, `"`)
	return found && strings.Count(rest, `"`)%2 == 0 && (rest == "" || strings.HasPrefix(rest, r.delimiter))
}

// firstText returns the first line that has more than delimiters.
func (r *csvRows) firstText() (text string, wrong []Detail, err error) {
	empty := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`",;`, r) }
	for strings.TrimFunc(text, empty) == "" && wrong == nil && err == nil {
		text, wrong, err = r.text.next()
	}
	return text, wrong, err
}

// takeDelimiter takes the delimiter from a line such as "sep=;", which Excel reads too.
func (r *csvRows) takeDelimiter(char string) []Detail {
	switch name := delimiterNames[char]; {
	case name == "":
		return wrongf(r.text.line, "",
			"fields cannot be separated by %s: save the file with commas, semicolons or tabs between them",
			shorten(char))
	case r.delimiter != "" && r.delimiter != char:
		return wrongf(r.text.line, "",
			"it says that fields are separated by %ss, and --delimiter says by %ss: leave --delimiter out", name,
			delimiterNames[r.delimiter])
	}
	r.delimiter = char
	return nil
}

// guessDelimiter chooses the delimiter with which a header has the most known columns or, if that is equal,
// the most columns.
func (r *csvRows) guessDelimiter(header string) {
	best, most := ",", -1
	for _, char := range []string{",", ";", "\t"} {
		r.delimiter = char
		if r.split(header) != nil {
			continue
		}
		points := len(r.fields)
		for _, name := range r.fields {
			if _, known := columnNamed(plainName(name)); known {
				points += 1000
			}
		}
		if points > most {
			best, most = char, points
		}
	}
	r.delimiter = best
}

// readHeader reads the header. If a column is missing, the rows are not checked. The fields of an unknown
// column are skipped.
func (r *csvRows) readHeader() (wrong []Detail, err error) {
	text, wrong, err := r.firstText()
	if first, char, _ := strings.Cut(text, "="); err == nil && wrong == nil && strings.EqualFold(first, "sep") {
		if wrong := r.takeDelimiter(char); wrong != nil {
			return wrong, errInput
		}
		text, wrong, err = r.firstText()
	}
	switch {
	case err == io.EOF:
		return wrongf(1, "",
			"the file is empty: a header belongs on its first line, such as order_id,currency,amount,address"), errInput
	case err != nil:
		return wrong, err
	case wrong != nil:
		return wrong, errInput
	}
	line := r.text.line
	if text[0] == '{' {
		return wrongf(line, "", "it is an object, as in JSON lines: add --format jsonl, or call the file .jsonl"),
			errInput
	}
	if r.delimiter == "" {
		r.guessDelimiter(text)
	}
	if wrong := r.split(text); wrong != nil {
		return wrong, errInput
	}
	for char, name := range delimiterNames {
		if len(r.fields) == 1 && strings.Contains(r.fields[0], char) {
			return wrongf(line, "", "the columns are separated by %ss, and not by %ss: leave --delimiter out", name,
				delimiterNames[r.delimiter]), errInput
		}
	}
	if !slices.ContainsFunc(r.fields, func(name string) bool { return meantColumn(name) != noColumn }) {
		return wrongf(line, "", "this is not a header: begin with order_id,currency,amount,address"), errInput
	}
	for _, name := range r.fields {
		col, ok := columnNamed(name)
		switch {
		case !ok:
			wrong = append(wrong, wrongf(line, shortenText(name), "%s", unknownColumn(name))...)
			// a misspelt column is not missing as well, and its values are checked
			col = meantColumn(name)
			if col != noColumn && (slices.Contains(r.fields, col.String()) || slices.Contains(r.header, col)) {
				col = noColumn
			}
		case slices.Contains(r.header, col):
			wrong = append(wrong, wrongf(line, name, "the column is there twice")...)
			col = noColumn
		}
		r.header = append(r.header, col)
	}
	misnamed := len(wrong)
	if !r.derives && !slices.Contains(r.header, colOrderID) {
		wrong = append(wrong, wrongf(line, colOrderID.String(), "the column is missing: number the rows yourself, or let --auto-order-id BATCH do it")...)
	}
	for _, col := range []column{colCurrency, colAddress} {
		if !slices.Contains(r.header, col) {
			wrong = append(wrong, wrongf(line, col.String(), "the column is missing")...)
		}
	}
	if !slices.Contains(r.header, colAmount) && !slices.Contains(r.header, colAmountMinor) {
		wrong = append(wrong, wrongf(line, colAmount.String(), "the column is missing, and so is amount_minor")...)
	}
	if len(wrong) > misnamed {
		return wrong, errInput
	}
	return wrong, nil
}

func unknownColumn(name string) string {
	plain := plainName(name)
	if slices.Contains(columnNames[:], plain) {
		return fmt.Sprintf("there is no column %s: write %s", shorten(name), plain)
	}
	if question := near.Question(plain, "", columnNames[:]); question != "" && meantColumn(name) != noColumn {
		return fmt.Sprintf("there is no column %s; %s", shorten(name), question)
	}
	return fmt.Sprintf("there is no column %s: they are %s", shorten(name), strings.Join(columnNames[:], ", "))
}

// meantColumn returns the column that a name probably means, or noColumn.
func meantColumn(name string) column {
	name = plainName(name)
	if col, ok := columnNamed(name); ok {
		return col
	}
	if found := near.Names(name, columnNames[:]); len(found) > 0 && len(name) > 2 { // a value may begin a name
		col, _ := columnNamed(found[0])
		return col
	}
	return noColumn
}

// plainName returns the name of a column that a header probably means.
func plainName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
}

// split splits a line into its fields.
func (r *csvRows) split(text string) []Detail {
	line := r.text.line
	r.fields = r.fields[:0]
	for {
		if !strings.HasPrefix(text, `"`) {
			field, rest, more := strings.Cut(text, r.delimiter)
			if strings.Contains(field, `"`) {
				return wrongf(line, "",
					"field %d has a double quote in it: put the field between double quotes, and double those in it",
					len(r.fields)+1)
			}
			if r.fields = append(r.fields, field); !more {
				return nil
			}
			text = rest
			continue
		}
		var field strings.Builder
		text = text[1:]
		for {
			part, rest, found := strings.Cut(text, `"`)
			if !found {
				r.open = true
				return wrongf(line, "",
					"field %d begins with a double quote, and none ends it on this line: a field can hold no line break", len(r.fields)+1)
			}
			field.WriteString(part)
			text = rest
			if !strings.HasPrefix(text, `"`) {
				break
			}
			field.WriteByte('"')
			text = text[1:]
		}
		r.fields = append(r.fields, field.String())
		switch {
		case text == "":
			return nil
		case text[:1] != r.delimiter:
			return wrongf(line, "", "field %d goes on after its closing double quote: double the quotes in it",
				len(r.fields))
		}
		text = text[1:]
	}
}
