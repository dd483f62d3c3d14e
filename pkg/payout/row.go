package payout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

const (
	maxReference = 140       // characters
	maxRow       = 1<<16 - 1 // bytes, as in a line of a file
)

// A parsedRow is a row of an input, with everything that can be found out about it without other rows.
type parsedRow struct {
	cells sheet.Cells
	line  int
	wrong []Detail
	row   PlanRow
	key   order.Key
}

// parse parses the rows that are well-formed and checks them. It returns those whose order id or content can
// be compared with others. It uses all processors: checking an address takes longer than reading it.
func (m *maker) parse(group []parsedRow) []inputRow {
	var all sync.WaitGroup
	for some := range slices.Chunk(group, 256) {
		all.Go(func() {
			for i := range some {
				r := &some[i]
				if r.wrong == nil {
					r.row, r.wrong = m.parseRow(r.cells, r.line)
				}
				if r.wrong == nil {
					r.key = contentOf(r.row.CreateWithdrawal).Key()
				}
			}
		})
	}
	all.Wait()
	part := make([]inputRow, 0, len(group))
	for i := range group {
		if row := m.checked(&group[i]); row.id != 0 || group[i].wrong == nil {
			part = append(part, row)
		}
	}
	return part
}

// parseRow parses the cells of a row, and returns everything that is wrong with them.
func (m *maker) parseRow(c sheet.Cells, line int) (row PlanRow, wrong []Detail) {
	whole := strings.Join(c[:], "")
	if len(whole) > maxRow {
		return row, sheet.Wrongf(line, "", "it has %d bytes, and a row has at most %d", len(whole), maxRow)
	}
	f := faults{line: line}
	if strings.ContainsFunc(whole, unreadable) {
		f.clean(&c)
	}
	for i, text := range row.Texts(&row.Address, &row.Memo, &row.Callback) {
		*text = c[int(sheet.Address)+i]
	}
	row.Address, row.Reference, row.Line = address.Joined(row.Address), strings.TrimSpace(row.Reference), line
	if n := utf8.RuneCountInString(row.Reference); n > maxReference {
		f.add(sheet.Reference, fmt.Sprintf("it has %d characters, and at most %d are kept", n, maxReference))
	}
	row.ExternalOrderID = c[sheet.OrderID]
	if f.add(sheet.OrderID, m.wrongOrderID(row.ExternalOrderID)); f.in[sheet.OrderID] {
		row.ExternalOrderID = ""
	}
	var err error
	if row.Currency, err = m.money.ParseCurrency(c[sheet.Currency]); c[sheet.Currency] == "" {
		f.add(sheet.Currency, "it is missing: write one such as Btc or Usd")
	}
	f.add(sheet.Currency, advised(err))
	known := !f.in[sheet.Currency]
	if known {
		var col sheet.Column
		if row.Amount, col, err = m.amount(c, row.Currency); !f.in[sheet.Amount] && !f.in[sheet.AmountMinor] && !f.in[sheet.AmountCurrency] {
			f.add(col, advised(err))
		}
	}
	switch {
	case c[sheet.Address] == "":
		f.add(sheet.Address, "it is missing")
	case known:
		f.add(sheet.Address, advised(m.money.CheckAddress(row.Currency, row.Address)))
	}
	switch {
	case !known:
	case m.money.LacksMemo(row.Currency, row.Address, row.Memo):
		f.add(sheet.Memo, fmt.Sprintf("a withdrawal in %s needs one, or it may never arrive: ask the receiver for it", row.Currency.Code))
	default:
		f.add(sheet.Memo, advised(m.money.CheckMemo(row.Currency, row.Address, row.Memo)))
	}
	f.validate(row.CreateWithdrawal)
	return row, f.list
}

// wrongOrderID says what is wrong with an order id, or that there is none.
func (m *maker) wrongOrderID(id string) string {
	switch {
	case m.Batch != "" && id != "":
		return sheet.Quote(id) + " is given, and order ids are to be derived: leave the column out, or --auto-order-id"
	case m.Batch != "": // they are derived
		return ""
	case id == "":
		return "it is missing: number the rows yourself, or let --auto-order-id BATCH do it"
	}
	why := advised(api.CheckOrderID(id))
	if why != "" && money.Rounded(id) {
		why += "; it " + money.RoundedWhy
	}
	return why
}

// faults has what is wrong with a row.
type faults struct {
	line int
	in   [sheet.Columns]bool // which columns have one
	list []Detail
}

