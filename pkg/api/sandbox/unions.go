package sandbox

import "encoding/json"

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

func (c Currency) view() currencyView {
	if c.Kind == Fiat {
		return currencyView{Fiat: c.Code}
	}
	return currencyView{Crypto: c.Code}
}

// money is a number of minor units of one currency, named as in the registry.
type money struct {
	Code  string `json:"code"`
	Minor int64  `json:"minor"`
}

func (m money) view() amountView {
	c := byCode[m.Code]
	value := map[string]int64{c.amountCode(): m.Minor}
	if c.Kind == Fiat {
		return amountView{Fiat: value}
	}
	return amountView{Crypto: value}
}

// currency reads a Currency of the registry.
func (o *object) currency(key string) Currency {
	raw := o.take(key)
	if raw == nil {
		return Currency{}
	}
	return o.inner(raw, o.at(key)).union()
}

// union reads this object as a Currency.
func (o *object) union() Currency {
	kind, raw := o.oneOfKinds()
	if raw == nil {
		return Currency{}
	}
	code, ok := asString(raw)
	if !ok {
		o.failAt(string(kind), "must be a currency code in quotes, not %s", jsonType(raw))
		return Currency{}
	}
	return o.lookUp(kind, code, inCurrency)
}

// amount reads an Amount: more than zero minor units of a known currency.
func (o *object) amount(key string) money {
	raw := o.take(key)
	if raw == nil {
		return money{}
	}
	outer := o.inner(raw, o.at(key))
	kind, raw := outer.oneOfKinds()
	if raw == nil {
		return money{}
	}
	inner := outer.inner(raw, outer.at(string(kind)))
	if *o.err == nil && len(inner.fields) != 1 {
		inner.failAt("", "must hold exactly one currency code, and has %d", len(inner.fields))
	}
	if *o.err != nil {
		return money{}
	}
	code := sortedKeys(inner.fields)[0]
	c := outer.lookUp(kind, code, inAmount)
	minor := inner.integer(code)
	if *o.err == nil && minor <= 0 {
		inner.failKind(invalidAmount, code, "must be more than 0 minor units, and is %d", minor)
	}
	inner.checkBounds(code, minor)
	return money{c.Code, minor}
}

// oneOfKinds returns the one key, Crypto or Fiat, and its value.
func (o *object) oneOfKinds() (kind Kind, raw json.RawMessage) {
	if *o.err != nil {
		return "", nil
	}
	for _, kind := range []Kind{Crypto, Fiat} {
		if raw, ok := o.fields[string(kind)]; ok && len(o.fields) == 1 {
			return kind, raw
		}
	}
	o.failAt("", "must hold exactly one key, either Crypto or Fiat")
	return "", nil
}

// checkBounds holds an amount against the bounds that the settings set.
func (o *object) checkBounds(key string, minor int64) {
	if o.rules != nil && (minor < o.rules.minAmount || minor > o.rules.maxAmount) {
		o.failKind(invalidAmount, key, "must be from %d to %d minor units, and is %d", o.rules.minAmount, o.rules.maxAmount, minor)
	}
}

// lookUp finds a code of the kind that the key Crypto or Fiat promises.
func (o *object) lookUp(kind Kind, code string, in place) Currency {
	c, ok := o.rules.find(code, in)
	if !ok || c.Kind != kind {
		o.failKind(unknownCurrency, string(kind), "names the currency %q, which is not one of %s", shorten(code), o.rules.known(kind))
		return Currency{}
	}
	return c
}
