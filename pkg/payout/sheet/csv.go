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
	known     func(header string) bool
	fields    []string // of the line that was read last
	open      bool     // which ended inside a field in double quotes
}

// CSV reads a file of CSV, in which commas, semicolons or tabs separate the fields.
func CSV(in io.Reader, l Layout) Rows {
	return func(yield func(Row, error) bool) {
		t := NewTable(l)
		r := &csvRows{text: newLines(in, l.Encoding), delimiter: l.Delimiter, known: t.knows}
		wrong, err := r.readHeader(l.SkipLines)
		if err == nil {
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
			switch {
			case err != nil:
			case wrong == nil:
				row = t.Row(r.text.line, r.fields)
			case t.ended: // whatever it is
				row = Row{Line: r.text.line, Below: true}
			}
			if !row.Blank && !yield(row, err) {
				return
			}
		}
	}
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

// The characters that may separate fields.
var (
	delimiters     = []string{",", ";", "\t"}
	delimiterNames = map[string]string{",": "comma", ";": "semicolon", "\t": "tab"}
)

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
			"it says that fields are separated by %ss, and --delimiter says by %ss: leave --delimiter out", delimiterNames[char],
			delimiterNames[r.delimiter])
	}
	r.delimiter = char
	return nil
}

// guessDelimiter chooses the delimiter with which a header has the most known columns or, if that is equal,
// the most columns.
func (r *csvRows) guessDelimiter(header string) {
	best, most := ",", -1
	for _, char := range delimiters {
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

// readHeader skips lines, and reads the fields of the header. The error is ErrInput if something is wrong with it.
func (r *csvRows) readHeader(skip int) (wrong []Detail, err error) {
	for range skip {
		if _, wrong, err = r.text.next(); err == io.EOF {
			return Wrongf(r.text.line, "", "the file ends here, and its header is below the %d lines that are skipped", skip), ErrInput
		} else if err != nil {
			return wrong, err
		}
	}
	text, wrong, err := r.firstText()
	if first, char, _ := strings.Cut(strings.Trim(text, `"`), "="); strings.EqualFold(first, "sep") {
		if wrong = r.takeDelimiter(char); wrong == nil {
			text, wrong, err = r.firstText()
		}
	}
	switch {
	case err == io.EOF:
		wrong, err = Wrongf(1, "",
			"the file is empty: a header belongs on its first line, such as order_id,currency,amount,address"), nil
	case err != nil || wrong != nil:
	case text[0] == '{':
		wrong = Wrongf(r.text.line, "", "it is an object, as in JSON lines: add --format jsonl, or call the file .jsonl")
	default:
		wrong = r.splitHeader(text)
	}
	if wrong != nil && err == nil {
		err = ErrInput
	}
	return wrong, err
}

func (r *csvRows) splitHeader(text string) []Detail {
	if r.delimiter == "" {
		r.guessDelimiter(text)
	}
	if wrong := r.split(text); wrong != nil {
		return wrong
	}
	for _, char := range delimiters {
		if len(r.fields) == 1 && strings.Contains(r.fields[0], char) {
			return Wrongf(r.text.line, "", "the columns are separated by %ss, and not by %ss: leave --delimiter out", delimiterNames[char],
				delimiterNames[r.delimiter])
		}
	}
	return nil
}

// split splits a line into its fields. It ends at one that is not well-formed.
func (r *csvRows) split(text string) []Detail {
	r.fields = r.fields[:0]
	for more := true; more; {
		after, quoted := strings.CutPrefix(text, `"`)
		if !quoted {
			var field string
			if field, text, more = strings.Cut(text, r.delimiter); strings.Contains(field, `"`) {
				return Wrongf(r.text.line, "",
					"field %d has a double quote in it: put the field between double quotes, and double those in it", len(r.fields)+1)
			}
			r.fields = append(r.fields, field)
			continue
		}
		end := closingQuote(after)
		if r.open = end < 0; r.open {
			return Wrongf(r.text.line, "",
				"field %d begins with a double quote, and none ends it on this line: a field can hold no line break", len(r.fields)+1)
		}
		r.fields = append(r.fields, strings.ReplaceAll(after[:end], `""`, `"`))
		if text, more = strings.CutPrefix(after[end+1:], r.delimiter); !more && text != "" {
			return Wrongf(r.text.line, "", "field %d goes on after its closing double quote: double the quotes in it", len(r.fields))
		}
	}
	return nil
}

// closingQuote returns the index of the first double quote that is not doubled, or -1.
func closingQuote(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case !strings.HasPrefix(text[i+1:], `"`):
			return i
		default:
			i++
		}
	}
	return -1
}
