package payout

import (
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// A Currency is what you know of a currency that the service's interface does not say.
type Currency struct {
	Code         string   // as the service writes it in an amount, such as Btc
	Kind         api.Kind // api.Crypto or api.Fiat
	Decimals     int      // 0 to api.MaxDecimals; UnknownDecimals
	MemoRequired bool     // a withdrawal needs a memo
	// AddressFormat is what addresses have to look like, such as bitcoin or ethereum; empty: any. A mistyped address is refused
	// then before money is lost.
	AddressFormat string
}

// UnknownDecimals is the number of decimals of a Currency of which only minor units are known.
const UnknownDecimals = money.Unknown

// Currencies are the fiat currencies with the decimals of ISO 4217, those that the service's interface names, and those that
// NewCurrencies has added. The zero Currencies have nothing added.
type Currencies struct{ registry money.Registry }

// NewCurrencies adds currencies, or replaces those with the same code.
func NewCurrencies(added ...Currency) Currencies {
	entries := make([]money.Entry, len(added))
	for i, c := range added {
		entries[i] = money.Entry(c)
	}
	return Currencies{money.NewRegistry().With(entries...)}
}

// Format writes an amount as a person reads it, such as "25.00 USD", or "1500000 minor Btc" if the decimals are unknown.
func (c Currencies) Format(a api.Amount) string { return c.registry.Format(a) }

// Limits are what a plan may come to. The zero Limits allow everything.
type Limits struct {
	MaxPerWithdrawal []api.Amount `json:"max_per_withdrawal,omitempty"` // the most that one withdrawal may be, by unit
	MaxPerRun        []api.Amount `json:"max_per_run,omitempty"`        // the most that one run may come to, by unit
	AllowAddresses   []string     `json:"allow_addresses,omitempty"`    // the only addresses that may be paid; empty: any
}
