package address

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// valid has addresses of each format: from the standards, of well-known accounts, and made of the bytes 5, 22, 39 and
// so on with libraries.
var valid = map[string][]string{
	"bitcoin": {
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",         // the first block
		"1111111111111111111114oLvT2",                // twenty zeros
		"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", // BIP 173
		// BIP 350, like those below.
		"bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
		"BC1SW50QGDZ25J", "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs",
		"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
		"1TtvC4MwU3jVp9F5fkqqwC4uXwW74GRhG", "329uqjYoVNN7ayqgCmRSGZZ144EDb4AdkA",
		"bc1qpy5ywe595np7yqfq8a08m89mmtu3sd6kwk2t85h3zqh5umvv409qjxnyn6",
		"bc1qqurswpc8qurswpc8qurswpc8qurswpc89fe3yv", // all its characters are in base58 too
	},
	"bitcoin-testnet": {
		"tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", // BIP 173
		"tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
		"tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c", // BIP 350
		"mfyrDF9LkVUzGvcroEjDfrQPmXYCxtcHit", "2Msi7uUUq6psTnmUDsu3JtWYGGQSPQ4n7Gi",
	},
	"litecoin": {
		"LKgrBQNC28HnkcqQFok97xFq7kJnEUQk7f", "M8N49cxmSVDYPV7aJeQn6CoQNkpfd1r63n",
		"ltc1qpy5ywe595np7yqfq8a08m89mmtu3sd6kaafxj2",
		"LTC1PPY5YWE595NP7YQFQ8A08M89MMTU3SD6KWK2T85H3ZQH5UMVV409QM4AA3R",
	},
	"dogecoin": {"D5bzTT11Esx22pKqpFkQPhMfnffoPKwH45", "9ruAaachZSF1VMD9cu5rWhBNkdcFeuby75"},
	"ethereum": { // all examples of EIP-55
		"0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
		"0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	},
	"tron": {
		"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", // the contract of USDT
		"TAS6vFS66CAgezCsfwQZN5tCpKgpFuH9w9",
	},
	"stellar": { // SEP-23
		"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
		"MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
		"MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
	},
	"ripple": {
		// The second is the first with a tag, from XLS-5d's codec.
		"rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf", "XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi",
		"rrrrrrrrrrrrrrrrrrrrrhoLvTp", // the account of zeros
		"X7VhTVQsCvZquSaJfFpmyN4jsRpby22Fpab7dfBr8xbHfWT", "X7VhTVQsCvZquSaJfFpmyN4jsRpby2g5ojW2ruDyGe2Hmcp",
	},
	"solana": {
		"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", // the program of tokens
		"11111111111111111111111111111111",            // the system program: 32 zeros
		"ckHwo3Yn9LMEBGQax4dPKcJv95ZyqpvRTqKrCfWzcrD", "JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG",
	},
	"iban": {
		// The registry's own examples.
		"GB29NWBK60161331926819", "DE89370400440532013000", "FR1420041010050500013M02606", "NO9386011117947",
		"MT84MALT011000012345MTLCAST001S",
		// The second country is not in the registry.
		"CH9300762011623852957", "ZZ800123456789",
	},
}

func TestValidAddresses(t *testing.T) {
	if len(valid)+1 != len(Formats()) {
		t.Errorf("the formats are %v, and there are addresses of %d", Formats(), len(valid))
	}
	for format, texts := range valid {
		for _, text := range texts {
			if Unmeant(text) != "" { // TestUnmeant checks it
				continue
			}
			if err := Check(format, text, "UsdtErc20"); err != nil {
				t.Errorf("Check(%s, %s): %v", format, text, err)
			}
			if Detect(text) == "" {
				t.Errorf("Detect(%s) knows nothing", text)
			}
			if why := Warning(text) + Mistake(text); why != "" {
				t.Errorf("%s is valid, and doubted: %s", text, why)
			}
		}
	}
}

// TestAddressesOfOtherFormats checks that an address of one format is not valid in another, and that the
// message says what it is.
func TestAddressesOfOtherFormats(t *testing.T) {
	for format, texts := range valid {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.format == format })]
		for other := range valid {
			if other == format {
				continue
			}
			for _, text := range texts {
				err := Check(other, text, "UsdtErc20")
				if err == nil {
					t.Errorf("%s takes %s, which is %s", other, text, k.one)
				} else if strings.HasPrefix(err.Error(), "this is ") && !strings.HasPrefix(err.Error(), "this is "+k.one+",") {
					t.Errorf("%s says of %s: %v", other, text, err)
				}
			}
		}
	}
	const regtest, testnet = "an address of a private Bitcoin network (regtest)", "an address of the Litecoin test network"
	for _, c := range []struct{ format, text, is string }{
		{"bitcoin", "bcrt1qpy5ywe595np7yqfq8a08m89mmtu3sd6k3w3uxq", regtest},
		{"litecoin", "tltc1qpy5ywe595np7yqfq8a08m89mmtu3sd6k2020pq", testnet},
		{"litecoin", "QM4t2VM57vvYvxEGW15KyCyhQntDG9yFf7", testnet},
		{"dogecoin", "nUf4BTjvArQjunu2r5Pre6wy2Y46QdqKJQ", "an address of the Dogecoin test network"},
		{"ripple", "T7oKJ3q7s94kDH6tpkBowhetT1JKfcfdSCmAXbS75iATyLD", "an address of the Ripple test network"},
		{"ethereum", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", "a TRON address with a mistake in it"},
	} {
		err := Check(c.format, c.text, "UsdtErc20")
		if err == nil || !strings.HasPrefix(err.Error(), "this is "+c.is+", and UsdtErc20 takes ") {
			t.Errorf("Check(%s, %s): %v; want %q", c.format, c.text, err, c.is)
		}
	}
}

