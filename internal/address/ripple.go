package address

import (
	"errors"
	"fmt"
	"strings"
)

// rippleAlphabet has the digits of base58 in another order (xrpl.org, "base58 Encodings").
const rippleAlphabet = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"

// isRippleShape recognizes a classic address and an X-address (XLS-5d), which also holds a destination tag.
func isRippleShape(text string) bool {
	return strings.HasPrefix(text, "r") && len(text) >= 32 && len(text) <= 36 && scrambled(text) &&
		mostly(text, rippleAlphabet) || isXAddressShape(text, "X")
}

func isXAddressShape(text, first string) bool {
	return strings.HasPrefix(text, first) && len(text) >= 46 && len(text) <= 48 &&
		scrambled(text) && mostly(text, rippleAlphabet)
}

func checkRipple(text string) error {
	switch {
	case strings.HasPrefix(text, "X"):
		return checkXAddress(text, "\x05\x44")
	case !strings.HasPrefix(text, "r"):
		return errors.New("it begins otherwise than a Ripple address, which begins with r or X")
	}
	_, err := decodeRipple(text, 25) // its version is 0, or it would not begin with r
	return err
}

// checkXAddress checks the parts of an X-address (XLS-5d): two bytes for the network, 20 for the account, a
// flag that says whether there is a tag, and 8 bytes for the tag. The last four of these are not in use yet.
func checkXAddress(text, network string) error {
	bytes, err := decodeRipple(text, 35)
	if err != nil {
		return err
	}
	flag, tag := bytes[22], bytes[23:31]
	zero := func(part []byte) bool { return strings.Trim(string(part), "\x00") == "" }
	switch {
	case string(bytes[:2]) != network:
		return fmt.Errorf("%w than a Ripple address", errNetwork)
	case flag > 1:
		return fmt.Errorf("it holds a tag in a way that is not in use (flag %d): ask the receiver for another address",
			flag)
	case flag == 0 && !zero(tag), !zero(tag[4:]):
		return errors.New("it holds a tag that contradicts itself: ask the receiver for another address")
	}
	return nil
}

// decodeRipple replaces the digits by Bitcoin's, so that one decoder reads both.
func decodeRipple(text string, size int) ([]byte, error) {
	return decodeBase58(strings.Map(func(r rune) rune {
		if i := strings.IndexRune(rippleAlphabet, r); i >= 0 {
			return rune(base58Alphabet[i])
		}
		return r
	}, text), size)
}
