package address

import (
	"strings"
	"testing"
)

// TestUnmeant checks that the addresses that are never meant are valid ones, so that they are not mistyped here, and
// that they are refused with a format and without one.
func TestUnmeant(t *testing.T) {
	for text := range unmeant {
		valid := false
		for _, k := range kinds {
			valid = valid || k.check(text) == nil
		}
		if !valid || Canonical(text) != text {
			t.Errorf("%s is no address, or not in its canonical form", text)
		}
	}
	for text, says := range map[string]string{
		"0x0000000000000000000000000000000000000000":               "belongs to nobody",
		"0xdAC17F958D2ee523a2206206994597C13D831ec7":               "the contract of USDT on Ethereum: ask",
		"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t":                       "the contract of USDT on TRON",
		"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN": "but the issuer of USDC on Stellar: ask",
		"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB":             "the contract of USDT on Solana",
		"null": "missing", "None": "missing", "TBD": "missing", "n/a": "missing", "Pending": "missing", "0": "missing",
		"vitalik.eth": "a name, and no address", "https://x.co/a": "a link, and no address: ask",
		"http://pay.me/ann": "ask", "mailto:ann@example.com": "ask", "upi://pay?pa=ann@bank": "a link",
		"ton://transfer/EQ": "a link", "lightning:lnbc1": "what follows lightning:, without ?",
		"bitcoin:null": "what follows bitcoin:", "eth:0xab": "what follows eth:", "arb1:0xab": "what follows arb1:",
		"bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.1": "what follows bitcoin:, without ?",
	} {
		if got := Mistake(text); !strings.Contains(got, says) {
			t.Errorf("%s: %q does not say %q", text, got, says)
		}
		format := "ethereum"
		for begin, other := range map[string]string{"TR": "tron", "E": "solana", "G": "stellar"} {
			if strings.HasPrefix(text, begin) {
				format = other
			}
		}
		switch err := Check(format, text, "UsdtErc20"); {
		case unmeant[Canonical(text)] != "": // a person may insist on a valid one
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), says):
			t.Errorf("%s: %v does not say %q", text, err, says)
		}
		if err := Check(None, text, "UsdtErc20"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"0xdAC17F958D2ee523a2206206994597C13D831ec8", "bc1qexample", "my-account", "a",
		"kaspa:qq", "bitcoincash:qq", "XDC00ab", "0:83df", "-1:33ab", "DE89 3704", "ref: 7", ":7",
		"ann@example.com", "alice.near"} {
		if got := Unmeant(text); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestMail checks that a mail address is warned about only: some services pay to one.
func TestMail(t *testing.T) {
	if got := Warning("ann@example.com"); !strings.Contains(got, "a mail address") || Warning("ann") != "" {
		t.Error(got)
	}
}

func TestCheckMemo(t *testing.T) {
	const classic = "rrrrrrrrrrrrrrrrrrrrrhoLvTp"
	const muxed = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAEWWQ57DW"
	tagged, untagged := "X7VhTVQsCvZquSaJfFpmyN4jsRpby2g5ojW2ruDyGe2Hmcp", "X7VhTVQsCvZquSaJfFpmyN4jsRpby22Fpab7dfBr8xbHfWT"
	for _, test := range []struct {
		format, address, memo string
		ok                    bool
	}{
		{"ripple", classic, "", true}, {"ripple", classic, "0", true}, {"ripple", classic, "4294967295", true},
		{"ripple", classic, "4294967296", false}, {"ripple", classic, "007", false}, {"ripple", classic, "+7", false},
		{"ripple", classic, "7.0", false}, {"ripple", classic, "rent", false}, {"ripple", classic, "-1", false},
		{"ripple", tagged, "", true}, {"ripple", tagged, "12345", true}, {"ripple", tagged, "1", false},
		{"ripple", untagged, "", true}, {"ripple", untagged, "1", false},
		{"stellar", "G", strings.Repeat("a", 28), true}, {"stellar", "G", strings.Repeat("a", 29), false},
		{"stellar", "G", strings.Repeat("é", 15), false},
		{"stellar", muxed, "", true}, {"stellar", muxed, "1234567", true}, {"stellar", muxed, "1234568", false},
		{"stellar", muxed, "01234567", false}, {"stellar", muxed, "rent", false}, {"", muxed, "rent", true},
		{"iban", "DE", strings.Repeat("é", 140), true}, {"iban", "DE", strings.Repeat("a", 141), false},
		{"bitcoin", "b", strings.Repeat("a", 200), true}, {"", "b", "rent", true}, {None, "b", "rent", true},
	} {
		if err := CheckMemo(test.format, test.address, test.memo); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