func TestInvalidAddresses(t *testing.T) {
	for _, c := range []struct{ format, text, says string }{
		// BIP 350.
		{"bitcoin", "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut", "begins with 1, 3 or bc1"},
		{"bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", "wrong kind"},
		{"bitcoin", "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", `character 60 is "o"`},
		{"bitcoin", "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", "witness version is above 16"},
		{"bitcoin", "bc1pw5dgrnzv", "too short"},
		{"bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav", "too long"},
		{"bitcoin", "bc1q" + strings.Repeat("q", 90), "too long"},
		{"bitcoin", "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", "neither of the two lengths"},
		{"bitcoin-testnet", "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq", "mixes capital and small"},
		{"bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", "whole bytes"},
		{"bitcoin-testnet", "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j", "whole bytes"},
		{"bitcoin", "bc1gmk9yu", "too short"},
		{"bitcoin", "bc1qw508d6qejxtdg4y5r31arvary0c5xw7kv8f3t4", `character 23 is "1"`},
		{"litecoin", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "checksum is wrong"},

		{"bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "checksum is wrong"},
		{"bitcoin", "1" + strings.Repeat("z", 10_000), "too long"},
		{"bitcoin", "1ByGG5KzVoCM48HZ7Jruo5nKJppADwBE", "too short"},
		{"dogecoin", "DUwbSZJHx4QtrFTvqg5ispdTRAvkAGJTkV", "another network"},
		{"tron", "", "it is empty"},
		{"dogecoin", "1", "begins with D, A or 9"},

		{"ethereum", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAEd", "EIP-55"},
		{"ethereum", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae", "it has 39 digits after 0x"},
		{"ethereum", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg", `character 42 is "g"`},
		{"ethereum", "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "begins with 0X, and"},

		// SEP-23. The kinds that cannot be paid are valid strkeys but not addresses.
		{"stellar", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA", "it has 57 characters"},
		{"stellar", "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I", "not the address of a Stellar account"},
		{"stellar", "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUO", "checksum is wrong"},
		{"stellar", "ga7qynf7sowq3glr2bgmzehxavirza4kvwltjjfc7mgxua74p7ujvsgz", "begins with G or M"},
		{"stellar", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSG1", `character 56 is "1"`},

		{"ripple", "rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QY", "too short"},
		{"ripple", "XVofN2Hfc49nzUFKNGxvtgGEYkY2QKKXJwoHCJRMcKhweVU", "another network"},
		{"ripple", "X7VhTVQsCvZquSaJfFpmyN4jsRpby2kVW9SjVDqpgbMWyMR", "flag 2"},
		{"ripple", "X7VhTVQsCvZquSaJfFpmyN4jsRpby2CeDPhaJ1Hdd6TRScT", "contradicts itself"},
		{"ripple", "x", "begins with r or X"},

		{"solana", "96jMa67J2SEC9DZ5X9XSuFLvGssyNwMiLg3TZ6ZAtA", "too short"},
		{"solana", "1ckHwo3Yn9LMEBGQax4dPKcJv95ZyqpvRTqKrCfWzcrD", "too long"},
		{"solana", "short", "too short"},

		{"iban", "GB92NWBK60161331926819", "checksum is wrong"},
		{"iban", "DE8937040044053201300", "it has 21 characters, and an IBAN of DE has 22"},
		{"iban", "DE89 3704 0044 0532 0130 00", "character 5 is U+0020"},
		{"iban", "de89370400440532013000", `character 1 is "d"`},
		{"iban", "1234", "two letters and two digits"},
		{"iban", "ZZ857777777777777777777777777777777", "too long"},
		// 02 and 99 leave the same remainder.
		{"iban", "ZZ990000000085", "checksum is wrong"},

		{"nonsense", "x", "is not a format of addresses: write bitcoin, "},
	} {
		err := Check(c.format, c.text, "UsdtErc20")
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Check(%s, %s): %v; want %q", c.format, c.text, err, c.says)
		}
	}
}

func TestLookAlikes(t *testing.T) {
	for text, says := range map[string]string{
		"1\u0410" + "1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa": `character 2 is "` + "\u0410" +
			`" (U+0410), and an address has ASCII letters and digits only`,
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN\uff41": "character 34 is \"\uff41\" (U+FF41)",
		"1A1zP1\u200bP5QGefi2DMPTfTL5SLmv7DivfNa": "character 7 is U+200B",
		"1A1zP1eP5Q-Gefi":                         `character 11 is "-" (U+002D)`,
	} {
		if err := Check("bitcoin", text, "UsdtErc20"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Check(%q): %v; want %q", text, err, says)
		}
		if got := Warning(text); (got == "") != strings.Contains(says, "U+002D") || got != "" && !strings.Contains(got, says) {
			t.Errorf("Warning(%q) = %q; want %q", text, got, says)
		}
	}
}

func TestCanonical(t *testing.T) {
	const eth, bc = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	for text, want := range map[string]string{ // "": it is its own form
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": eth, "0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED": eth, eth: "",
		strings.ToUpper(bc): bc, bc: "", "bc1qW508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4": "", "bc1qW508D6": "", "": "",
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa": "", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t": "", "Alice": "",
		"gb29 nwbk-60161331926819": "GB29NWBK60161331926819", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe": "",
	} {
		if got := Canonical(text); got != cmp.Or(want, text) {
			t.Errorf("Canonical(%s) = %s", text, got)
		}
	}
}

// FuzzCheck checks that any text gets an answer, and that the canonical form of a valid address is valid.
func FuzzCheck(f *testing.F) {
	for _, texts := range valid {
		for _, text := range texts {
			f.Add(text)
		}
	}
	f.Add("1\u0410")
	f.Add("\xff\xfe")
	f.Add(strings.Repeat("z", 300))
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range Formats() {
			err := Check(format, text, "UsdtErc20")
			if err != nil && err.Error() == "" {
				t.Errorf("Check(%s, %q) says nothing", format, text)
			}
			// Two formats also take texts in capitals that look like bech32. They do not occur: no key has a
			// base58 text all in capitals, and neither BC nor TB is a country.
			exception := (format == "solana" || format == "iban") && IsBech32Shape(text)
			if err == nil && Check(format, Canonical(text), "UsdtErc20") != nil && !exception {
				t.Errorf("%s takes %q, and not its canonical form", format, text)
			}
			if why := Warning(text) + Mistake(text); err == nil && format != None && Unmeant(text) == "" && why != "" {
				t.Errorf("%s takes %q, and it is doubted: %s", format, text, why)
			}
		}
		if canonical := Canonical(text); Canonical(canonical) != canonical {
			t.Errorf("%q has no stable canonical form", text)
		}
	})
}
