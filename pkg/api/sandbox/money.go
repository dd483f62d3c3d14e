package sandbox

import (
	"math/big"
	"strconv"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// The two kinds of currency.
const (
	crypto = "Crypto"
	fiat   = "Fiat"
)

// A currency is one entry of the registry.
type currency struct {
	Code         string // as in a Currency: Btc, Usd
	Kind         string
	Decimals     int
	MemoRequired bool
}

// amountCode is the code as an Amount has it: fiat codes are upper
// case there (USD), crypto codes are the same everywhere.
func (c currency) amountCode() string {
	if c.Kind == fiat {
		return strings.ToUpper(c.Code)
	}
	return c.Code
}

// registry is in the order in which an automatic swap looks for funds. The rate
// is what one whole unit is worth in Usd until a setting says otherwise.
//
// Eth has 9 decimals (a gwei), not 18: an int64 of wei ends at 9.2 Eth.
var registry = []struct {
	currency
	rate string
}{
	{currency{"Btc", crypto, 8, false}, "60000"},
	{currency{"Eth", crypto, 9, false}, "3000"},
	{currency{"Ltc", crypto, 8, false}, "80"},
	{currency{"UsdtErc20", crypto, 6, false}, "1"},
	{currency{"UsdtTrc20", crypto, 6, false}, "1"},
	{currency{"Xlr", crypto, 7, true}, "0.1"},
	{currency{"UsdcXlr", crypto, 7, true}, "1"},
	{currency{"Usd", fiat, 2, false}, "1"},
	{currency{"Eur", fiat, 2, false}, "1.08"},
	{currency{"Gbp", fiat, 2, false}, "1.27"},
	{currency{"Jpy", fiat, 0, false}, "0.0067"},
	{currency{"Kwd", fiat, 3, false}, "3.25"},
}

// byCode finds a currency under each spelling it may have on input: Usd and
// USD are one, but btc is not Btc.
var byCode = func() map[string]currency {
	m := make(map[string]currency, 2*len(registry))
	for _, c := range registry {
		m[c.Code] = c.currency
		m[c.amountCode()] = c.currency
	}
	return m
}()

// known is the list of codes for an error message.
func known(kind string) string {
	var codes []string
	for _, c := range registry {
		if kind == "" || c.Kind == kind {
			codes = append(codes, c.Code)
		}
	}
	return strings.Join(codes, ", ")
}

// A market is the currencies that there are and what each is worth.
type market struct {
	currencies []currency          // in the order in which a swap draws on them
	unitValue  map[string]*big.Int // what one minor unit is worth, all on one scale
}

// mulDiv is a*b/c, exact until its single rounding: down, or up when asked.
func mulDiv(a, b, c *big.Int, up bool) *big.Int {
	q, r := new(big.Int).QuoRem(new(big.Int).Mul(a, b), c, new(big.Int))
	if up && r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// convert says what amount (minor units, not negative) of one currency is worth
// in another by the rate table.
func (s *market) convert(amount int64, from, to string, up bool) *big.Int {
	if from == to {
		return big.NewInt(amount)
	}
	return mulDiv(big.NewInt(amount), s.unitValue[from], s.unitValue[to], up)
}

// debit turns the amount of a withdrawal into minor units of the withdrawn
// currency. A fiat equivalent is rounded up: never less leaves than was asked.
func (s *market) debit(amount money, code string) (int64, error) {
	debit := s.convert(amount.Minor, amount.Code, code, true)
	if !debit.IsInt64() {
		return 0, refusal.New(refusal.AmountTooLarge, "amount is worth more than an int64 of minor units of %s can hold; ask for less.", code)
	}
	return debit.Int64(), nil
}

// money is a number of minor units of one currency, named as in the registry.
type money struct {
	Code  string `json:"code"`
	Minor int64  `json:"minor"`
}

// parseInteger reads a whole number in its one spelling: no sign but a minus,
// no leading zero, nothing beyond int64.
func parseInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// parseDecimal reads a decimal that is not negative, such as 0.25, exactly, in
// steps of 10^-decimals.
func parseDecimal(text string, decimals int) (int64, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if dotted && fraction == "" || len(fraction) > decimals {
		return 0, false
	}
	if _, ok := parseInteger(whole); !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
	return int64(n), err == nil
}

// decimal writes minor units, which are not negative, in whole units: 2501 with
// two decimals is 25.01.
func decimal(minor int64, decimals int) string {
	digits := strconv.FormatInt(minor, 10)
	if decimals == 0 {
		return digits
	}
	if short := decimals + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - decimals
	return digits[:point] + "." + digits[point:]
}
