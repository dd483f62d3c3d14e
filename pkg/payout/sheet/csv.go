package sheet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// csvRows reads a CSV file. No field may contain a line break, so each record is one line. A stray quote then
// spoils only its own line, and not the rest of the file.
type csvRows struct {
	*textLines
	table     *Table
	delimiter string   // empty until it is known
	fields    []string // of the line that was read last
	open      bool     // which ended inside a field in double quotes
}

// CSV reads a file of CSV, in which commas, semicolons or tabs separate the fields.
func CSV(in io.Reader, l Layout) Rows {
	return func(yield func(Row, error) bool) {
		r := &csvRows{textLines: newLines(in, l.Encoding), table: NewTable(l), delimiter: l.Delimiter}
		for row, err := r.header(l.SkipLines); err != io.EOF; row, err = r.row() {
			if !row.Blank && !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// header reads the header. It is a blank row, unless something is wrong with it.
func (r *csvRows) header(skip int) (Row, error) {
	why, err := r.readHeader(skip)
	row := Row{Line: r.line}
	if why == "" && err == nil {
		r.table.between = delimiterNames[r.delimiter]
		row.Wrong, err = r.table.Header(r.line, r.fields)
	} else if why != "" {
		row.wrong("", "%s", why)
	}
	row.Blank = row.Wrong == nil && err == nil
	return row, err
}

// row reads the next row.
func (r *csvRows) row() (Row, error) {
	for {
		text, why, err := r.next()
		if why == "" && err == nil {
			open := r.open
			if r.open = false; open && r.closes(text) { // the rest of that row, which was reported
				continue
			}
			why = r.split(text)
		}
		row := Row{Line: r.line}
		switch {
		case why == "" && err == nil:
			row = r.table.Row(r.line, r.fields)
		case r.table.ended && err == nil: // whatever it is
			row.Below = true
		case why != "":
			row.wrong("", "%s", why)
		}
		return row, err
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
func (r *csvRows) firstText() (text, why string, err error) {
	empty := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`",;`, r) }
	for strings.TrimFunc(text, empty) == "" && why == "" && err == nil {
		text, why, err = r.next()
	}
	return text, why, err
}

// takeDelimiter takes the delimiter from a line such as "sep=;", which Excel reads too.
func (r *csvRows) takeDelimiter(char string) (why string) {
	switch name := delimiterNames[char]; {
	case name == "":
		return "fields cannot be separated by " + Quote(char) + ": save the file with commas, semicolons or tabs between them"
	case r.delimiter != "" && r.delimiter != char:
		return fmt.Sprintf("it says that fields are separated by %ss, and --delimiter says by %ss: leave --delimiter out", name,
			delimiterNames[r.delimiter])
	}
	r.delimiter = char
	return ""
}

// guessDelimiter chooses the delimiter with which a header has the most known columns or, if that is equal,
// the most columns.
func (r *csvRows) guessDelimiter(header string) {
	points := func(char string) (n int) {
		if r.delimiter = char; r.split(header) != "" {
			return 0
		}
		for _, name := range r.fields {
			if n++; r.table.knows(name) {
				n += 1000
			}
		}
		return n
	}
	r.delimiter = slices.MaxFunc(delimiters, func(a, b string) int { return points(a) - points(b) })
}

// readHeader skips lines, and reads the fields of the header. The error is ErrInput if something is wrong with it.
func (r *csvRows) readHeader(skip int) (why string, err error) {
	for range skip {
		if _, why, err = r.next(); err == io.EOF {
			break
		} else if err != nil {
			return why, err
		}
	}
	text, why, err := r.firstText()
	if first, char, _ := strings.Cut(strings.Trim(text, `"`), "="); strings.EqualFold(first, "sep") {
		if why = r.takeDelimiter(char); why == "" {
			text, why, err = r.firstText()
		}
	}
	switch {
	case err == io.EOF && skip > 0:
		return fmt.Sprintf("the file ends here, and nothing is below the lines that are skipped (%d): look at --skip-lines, --encoding and the file's line ends", skip), ErrInput
	case err == io.EOF:
		r.line = 1
		return "the file is empty: a header belongs on its first line, such as order_id,currency,amount,address", ErrInput
	case err != nil || why != "":
	case text == "{":
		why = "it is JSON on several lines, as a plan is: till payout show shows a plan, and till payout apply sends it"
	case text[0] == '{':
		why = "it is an object, as in JSON lines: add --format jsonl, or call the file .jsonl"
	default:
		why = r.splitHeader(text)
	}
	if why != "" {
		err = cmp.Or(err, ErrInput)
	}
	return why, err
}

func (r *csvRows) splitHeader(text string) (why string) {
	if r.delimiter == "" {
		r.guessDelimiter(text)
	}
	if why := r.split(text); why != "" {
		return why
	}
	for _, char := range delimiters {
		if len(r.fields) == 1 && strings.Contains(r.fields[0], char) {
			return fmt.Sprintf("the columns are separated by %ss, and not by %ss: leave --delimiter out", delimiterNames[char],
				delimiterNames[r.delimiter])
		}
	}
	return ""
}

// split splits a line into its fields. It ends at one that is not well-formed.
func (r *csvRows) split(text string) (why string) {
	r.fields = r.fields[:0]
	for more := true; more; {
		n := len(r.fields) + 1
		after, quoted := strings.CutPrefix(text, `"`)
		if !quoted {
			var field string
			if field, text, more = strings.Cut(text, r.delimiter); strings.Contains(field, `"`) {
				return fmt.Sprintf("field %d has a double quote in it: put the field between double quotes, and double those in it", n)
			}
			r.fields = append(r.fields, field)
			continue
		}
		end := strings.Index(strings.ReplaceAll(after, `""`, "--"), `"`) // the first that is not doubled
		if r.open = end < 0; r.open {
			return fmt.Sprintf("field %d begins with a double quote, and none ends it on this line: a field can hold no line break", n)
		}
		r.fields = append(r.fields, strings.ReplaceAll(after[:end], `""`, `"`))
		if text, more = strings.CutPrefix(after[end+1:], r.delimiter); !more && text != "" {
			return fmt.Sprintf("field %d goes on after its closing double quote: double the quotes in it", n)
		}
	}
	return ""
}
