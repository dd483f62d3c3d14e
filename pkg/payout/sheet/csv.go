package sheet

import (
	"io"
	"strings"
	"unicode"
)

// csvRows reads a CSV file. No field may contain a line break, so each record is one line. A stray quote then
// spoils only its own line, and not the rest of the file.
type csvRows struct {
	text      *textLines
	delimiter string // empty until it is known
	fields    []string
	open      bool // the last row ended inside a field in double quotes
	known     func(header string) bool
}

// CSV reads a file of CSV, in which commas, semicolons or tabs separate the fields.
func CSV(in io.Reader, l Layout) Rows {
	return func(yield func(Row, error) bool) {
		t := NewTable(l)
		r := &csvRows{text: newLines(in, l.Encoding), delimiter: l.Delimiter, known: t.knows}
		wrong, err := r.readHeader(l.SkipLines)
		if err == nil && wrong == nil {
			t.between = delimiterNames[r.delimiter]
			wrong, err = t.Header(r.text.line, r.fields)
		}
		if (wrong != nil || err != nil) && !yield(Row{Line: r.text.line, Wrong: wrong}, err) {
			return
		}
		for err == nil {
			if wrong, err = r.next(); err == io.EOF {
				return
			}
			row := Row{Line: r.text.line, Wrong: wrong}
			if err == nil {
				row = r.row(t, wrong)
			}
			if !row.Blank && !yield(row, err) {
				return
			}
		}
	}
}

// row returns the row of the line that was read last.
func (r *csvRows) row(t *Table, wrong []Detail) Row {
	switch {
	case wrong == nil:
		return t.Row(r.text.line, r.fields)
	case t.ended: // whatever it is
		return Row{Line: r.text.line, Below: true}
	}
	return Row{Line: r.text.line, Wrong: wrong}
}

// next reads the fields of a line. A line without any text is a row without fields.
func (r *csvRows) next() (wrong []Detail, err error) {
	for {
		text, wrong, err := r.text.next()
		if wrong != nil || err != nil {
			return wrong, err
		}
		open := r.open
		if r.open = false; open && r.closes(text) { // the rest of that row, which was reported
			continue
		}
		if text == "" {
			r.fields = r.fields[:0]
			return nil, nil
		}
		return r.split(text), nil
	}
}

// delimiterNames has the characters that may separate fields.
var delimiterNames = map[string]string{",": "comma", ";": "semicolon", "\t": "tab"}

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
		return Wrongf(r.text.line, "",
			"fields cannot be separated by %s: save the file with commas, semicolons or tabs between them",
			Quote(char))
	case r.delimiter != "" && r.delimiter != char:
		return Wrongf(r.text.line, "",
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
			if r.known(name) {
				points += 1000
			}
		}
		if points > most {
			best, most = char, points
		}
	}
	r.delimiter = best
}

// readHeader skips lines, and reads the fields of the header.
func (r *csvRows) readHeader(skip int) (wrong []Detail, err error) {
	for range skip {
		if _, wrong, err = r.text.next(); err == io.EOF {
			return Wrongf(r.text.line, "", "the file ends here, and its header is below the %d lines that are skipped", skip), ErrInput
		} else if err != nil {
			return wrong, err
		}
	}
	text, wrong, err := r.firstText()
	if first, char, _ := strings.Cut(strings.Trim(text, `"`), "="); err == nil && wrong == nil && strings.EqualFold(first, "sep") {
		if wrong := r.takeDelimiter(char); wrong != nil {
			return wrong, ErrInput
		}
		text, wrong, err = r.firstText()
	}
	switch {
	case err == io.EOF:
		return Wrongf(1, "",
			"the file is empty: a header belongs on its first line, such as order_id,currency,amount,address"), ErrInput
	case err != nil:
		return wrong, err
	case wrong != nil:
		return wrong, ErrInput
	}
	line := r.text.line
	if text[0] == '{' {
		return Wrongf(line, "", "it is an object, as in JSON lines: add --format jsonl, or call the file .jsonl"),
			ErrInput
	}
	if r.delimiter == "" {
		r.guessDelimiter(text)
	}
	if wrong := r.split(text); wrong != nil {
		return wrong, ErrInput
	}
	for char, name := range delimiterNames {
		if len(r.fields) == 1 && strings.Contains(r.fields[0], char) {
			return Wrongf(line, "", "the columns are separated by %ss, and not by %ss: leave --delimiter out", name,
				delimiterNames[r.delimiter]), ErrInput
		}
	}
	return nil, nil
}

// split splits a line into its fields.
func (r *csvRows) split(text string) []Detail {
	line := r.text.line
	r.fields = r.fields[:0]
	for {
		if !strings.HasPrefix(text, `"`) {
			field, rest, more := strings.Cut(text, r.delimiter)
			if strings.Contains(field, `"`) {
				return Wrongf(line, "",
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
				return Wrongf(line, "",
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
			return Wrongf(line, "", "field %d goes on after its closing double quote: double the quotes in it",
				len(r.fields))
		}
		text = text[1:]
	}
}
