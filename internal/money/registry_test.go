package money

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

func TestLookup(t *testing.T) {
	for code, want := range map[string]Entry{
		"usd": {"USD", api.Fiat, 2, false, ""}, "USD": {"USD", api.Fiat, 2, false, ""},
		"jpy": {"JPY", api.Fiat, 0, false, ""}, "ISK": {"ISK", api.Fiat, -1, false, ""},
		"btc": {"Btc", api.Crypto, -1, false, ""}, "USDTERC20": {"UsdtErc20", api.Crypto, -1, false, ""},
		"XLR": {"Xlr", api.Crypto, -1, true, ""},
	} {
		if got, ok := NewRegistry().Lookup(code); !ok || got != want {
			t.Errorf("Lookup(%q) = %v, %v; want %v", code, got, ok, want)
		}
	}
	// Funds, metals, tests, withdrawn codes; letters that only fold to ASCII; and no codes at all.
	for _, code := range []string{"XAU", "XXX", "XTS", "XDR", "CHE", "USN", "BOV", "HRK", "ZWL", "SLL", "CUC", "", "US",
		"USDX", "U D", "ED2", "2 A", "D2 ", "ſek", "\u212Aes"} {
		if got, ok := NewRegistry().With(Entry{Code: "Kes", Kind: crypto}).Lookup(code); ok {
			t.Errorf("Lookup(%q) = %v; want nothing", code, got)
		}
	}
}

// TestISO4217 lists the currencies whose decimals are not two, as ISO 4217 does, to find a slip in the literal.
func TestISO4217(t *testing.T) {
	const odd = "BHD3 BIF0 CLF4 CLP0 DJF0 GNF0 IQD3 ISK0 JOD3 JPY0 KMF0 KRW0 KWD3 LYD3 OMR3 PYG0 RWF0 TND3 UGX0 VND0 " +
		"VUV0 XAF0 XOF0 XPF0"
	rows := strings.Fields(iso4217)
	if strings.Join(rows, " ")+" " != iso4217 || !slices.IsSorted(rows) {
		t.Fatal("the rows are not sorted, with a space after each")
	}
	var got []string
	for _, row := range rows {
		code, want := row[:3], int(row[3]-'0')
		if want != 2 {
			got = append(got, row)
		}
		if strings.Contains(varying, code) {
			want = Unknown
		}
		e, ok := NewRegistry().Lookup(strings.ToLower(code))
		if !ok || e != (Entry{Code: code, Kind: api.Fiat, Decimals: want}) || ISODecimals(code) != int(row[3]-'0') ||
			len(row) != 4 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Errorf("%q is found as %v", row, e)
		}
	}
	if strings.Join(got, " ") != odd {
		t.Errorf("other decimals than two have %v", got)
	}
}

func TestWith(t *testing.T) {
	base := NewRegistry()
	r := base.With(Entry{Code: "BTC", Kind: api.Crypto, Decimals: 8}, Entry{Code: "Doge", Kind: api.Crypto, Decimals: 8},
		// The later entry wins, with its spelling.
		Entry{Code: "DOGE", Kind: api.Crypto, Decimals: 6, MemoRequired: true},
		Entry{Code: "XLR", Kind: api.Crypto, Decimals: 7},  // needs a memo anyway
		Entry{Code: "mnt", Kind: api.Crypto, Decimals: 18}, // a token, not the tugrik
		Entry{Code: "pln", Kind: api.Crypto, Decimals: Unknown},
		Entry{Code: "zzz", Kind: api.Fiat, Decimals: 1},
		Entry{Code: "usd", Kind: api.Fiat, Decimals: Unknown}, // an unknown number keeps the known one
	)
	for code, want := range map[string]Entry{
		"btc": {"BTC", api.Crypto, 8, false, ""}, "doge": {"DOGE", api.Crypto, 6, true, ""},
		"xlr": {"XLR", api.Crypto, 7, true, ""},
		"MNT": {"mnt", api.Crypto, 18, false, ""}, "PLN": {"pln", api.Crypto, Unknown, false, ""}, "ZZZ": {"ZZZ", api.Fiat, 1, false, ""},
		"USD": {"USD", api.Fiat, 2, false, ""},
	} {
		if got, _ := r.Lookup(code); got != want {
			t.Errorf("Lookup(%q) = %v, want %v", code, got, want)
		}
	}
	if e, _ := base.Lookup("btc"); e.Decimals != Unknown {
		t.Errorf("With changed the registry it was called on: %v", e)
	}
	formats := base.With(Entry{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "bitcoin"},
		Entry{Code: "Ltc", Kind: api.Crypto, AddressFormat: "litecoin"}).
		With(Entry{Code: "BTC", Kind: api.Crypto, Decimals: Unknown},
			Entry{Code: "Ltc", Kind: api.Crypto, AddressFormat: "none"})
	for code, want := range map[string]Entry{"btc": {"BTC", api.Crypto, 8, false, "bitcoin"},
		"ltc": {"Ltc", api.Crypto, 0, false, "none"}} {
		if got, _ := formats.Lookup(code); got != want {
			t.Errorf("%s is %v, want %v", code, got, want)
		}
	}
	two := r.With(Entry{Code: "Btc", Kind: api.Crypto, Decimals: 2})
	if r.Decimals("btc") != 8 || two.Decimals("btc") != 2 {
		t.Errorf("two registries share entries: %d, %d", r.Decimals("btc"), two.Decimals("btc"))
	}

	if n := base.As(btc, 8).Decimals("Btc"); n != 8 || two.As(btc, Unknown).Decimals("Btc") != 2 {
		t.Errorf("an amount that was shown with 8 decimals has %d", n)
	}
	if e, added := base.As(api.Currency{Kind: crypto, Code: "Doge"}, Unknown).Lookup("Doge"); added {
		t.Errorf("unknown decimals added %v", e)
	}

	all := r.Entries()
	if !slices.IsSortedFunc(all, func(a, b Entry) int { return strings.Compare(fold(a.Code), fold(b.Code)) }) {
		t.Error("Entries are not sorted")
	}
	if want := len(strings.Fields(iso4217)) + 3 + 2; len(all) != want { // Doge and ZZZ are new, mnt replaces MNT
		t.Errorf("%d entries, want %d", len(all), want)
	}
}

