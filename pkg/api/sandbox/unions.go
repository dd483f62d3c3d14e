package sandbox

import (
	"encoding/json"
	"strings"
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

func (c Currency) view() currencyView {
	if c.Kind == fiat {
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
	if c.Kind == fiat {
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
	return newObject(raw, o.at(key), o.err).union()
}

// union reads this object as a Currency.
func (o *object) union() Currency {
	kind, raw := o.oneOfKinds()
	if raw == nil {
		return Currency{}
	}
	code, ok := asString(raw)
	if !ok {
		o.failAt(kind, "must be a currency code in quotes, not %s", jsonType(raw))
		return Currency{}
	}
	return o.lookUp(kind, code)
}

// amount reads an Amount: more than zero minor units of a known currency.
func (o *object) amount(key string) money {
	raw := o.take(key)
	if raw == nil {
		return money{}
	}
	outer := newObject(raw, o.at(key), o.err)
	kind, raw := outer.oneOfKinds()
	if raw == nil {
		return money{}
	}
	inner := newObject(raw, outer.at(kind), o.err)
	if *o.err == nil && len(inner.fields) != 1 {
		inner.failAt("", "must hold exactly one currency code, and has %d", len(inner.fields))
	}
	if *o.err != nil {
		return money{}
	}
	code := sortedKeys(inner.fields)[0]
	c := outer.lookUp(kind, code)
	minor := inner.integer(code)
	if *o.err == nil && minor <= 0 {
		inner.failKind(invalidAmount, code, "must be more than 0 minor units, and is %d", minor)
	}
	return money{c.Code, minor}
}

// oneOfKinds returns the one key, Crypto or Fiat, and what stands under it.
func (o *object) oneOfKinds() (kind string, raw json.RawMessage) {
	if *o.err != nil {
		return "", nil
	}
	for _, kind := range []string{"Crypto", "Fiat"} {
		if raw, ok := o.fields[kind]; ok && len(o.fields) == 1 {
			return kind, raw
		}
	}
	o.failAt("", "must hold exactly one key, either Crypto or Fiat")
	return "", nil
}

// lookUp finds a code of the kind that the key Crypto or Fiat promises.
func (o *object) lookUp(key, code string) Currency {
	kind := strings.ToLower(key)
	c, ok := byCode[code]
	if !ok || c.Kind != kind {
		o.failKind(unknownCurrency, key, "names the currency %q, which is not one of %s", shorten(code), known(kind))
		return Currency{}
	}
	return c
}
