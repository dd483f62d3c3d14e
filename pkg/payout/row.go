package payout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// parser turns the cells of a row into a withdrawal.
type parser struct {
	money   money.Registry
	derives bool // the order ids are derived, and must not be given
}

// A parsedRow is a row of an input, with everything that can be found out about it without other rows.
type parsedRow struct {
	cells sheet.Cells
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
func (p *parser) parse(c sheet.Cells, line int) (row PlanRow, wrong []Detail) {
	if n := len(strings.Join(c[:], "")); n > maxRow {
		return row, sheet.Wrongf(line, "", "it has %d bytes, and a row has at most %d", n, maxRow)
	}
	f := faults{line: line}
	f.clean(&c)
	row.Address, row.Memo, row.Callback, row.Note = address.Joined(c[sheet.Address]), c[sheet.Memo], c[sheet.Callback], c[sheet.Note]
	row.Reference, row.Line = strings.TrimSpace(c[sheet.Reference]), line
	if n := utf8.RuneCountInString(row.Reference); n > maxReference {
		f.add(sheet.Reference, "it has %d characters, and at most %d are kept", n, maxReference)
	}
	row.ExternalOrderID = p.orderID(c[sheet.OrderID], &f)
	var err error
	known := false
	switch row.Currency, err = p.money.ParseCurrency(c[sheet.Currency]); {
	case f.in[sheet.Currency]:
	case c[sheet.Currency] == "":
		f.add(sheet.Currency, "it is missing: write one such as Btc or Usd")
	case err != nil:
		f.add(sheet.Currency, "%s", advised(err))
	default:
		known = true
		var col sheet.Column
		if row.Amount, col, err = p.amount(c, row.Currency); err != nil && !f.in[sheet.Amount] && !f.in[sheet.AmountMinor] &&
			!f.in[sheet.AmountCurrency] {
			f.add(col, "%s", advised(err))
		}
	}
	switch {
	case f.in[sheet.Address]:
	case c[sheet.Address] == "":
		f.add(sheet.Address, "it is missing")
	case known:
		if err := p.money.CheckAddress(row.Currency, row.Address); err != nil {
			f.add(sheet.Address, "%s", shortened(err))
		}
	}
	if known && !f.in[sheet.Memo] && p.money.LacksMemo(row.Currency, row.Address, row.Memo) {
		f.add(sheet.Memo, "a withdrawal in %s needs one, or it may never arrive: ask the receiver for it", row.Currency.Code)
	}
	if known && !f.in[sheet.Memo] {
		if err := p.money.CheckMemo(row.Currency, row.Address, row.Memo); err != nil {
			f.add(sheet.Memo, "%s", shortened(err))
		}
	}
	return row, append(f.list, p.validate(row.CreateWithdrawal, line, f.list)...)
}

// orderID returns the order id of a row, if it has a valid one.
func (p *parser) orderID(id string, f *faults) string {
	switch {
	case f.in[sheet.OrderID]:
		return ""
	case p.derives && id != "":
		f.add(sheet.OrderID, "%s is given, and order ids are to be derived: leave the column out, or --auto-order-id",
			sheet.Quote(id))
		return ""
	case p.derives:
		return ""
	case id == "":
		f.add(sheet.OrderID, "it is missing: number the rows yourself, or let --auto-order-id BATCH do it")
		return ""
	}
	if err := api.CheckOrderID(id); err != nil {
		why := shortened(err)
		if money.Rounded(id) {
			why += "; it " + money.RoundedWhy
		}
		f.add(sheet.OrderID, "%s", why)
		return ""
	}
	return id
}

// faults has what is wrong with a row.
type faults struct {
	line int
	in   [sheet.Columns]bool // which columns have one
	list []Detail
}

func (f *faults) add(col sheet.Column, format string, args ...any) {
	f.in[col] = true
	f.list = append(f.list, sheet.Wrongf(f.line, col.String(), format, args...)...)
}

// clean empties the cells that cannot be read, and adds them.
func (f *faults) clean(c *sheet.Cells) {
	for col, text := range c {
		if isPlain(text) {
			continue
		}
		if i := strings.IndexFunc(text, unreadable); i >= 0 {
			f.add(sheet.Column(col), "%s has a control character or a line break at byte %d", sheet.Quote(text), i)
			c[col] = ""
		}
	}
}

// amount reads the amount. It may be in two columns if both have the same amount.
func (p *parser) amount(c sheet.Cells, withdrawn api.Currency) (a api.Amount, col sheet.Column, err error) {
	read := func(col sheet.Column, parse func(string, api.Currency) (api.Amount, error)) (api.Amount, error) {
		text, err := withoutSign(c[col], withdrawn)
		if err != nil {
			return api.Amount{}, err
		}
		if code := c[sheet.AmountCurrency]; code != "" {
			if text = c[col]; strings.Contains(text, " ") {
				return api.Amount{},
					fmt.Errorf("%s has a code, and amount_currency has one too: leave one out", sheet.Quote(text))
			}
			text += " " + code
		}
		return parse(text, withdrawn)
	}
	switch {
	case c[sheet.Amount] == "" && c[sheet.AmountMinor] == "":
		return a, sheet.Amount, errors.New("it is missing: write it in amount or, in minor units, in amount_minor")
	case c[sheet.Amount] == "":
		a, err = read(sheet.AmountMinor, p.money.ParseMinor)
		return a, sheet.AmountMinor, err
	}
	a, err = read(sheet.Amount, p.money.ParseAmount)
	if err != nil || c[sheet.AmountMinor] == "" {
		return a, sheet.Amount, err
	}
	minor, err := read(sheet.AmountMinor, p.money.ParseMinor)
	if err == nil && minor != a {
		err = fmt.Errorf("%s is not the amount %s, which is %d minor units: leave one of the two columns out",
			sheet.Quote(c[sheet.AmountMinor]), sheet.Quote(c[sheet.Amount]), a.Minor)
	}
	return minor, sheet.AmountMinor, err
}

// signs has the currency of each sign that has only one, and of the dollar and the yen those that are meant
// where no other is named.
var signs = map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₺": "TRY", "₽": "RUB",
	"₴": "UAH", "₫": "VND", "₪": "ILS", "₦": "NGN", "₱": "PHP", "฿": "THB", "₸": "KZT", "₿": "BTC"}

