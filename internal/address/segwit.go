package address

import (
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// isSegwitShape reports whether a text that begins as a bech32 address does goes on like one. Its length is near to that of
// the addresses in use: 20 and 32 bytes take 39 and 59 characters after the separator.
func isSegwitShape(text string) bool {
	separator := strings.LastIndexByte(text, '1')
	n := len(text) - separator - 1
	return n >= 37 && n <= 61 && strings.Trim(strings.ToLower(text[separator+1:]), bech32Charset) == ""
}

// checkSegwit follows BIP 173 and BIP 350: a witness version from 0 to 16 and 2 to 40 bytes, in bech32 for version 0, which
// has 20 or 32 bytes, and in bech32m for all others. A version that no network uses yet is valid, as BIP 350 wants.
func checkSegwit(text string) error {
	lower := strings.ToLower(text)
	if text != lower && text != strings.ToUpper(text) {
		return reason("it mixes capital and small letters, and an address in bech32 has one case throughout: copy it again from where it came from")
	}
	separator := strings.LastIndexByte(text, '1')
	if i := strings.IndexByte(lower, '1'); i != separator { // the data part has no 1
		separator = i
	}
	if strings.Trim(lower[separator+1:], bech32Charset) != "" {
		return misplaced(strings.Repeat("q", separator+1)+lower[separator+1:], bech32Charset, "no digit 1, and no letters b, i and o, after its beginning")
	}
	if len(text) > 90 {
		return errLong
	}
	_, data, version, err := bech32.DecodeGeneric(text)
	if err != nil {
		if len(text)-separator-1 < 6+1+4 { // a checksum, a version and two bytes
			return errShort
		}
		return errChecksum
	}
	if len(data) == 0 {
		return errShort
	}
	if data[0] > 16 {
		return reason("its witness version is above 16, which no network knows: ask the receiver for another address")
	}
	if (data[0] == 0) != (version == bech32.Version0) {
		return reason("its checksum is of the wrong kind for its version (bech32 and bech32m): ask the receiver for another address")
	}
	program, err := bech32.ConvertBits(data[1:], 5, 8, false)
	switch {
	case err != nil:
		return reason("it does not hold whole bytes: ask the receiver for another address")
	case len(program) < 2:
		return errShort
	case len(program) > 40:
		return errLong
	case data[0] == 0 && len(program) != 20 && len(program) != 32:
		return reason("it is neither of the two lengths that an address of its version has: copy it again from where it came from")
	}
	return nil
}
