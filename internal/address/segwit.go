package address

import (
	"errors"
	"strings"
)

// segwit is the form of a network with this beginning. Addresses in use have 39 or 59 characters after it. A half of
// one is long enough not to be a word.
func segwit(begin string) form {
	n := len(begin)
	return form{[]string{begin}, n + 19, n + 90, bech32Charset + strings.ToUpper(bech32Charset), nil,
		func(text string) error { return checkSegwit(text, n) }}
}

// checkSegwit follows BIP 173 and BIP 350: a witness version from 0 to 16, and 2 to 40 bytes. Version 0 is in
// bech32 and has 20 or 32 bytes. All others are in bech32m. A version that no network uses yet is valid, as
// BIP 350 requires.
func checkSegwit(text string, begin int) error {
	var room [90]byte
	data, sum, err := decodeBech32(room[:0], text, begin)
	if err != nil {
		return err
	}
	version := data[0]
	bits := 5 * (len(data) - 1)
	bytes, padding := bits/8, bits%8
	switch {
	case version > 16:
		return errors.New("its witness version is above 16, which no network knows: ask the receiver for another address")
	case (version == 0) != (sum == sumBech32):
		return errors.New("its checksum is of the wrong kind for its version (bech32 and bech32m): ask the receiver for another address")
	case padding > 4 || data[len(data)-1]&(1<<padding-1) != 0:
		return errors.New("it does not hold whole bytes: ask the receiver for another address")
	case bytes > 40:
		return errLong
	case version == 0 && bytes != 20 && bytes != 32:
		return errors.New("it is neither of the two lengths that an address of its version has: copy it again from where it came from")
	}
	return nil
}

// sumBech32 and sumBech32m are the checksums of a whole valid text in bech32 (BIP 173) and bech32m (BIP 350).
const sumBech32, sumBech32m = 1, 0x2bc830a3

// decodeBech32 appends the values, of 5 bits each, of the characters between the beginning and the checksum: of a
// version and two bytes at least. It returns the checksum of the whole text. A library takes five times as long: a
// third of the time that a plan takes.
func decodeBech32(to []byte, text string, begin int) (data []byte, sum uint32, err error) {
	lower := strings.ToLower(text)
	if !inOneCase(text) {
		return nil, 0, errors.New("it mixes capital and small letters, and an address in bech32 has one case throughout: copy it again from where it came from")
	}
	sum = 1
	for _, c := range []byte(lower[:begin-1]) {
		sum = polymod(sum, c>>5)
	}
	sum = polymod(sum, 0)
	for _, c := range []byte(lower[:begin-1]) {
		sum = polymod(sum, c&31)
	}
	for i := begin; i < len(lower); i++ {
		value := bech32Values[lower[i]] - 1
		if value > 31 {
			return nil, 0, misplaced(strings.Repeat("q", begin)+lower[begin:], bech32Charset,
				"no digit 1, and no letters b, i and o, after its beginning")
		}
		sum = polymod(sum, value)
		to = append(to, value)
	}
	switch n := len(to); {
	case len(text) > 90:
		return nil, 0, errLong
	case n < 6+1+4: // a checksum, a version and two bytes
		return nil, 0, errShort
	case sum != sumBech32 && sum != sumBech32m:
		return nil, 0, errChecksum
	default:
		return to[:n-6], sum, nil
	}
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

// bech32Values maps each character to its place in bech32Charset, from 1; 0: it has none.
var bech32Values = func() (values [256]byte) {
	for i, c := range []byte(bech32Charset) {
		values[c] = byte(i + 1)
	}
	return values
}()
