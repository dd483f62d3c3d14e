package address

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"math/big"
	"strings"

	"github.com/btcsuite/btcd/btcutil/base58"
	"github.com/btcsuite/btcd/btcutil/bech32"
)

const bitcoinDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// encode58 encodes in base58 with these digits.
func encode58(digits string, payload []byte) string {
	digit := func(r rune) rune { return rune(digits[strings.IndexRune(bitcoinDigits, r)]) }
	return strings.Map(digit, base58.Encode(payload))
}

func encode58Check(digits string, payload []byte) string {
	one := sha256.Sum256(payload)
	two := sha256.Sum256(one[:])
	return encode58(digits, append(payload[:len(payload):len(payload)], two[:4]...))
}

// versioned returns a version byte and 20 others.
func versioned(version byte) []byte {
	payload := []byte{version}
	for i := range 20 {
		payload = append(payload, byte(17*i+5))
	}
	return payload
}

// encodeSegwit encodes a witness program: version 0 in bech32, and the others in bech32m.
func encodeSegwit(prefix string, version byte, program []byte) string {
	values, err := bech32.ConvertBits(program, 8, 5, true)
	encode := bech32.EncodeM
	if version == 0 {
		encode = bech32.Encode
	}
	text, err2 := encode(prefix, append([]byte{version}, values...))
	if err != nil || err2 != nil {
		panic(fmt.Sprint(err, err2))
	}
	return text
}

// encodeStrkey encodes a strkey. It computes the checksum as a division of polynomials, bit by bit.
func encodeStrkey(payload []byte) string {
	message := new(big.Int).Lsh(new(big.Int).SetBytes(payload), 16)
	divisor := big.NewInt(1<<16 | 1<<12 | 1<<5 | 1)
	for message.BitLen() > 16 {
		message.Xor(message, new(big.Int).Lsh(divisor, uint(message.BitLen()-17)))
	}
	crc := message.Uint64()
	return base32.StdEncoding.WithPadding(base32.NoPadding).
		EncodeToString(append(payload[:len(payload):len(payload)], byte(crc), byte(crc>>8)))
}

// encodeIBAN computes the check digits by ISO 13616: 98 minus the remainder by 97 of the number with 00 in
// their place.
func encodeIBAN(country, account string) string {
	digits := ""
	for _, c := range account + country + "00" {
		if c >= 'A' {
			digits += big.NewInt(int64(c - 'A' + 10)).String()
		} else {
			digits += string(c)
		}
	}
	number, _ := new(big.Int).SetString(digits, 10)
	check := 98 - new(big.Int).Mod(number, big.NewInt(97)).Int64()
	return fmt.Sprintf("%s%02d%s", country, check, account)
}

// repeated returns n bytes that are not all the same.
func repeated(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(31*i + 9)
	}
	return b
}
