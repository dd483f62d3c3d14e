package render

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"strings"
	"unicode"
)

func (g grid) csv(out *bufio.Writer, o Options) error {
	r := &record{out: out, csv: csv.NewWriter(out)} // out is big enough for csv to write to it directly
	header := func() error {
		if o.NoHeaders {
			return nil
		}
		for _, f := range g.fields {
			r.add(f.name)
			if f.amount {
				r.add(f.name + minorSuffix)
				r.add(f.name + codeSuffix)
			}
		}
		return r.write()
	}
	first := true
	for row, err := range g.rows {
		if err == nil && first {
			first = false
			for i, c := range row {
				g.fields[i].amount = g.fields[i].amount || c.kind == kindAmount
			}
			err = header()
		}
		if err != nil {
			return err
		}
		for i, c := range row {
			r.cell(c, g.fields[i].amount)
		}
		if err := r.write(); err != nil {
			return err
		}
	}
	if first {
		return header()
	}
	return nil
}

// record builds one line of CSV. It prints its numbers into one buffer and converts them to a string
// together, with one allocation for each row.
type record struct {
	out     *bufio.Writer
	csv     *csv.Writer
	fields  []string
	digits  []byte
	numbers []number
}

type number struct{ field, from, to int }

func (r *record) add(s string) { r.fields = append(r.fields, s) }

// number adds the number of a cell with the given decimals.
func (r *record) number(c Cell, decimals int) {
	from := len(r.digits)
	r.digits = c.digits(r.digits, decimals)
	r.numbers = append(r.numbers, number{len(r.fields), from, len(r.digits)})
	r.add("")
}

func (r *record) cell(c Cell, amount bool) {
	switch c.kind {
	case kindText:
		r.add(CSVText(c.text))
	case kindLabel:
		_, label := c.label()
		r.add(CSVText(label))
	case kindOwn:
		r.add(c.text)
	case kindInt:
		r.number(c, 0)
	case kindAmount:
		if !amount { // the only field of the amount has to contain everything
			r.add(c.short())
			return
		}
		if c.decimals >= 0 {
			r.number(c, int(c.decimals))
		} else {
			r.add("")
		}
		r.number(c, 0)
		r.add(CSVText(c.text))
		return
	case kindPercent:
		r.number(c, 1)
	case kindHistory:
		steps := make([]string, len(c.steps))
		for i, s := range c.steps {
			steps[i] = s.String()
		}
		r.add(CSVText(strings.Join(steps, "; ")))
	case kindJSON:
		// JSON begins with no sign except that of a number, so no spreadsheet runs it.
		if text := c.short(); json.Valid([]byte(c.text)) {
			r.add(text)
		} else {
			r.add(CSVText(text))
		}
	default:
		r.add(c.short())
	}
	if amount {
		r.add("")
		r.add("")
	}
}

func (r *record) write() error {
	text := string(r.digits)
	for _, n := range r.numbers {
		r.fields[n.field] = text[n.from:n.to]
	}
	var err error
	if len(r.fields) == 1 && r.fields[0] == "" {
		// encoding/csv would write an empty line, and readers skip it.
		_, err = r.out.WriteString("\"\"\n")
	} else {
		err = r.csv.Write(r.fields)
	}
	r.fields, r.digits, r.numbers = r.fields[:0], r.digits[:0], r.numbers[:0]
	return err
}

// CSVText returns text from elsewhere in a form that a spreadsheet shows and never runs.
func CSVText(s string) string {
	if s == "" {
		return s
	}
	if runsAsFormula(s) {
		return "'" + safeCSV(s)
	}
	return safeCSV(s)
}

// runsAsFormula reports whether a spreadsheet may take the text for a formula. Some spreadsheets drop
// invisible characters first, and some take the wide forms of a sign for the plain one.
func runsAsFormula(s string) bool {
	if strings.IndexByte("\t\r\n", s[0]) >= 0 {
		return true
	}
	for _, r := range s {
		if strings.ContainsRune("=+-@"+"＝＋－＠"+"﹦﹢﹣﹫", r) { // plain, full width, small
			return true
		}
		if !hidden(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return false
}
