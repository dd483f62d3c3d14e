// Package address checks the addresses of payment networks: their formats and their checksums. It also has
// the form in which two spellings of an address are compared.
package address

import "strings"

// Canonical returns the form in which addresses are compared. Two spellings of an address have the same form:
// a bech32 address, and 0x with 40 hexadecimal digits, means the same in either case, and an IBAN as Joined
// writes it. Any other text is returned unchanged. The service always gets the text as it was written.
func Canonical(text string) string {
	text = Joined(text)
	if _, capital := cases(text); !capital { // then it is its own form, whatever it is
		return text
	}
	if isHex20(text) || IsBech32Shape(text) {
		return strings.ToLower(text)
	}
	return text
}

// isHex20 reports whether a text is 0x and 20 bytes in hexadecimal digits, like an Ethereum address.
func isHex20(text string) bool {
	return len(text) == 42 && strings.EqualFold(text[:2], "0x") && strings.Trim(text[2:], hexDigits) == ""
}

// bech32Charset holds the characters of a bech32 address after its separator (BIP 173).
const bech32Charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// IsBech32Shape reports whether a text looks like a bech32 address of a known network, all in one case (BIP
// 173). It does not verify the checksum.
func IsBech32Shape(text string) bool {
	for _, prefix := range []string{"bc1", "tb1", "bcrt1", "ltc1", "tltc1"} {
		if len(text) >= len(prefix)+8 && strings.EqualFold(text[:len(prefix)], prefix) {
			return inOneCase(text) && strings.Trim(strings.ToLower(text[len(prefix):]), bech32Charset) == ""
		}
	}
	return false
}

// inOneCase reports whether the ASCII letters of a text are all small or all capital.
func inOneCase(text string) bool {
	small, capital := cases(text)
	return !small || !capital
}

// cases reports whether a text has small ASCII letters, and whether it has capital ones.
func cases(text string) (small, capital bool) {
	for _, c := range []byte(text) {
		small, capital = small || c-'a' < 26, capital || c-'A' < 26 // a difference below zero is a large one
	}
	return small, capital
}
