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
		"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48":               "the contract of USDC on Ethereum: ask",
		"0x6B175474E89094C44Da98b954EedeAC495271d0F":               "DAI",
		"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2":               "WETH",
		"0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599":               "WBTC",
		"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t":                       "the contract of USDT on TRON",
		"0x55d398326f99059fF775485246999027B3197955":               "the contract of USDT on BNB Smart Chain",
		"0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d":               "the contract of USDC on BNB Smart Chain",
		"0xc2132D05D31c914a87C6611C10748AEb04B58e8F":               "the contract of USDT on Polygon",
		"0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359":               "the contract of USDC on Polygon",
		"0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174":               "the contract of bridged USDC on Polygon",
		"TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8":                       "the contract of USDC on TRON",
		"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913":               "the contract of USDC on Base",
		"0xaf88d065e77c8cC2239327C5EDb3A432268e5831":               "the contract of USDC on Arbitrum",
		"0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9":               "the contract of USDT on Arbitrum",
		"0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7":               "the contract of USDT on Avalanche",
		"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN": "but the issuer of USDC on Stellar: ask",
		"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB":             "the contract of USDT on Solana",
		"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v":             "the contract of USDC on Solana",
		"null":    "missing",
		"None":    "missing",
		"TBD":     "missing",
		"n/a":     "missing",
		"Pending": "missing", "0": "missing", "false": "missing",
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
		if strings.HasPrefix(text, "TR") || strings.HasPrefix(text, "TE") {
			format = "tron"
		} else if strings.HasPrefix(text, "E") {
			format = "solana"
		} else if strings.HasPrefix(text, "G") {
			format = "stellar"
		}
		switch err := Check(format, text); {
		case unmeant[Canonical(text)] != "": // a person may insist on a valid one
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), says):
			t.Errorf("%s: %v does not say %q", text, err, says)
		}
		if err := Check(None, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"0xdAC17F958D2ee523a2206206994597C13D831ec8", "bc1qexample", "my-account", "a",
		"kaspa:qq", "bitcoincash:qq", "XDC00ab", "0:83df", "-1:33ab", "DE89 3704", "ref: 7", ":7", "ann@example.com", "alice.near"} {
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
	tagged, untagged := xAddress("0544", 1, 12345), xAddress("0544", 0, 0)
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
