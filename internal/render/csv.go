package render

import (
	"bufio"
	"cmp"
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
	case language == "en" && strings.Contains(" za de at be nl dk se fi si ", " "+region+" "):
		return Excel{';', ","}, nil
	case language == "es" && strings.Contains(" mx us 419 do gt hn ni pa pe pr sv ", " "+region+" "), known(withPoint):
		return Excel{',', "."}, nil
	case known(withComma):
		return Excel{';', ","}, nil
	}
	return Excel{}, usage.Errorf("--locale: it is not known what separates fields and decimals for %q: write a language such as de or en", locale)
}

func (g grid) csv(out *bufio.Writer, o Options) error {
	comma := cmp.Or(o.Excel.Delimiter, ',')
	var fields []string
	for _, f := range g.fields {
		if fields = append(fields, f.Name); f.Amount {
			fields = append(fields, f.Name+minorSuffix, f.Name+codeSuffix)
		}
	}
	n := lines()
	if o.Excel.Delimiter != 0 {
		n.begin = "\ufeff" // by which Excel knows UTF-8
	}
	if !o.NoHeaders {
		n.begin += string(CSVLine(nil, comma, fields))
	}
	n.empty = n.begin
	var line []byte
	return n.write(out, convert(g.rows, func(row []Cell) []byte {
		fields = fields[:0]
		for i, c := range row {
			o.tell(c)
			if fields = append(fields, c.csv(g.fields[i].Amount, o.Excel)); g.fields[i].Amount {
				fields = append(fields, c.part(minorSuffix).csv(false, o.Excel), c.part(codeSuffix).csv(false, o.Excel))
			}
		}
		line = CSVLine(line[:0], comma, fields)
		return line[:len(line)-1]
	}))
}

// csv returns the field of a cell. In a column of amounts it is the decimal; the only field of another amount
// has its code too.
func (c Cell) csv(amount bool, to Excel) string {
	mark := cmp.Or(to.Decimal, ".")
	switch {
	case amount && c.kind == kindAmount && c.decimals < 0:
		return ""
	case amount && c.kind == kindAmount, c.kind == kindPercent:
		return strings.Replace(c.digits(), ".", mark, 1)
	case c.kind == kindText && c.own:
		return c.text
	case c.form == formSums && mark == ",":
		return CSVText(joined(c.steps, "; ", func(amount string) string { return strings.Replace(amount, ".", mark, 1) }))
	case c.kind == kindText:
		return CSVText(c.text)
	case c.kind == kindLabel:
		_, label := c.label()
		return CSVText(label)
	case c.kind == kindHistory:
		return CSVText(joined(c.steps, "; ", strings.Clone))
	case c.kind == kindJSON && json.Valid([]byte(c.text)):
		// JSON begins with no sign except that of a number, so no spreadsheet runs it. In its texts, an escape
		// means the sign.
		return disarm(c.short(), func(sign rune) string { return fmt.Sprintf(`\u%04x`, sign) })
	case c.kind == kindJSON:
		return CSVText(c.short())
	}
	return c.short()
}

// CSVLine appends a line of CSV. A field is in quotes also for the sake of a program that separates fields in
// another way: by a semicolon or a tab.
func CSVLine(line []byte, comma rune, fields []string) []byte {
	if len(fields) == 1 && fields[0] == "" { // readers skip an empty line
		return append(line, "\"\"\n"...)
	}
	for i, field := range fields {
		if i > 0 {
			line = utf8.AppendRune(line, comma)
		}
		first, _ := utf8.DecodeRuneInString(field)
		if unicode.IsSpace(first) || strings.ContainsAny(field, "\";\t\r\n") || strings.ContainsRune(field, comma) {
			field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
		}
		line = append(line, field...)
	}
	return append(line, '\n')
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
	begin, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, func(r rune) bool { return hidden(r) || unicode.IsSpace(r) }))
	return strings.IndexByte("\t\r\n", s[0]) >= 0 || strings.ContainsRune(signs, begin)
}
