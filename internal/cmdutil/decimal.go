package cmdutil

import (
	"encoding/json"
	"fmt"
	"math/big"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// decimalOf returns the decimal of a decoded amount such as {"Crypto":{"Btc":50000000}}. It returns "" for
// anything else, and if the decimals are unknown.
func decimalOf(m money.Registry, value any) string {
	kind, unit, _ := onlyMember(value)
	code, count, ok := onlyMember(unit)
	if !ok || kind != string(api.Crypto) && kind != string(api.Fiat) {
		return ""
	}
	switch count.(type) {
	case int, *big.Int, json.Number: // as jq and encoding/json decode an integer
	default:
		return ""
	}
	minor, isInteger := new(big.Int).SetString(fmt.Sprint(count), 10)
	decimals := m.DecimalsOf(api.Kind(kind), code)
	if !isInteger || decimals == money.Unknown {
		return ""
	}
	return money.Decimal(minor, decimals)
}

// onlyMember returns the member of an object that has one.
func onlyMember(value any) (name string, member any, ok bool) {
	object, _ := value.(map[string]any)
	if len(object) != 1 {
		return "", nil, false
	}
	for name, member = range object {
	}
	return name, member, true
}
