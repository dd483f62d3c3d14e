package payout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// A column is a field of a row of an input.
type column int

const (
	colOrderID column = iota
	colCurrency
	colAmount
	colAmountMinor
	colAmountCurrency // the code for amount and amount_minor, as in an export
	colAddress
	colMemo
	colCallback
	colNote
	columns
)

var columnNames = [columns]string{"order_id", "currency", "amount", "amount_minor", "amount_currency", "address",
	"memo", "callback", "note"}

func (c column) String() string { return columnNames[c] }

func columnNamed(name string) (column, bool) {
	i := slices.Index(columnNames[:], name)
	return column(i), i >= 0
}

// cells are the fields of a row; empty: missing.
type cells [columns]string

func wrongf(line int, field, format string, args ...any) []Detail {
	return []Detail{{Line: line, Field: field, Message: fmt.Sprintf(format, args...)}}
}

// errInput says that an input cannot be read further. The row's details say why.
var errInput = errors.New("the input cannot be read on")

// errEncoding says that an input is not UTF-8. The row's details say where.
var errEncoding = errors.New("the input is not UTF-8")

// maxRecord is the most bytes in a line of an input, with its end.
const maxRecord = 64 << 10

// textLines reads the lines of an input without their ends. It skips empty lines.
type textLines struct {
	in   *bufio.Reader // of maxRecord bytes
	line int
}

// next returns a line. If the line is not valid text, it returns details instead.
func (t *textLines) next() (text string, wrong []Detail, err error) {
	for {
		line, err := t.in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return "", nil, err
		}
		t.line++
		if t.line == 1 && (bytes.HasPrefix(line, []byte{0xff, 0xfe}) || bytes.HasPrefix(line, []byte{0xfe, 0xff})) {
			return "", wrongf(1, "", "the file is UTF-16: save it as UTF-8"), errEncoding
		}
		long := err == bufio.ErrBufferFull
		for err == bufio.ErrBufferFull {
			_, err = t.in.ReadSlice('\n')
		}
		switch {
		case err != nil && err != io.EOF:
			return "", nil, err
		case long:
			return "", wrongf(t.line, "", "it is longer than %d bytes", maxRecord), nil
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if i := notUTF8(line); i >= 0 {
			return "", wrongf(t.line, "", "byte %d (0x%02x) is not UTF-8: save the file as UTF-8", i+1, line[i]), errEncoding
		}
		if t.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
			return string(line), nil, nil
		}
	}
}

// notUTF8 returns the index of the first byte that is not UTF-8, or -1.
func notUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size < 2 {
			return i
		}
		i += size
	}
}

// parser turns cells into withdrawals.
type parser struct {
	money   money.Registry
	derives bool // the order ids are derived, and must not be given
	csv     bool // the rows may come from a spreadsheet
}

// A parsedRow is a row of an input, with everything that can be found out about it without other rows.
type parsedRow struct {
	cells cells
	line  int
	wrong []Detail
	row   PlanRow
	key   order.Key
}

// parseAll parses the rows that are well-formed, on all processors: checking an address takes longer than
// reading it.
func (p *parser) parseAll(rows []parsedRow) {
	var all sync.WaitGroup
	for part := range slices.Chunk(rows, 256) {
		all.Go(func() {
			for i := range part {
				r := &part[i]
				if r.wrong == nil {
					r.row, r.wrong = p.parse(r.cells, r.line)
				}
				if r.wrong == nil {
					r.key = contentOf(r.row.CreateWithdrawal).Key()
				}
			}
		})
	}
	all.Wait()
}

// parse parses a row and returns everything that is wrong with it.
func (p *parser) parse(c cells, line int) (row PlanRow, wrong []Detail) {
	var told [columns]bool
	no := func(col column, format string, args ...any) {
		told[col] = true
		wrong = append(wrong, wrongf(line, col.String(), format, args...)...)
	}
	for col, text := range c {
		if isPlain(text) {
			continue
		}
		if i := strings.IndexFunc(text, unreadable); i >= 0 {
			no(column(col), "%s has a control character or a line break at byte %d", shorten(text), i)
			c[col] = ""
		}
	}
	for _, col := range []column{colOrderID, colAddress, colMemo} {
		if p.csv && isSpoiled(c[col]) {
			no(col, "%s was changed by a spreadsheet: format the column as text and enter it again", shorten(c[col]))
			c[col] = ""
		}
	}
	row.Address, row.Memo, row.Callback, row.Note = c[colAddress], c[colMemo], c[colCallback], c[colNote]
	switch id := c[colOrderID]; {
	case told[colOrderID]:
	case p.derives && id != "":
		no(colOrderID, "%s is given, and order ids are to be derived: leave the column out, or --auto-order-id",
			shorten(id))
	case !p.derives && id == "":
		no(colOrderID, "it is missing: number the rows yourself, or let --auto-order-id BATCH do it")
	case !p.derives:
		if err := api.CheckOrderID(id); err != nil {
			no(colOrderID, "%s", shortened(err))
		} else {
			row.ExternalOrderID = id
		}
	}
	var err error
	known := false
	switch row.Currency, err = p.money.ParseCurrency(c[colCurrency]); {
	case told[colCurrency]:
	case c[colCurrency] == "":
		no(colCurrency, "it is missing: write one such as Btc or Usd")
	case err != nil:
		no(colCurrency, "%s", advised(err))
	default:
		known = true
		var col column
		if row.Amount, col, err = p.amount(c, row.Currency); err != nil && !told[colAmount] && !told[colAmountMinor] &&
			!told[colAmountCurrency] {
			no(col, "%s", advised(err))
		}
	}
	switch {
	case told[colAddress]:
	case c[colAddress] == "":
		no(colAddress, "it is missing")
	case known:
		if err := p.money.CheckAddress(row.Currency, row.Address); err != nil {
			no(colAddress, "%s", shortened(err))
		}
	}
	if known && !told[colMemo] && p.money.LacksMemo(row.Currency, row.Memo) {
		no(colMemo, "a withdrawal in %s needs one, or it may never arrive: ask the receiver for it", row.Currency.Code)
	}
	return row, append(wrong, p.validate(row.CreateWithdrawal, line, wrong)...)
}

