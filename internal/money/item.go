package money

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/till/pkg/api"
)

// ParseItem reads an item of an invoice, NAME=AMOUNT, such as "Coffee=2.50", "Coffee=2.50 USD" or, in minor
// units, "Coffee=250". A name may contain the sign = and an amount never does, so the last one separates them.
// The amount must be in the invoice's currency.
func (r Registry) ParseItem(text string, invoice api.Currency, minor bool) (string, api.Amount, error) {
	parse, example := r.ParseAmount, "2.50"
	if minor {
		parse, example = r.ParseMinor, "250"
	}
	fail := func(format string, args ...any) (string, api.Amount, error) {
		return "", api.Amount{}, wrong("the item "+quote(text)+" "+format, args...)
	}
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return fail("has no amount: write NAME=AMOUNT, such as Coffee=%s", example)
	}
	name := text[:i]
	switch {
	case strings.TrimSpace(name) == "":
		return fail("has no name: write NAME=AMOUNT, such as Coffee=%s", example)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fail("has control characters in its name: write it as plain text")
	}
	amount, err := parse(text[i+1:], invoice)
	if err != nil {
		named := &Error{What: "the item " + quote(name) + ": " + err.Error()}
		if e, ok := err.(*Error); ok {
			named.Advice, named.Command = e.Advice, e.Command
		}
		return "", api.Amount{}, named
	}
	if !sameUnit(amount.Kind, amount.Code, invoice.Kind, invoice.Code) {
		return fail("is in %s, and the invoice is in %s: give it in %s", amount.Code, invoice.Code,
			amountSpelling(invoice.Kind, invoice.Code))
	}
	return name, amount, nil
}
