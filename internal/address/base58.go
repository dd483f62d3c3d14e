package address

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/btcsuite/btcd/btcutil/base58"
)

// base58Alphabet is the alphabet of Bitcoin, in the order of its digits. That of Ripple has the same digits in
// another order (xrpl.org, "base58 Encodings").
const (
	base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	rippleAlphabet = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
)

// base58Check is the form of a network that follows Bitcoin: a version, one of some bytes, and 20 other bytes (BIP
// 13 and the pages on Base58Check). Nearly all addresses are shorter than most and longer than least.
func base58Check(begins string, least, most int, versions string) form {
	return form{strings.Split(begins, ""), least, most, base58Alphabet, scrambled, func(text string) error {
		bytes, err := decodeChecked(text, 25)
		if err == nil && strings.IndexByte(versions, bytes[0]) < 0 {
			err = errNetwork
		}
		return err
	}}
}

// rippleAccount is a classic address. Its version is 0, or it would not begin with r.
var rippleAccount = form{[]string{"r"}, 32, 36, rippleAlphabet, scrambled, func(text string) error {
	_, err := decodeRipple(text, 25)
	return err
}}

// xAddress is the form of an X-address (XLS-5d): two bytes for the network, 20 for the account, a flag that says
// whether there is a tag, and 8 bytes for the tag. The last four of these are not in use yet.
func xAddress(begin, network string) form {
	zero := func(part []byte) bool { return strings.Trim(string(part), "\x00") == "" }
	return form{[]string{begin}, 46, 48, rippleAlphabet, scrambled, func(text string) error {
		bytes, err := decodeRipple(text, 35)
		if err != nil {
			return err
		}
		flag, tag := bytes[22], bytes[23:31]
		switch {
		case string(bytes[:2]) != network:
			return errNetwork
		case flag > 1:
			return fmt.Errorf("it holds a tag in a way that is not in use (flag %d): ask the receiver for another address", flag)
		case flag == 0 && !zero(tag), !zero(tag[4:]):
			return errors.New("it holds a tag that contradicts itself: ask the receiver for another address")
		}
		return nil
	}}
}

func isSolana(text string) bool { return checkSolana(text) == nil }

// checkSolana checks for 32 bytes in base58. There is no checksum, so a mistyped character is rarely found.
func checkSolana(text string) error {
	_, err := decodeBase58(text, 32)
	if err == nil && inOneCase(text) && strings.ContainsFunc(text, unicode.IsLetter) {
		// a mistyped address in bech32 can have 32 bytes too
		err = errors.New("its letters are in one case, and a Solana address has both: copy it again from where it came from")
	}
	return err
}

// scrambled reports whether a text has small letters, capitals, and a digit or two capitals in a row, as
// nearly all base58 has. A number, hexadecimal digits and aNameWrittenSo have not.
func scrambled(text string) bool {
	capital := func(i int) bool { return text[i] >= 'A' && text[i] <= 'Z' }
	for i := range len(text) {
		if digit := text[i] >= '0' && text[i] <= '9'; digit || i > 0 && capital(i-1) && capital(i) {
			return !inOneCase(text)
		}
	}
	return false
}

// decodeBase58 decodes base58 of a number of bytes.
func decodeBase58(text string, size int) ([]byte, error) {
	if strings.Trim(text, base58Alphabet) != "" {
		return nil, misplaced(text, base58Alphabet, "no digit 0, and no letters O, I and l")
	}
	if len(text) > 2*size { // far more than the bytes need; decoding takes quadratic time
		return nil, errLong
	}
	bytes := base58.Decode(text)
	switch {
	case len(bytes) < size:
		return nil, errShort
	case len(bytes) > size:
		return nil, errLong
	}
	return bytes, nil
}

// decodeChecked decodes base58 with a checksum: the last four bytes are the first four of the double SHA-256
// of the others.
func decodeChecked(text string, size int) ([]byte, error) {
	bytes, err := decodeBase58(text, size)
	if err != nil {
		return nil, err
	}
	first := sha256.Sum256(bytes[:size-4])
	if sum := sha256.Sum256(first[:]); string(sum[:4]) != string(bytes[size-4:]) {
		return nil, errChecksum
	}
	return bytes, nil
}

// decodeRipple replaces the digits by Bitcoin's, so that one decoder reads both.
func decodeRipple(text string, size int) ([]byte, error) {
	return decodeChecked(strings.Map(func(r rune) rune {
		if i := strings.IndexRune(rippleAlphabet, r); i >= 0 {
			return rune(base58Alphabet[i])
		}
		return r
	}, text), size)
}