// spreadsheetErrors are what a spreadsheet shows instead of a value.
var spreadsheetErrors = []string{"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!",
	"#CALC!", "#GETTING_DATA"}

// isSpoiled reports whether a spreadsheet has replaced a value: a long number by 1.23457E+12 or ####, or a
// formula by an error.
func isSpoiled(text string) bool {
	switch {
	case text == "":
		return false
	case text[0] == '#':
		return strings.Trim(text, "#") == "" && len(text) > 1 ||
			slices.ContainsFunc(spreadsheetErrors, func(e string) bool { return strings.EqualFold(e, text) })
	}
	if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	number, exponent, found := strings.Cut(strings.ToUpper(text), "E")
	if !found || len(exponent) < 3 || exponent[0] != '+' && exponent[0] != '-' {
		return false
	}
	whole, fraction, _ := strings.Cut(strings.Replace(strings.TrimPrefix(number, "-"), ",", ".", 1), ".")
	return len(whole) >= 1 && len(whole) <= 3 && strings.Trim(whole+fraction+exponent[1:], "0123456789") == ""
}

// amount reads the amount. It may be in two columns if both have the same amount.
func (p *parser) amount(c cells, withdrawn api.Currency) (a api.Amount, col column, err error) {
	read := func(col column, parse func(string, api.Currency) (api.Amount, error)) (api.Amount, error) {
		text := c[col]
		if code := c[colAmountCurrency]; code != "" {
			if strings.Contains(text, " ") {
				return api.Amount{},
					fmt.Errorf("%s has a code, and amount_currency has one too: leave one out", shorten(text))
			}
			text += " " + code
		}
		return parse(text, withdrawn)
	}
	switch {
	case c[colAmount] == "" && c[colAmountMinor] == "":
		return a, colAmount, errors.New("it is missing: write it in amount or, in minor units, in amount_minor")
	case c[colAmount] == "":
		a, err = read(colAmountMinor, p.money.ParseMinor)
		return a, colAmountMinor, err
	}
	a, err = read(colAmount, p.money.ParseAmount)
	if err != nil || c[colAmountMinor] == "" {
		return a, colAmount, err
	}
	minor, err := read(colAmountMinor, p.money.ParseMinor)
	if err == nil && minor != a {
		err = fmt.Errorf("%s is not the amount %s, which is %d minor units: leave one of the two columns out",
			shorten(c[colAmountMinor]), shorten(c[colAmount]), a.Minor)
	}
	return minor, colAmountMinor, err
}

// validate returns all errors of a request. Since Validate returns one error at a time, validate replaces the
// wrong field and calls it again.
func (p *parser) validate(r api.CreateWithdrawal, line int, known []Detail) (wrong []Detail) {
	says := func(field string) bool {
		return slices.ContainsFunc(known, func(d Detail) bool { return d.Field == field })
	}
	for range columns {
		invalid, ok := errors.AsType[*api.InvalidError](r.Validate())
		if !ok {
			break
		}
		field := invalid.Field
		switch field {
		case "currency", "amount":
			r.Currency, r.Amount = api.Currency{Kind: api.Fiat, Code: "Usd"},
				api.Amount{Kind: api.Fiat, Code: "USD", Minor: 1}
			if says("currency") || says("amount") || says("amount_minor") {
				continue
			}
		case "address":
			r.Address = "x"
		case "memo":
			r.Memo = "1" // valid for any currency
		case "callback":
			r.Callback = ""
		default:
			field, r.ExternalOrderID = "order_id", ""
		}
		if !says(field) {
			wrong = append(wrong, wrongf(line, field, "%s", shortenText(invalid.Why))...)
		}
	}
	return wrong
}

// isPlain reports whether a text has only printable ASCII characters, as nearly all fields do.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// unreadable reports whether a character is not allowed in any field.
func unreadable(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

const maxShown = 200 // bytes of a text in a message

// shorten quotes a text, and cuts it if it is long.
func shorten(text string) string { return fmt.Sprintf("%q", shortenText(text)) }

func shortenText(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}

func shortened(err error) string { return shortenText(err.Error()) }

// advised returns the text of an error with its hint, if it has one.
func advised(err error) string {
	text := shortened(err)
	if e, ok := errors.AsType[*money.Error](err); ok && e.Hint() != "" {
		text += " (" + e.Hint() + ")"
	}
	return text
}
