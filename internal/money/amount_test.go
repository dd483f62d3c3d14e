package money

import (
	"errors"
	"strings"
	"testing"

	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

// known returns the built-in registry with the decimals of Btc and Xlr set.
func known() Registry {
	return NewRegistry().With(
		Entry{Code: "Btc", Kind: api.Crypto, Decimals: 8},
		Entry{Code: "Xlr", Kind: api.Crypto, Decimals: 7},
	)
}

var (
	none = api.Currency{}
	btc  = api.Currency{Kind: api.Crypto, Code: "Btc"}
	usdt = api.Currency{Kind: api.Crypto, Code: "UsdtErc20"}
	usd  = api.Currency{Kind: api.Fiat, Code: "Usd"}
)

func crypt(code string, minor int64) api.Amount { return api.CryptoAmount(code, minor) }
func fia(code string, minor int64) api.Amount   { return api.FiatAmount(code, minor) }

func TestParse(t *testing.T) {
	doge, max := api.Currency{Kind: api.Crypto, Code: "Doge"}, int64(9223372036854775807)
	for _, c := range []struct {
		text      string
		withdrawn api.Currency
		minor     bool
		want      api.Amount
	}{
		{"25.00 USD", btc, false, fia("USD", 2500)},
		{"25.5 Usd", btc, false, fia("USD", 2550)},
		{"0.015 Btc", btc, false, crypt("Btc", 1_500_000)},
		{"0.015 crypto:btc", btc, false, crypt("Btc", 1_500_000)},
		{"0.015", api.Currency{Kind: api.Crypto, Code: "BTC"}, false, crypt("Btc", 1_500_000)},
		{"25", usd, false, fia("USD", 2500)},
		{"25 EUR", usd, false, fia("EUR", 2500)}, // a fiat equivalent
		{"25 fiat:eur", usd, false, fia("EUR", 2500)},
		{"1.234 KWD", btc, false, fia("KWD", 1234)},
		{"92233720368547758.07 USD", none, false, fia("USD", max)},

		{"2500 USD", btc, true, fia("USD", 2500)},
		{"2500", usd, true, fia("USD", 2500)},
		{"1500000 btc", btc, true, crypt("Btc", 1_500_000)},
		{"7", doge, true, crypt("Doge", 7)},
		{"7 crypto:Doge", doge, true, crypt("Doge", 7)},
		{"9223372036854775807", btc, true, crypt("Btc", max)},
	} {
		parse := known().ParseAmount
		if c.minor {
			parse = NewRegistry().ParseMinor
		}
		if got, err := parse(c.text, c.withdrawn); err != nil || got != c.want {
			t.Errorf("%q of %v is %v, %v; want %v", c.text, c.withdrawn, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	ours, zero := known(), NewRegistry()
	for _, c := range []struct {
		text      string
		withdrawn api.Currency
		parse     func(string, api.Currency) (api.Amount, error)
		says      string // a part of the sentence, or of the hint
	}{
		{"", btc, ours.ParseAmount, "is empty"},
		{" ", btc, ours.ParseAmount, "is empty"},
		{"0.015Btc", btc, ours.ParseAmount, "write 0.015 Btc"},
		{"25.000 USD", btc, ours.ParseAmount, "has 3 decimals, and the currency has 2"},
		{"1,000 USD", btc, ours.ParseAmount, "separator"},
		{"0 USD", btc, ours.ParseAmount, "is zero"},
		{"-5 USD", btc, ours.ParseAmount, "is negative"},
		{"92233720368547758.08 USD", btc, ours.ParseAmount, "too large: at most 92233720368547758.07"},
		{"$25", usd, ours.ParseAmount, "not a number"},
		{"25  USD", btc, ours.ParseAmount, `too many spaces: write "25 USD"`},
		{"25\tUSD", btc, ours.ParseAmount, "other than plain digits"},
		{"25 US D", btc, ours.ParseAmount, "too many parts"},
		{"USD 25", btc, ours.ParseAmount, "write 25 USD"},
		{"USD 9", btc, ours.ParseAmount, "begins with the code: write 9 USD"},
		{"USD 0.5", btc, ours.ParseAmount, "begins with the code: write 0.5 USD"},
		{"USD EUR", btc, ours.ParseAmount, "not a number"},
		{"1 000", btc, ours.ParseAmount, "has a space in the number: write 1000"},
		{"25", none, ours.ParseAmount, "has no currency"},
		{"25 crypto:Usd", btc, ours.ParseAmount, "is wrong, because USD is known as a fiat currency: write Usd"},
		{"0.5 Xlr", btc, ours.ParseAmount, "is in Xlr, and Btc is withdrawn: give it in Btc or in a fiat currency"},
		{"0.5 Btc", usd, ours.ParseAmount, "is in Btc, and Usd is withdrawn: give it in USD"},
		{"1.5", usdt, ours.ParseAmount, "decimals of UsdtErc20 are not known"},
		{strings.Repeat("1", 100), usd, ours.ParseAmount, "too large"},
		{strings.Repeat("1", 101), usd, ours.ParseAmount, strings.Repeat("1", 60) + `"... is too long`},
		{strings.Repeat("1", 55) + " US D", usd, ours.ParseAmount, `US D" has too many parts`},

		{"0.015 Btc", none, zero.ParseAmount, "till currency set Btc --decimals 8"},
		{"1 Xlr", none, zero.ParseAmount, "till currency set Xlr --decimals 7"},
		{"1 ISK", none, zero.ParseAmount, "because payment services count ISK with different decimals"},
		{"1 usdterc20", none, zero.ParseAmount, "till currency set UsdtErc20 --decimals 6"},
		{"1 crypto:Doge", none, zero.ParseAmount, "till currency set Doge --kind crypto --decimals N"},
		{"1 Doge", none, zero.ParseAmount, "as crypto or fiat: till currency set Doge --kind KIND --decimals N"},

		{"25.00 USD", btc, zero.ParseMinor, "decimal point"},
		{"0", btc, zero.ParseMinor, "is zero"},
		{"2500USD", btc, zero.ParseMinor, "write 2500 USD"},
		{"7 Doge", btc, zero.ParseMinor, "write crypto:Doge or fiat:Doge"},
		{"7 crypto:Doge", btc, zero.ParseMinor, "is in Doge, and Btc is withdrawn"},
	} {
		got, err := c.parse(c.text, c.withdrawn)
		e, is := errors.AsType[*usage.Error](err)
		if !is || got != (api.Amount{}) || !strings.Contains(e.Msg+" "+e.Hint(), c.says) {
			t.Errorf("%q of %v is %v, %v; want a *usage.Error with %q", c.text, c.withdrawn, got, err, c.says)
		}
	}
}

func TestFormat(t *testing.T) {
	for want, a := range map[string]api.Amount{
		"25.00 USD": fia("USD", 2500), "-0.05 USD": fia("USD", -5), "100 JPY": fia("JPY", 100),
		"0.01500000 Btc": crypt("BTC", 1_500_000), "7 minor UsdtErc20": crypt("usdterc20", 7), "7 minor ZZZ": fia("zzz", 7),
		"2500 minor USD": crypt("USD", 2500), // a crypto currency of that name is not the dollar
	} {
		if got := known().Format(a); got != want {
			t.Errorf("Format(%v) = %q, want %q", a, got, want)
		}
	}
}

func TestParseItem(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       api.Amount
	}{
		{"Coffee=2.50", "Coffee", fia("USD", 250)},
		{"Coffee=2.50 USD", "Coffee", fia("USD", 250)},
		{"E=mc2=1", "E=mc2", fia("USD", 100)},
		{" Große Tasse =1", " Große Tasse ", fia("USD", 100)},
	} {
		name, got, err := known().ParseItem(c.text, usd, false)
		if err != nil || name != c.name || got != c.want {
			t.Errorf("ParseItem(%q) = %q, %v, %v; want %q, %v", c.text, name, got, err, c.name, c.want)
		}
	}
	for text, says := range map[string]string{
		"Coffee":             "has no amount: write NAME=AMOUNT",
		"=2.50":              "has no name",
		" =2.50":             "has no name",
		"Coffee=":            "is empty",
		"Coffee=2.50 EUR":    "is in EUR, and the invoice is in Usd: give it in USD",
		"Coffee=2.505":       `the item "Coffee": the amount "2.505" has 3 decimals`,
		"Coffee=0":           "is zero",
		"Cof\nfee=1":         "control characters",
		"Coffee=0.00001 Btc": "is in Btc",
	} {
		if name, got, err := known().ParseItem(text, usd, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseItem(%q) = %q, %v, %v; want an error that says %q", text, name, got, err, says)
		}
	}
	if name, got, err := NewRegistry().ParseItem("Coffee=2500", btc, true); name != "Coffee" || got != crypt("Btc", 2500) {
		t.Errorf("%q, %v, %v", name, got, err)
	}
	_, _, err := NewRegistry().ParseItem("Coffee=2500", btc, false)
	if e, ok := err.(*usage.Error); !ok || !strings.HasSuffix(e.Hint(), "till currency set Btc --decimals 8") {
		t.Errorf("the hint is lost: %#v", err)
	}
}
