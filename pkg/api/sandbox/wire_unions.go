package sandbox

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// The shapes of section 2.1. Plain structs and a one-key map: encoding/json
// writes them without any help.
type currencyView struct {
	Crypto string `json:"Crypto,omitempty"`
	Fiat   string `json:"Fiat,omitempty"`
}

type amountView struct {
	Crypto map[string]int64 `json:"Crypto,omitempty"`
	Fiat   map[string]int64 `json:"Fiat,omitempty"`
}

func viewCurrency(c money.Currency) currencyView {
	if c.Kind == money.Fiat {
		return currencyView{Fiat: c.Code}
	}
	return currencyView{Crypto: c.Code}
}

func viewAmount(m money.Amount) amountView {
	c := money.ByCode[m.Code]
	value := map[string]int64{c.AmountCode(): m.Minor}
	if c.Kind == money.Fiat {
		return amountView{Fiat: value}
	}
	return amountView{Crypto: value}
}

// currency reads a Currency of the registry.
func (o *object) currency(key string) money.Currency {
	raw := o.take(key)
	if raw == nil {
		return money.Currency{}
	}
	return o.inner(raw, o.at(key)).union()
}

// union reads this object as a Currency.
func (o *object) union() money.Currency {
	kind, raw := o.oneOfKinds()
	if raw == nil {
		return money.Currency{}
	}
	code, ok := asString(raw)
	if !ok {
		o.failAt(kind, "must be a currency code in quotes, not %s", jsonType(raw))
		return money.Currency{}
	}
	return o.lookUp(kind, code, inCurrency)
}

// amount reads an Amount: more than zero minor units of a known currency.
func (o *object) amount(key string) money.Amount {
	raw := o.take(key)
	if raw == nil {
		return money.Amount{}
	}
	outer := o.inner(raw, o.at(key))
	kind, raw := outer.oneOfKinds()
	if raw == nil {
		return money.Amount{}
	}
	inner := outer.inner(raw, outer.at(kind))
	if *o.err == nil && len(inner.fields) != 1 {
		inner.failAt("", "must hold exactly one currency code, and has %d", len(inner.fields))
	}
	if *o.err != nil {
		return money.Amount{}
	}
	code := slices.Sorted(maps.Keys(inner.fields))[0]
	c := outer.lookUp(kind, code, inAmount)
	minor := inner.integer(code)
	if *o.err == nil && minor <= 0 {
		inner.failKind(refusal.InvalidAmount, code, "must be more than 0 minor units, and is %d", minor)
	}
	inner.checkBounds(code, minor)
	return money.Amount{Code: c.Code, Minor: minor}
}

// oneOfKinds returns the one key, crypto or Fiat, and its value.
func (o *object) oneOfKinds() (kind string, raw json.RawMessage) {
	if *o.err != nil {
		return "", nil
	}
	for _, kind := range []string{money.Crypto, money.Fiat} {
		if raw, ok := o.fields[kind]; ok && len(o.fields) == 1 {
			return kind, raw
		}
	}
	o.failAt("", "must hold exactly one key, either Crypto or Fiat")
	return "", nil
}

// checkBounds holds an amount against the bounds that the settings set.
func (o *object) checkBounds(key string, minor int64) {
	if o.rules != nil && (minor < o.rules.minAmount || minor > o.rules.maxAmount) {
		o.failKind(refusal.InvalidAmount, key, "must be from %d to %d minor units, and is %d", o.rules.minAmount, o.rules.maxAmount, minor)
	}
}

// lookUp finds a code of the kind that the key Crypto or Fiat promises.
func (o *object) lookUp(kind string, code string, in place) money.Currency {
	c, ok := o.rules.find(code, in)
	if !ok || c.Kind != kind {
		o.failKind(refusal.UnknownCurrency, kind, "names the currency %q, which is not one of %s", refusal.Shorten(code), o.rules.known(kind))
		return money.Currency{}
	}
	return c
}

// A place is where a request names a currency.
type place int

const (
	inCurrency place = iota // and in a query parameter
	inAmount
)

// find is the currency that a request means by a code. Without settings every
// currency of the registry is found, in either spelling.
func (s *rules) find(code string, in place) (money.Currency, bool) {
	if s == nil {
		c, ok := money.ByCode[code]
		return c, ok
	}
	same := func(spelling string) bool {
		return code == spelling || s.codeCase == "any" && strings.EqualFold(code, spelling)
	}
	for _, c := range s.Currencies {
		asShown := c.Code
		if in == inAmount {
			asShown = c.AmountCode()
		}
		if same(asShown) || s.fiatCodesIn == "either" && (same(c.Code) || same(c.AmountCode())) {
			return c, true
		}
	}
	return money.Currency{}, false
}

// known is the list of codes that find finds, for an error message.
func (s *rules) known(kind string) string {
	if s == nil {
		return money.Codes(kind)
	}
	var codes []string
	for _, c := range s.Currencies {
		if kind == "" || c.Kind == kind {
			codes = append(codes, c.Code)
		}
	}
	return strings.Join(codes, ", ")
}
