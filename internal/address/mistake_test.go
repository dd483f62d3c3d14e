package address

import (
	"strings"
	"testing"
)

// TestMistake has texts and what is wrong with them; nothing, if they are right or of no known shape.
func TestMistake(t *testing.T) {
	for text, says := range map[string]string{
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5": "it has the shape of a Bitcoin address, but its checksum is wrong",
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7Div0Na":         `Bitcoin address, but character 32 is "0"`,
		"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6":          "TRON address, but its checksum",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe":  "Ethereum address, but it has 39 digits",
		"bc1qw508d6qejxtdg4y5r3z":                    "Bitcoin address, but its checksum is wrong", // a half

		"de89370400440532013001":           "IBAN, but its checksum",
		"DE89 3704 0044 0532 0130 01":      "IBAN, but its checksum",
		"GB29NWBK60161331926819123456":     "IBAN, but it has 28 characters, and an IBAN of GB has 22",
		"ZZ99" + strings.Repeat("7", 11):   "IBAN, but its checksum",
		"ZZ99" + strings.Repeat("7", 30):   "IBAN, but its checksum",
		"ZZ99" + strings.Repeat("7", 10):   "",
		"ZZ99" + strings.Repeat("7", 31):   "",
		"Zz99" + strings.Repeat("7", 20):   "",
		"de89370400440532013000":           "",
		"12345678901234567890123456":       "", // a Polish account without its country
		"3f2a86c1d9b84e7fa1c25d7e9b3f6a84": "", // 16 bytes in hexadecimal digits
		"be12a86c1d9b84e7fa1c25d7e9b3f6a8": "", // as here, with the letters of a country
		// an address of TRON in hexadecimal digits
		"41a614f803b6fd780986a42c78ec9c7f77e6ded13c": "",
		// The beginning of an address is wrong.
		"c1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4": "Bitcoin address, but its beginning is wrong",
		"GB9NWBK60161331926819":                     "IBAN, but it begins otherwise",
		"D8E9370400440532013000":                    "IBAN, but its beginning is wrong",
		"O1234567890123456789012":                   "", // an account that begins with one letter
		"GB29NWBK60161331926819.":                   `IBAN, but character 23 is "."`,

		"rentPaymentForMayAndJuneAndAugust":  "",
		"1nvoiceForTheMonthOfMayFromAnnaOO0": "", // more than two characters that base58 has not

		// Valid without a checksum, or of a shape that no format has.
		"0xDE709F2102306220921060314715629080E2FB77": "",
		"bc1qexample": "", "alice": "", "": "", "demo-address-1": "", "account 7": "", "DE89-3704": "",
		"0x1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809": "", // 32 bytes
		"addr1vpu5vlrf4xkxv2qpwngf6cjhtw542ayty80v8dyr49rf5eg0yu80w":         "", // Cardano's
		"cosmos1vlthgax23ca9syk7xgaz347xmf4nunefw3cnv8":                      "", // Cosmos's
	} {
		if got := Mistake(text); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("Mistake(%s) = %q, want %q", text, got, says)
		}
	}
}

// TestMistakesAreFound checks that one character that is missing, doubled, changed or swapped with the next is found
// in an address: with its format and, where the shape is unmistakable, without.
func TestMistakesAreFound(t *testing.T) {
	for format, texts := range valid {
		alphabet := base58Alphabet + "0OIl" // the characters that replace others
		switch format {
		case "solana": // it has no checksum
			continue
		case "iban": // digits replace digits: a letter counts as two, and may leave the same remainder
			alphabet = "0123456789"
		}
		for _, text := range texts {
			if OneCase(text) {
				continue // it has no checksum
			}
			// An account of zeros is too short to be unmistakable, and so is a short IBAN without its country.
			short := format == "bitcoin" && len(text) < 33 || strings.HasPrefix(text, "rrrr") || strings.HasPrefix(text, "ZZ")
			for i := range text {
				others := []string{text[:i] + text[i+1:], text[:i+1] + text[i:]}
				if i+1 < len(text) {
					others = append(others, text[:i]+text[i+1:i+2]+text[i:i+1]+text[i+2:])
				}
				for _, c := range []byte(alphabet) {
					if strings.IndexByte(alphabet, text[i]) >= 0 {
						others = append(others, text[:i]+string(c)+text[i+1:])
					}
				}
				for _, other := range others {
					if Canonical(other) == Canonical(text) {
						continue
					}
					if Check(format, other, "UsdtErc20") == nil && !strings.HasPrefix(text, "ZZ") { // a country without a known length
						t.Errorf("%s takes %s for %s", format, other, text)
					}
					if !short && (format != "iban" || i >= 2 || len(text) >= 21) && Mistake(other) == "" {
						t.Errorf("%s, made of %s, is not doubted", other, text)
					}
				}
			}
		}
	}
}

// TestJoined checks that an IBAN in another spelling is written as the standard says, and no other text is
// changed.
func TestJoined(t *testing.T) {
	const iban = "DE89370400440532013000"
	for text, want := range map[string]string{
		"DE89 3704 0044 0532 0130 00": iban, "de89 3704 0044 0532 0130 00": iban, "DE89-3704-0044-0532-0130-00": iban,
		"De89370400440532013000": iban, iban: iban,
		"DE89 3704 0044 0532 0130 01": "DE89370400440532013001",
		"de89 3704 0044 0532 0130 01": "de89 3704 0044 0532 0130 01",
		"AB12 CDEF GHIJ KLMN":         "AB12 CDEF GHIJ KLMN", "account 7": "account 7", "": "",
	} {
		if got := Joined(text); got != want {
			t.Errorf("Joined(%q) = %q; want %q", text, got, want)
		}
	}
}
