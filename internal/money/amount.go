package money

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

const maxAmount = 100 // bytes; 19 digits, a point, a space and crypto:CODE are fewer

// ParseAmount reads a decimal amount, such as "25.00 USD", or "0.015" in the withdrawn currency. If withdrawn
// is the zero Currency, nothing is withdrawn: the text must have a code, which can be any.
func (r Registry) ParseAmount(text string, withdrawn api.Currency) (api.Amount, error) {
	return r.parse(text, withdrawn, false)
}

// ParseMinor reads a whole number of minor units, such as "2500 USD", or "2500" in the withdrawn currency. It
// needs no decimals, so it accepts every currency. See ParseAmount for the zero Currency.
func (r Registry) ParseMinor(text string, withdrawn api.Currency) (api.Amount, error) {
	return r.parse(text, withdrawn, true)
}

func (r Registry) parse(text string, withdrawn api.Currency, minor bool) (api.Amount, error) {
	number, e, err := r.split(text, withdrawn)
	decimals := e.Decimals
	switch {
	case err != nil:
		return api.Amount{}, err
	case minor && strings.Contains(number, "."):
		return api.Amount{},
			usage.Errorf("the amount %q has a decimal point, and minor units are a whole number: write all digits without a point, or give it as a decimal amount", text)
	case minor:
		decimals = 0
	case decimals == Unknown:
		return api.Amount{}, r.unknownDecimals(text, e)
	}
	switch n, err := api.ParseDecimal(number, decimals); {
	case err != nil:
		return api.Amount{}, usage.Errorf("the amount %v", err)
	case n == 0:
		return api.Amount{}, usage.Errorf("the amount %q is zero: write one that is greater", text)
	default:
		return e.Amount(n), nil
	}
}

// split cuts an amount into its number, not yet parsed, and its currency, which may differ from the withdrawn
// one.
func (r Registry) split(text string, withdrawn api.Currency) (string, Entry, error) {
	fail := func(format string, args ...any) (string, Entry, error) {
		return "", Entry{}, usage.Errorf("the amount %s "+format, append([]any{quote(text)}, args...)...)
	}
	switch {
	case strings.Trim(text, " ") == "":
		return fail("is empty: write it as 25.00 USD")
	case len(text) > maxAmount:
		return fail("is too long: write digits, one space and a code, such as 25.00 USD")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }):
		return fail("has characters other than plain digits, letters and one space: write it as 25.00 USD")
	}
	number, code, spaced := strings.Cut(text, " ")
	if !spaced {
		e, err := r.implied(text, withdrawn)
		return number, e, err
	}
	fields, digits := strings.Fields(text), 0
	for digits < len(fields) && strings.Trim(fields[digits], "0123456789.") == "" {
		digits++
	}
	switch {
	case digits > 1:
		whole := append([]string{strings.Join(fields[:digits], "")}, fields[digits:]...)
		return fail("has a space in the number: write %s", strings.Join(whole, " "))
	case len(fields) > 2:
		return fail("has too many parts: write the number, one space and the code, such as 25.00 USD")
	case strings.Join(fields, " ") != text:
		return fail("has too many spaces: write %q", strings.Join(fields, " "))
	case !isDigit(number[0]) && isDigit(code[0]) && ValidCode(number):
		return fail("begins with the code: write %s %s", code, number)
	}
	e, err := r.parseCode(code)
	if err != nil {
		return "", Entry{}, err
	}
	if e.Kind == crypto && withdrawn != (api.Currency{}) && !sameUnit(e.Currency(), withdrawn) {
		also := ""
		if withdrawn.Kind == crypto {
			also = " or in a fiat currency"
		}
		return fail("is in %s, and %s is withdrawn: give it in %s%s", e.Code, withdrawn.Code,
			amountSpelling(withdrawn.Kind, withdrawn.Code), also)
	}
	return number, e, nil
}

// implied returns the currency of an amount without a code, which is the withdrawn one.
func (r Registry) implied(text string, withdrawn api.Currency) (Entry, error) {
	code := strings.TrimLeft(text, "0123456789.")
	if _, known := r.Lookup(code); known && code != text {
		return Entry{}, usage.Errorf("the amount %s has no space before the code: write %s %s", quote(text), strings.TrimSuffix(text, code), code)
	}
	if withdrawn == (api.Currency{}) {
		return Entry{}, usage.Errorf("the amount %s has no currency: write the code after one space, such as 25.00 USD", quote(text))
	}
	return r.entry(withdrawn), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func sameUnit(a, b api.Currency) bool { return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code) }