// withoutSign takes the sign of a currency off an amount. It must be that of the withdrawn currency.
func withoutSign(text string, withdrawn api.Currency) (string, error) {
	number, sign, _ := strings.Cut(text, " ")
	code, known := signs[sign]
	switch {
	case !known || strings.EqualFold(code, withdrawn.Code):
	default:
		return "", fmt.Errorf("%s has the sign of %s, and %s is withdrawn: write the code instead of the sign if both are meant",
			sheet.Quote(text), code, withdrawn.Code)
	}
	if known {
		return number, nil
	}
	return text, nil
}

// validate returns all errors of a request. Since Validate returns one error at a time, validate replaces the
// wrong field and calls it again.
func (p *parser) validate(r api.CreateWithdrawal, line int, known []Detail) (wrong []Detail) {
	says := func(field string) bool {
		return slices.ContainsFunc(known, func(d Detail) bool { return d.Field == field })
	}
	for range sheet.Columns {
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
			wrong = append(wrong, sheet.Wrongf(line, field, "%s", sheet.Shorten(invalid.Why))...)
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

func shortened(err error) string { return sheet.Shorten(err.Error()) }

const (
	maxReference = 140       // characters
	maxRow       = 1<<16 - 1 // bytes, as in a line of a file
)

// advised returns the text of an error with its hint, if it has one.
func advised(err error) string {
	text := shortened(err)
	if e, ok := errors.AsType[*money.Error](err); ok && e.Hint() != "" {
		text += " (" + e.Hint() + ")"
	}
	return text
}
