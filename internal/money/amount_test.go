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

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text      string
		withdrawn api.Currency
		want      api.Amount
	}{
		{"25.00 USD", btc, fia("USD", 2500)},
		{"25.5 Usd", btc, fia("USD", 2550)},
		{"0.015 Btc", btc, crypt("Btc", 1_500_000)},
		{"0.015 crypto:btc", btc, crypt("Btc", 1_500_000)},
		{"0.015", btc, crypt("Btc", 1_500_000)},
		{"0.015", api.Currency{Kind: api.Crypto, Code: "BTC"}, crypt("Btc", 1_500_000)},
		{"25", usd, fia("USD", 2500)},
		{"25 EUR", usd, fia("EUR", 2500)}, // a fiat equivalent
		{"25 fiat:eur", usd, fia("EUR", 2500)},
		{"100 JPY", btc, fia("JPY", 100)},
		{"1.234 KWD", btc, fia("KWD", 1234)},
		{"0.01 USD", none, fia("USD", 1)},
		{"92233720368547758.07 USD", none, fia("USD", 9223372036854775807)},
	} {
		got, err := known().ParseAmount(c.text, c.withdrawn)
		if err != nil || got != c.want {
			t.Errorf("ParseAmount(%q, %v) = %v, %v; want %v", c.text, c.withdrawn, got, err, c.want)
		}
	}
}

func TestParseAmountRefuses(t *testing.T) {
	for _, c := range []struct {
		text      string
		withdrawn api.Currency
		says      string // a part of the sentence
	}{
		{"", btc, "is empty"},
		{" ", btc, "is empty"},
		{"0.015Btc", btc, "write 0.015 Btc"},
		{"25.000 USD", btc, "has 3 decimals, and the currency has 2"},
		{"1,000 USD", btc, "separator"},
		{"0 USD", btc, "is zero"},
		{"0.00", usd, "is zero"},
		{"-5 USD", btc, "is negative"},
		{"92233720368547758.08 USD", btc, "too large: at most 92233720368547758.07"},
		{"$25", usd, "not a number"},
		{"25  USD", btc, `too many spaces: write "25 USD"`},
		{"25\tUSD", btc, "other than plain digits"},
		{"２５ USD", btc, "other than plain digits"},
		{"25 US D", btc, "too many parts"},
		{"USD 25", btc, "write 25 USD"},
		{"25", none, "has no currency"},
		{"25 Doge", btc, `"Doge" is not known`},
		{"25 crypto:Usd", btc, "is wrong, because USD is known as a fiat currency: write Usd"},
		{"0.5 Xlr", btc, "is in Xlr, and Btc is withdrawn: give it in Btc or in a fiat currency"},
		{"0.5 Btc", usd, "is in Btc, and Usd is withdrawn: give it in USD"},
		{"1.5", usdt, "decimals of UsdtErc20 are not known"},
		{"1.5 fiat:Zzz", btc, "decimals of ZZZ are not known"},
		{strings.Repeat("1", 101), usd, "too long"},
	} {
		got, err := known().ParseAmount(c.text, c.withdrawn)
		if e := new(usage.Error); !errors.As(err, &e) || got != (api.Amount{}) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("ParseAmount(%q, %v) = %v, %v; want a *usage.Error with %q", c.text, c.withdrawn, got, err, c.says)
		}
	}
}

func TestUnknownDecimalsShowTheCommand(t *testing.T) {
	for _, c := range []struct{ text, hint string }{
		{"0.015 Btc", "till currency set Btc --decimals 8"},
		{"1 usdterc20", "till currency set UsdtErc20 --decimals 6"},
		{"1 crypto:Doge", "till currency set Doge --kind crypto --decimals N"},
		{"1 fiat:zzz", "till currency set ZZZ --kind fiat --decimals N"},
		{"1 Doge", "as crypto or fiat: till currency set Doge --kind KIND --decimals N"},
	} {
		_, err := NewRegistry().ParseAmount(c.text, none)
		var e *usage.Error
		if !errors.As(err, &e) || !strings.HasSuffix(e.Hint(), c.hint) {
			t.Errorf("ParseAmount(%q): %#v; want a hint that ends in %q", c.text, err, c.hint)
		}
	}
}

func TestParseMinor(t *testing.T) {
	for _, c := range []struct {
		text      string
		withdrawn api.Currency
		want      api.Amount
	}{
		{"2500 USD", btc, fia("USD", 2500)},
		{"2500", usd, fia("USD", 2500)},
		{"1500000", btc, crypt("Btc", 1_500_000)},
		{"1500000 btc", btc, crypt("Btc", 1_500_000)},
		{"7", api.Currency{Kind: api.Crypto, Code: "Doge"}, crypt("Doge", 7)},
		{"7 crypto:Doge", api.Currency{Kind: api.Crypto, Code: "Doge"}, crypt("Doge", 7)},
		{"7 fiat:zzz", btc, fia("ZZZ", 7)},
		{"9223372036854775807", btc, crypt("Btc", 9223372036854775807)},
	} {
		got, err := NewRegistry().ParseMinor(c.text, c.withdrawn)
		if err != nil || got != c.want {
			t.Errorf("ParseMinor(%q, %v) = %v, %v; want %v", c.text, c.withdrawn, got, err, c.want)
		}
	}
	for text, says := range map[string]string{
		"25.00 USD":     "decimal point",
		"0":             "is zero",
		"2500USD":       "write 2500 USD",
		"7 Doge":        "write crypto:Doge or fiat:Doge",
		"7 crypto:Doge": "is in Doge, and Btc is withdrawn",
	} {
		if got, err := NewRegistry().ParseMinor(text, btc); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseMinor(%q) = %v, %v; want an error that says %q", text, got, err, says)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		r    Registry
		a    api.Amount
		want string
	}{
		{known(), fia("USD", 2500), "25.00 USD"},
		{known(), fia("USD", -5), "-0.05 USD"},
		{known(), fia("JPY", 100), "100 JPY"},
		{known(), crypt("BTC", 1_500_000), "0.01500000 Btc"},
		{NewRegistry(), crypt("Btc", 1_500_000), "1500000 minor Btc"},
		{known(), crypt("USD", 2500), "2500 minor USD"}, // a crypto currency of that name is not the dollar
		{known(), crypt("Doge", 7), "7 minor Doge"},
		{known(), fia("zzz", 7), "7 minor ZZZ"},
	} {
		if got := c.r.Format(c.a); got != c.want {
			t.Errorf("Format(%v) = %q, want %q", c.a, got, c.want)
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
		{"a==1", "a=", fia("USD", 100)},
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
		"Cof\xfffee=1":       "control characters",
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
