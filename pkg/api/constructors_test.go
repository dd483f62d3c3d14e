package api

import (
	"testing"

	"example.com/till/pkg/api/sandbox"
)

func TestConstructors(t *testing.T) {
	for got, want := range map[any]any{
		CryptoCurrency("Btc"): Currency{Crypto, "Btc"}, FiatCurrency("Usd"): Currency{Fiat, "Usd"},
		CryptoAmount("Btc", 5): Amount{Crypto, "Btc", 5}, FiatAmount("USD", -1): Amount{Fiat, "USD", -1},
	} {
		if got != want {
			t.Errorf("got %#v, want %#v", got, want)
		}
	}
}

// TestKindsAreSpelledAlike checks that the sandbox spells kinds as this package does. Neither imports the
// other.
func TestKindsAreSpelledAlike(t *testing.T) {
	for _, c := range sandbox.Currencies() {
		if kind, err := parseKind(string(c.Kind)); err != nil || kind != Crypto && c.Kind == sandbox.Crypto ||
			kind != Fiat && c.Kind == sandbox.Fiat {
			t.Errorf("%s is %q: %v", c.Code, c.Kind, err)
		}
	}
}
