package sandbox

import "strings"

// Kind says whether a currency is a crypto currency or a fiat one, spelled as the interface and package api spell it.
type Kind string

// The two kinds of currency.
const (
	Crypto Kind = "Crypto"
	Fiat   Kind = "Fiat"
)

// A Currency is one entry of the sandbox's registry.
type Currency struct {
	Code         string // as in a Currency: Btc, Usd
	Kind         Kind
	Decimals     int  // how many decimals one whole unit has in minor units
	MemoRequired bool // a withdrawal in it must carry a memo
}

// amountCode is the code as an Amount has it: fiat codes are upper
// case there (USD), crypto codes are the same everywhere.
func (c Currency) amountCode() string {
	if c.Kind == Fiat {
		return strings.ToUpper(c.Code)
	}
	return c.Code
}

// registry is in the order in which an automatic swap looks for funds. The rate
// is what one whole unit is worth in Usd until a setting says otherwise.
//
// Eth has 9 decimals (a gwei), not 18: an int64 of wei ends at 9.2 Eth.
var registry = []struct {
	Currency
	rate string
}{
	{Currency{"Btc", Crypto, 8, false}, "60000"},
	{Currency{"Eth", Crypto, 9, false}, "3000"},
	{Currency{"Ltc", Crypto, 8, false}, "80"},
	{Currency{"UsdtErc20", Crypto, 6, false}, "1"},
	{Currency{"UsdtTrc20", Crypto, 6, false}, "1"},
	{Currency{"Xlr", Crypto, 7, true}, "0.1"},
	{Currency{"UsdcXlr", Crypto, 7, true}, "1"},
	{Currency{"Usd", Fiat, 2, false}, "1"},
	{Currency{"Eur", Fiat, 2, false}, "1.08"},
	{Currency{"Gbp", Fiat, 2, false}, "1.27"},
	{Currency{"Jpy", Fiat, 0, false}, "0.0067"},
	{Currency{"Kwd", Fiat, 3, false}, "3.25"},
}

// byCode finds a currency under each spelling it may have on input: Usd and
// USD are one, but btc is not Btc.
var byCode = func() map[string]Currency {
	m := make(map[string]Currency, 2*len(registry))
	for _, c := range registry {
		m[c.Code] = c.Currency
		m[c.amountCode()] = c.Currency
	}
	return m
}()

// Currencies returns the complete registry: every currency that the sandbox
// knows, in the order in which an automatic swap draws on them.
func Currencies() []Currency {
	all := make([]Currency, len(registry))
	for i, c := range registry {
		all[i] = c.Currency
	}
	return all
}

// A place is where a request names a currency.
type place int

const (
	inCurrency place = iota // and in a query parameter
	inAmount
)

// find is the currency that a request means by a code. Without settings every
// currency of the registry is found, in either spelling.
func (s *rules) find(code string, in place) (Currency, bool) {
	if s == nil {
		c, ok := byCode[code]
		return c, ok
	}
	same := func(spelling string) bool {
		return code == spelling || s.codeCase == "any" && strings.EqualFold(code, spelling)
	}
	for _, c := range s.currencies {
		asShown := c.Code
		if in == inAmount {
			asShown = c.amountCode()
		}
		if same(asShown) || s.fiatCodesIn == "either" && (same(c.Code) || same(c.amountCode())) {
			return c, true
		}
	}
	return Currency{}, false
}

// known is the list of codes that find finds, for an error message.
func (s *rules) known(kind Kind) string {
	if s == nil {
		return known(kind)
	}
	var codes []string
	for _, c := range s.currencies {
		if kind == "" || c.Kind == kind {
			codes = append(codes, c.Code)
		}
	}
	return strings.Join(codes, ", ")
}

// known is the list of codes for an error message.
func known(kind Kind) string {
	var codes []string
	for _, c := range registry {
		if kind == "" || c.Kind == kind {
			codes = append(codes, c.Code)
		}
	}
	return strings.Join(codes, ", ")
}
