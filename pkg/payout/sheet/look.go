package sheet

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is looked at of a file for its layout.
const (
	maxLook = 1 << 20 // bytes
	MaxRows = 500     // rows
)

// LookCSV proposes a layout for a file of CSV. It reads the file's beginning, and decides nothing: a person
// has to correct what it proposes.
func LookCSV(in io.Reader) (l Layout, err error) {
	start, err := io.ReadAll(io.LimitReader(in, maxLook))
	if err != nil {
		return l, err
	}
	if why := noText(start); why != "" {
		return l, errors.New(why)
	}
	if i := bytes.LastIndexByte(start, '\n'); len(start) == maxLook && i > 0 {
		start = start[:i] // a character may be cut at the end
	}
	encoding := ""
	switch {
	case isWide(start): // its mark decides
	case bytes.IndexByte(start, 0) >= 0:
		encoding = UTF16
	case !utf8.Valid(start):
		encoding = Windows1252
	}
	lines := firstLines(newLines(bytes.NewReader(start), encoding))
	most := 0
	for _, delimiter := range delimiters {
		rows := splitAll(lines, delimiter)
		width, count := mode(rows)
		if points := width * count; width > 1 && points > most {
			most, l = points, Look(rows)
			l.Delimiter, l.Encoding = delimiter, encoding
		}
	}
	if most == 0 {
		err = errors.New("it has no table that can be recognised")
	}
	return l, err
}

