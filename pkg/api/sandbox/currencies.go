package sandbox

import "example.com/till/pkg/api/sandbox/internal/money"

// Kind is the kind of a currency, crypto or fiat, spelled as in the interface and in
// package api.
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
	Decimals     int  // decimals of one whole unit: 2 means 100 minor units
	MemoRequired bool // a withdrawal in it must carry a memo
}

// Currencies returns the complete registry: every currency that the sandbox knows,
// in the order in which an automatic swap uses them.
func Currencies() []Currency {
	return mapped(money.Registry, func(c money.Currency) Currency {
		return Currency{c.Code, Kind(c.Kind), c.Decimals, c.MemoRequired}
	})
}
