package address

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/sha3"
)

const hexDigits = "0123456789abcdefABCDEF"

// checkEthereum checks for 0x and 20 bytes in hexadecimal digits. If the letters are in both cases, they must
// have the checksum of EIP-55.
func checkEthereum(text string) error {
	digits := text[2:]
	if text[1] == 'X' {
		return errors.New("it begins with 0X, and an Ethereum address begins with 0x")
	}
	if strings.Trim(digits, hexDigits) != "" {
		return misplaced("00"+digits, hexDigits, "only the digits 0 to 9 and the letters a to f after 0x")
	}
	if len(digits) != 40 {
		return fmt.Errorf("it has %d digits after 0x, and an Ethereum address has 40: copy it again from where it came from", len(digits))
	}
	if !OneCase(text) && text != checksummed(text) {
		return errors.New("its capital and small letters do not match (the checksum of EIP-55): a character is mistyped, so copy it again from where it came from")
	}
	return nil
}

// OneCase reports whether a text is an Ethereum address without a checksum: its letters are all small or all
// capital.
func OneCase(text string) bool {
	return isHex20(text) && inOneCase(text[2:])
}

// checksummed writes 0x and 40 hexadecimal digits with the checksum of EIP-55: a letter is a capital if the
// same digit of the hash of the small ones is 8 or more. The hash is Keccak-256 as it was before it became
// SHA-3.
func checksummed(text string) string {
	digits := []byte(strings.ToLower(text[2:]))
	hash := sha3.NewLegacyKeccak256()
	hash.Write(digits)
	sum := hex.AppendEncode(make([]byte, 0, 64), hash.Sum(make([]byte, 0, 32)))
	for i, c := range digits {
		if c >= 'a' && sum[i] >= '8' {
			digits[i] = c - 'a' + 'A'
		}
	}
	return "0x" + string(digits)
}