// firstLines returns the lines up to one that cannot be read, at most MaxRows.
func firstLines(text *textLines) (lines []string) {
	for len(lines) < MaxRows {
		line, why, err := text.next()
		if err != nil || why != "" {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

func splitAll(lines []string, delimiter string) (rows [][]string) {
	r := csvRows{delimiter: delimiter}
	for _, line := range lines {
		r.fields = nil
		if r.split(line); line == "" {
			r.fields = nil
		}
		rows = append(rows, r.fields)
	}
	return rows
}

// mode returns the number of fields that most rows have, and how many have it.
func mode(rows [][]string) (width, count int) {
	counts := map[int]int{}
	for _, fields := range rows {
		if n := len(fields); n > 0 {
			if counts[n]++; counts[n] > count || counts[n] == count && n > width {
				width, count = n, counts[n]
			}
		}
	}
	return width, count
}

// Look proposes a layout for the rows of a file, of which the first few may be titles.
func Look(rows [][]string) (l Layout) {
	width, _ := mode(rows)
	top := slices.IndexFunc(rows, func(fields []string) bool { return mayBeHeader(fields, width) })
	if top < 0 {
		return l
	}
	l.SkipLines = top
	var table [][]string
	table, l.UntilBlank = tableOf(rows[top+1:])
	found, others := columnsOf(rows[top], table)
	if others {
		l.Other = Ignore
	}
	var amounts []string
	for col, fields := range found {
		var headers []string
		for _, i := range fields {
			if header := strings.TrimSpace(rows[top][i]); columnNamed(header) == noColumn {
				headers = append(headers, header)
			}
			if Column(col) == Amount && len(fields) == 1 { // the marks of another column would be stated for it
				amounts = valuesOf(table, i)
			}
		}
		switch name := columnNames[col]; {
		case len(headers) > 1:
			l.Other, l.Unsure = Ignore, append(l.Unsure, name+": one of "+Shorten(strings.Join(headers, ", ")))
		case len(headers) == 1 && l.Columns == nil:
			l.Columns = map[string]string{name: headers[0]}
		case len(headers) == 1:
			l.Columns[name] = headers[0]
		}
	}
	l.Decimal, l.Group = marksOf(amounts)
	return l
}

// columnsOf returns the fields that may be each column, and whether there are others. A header of till's own goes before
// one that means a column, and that before values that look like it.
func columnsOf(header []string, table [][]string) (found [Columns][]int, others bool) {
	var rest []int
	for i, name := range header {
		if plainName(name) != "" {
			rest = append(rest, i)
		}
	}
	own := func(name string, _ []string) Column { return columnNamed(plainName(name)) }
	meant := func(name string, _ []string) Column { return meantColumn(name) }
	for _, columnOf := range []func(string, []string) Column{own, namedColumn, likelyColumn, meant} {
		more := found
		rest = slices.DeleteFunc(rest, func(i int) bool {
			col := columnOf(header[i], valuesOf(table, i))
			if col == noColumn || found[col] != nil || col == Amount && found[AmountMinor] != nil {
				return false
			}
			more[col] = append(more[col], i)
			return true
		})
		found = more
	}
	return found, len(rest) > 0
}

// mayBeHeader reports whether most fields of a row are names.
func mayBeHeader(fields []string, width int) bool {
	named := 0
	for _, field := range fields {
		if field = strings.TrimSpace(field); field != "" && strings.Trim(field, "0123456789.,'- ") != "" {
			named++
		}
	}
	return len(fields) >= width-1 && named >= 2 && named > width/2
}

// tableOf returns the rows of a table, which ends at a blank row, and whether there are more below that one.
func tableOf(rows [][]string) (table [][]string, more bool) {
	for i, fields := range rows {
		switch {
		case !isBlank(fields):
			table = append(table, fields)
		case len(table) > 0:
			return table, slices.ContainsFunc(rows[i:], func(below []string) bool { return !isBlank(below) })
		}
	}
	return table, false
}

// namedColumn returns the column that a header means, unless no value can be an address or an amount: an account may
// be nearly an amount.
func namedColumn(header string, values []string) Column {
	col := meantColumn(header)
	if strings.Contains(plainName(header), "iban") {
		col = Address
	}
	isSum := func(value string) bool { return isAmount(value) && !isDigits(value) && !isAddress(value) }
	if may := map[Column]func(string) bool{Address: isAddress, Amount: isSum}[col]; may != nil && !slices.ContainsFunc(values, may) {
		return noColumn
	}
	return col
}

// likelyColumn returns the column that a field has by its values.
func likelyColumn(_ string, values []string) Column {
	switch {
	case len(values) == 0:
	case all(values, isAddress):
		return Address
	case all(values, isAmount) && !all(values, isDigits):
		return Amount
	case all(values, isCode) && len(slices.Compact(slices.Sorted(slices.Values(values))))*2 <= len(values): // names repeat less
		return Currency
	}
	return noColumn
}

func valuesOf(rows [][]string, field int) (values []string) {
	for _, fields := range rows {
		if field < len(fields) && strings.TrimSpace(fields[field]) != "" {
			values = append(values, strings.TrimSpace(fields[field]))
		}
	}
	return values
}

func all(values []string, is func(string) bool) bool {
	return !slices.ContainsFunc(values, func(value string) bool { return !is(value) })
}

const (
	digits          = "0123456789"
	lettersOrDigits = digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// isAddress reports whether a text may be an address: of at least 14 letters and digits, with digits.
func isAddress(text string) bool {
	joined := strings.NewReplacer(" ", "", "\u00a0", "").Replace(text)
	return len(joined) >= 14 && strings.ContainsAny(joined, digits) && strings.Trim(joined, lettersOrDigits) == ""
}

// isAmount reports whether a text is a number, whatever its marks mean. 05.06.2026 is a date.
func isAmount(text string) bool {
	number, _ := cutUnit(text)
	last := strings.LastIndexAny(number, ".,")
	isDate := last >= 0 && len(number)-last != 4 && strings.Contains(number[:last], number[last:last+1])
	return number != "" && !isDate && strings.Trim(number, "0123456789.,'’"+blanks) == ""
}

func isCode(text string) bool {
	return len(text) >= 3 && len(text) <= 12 && strings.Trim(text, lettersOrDigits) == "" && !isDigits(text)
}

// marksOf returns the decimal mark and the mark between thousands, as far as the amounts show them: a mark
// that occurs once, and before another number of digits than three, is the decimal mark.
func marksOf(values []string) (decimal, group string) {
	for _, value := range values {
		number, _ := cutUnit(value)
		point := strings.LastIndexAny(number, ".,")
		if point >= 0 && (len(number)-point-1 != 3 || strings.ContainsAny(number[:point], ".,'’"+blanks)) &&
			strings.Count(number, number[point:point+1]) == 1 {
			decimal = number[point : point+1]
			number = number[:point]
		}
		for _, mark := range []string{".", ",", "'"} {
			if mark != decimal && strings.Contains(strings.ReplaceAll(number, "’", "'"), mark) {
				group = mark
			}
		}
		if strings.ContainsAny(number, blanks) {
			group = "space"
		}
	}
	if group == decimal || decimal == "" && (group == "." || group == ",") { // 1.980 can mean two things
		group = ""
	}
	return decimal, group
}
