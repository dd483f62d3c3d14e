package address

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
)

const base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// These are the two kinds of strkey that can be paid (SEP-23): an account, and an account with a number by
// which its owner knows the recipient. The first byte is the version, and the last two are the checksum.
const (
	stellarAccount, accountLength = 6 << 3, 56  // G, 35 bytes
	stellarMuxed, muxedLength     = 12 << 3, 69 // M, 43 bytes
)

func isStellarShape(text string) bool {
	n := len(text)
	return (strings.HasPrefix(text, "G") && n >= accountLength-1 && n <= accountLength+1 ||
		strings.HasPrefix(text, "M") && n >= muxedLength-1 && n <= muxedLength+1) &&
		mostly(text, base32Alphabet)
}

func checkStellar(text string) error {
	version, length := byte(stellarAccount), accountLength
	switch {
	case strings.HasPrefix(text, "G"):
	case strings.HasPrefix(text, "M"):
		version, length = stellarMuxed, muxedLength
	default:
		return errors.New("it begins otherwise than a Stellar address, which begins with G or M")
	}
	if err := misplaced(text, base32Alphabet, "capital letters and the digits 2 to 7 only"); err != nil {
		return err
	}
	if len(text) != length {
		return fmt.Errorf("it has %d characters, and a Stellar address that begins with %c has %d: copy it again from where it came from", len(text), text[0], length)
	}
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	bytes, err := encoding.DecodeString(text)
	// The leftover bits must be 0, which the decoder does not check.
	if err != nil || encoding.EncodeToString(bytes) != text {
		return errChecksum
	}
	n := len(bytes) - 2
	if crc16(bytes[:n]) != uint16(bytes[n])|uint16(bytes[n+1])<<8 {
		return errChecksum
	}
	if bytes[0] != version {
		return errors.New("it is not the address of a Stellar account: ask the receiver for another")
	}
	return nil
}

// crc16 computes CRC-16/XMODEM: the polynomial is 0x1021 and the initial value 0.
func crc16(bytes []byte) uint16 {
	var sum uint16
	for _, b := range bytes {
		sum ^= uint16(b) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
