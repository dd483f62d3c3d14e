package api

import "testing"

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
