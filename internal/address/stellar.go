package address

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
)

const base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

var strkeyEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// strkey is a form of SEP-23 that can be paid: an account (G), or an account with a number by which its owner knows
// the recipient (M). The first byte is the version, and the last two are the checksum.
func strkey(begin string, length int, version byte) form {
	return form{[]string{begin}, length - 1, length + 1, base32Alphabet, nil, func(text string) error {
		if err := misplaced(text, base32Alphabet, "capital letters and the digits 2 to 7 only"); err != nil {
			return err
		}
		if len(text) != length {
			return fmt.Errorf("it has %d characters, and a Stellar address that begins with %s has %d: copy it again from where it came from",
				len(text), begin, length)
		}
		bytes, err := strkeyEncoding.DecodeString(text)
		n := len(bytes) - 2
		switch {
		// The leftover bits must be 0, which the decoder does not check.
		case err != nil, strkeyEncoding.EncodeToString(bytes) != text, crc16(bytes[:n]) != binary.LittleEndian.Uint16(bytes[n:]):
			return errChecksum
		case bytes[0] != version:
			return errors.New("it is not the address of a Stellar account: ask the receiver for another")
		}
		return nil
	}}
}

// crc16 computes CRC-16/XMODEM: the polynomial is 0x1021 and the initial value 0.
func crc16(bytes []byte) uint16 {
	var sum uint16
	for _, b := range bytes {
		sum ^= uint16(b) << 8
		for range 8 {
			sum = sum<<1 ^ (sum>>15)*0x1021
		}
	}
	return sum
}
