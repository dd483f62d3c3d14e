// Package money defines the currencies of the sandbox, amounts in minor units, and exact conversion by the
// rate table.
package money

import (
	"math/big"
	"strconv"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

type Kind string

const (
	Crypto Kind = "Crypto"
	Fiat   Kind = "Fiat"
)

type Currency struct {
	Code         string // as in a Currency: Btc, Usd
	Kind         Kind
	Decimals     int    // decimals of one whole unit: 2 means 100 minor units
	MemoRequired bool   // a withdrawal in it must carry a memo
	Rate         string // the default of the setting rates: the value of one whole unit in Usd
}

// AmountCode returns the code as it is in an Amount: fiat codes are in upper case there (USD), crypto codes
// are the same everywhere.
func (c Currency) AmountCode() string {
	if c.Kind == Fiat {
		return strings.ToUpper(c.Code)
	}
	return c.Code
}

// Registry lists the currencies in the order in which an automatic swap uses them.
//
// Eth has 9 decimals (a gwei), not 18: an int64 of wei ends at 9.2 Eth.
var Registry = []Currency{
	{"Btc", Crypto, 8, false, "60000"},
	{"Eth", Crypto, 9, false, "3000"},
	{"Ltc", Crypto, 8, false, "80"},
	{"UsdtErc20", Crypto, 6, false, "1"},
	{"UsdtTrc20", Crypto, 6, false, "1"},
	{"Xlr", Crypto, 7, true, "0.1"},
	{"UsdcXlr", Crypto, 7, true, "1"},
	{"Usd", Fiat, 2, false, "1"},
	{"Eur", Fiat, 2, false, "1.08"},
	{"Gbp", Fiat, 2, false, "1.27"},
	{"Jpy", Fiat, 0, false, "0.0067"},
	{"Kwd", Fiat, 3, false, "3.25"},
}

// ByCode maps each accepted spelling to its currency: Usd and USD are the same, but btc is not Btc.
var ByCode = func() map[string]Currency {
	m := make(map[string]Currency, 2*len(Registry))
	for _, c := range Registry {
		m[c.Code] = c
		m[c.AmountCode()] = c
	}
	return m
}()

func Codes(currencies []Currency, kind Kind) string {
	var codes []string
	for _, c := range currencies {
		if kind == "" || c.Kind == kind {
			codes = append(codes, c.Code)
		}
	}
	return strings.Join(codes, ", ")
}

type Market struct {
	Currencies []Currency          // in the order in which a swap uses them
	UnitValue  map[string]*big.Int // the value of one minor unit, all on one scale
}

// MulDiv returns a*b/c. It is exact until a single rounding: down, or up if up is true.
func MulDiv(a, b, c *big.Int, up bool) *big.Int {
	q, r := new(big.Int).QuoRem(new(big.Int).Mul(a, b), c, new(big.Int))
	if up && r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// Convert returns the value of an amount of one currency in another by the rate table. The amount is in minor
// units and not negative.
func (s *Market) Convert(amount int64, from, to string, up bool) *big.Int {
	if from == to {
		return big.NewInt(amount)
	}
	return MulDiv(big.NewInt(amount), s.UnitValue[from], s.UnitValue[to], up)
}

// Debit converts the amount of a withdrawal to minor units of the withdrawn currency. It rounds a fiat
// equivalent up, so that the withdrawal is never less than requested.
func (s *Market) Debit(amount Amount, code string) (int64, error) {
	debit := s.Convert(amount.Minor, amount.Code, code, true)
	if !debit.IsInt64() {
		return 0, refusal.New(refusal.AmountTooLarge,
			"amount is worth more than an int64 of minor units of %s can hold; ask for less.", code)
	}
	return debit.Int64(), nil
}

type Amount struct {
	Code  string `json:"code"`
	Minor int64  `json:"minor"`
}

// ParseInteger parses an int64 in its canonical form: without a plus sign or a leading zero.
func ParseInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// ParseDecimal parses a decimal that is not negative, such as 0.25, exactly. The result is in steps of
// 10^-decimals.
func ParseDecimal(text string, decimals int) (int64, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if dotted && fraction == "" || len(fraction) > decimals {
		return 0, false
	}
	if _, ok := ParseInteger(whole); !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
	return int64(n), err == nil
}

// Format formats minor units, which must not be negative, as whole units: 2501 with two decimals is 25.01.
func Format(minor int64, decimals int) string {
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