func TestParseCurrency(t *testing.T) {
	r, longest := known(), strings.Repeat("x", 32)
	for text, want := range map[string]api.Currency{
		"usd": usd, "USD": usd, "Usd": usd, "fiat:USD": usd, "btc": btc, "BTC": btc, "crypto:BTC": btc,
		"usdterc20": usdt, "crypto:Doge": {Kind: api.Crypto, Code: "Doge"}, "fiat:zzz": {Kind: api.Fiat, Code: "Zzz"},
		"crypto:1Inch": {Kind: api.Crypto, Code: "1Inch"}, "crypto:USDT-TRC20": {Kind: api.Crypto, Code: "USDT-TRC20"},
		"crypto:AZaz09": {Kind: api.Crypto, Code: "AZaz09"}, "crypto:" + longest: {Kind: api.Crypto, Code: longest},
	} {
		if got, err := r.ParseCurrency(text); err != nil || got != want {
			t.Errorf("ParseCurrency(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"": "is not a code", "crypto:": "is not a code", "crypto:a b": "is not a code", "crypto:a:b": "is not a code",
		"crypto:-a": "is not a code", "crypto:a-": "is not a code", "crypto:12": "is not a code", " usd": "is not a code",
		`{"Crypto":"Btc"}`: "is not a code",
		"crypto:a\nb":      "is not a code", "c" + strings.Repeat("x", 32): "is not a code",
		"bt\u0441":   "is not a code", // a Cyrillic letter
		"Doge":       "write crypto:Doge or fiat:Doge",
		"crypto:USD": "USD is known as a fiat currency: write Usd",
		"fiat:Btc":   "Btc is known as a crypto currency: write Btc",
		"Crypto:Btc": "write crypto:Btc or fiat:Btc",
	} {
		if got, err := r.ParseCurrency(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseCurrency(%q) = %v, %v; want an error that says %q", text, got, err, says)
		}
	}
}

func TestMemoRequired(t *testing.T) {
	r := NewRegistry().With(Entry{Code: "Eos", Kind: api.Crypto, Decimals: 4, MemoRequired: true})
	for code, want := range map[string]bool{"Xlr": true, "XLR": true, "eos": true, "Btc": false, "Doge": false,
		"UsdcXlr": true, "xlrEur": true} {
		if got := r.MemoRequired(api.Currency{Kind: api.Crypto, Code: code}); got != want {
			t.Errorf("MemoRequired(%s) = %v", code, got)
		}
	}
	if r.MemoRequired(api.Currency{Kind: api.Fiat, Code: "Xlr"}) {
		t.Error("a fiat currency that is called Xlr needs no memo")
	}
	if e, _ := r.With(Entry{Code: "UsdcXLR", Kind: api.Crypto, Decimals: 7}).Lookup("usdcxlr"); !e.MemoRequired {
		t.Error("a currency based on XLR is listed as one without a memo")
	}
	for memo, lacks := range map[string]bool{"": true, " \t\u00a0": true, "\u200b": true, "7": false, " 7 ": false} {
		if got := r.LacksMemo(api.Currency{Kind: api.Crypto, Code: "Xlr"}, "to", memo); got != lacks {
			t.Errorf("LacksMemo(%q) = %v", memo, got)
		}
		if r.LacksMemo(api.Currency{Kind: api.Crypto, Code: "Btc"}, "to", memo) {
			t.Errorf("Btc lacks the memo %q", memo)
		}
	}
}

// A code that looks like another one is other money: who took the hint would pay in that.
func TestNoCurrencyByLikeness(t *testing.T) {
	r := NewRegistry().With(Entry{Code: "Zzz", Kind: fiat}, Entry{Code: "UsdtTrc20", Kind: crypto, Decimals: 6},
		Entry{Code: "Eth", Kind: crypto, Decimals: 18})
	const known = "the known ones are Btc, Eth, UsdtErc20, UsdtTrc20, Xlr, ZZZ and the fiat currencies of ISO 4217."
	for code, want := range map[string]string{
		"LTC": known, "Bct": known, "USDT": known, "USDC": known, "TRX": known, "tron": known, "EUX": known,
		"USDT-TRC20": "did you mean UsdtTrc20?", "usdt_erc.20": "did you mean UsdtErc20?",
		"Bitcoin": "did you mean Btc?", "ethereum": "did you mean Eth?", "U-S-D": "did you mean USD?",
	} {
		_, err := r.ParseCurrency(code)
		wrong, ok := errors.AsType[*usage.Error](err)
		want += " To add " + code + ", as crypto or fiat: till currency set " + code
		if !ok || !strings.HasPrefix(wrong.Hint(), want) {
			t.Errorf("%s: %v, want the hint to begin with %q", code, wrong, want)
		}
	}
}