// add adds what is wrong with a column, unless nothing is, or something is known to be.
func (f *faults) add(col sheet.Column, why string) {
	if why != "" && !f.in[col] {
		f.in[col] = true
		f.list = append(f.list, Detail{Line: f.line, Field: col.String(), Message: why})
	}
}

// advised returns the text of an error with its hint, if it has one; empty: there is no error.
func advised(err error) string {
	if err == nil {
		return ""
	}
	text := sheet.Shorten(err.Error())
	if e, ok := errors.AsType[*usage.Error](err); ok && e.Hint() != "" {
		text += " (" + e.Hint() + ")"
	}
	return text
}

// clean empties the cells that cannot be read, and adds them.
func (f *faults) clean(c *sheet.Cells) {
	for col, text := range c {
		if i := strings.IndexFunc(text, unreadable); i >= 0 {
			f.add(sheet.Column(col), fmt.Sprintf("%s has a control character or a line break at byte %d", sheet.Quote(text), i))
			c[col] = ""
		}
	}
}

// unreadable reports whether a character is not allowed in any field.
func unreadable(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// amount reads the amount. It may be in two columns if both have the same amount.
func (m *maker) amount(c sheet.Cells, withdrawn api.Currency) (a api.Amount, col sheet.Column, err error) {
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
	case c[sheet.Amount]+c[sheet.AmountMinor] == "":
		return a, sheet.Amount, errors.New("it is missing: write it in amount or, in minor units, in amount_minor")
	case c[sheet.Amount] == "":
		a, err = read(sheet.AmountMinor, m.money.ParseMinor)
		return a, sheet.AmountMinor, err
	}
	a, err = read(sheet.Amount, m.money.ParseAmount)
	if err != nil || c[sheet.AmountMinor] == "" {
		return a, sheet.Amount, err
	}
	minor, err := read(sheet.AmountMinor, m.money.ParseMinor)
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
	switch code := signs[sign]; {
	case code == "":
		return text, nil
	case !strings.EqualFold(code, withdrawn.Code):
		return "", fmt.Errorf("%s has the sign of %s, and %s is withdrawn: write the code instead of the sign if both are meant",
			sheet.Quote(text), code, withdrawn.Code)
	}
	return number, nil
}

// validate adds all errors of a request. Since Validate returns one error at a time, validate replaces the
// wrong field and calls it again.
func (f *faults) validate(r api.CreateWithdrawal) {
	known := f.in
	for range sheet.Columns {
		invalid, ok := errors.AsType[*api.InvalidError](r.Validate())
		if !ok {
			return
		}
		col := sheet.Column(slices.Index(sheet.Names(), invalid.Field))
		switch col {
		case sheet.Currency, sheet.Amount:
			r.Currency, r.Amount = api.FiatCurrency("Usd"), api.FiatAmount("USD", 1)
			if known[sheet.Currency] || known[sheet.Amount] || known[sheet.AmountMinor] {
				continue
			}
		case sheet.Address:
			r.Address = "x"
		case sheet.Memo:
			r.Memo = "1" // valid for any currency
		case sheet.Callback:
			r.Callback = ""
		default:
			col, r.ExternalOrderID = sheet.OrderID, ""
		}
		f.add(col, sheet.Shorten(invalid.Why))
	}
}

// checked checks a row against the limits, and counts it. Of a wrong row it returns only the order id, which
// another row may have too.
func (m *maker) checked(r *parsedRow) inputRow {
	row := inputRow{id: parseID(r.row.ExternalOrderID), line: uint32(r.line)}
	if r.wrong != nil {
		m.wrong.add(r.wrong...)
		return row
	}
	if limit, broken := errors.AsType[*money.LimitError](m.tally.Add(r.row.CreateWithdrawal)); broken {
		m.exceeds(limit, Detail{Line: r.line, Field: limit.Field, Message: sheet.Shorten(limit.Error())})
	}
	m.made.Plan.count(r.row, m.money.DecimalsOf(r.row.Amount.Kind, r.row.Amount.Code))
	row.minor, row.key, row.coin = r.row.Amount.Minor, r.key, m.coinOf(&r.row)
	row.pack(&r.row)
	return row
}

func (m *maker) exceeds(limit *money.LimitError, why Detail) {
	m.over.add(why)
	m.first = cmp.Or(m.first, limit)
}