// unknownDecimals shows the command that sets the decimals. It suggests the customary number if there is one,
// but as a condition: only the user can know how the service counts.
func (r Registry) unknownDecimals(text string, e Entry) error {
	command := "till currency set " + e.Code
	if _, known := r.Lookup(e.Code); !known {
		command += " --kind " + strings.ToLower(string(e.Kind))
	}
	number, n := "N", customaryDecimals(e)
	if n != Unknown {
		number = strconv.Itoa(n)
	}
	why := "the decimals of " + e.Code + " are not known"
	if e.Kind == fiat && n != Unknown {
		why = "payment services count " + e.Code + " with different decimals"
	}
	advice := fmt.Sprintf("if the service counts %s with %s decimals: %s --decimals %s", e.Code, number,
		command, number)
	return &usage.Error{
		Msg:    fmt.Sprintf("the amount %q cannot be counted, because %s: give it in minor units, or say how many decimals %s has", text, why, e.Code),
		Advice: advice,
	}
}

func customaryDecimals(e Entry) int {
	if n, known := map[string]int{"btc": 8, "usdterc20": 6, "xlr": 7}[fold(e.Code)]; known && e.Kind == crypto {
		return n
	}
	if e.Kind == fiat {
		return ISODecimals(e.Code)
	}
	return Unknown
}

// Decimal writes a count of minor units of any size as an exact decimal. api.FormatDecimal does it for 64
// bits.
func Decimal(minor *big.Int, decimals int) string {
	if minor.IsInt64() {
		return api.FormatDecimal(minor.Int64(), decimals)
	}
	whole := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return new(big.Rat).SetFrac(minor, whole).FloatString(decimals)
}

// FormatSum writes a sum in a currency as Format writes an amount. Decimals may be Unknown.
func FormatSum(minor *big.Int, code string, decimals int) string {
	if decimals == Unknown {
		return fmt.Sprintf("%d minor %s", minor, code)
	}
	return Decimal(minor, decimals) + " " + code
}

// Format writes an amount as ParseAmount reads it, such as "25.00 USD", with the registry's spelling of the
// code. If the decimals are unknown, it writes the count and the word minor: "1500000 minor Btc".
func (r Registry) Format(a api.Amount) string { return r.FormatBig(api.Big(a)) }

// FormatBig writes an amount of any size as Format does.
func (r Registry) FormatBig(a api.BigAmount) string {
	e := r.entry(a.Unit())
	return FormatBig(api.BigAmount{Code: amountSpelling(e.Kind, e.Code), Minor: a.Minor}, e.Decimals)
}

// FormatBig writes an amount of any size as FormatSum does.
func FormatBig(a api.BigAmount, decimals int) string {
	if n, fits := a.Minor.Int64(); fits && decimals != Unknown { // most are, and need no big.Int
		return api.FormatDecimal(n, decimals) + " " + a.Code
	}
	return FormatSum(a.Minor.Big(), a.Code, decimals)
}

// ParseItem reads an item of an invoice, NAME=AMOUNT, such as "Coffee=2.50", "Coffee=2.50 USD" or, in minor
// units, "Coffee=250". A name may contain the sign = and an amount never does, so the last one separates them.
// The amount must be in the invoice's currency.
func (r Registry) ParseItem(text string, invoice api.Currency, minor bool) (string, api.Amount, error) {
	parse, example := r.ParseAmount, "2.50"
	if minor {
		parse, example = r.ParseMinor, "250"
	}
	fail := func(format string, args ...any) (string, api.Amount, error) {
		return "", api.Amount{}, usage.Errorf("the item "+quote(text)+" "+format, args...)
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
	if wrong, is := errors.AsType[*usage.Error](err); is {
		wrong.Msg = "the item " + quote(name) + ": " + wrong.Msg
		return "", api.Amount{}, wrong
	}
	if !sameUnit(amount.Unit(), invoice) {
		return fail("is in %s, and the invoice is in %s: give it in %s", amount.Code, invoice.Code,
			amountSpelling(invoice.Kind, invoice.Code))
	}
	return name, amount, nil
}
