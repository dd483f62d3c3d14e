package address

import (
	"errors"
	"strings"
	"unicode"
)

// isSegwitShape reports whether a text that begins like a bech32 address continues like one. Addresses in use
// have 39 or 59 characters after the separator. A half of one is long enough not to be a word.
func isSegwitShape(text string) bool {
	_, data, _ := strings.Cut(text, "1")
	return len(data) >= 19 && len(data) <= 90 && mostly(strings.ToLower(data), bech32Charset)
}

// checkSegwit follows BIP 173 and BIP 350: a witness version from 0 to 16, and 2 to 40 bytes. Version 0 is in
// bech32 and has 20 or 32 bytes. All others are in bech32m. A version that no network uses yet is valid, as
// BIP 350 requires.
func checkSegwit(text string) error {
	var room [90]byte
	data, sum, ok := decodeBech32(room[:0], text)
	if !ok || sum != sumBech32 && sum != sumBech32m {
		return whyNotBech32(text)
	}
	if len(data) == 0 {
		return errShort
	}
	if data[0] > 16 {
		return errors.New("its witness version is above 16, which no network knows: ask the receiver for another address")
	}
	if (data[0] == 0) != (sum == sumBech32) {
		return errors.New("its checksum is of the wrong kind for its version (bech32 and bech32m): ask the receiver for another address")
	}
	bits := 5 * (len(data) - 1)
	bytes, padding := bits/8, bits%8
	switch {
	case padding > 4 || data[len(data)-1]&(1<<padding-1) != 0:
		return errors.New("it does not hold whole bytes: ask the receiver for another address")
	case bytes < 2:
		return errShort
	case bytes > 40:
		return errLong
	case data[0] == 0 && bytes != 20 && bytes != 32:
		return errors.New("it is neither of the two lengths that an address of its version has: copy it again from where it came from")
	}
	return nil
}

// sumBech32 and sumBech32m are the checksums of a whole valid text in bech32 (BIP 173) and bech32m (BIP 350).
const sumBech32, sumBech32m = 1, 0x2bc830a3

// decodeBech32 appends the values, of 5 bits each, of the characters between the separator and the checksum.
// It returns the checksum of the whole text. The tests compare it with a library, which takes five times as
// long: a third of the time that a plan takes.
func decodeBech32(to []byte, text string) (data []byte, sum uint32, ok bool) {
	prefix, rest, _ := strings.Cut(text, "1")
	if len(text) > 90 || len(rest) < 6 || !inOneCase(text) {
		return nil, 0, false
	}
	sum = 1
	for _, c := range []byte(prefix) {
		// The |1 makes a capital count as a small letter: a prefix has only letters.
		sum = polymod(sum, c>>5|1)
	}
	sum = polymod(sum, 0)
	for _, c := range []byte(prefix) {
		sum = polymod(sum, c&31)
	}
	for _, c := range []byte(rest) {
		value := bech32Values[c]
		if value == notBech32 {
			return nil, 0, false
		}
		sum = polymod(sum, value)
		to = append(to, value)
	}
	return to[:len(to)-6], sum, true
}

// polymod adds 5 bits to a checksum of 30 bits (BIP 173).
func polymod(sum uint32, value byte) uint32 {
	return sum&0x1ffffff<<5 ^ uint32(value) ^ overflow[sum>>25&31]
}

// overflow maps the 5 bits that leave a checksum to what they change in it.
var overflow = func() (changes [32]uint32) {
	for top := range changes {
		for i, generator := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 != 0 {
				changes[top] ^= generator
			}
		}
	}
	return changes
}()

// bech32Values maps each character, in either case, to its place in bech32Charset.
var bech32Values = func() (values [256]byte) {
	for i := range values {
		values[i] = notBech32
	}
	for i, c := range []byte(bech32Charset) {
		values[c] = byte(i)
		values[unicode.ToUpper(rune(c))] = byte(i)
	}
	return values
}()

const notBech32 = 0xff

// whyNotBech32 says what is wrong with a text that begins like a bech32 address and is not one.
func whyNotBech32(text string) error {
	lower := strings.ToLower(text)
	if !inOneCase(text) {
		return errors.New("it mixes capital and small letters, and an address in bech32 has one case throughout: copy it again from where it came from")
	}
	begin := strings.IndexByte(lower, '1') + 1
	switch data := lower[begin:]; {
	case strings.Trim(data, bech32Charset) != "":
		return misplaced(strings.Repeat("q", begin)+data, bech32Charset,
			"no digit 1, and no letters b, i and o, after its beginning")
	case len(text) > 90:
		return errLong
	case len(data) < 6+1+4: // a checksum, a version and two bytes
		return errShort
	}
	return errChecksum
}
