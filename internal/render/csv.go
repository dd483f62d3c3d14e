package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/till/internal/usage"
)

// Excel says how a file of CSV is to be written for Excel, which reads it by the locale of its user.
type Excel struct {
	Delimiter rune
	Decimal   string
}

// The languages of Excel's users by what separates the digits of a fraction.
const (
	withPoint = " en ja zh ko th he hi ms "
	withComma = " de fr it es pt nl pl cs sk sl hr sr bg ro hu el tr ru uk lt lv et fi sv da nb nn no is ca gl eu id vi af sq mk bs "
)

// ExcelOf returns what Excel reads in a locale, such as de or de-AT. Where a comma separates the digits of a
// fraction, a semicolon separates fields. The error is a *usage.Error.
func ExcelOf(locale string) (Excel, error) {
	language, region, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(locale), "_", "-"), "-")
	known := func(languages string) bool { return language != "" && strings.Contains(languages, " "+language+" ") }
	switch region, _, _ = strings.Cut(region, "."); {
	case language == "de" && region == "ch", language == "de" && region == "li", language == "it" && region == "ch":
		return Excel{';', "."}, nil
	case language == "en" && region == "za":
		return Excel{';', ","}, nil
	case language == "es" && (region == "mx" || region == "us"), known(withPoint):
		return Excel{',', "."}, nil
	case known(withComma):
		return Excel{';', ","}, nil
	}
	return Excel{}, usage.Errorf("--locale: it is not known what separates fields and decimals for %q: write a language such as de or en", locale)
}

func (g grid) csv(out *bufio.Writer, o Options) error {
	r := &record{comma: ',', decimal: o.Excel.Decimal}
	if o.Excel.Delimiter != 0 {
		r.comma = o.Excel.Delimiter
		out.WriteString("\ufeff") // by which Excel knows UTF-8
	}
	begun := o.NoHeaders
	for row, err := range g.rows {
		if err == nil && !begun {
			begun = true
			err = g.csvHeader(r, out)
		}
		if err != nil {
			return err
		}
		for i, c := range row {
			o.tell(c)
			r.cell(c, g.fields[i].amount)
		}
		if err := r.write(out); err != nil {
			return err
		}
	}
	if !begun {
		return g.csvHeader(r, out)
	}
	return nil
}

func (g grid) csvHeader(r *record, out *bufio.Writer) error {
	for _, f := range g.fields {
		r.add(f.name)
		if f.amount {
			r.add(f.name + minorSuffix)
			r.add(f.name + codeSuffix)
		}
	}
	return r.write(out)
}

// record builds one line of CSV.
type record struct {
	comma   rune
	decimal string // what separates the digits of a fraction; empty: a point
	fields  []string
}

func (r *record) add(s string) { r.fields = append(r.fields, s) }

// number adds the number of a cell.
func (r *record) number(c Cell) {
	text := c.digits()
	if r.decimal != "" {
		text = strings.Replace(text, ".", r.decimal, 1)
	}
	r.add(text)
}

func (r *record) cell(c Cell, amount bool) {
	switch {
	case c.kind == kindAmount && amount:
		if c.decimals >= 0 {
			r.number(c)
		} else {
			r.add("")
		}
		r.add(c.part(minorSuffix).digits())
		r.add(CSVText(c.text))
		return
	case c.kind == kindText && c.own:
		r.add(c.text)
	case c.kind == kindText:
		if c.form == formSums && r.decimal != "" {
			c.text = strings.ReplaceAll(c.text, ".", r.decimal)
		}
		r.add(CSVText(c.text))
	case c.kind == kindLabel:
		_, label := c.label()
		r.add(CSVText(label))
	case c.kind == kindPercent:
		r.number(c)
	case c.kind == kindHistory:
		steps := make([]string, len(c.steps))
		for i, s := range c.steps {
			steps[i] = s.String()
		}
		r.add(CSVText(strings.Join(steps, "; ")))
	case c.kind == kindJSON && json.Valid([]byte(c.text)):
		// JSON begins with no sign except that of a number, so no spreadsheet runs it. In its texts, an escape
		// means the sign.
		r.add(disarm(c.short(), func(sign rune) string { return fmt.Sprintf(`\u%04x`, sign) }))
	case c.kind == kindJSON:
		r.add(CSVText(c.short()))
	default: // the only field of an amount has to contain everything
		r.add(c.short())
	}
	if amount {
		r.fields = append(r.fields, "", "")
	}
}

func (r *record) write(out *bufio.Writer) error {
	err := CSVLine(out, r.comma, r.fields)
	r.fields = r.fields[:0]
	return err
}

// CSVLine writes a line of CSV. A field is in quotes also for the sake of a program that separates fields in
// another way: by a semicolon or a tab.
func CSVLine(out *bufio.Writer, comma rune, fields []string) error {
	if len(fields) == 1 && fields[0] == "" { // readers skip an empty line
		_, err := out.WriteString("\"\"\n")
		return err
	}
	for i, field := range fields { // out keeps its first error
		if i > 0 {
			out.WriteRune(comma)
		}
		first, _ := utf8.DecodeRuneInString(field)
		if unicode.IsSpace(first) || strings.ContainsAny(field, "\";\t\r\n") || strings.ContainsRune(field, comma) {
			field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
		}
		out.WriteString(field)
	}
	return out.WriteByte('\n')
}

// CSVText returns text from elsewhere in a form that a spreadsheet shows and never runs.
func CSVText(s string) string {
	if s == "" {
		return s
	}
	safe := disarm(safeCSV(s), func(sign rune) string { return "'" + string(sign) })
	if runsAsFormula(s) {
		return "'" + safe
	}
	return safe
}

const signs = "=+-@" + "＝＋－＠" + "﹦﹢﹣﹫" // plain, full width, small

// disarm replaces each sign of a formula after what a spreadsheet may take for the end of a field, although it
// is in quotes.
func disarm(s string, with func(sign rune) string) string {
	if !strings.ContainsAny(s, ";\t\n") {
		return s
	}
	var b strings.Builder
	begins := false
	for _, r := range s {
		if begins && strings.ContainsRune(signs, r) {
			b.WriteString(with(r))
		} else {
			b.WriteRune(r)
		}
		begins = r == ';' || r == '\t' || r == '\n' || begins && (hidden(r) || unicode.IsSpace(r))
	}
	return b.String()
}

// runsAsFormula reports whether a spreadsheet may take the text for a formula. Some spreadsheets drop
// invisible characters first, and some take the wide forms of a sign for the plain one.
func runsAsFormula(s string) bool {
	if strings.IndexByte("\t\r\n", s[0]) >= 0 {
		return true
	}
	for _, r := range s {
		if strings.ContainsRune(signs, r) {
			return true
		}
		if !hidden(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return false
}
