package money

import (
	"strings"
	"testing"

	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

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
}

func TestParseItemMinor(t *testing.T) {
	name, got, err := NewRegistry().ParseItem("Coffee=2500", btc, true)
	if err != nil || name != "Coffee" || got != crypt("Btc", 2500) {
		t.Errorf("%q, %v, %v", name, got, err)
	}
	_, _, err = NewRegistry().ParseItem("Coffee=2500", btc, false)
	if e, ok := err.(*usage.Error); !ok || !strings.HasSuffix(e.Hint(), "till currency set Btc --decimals 8") {
		t.Errorf("the hint is lost: %#v", err)
	}
}
