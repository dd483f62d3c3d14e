package address

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

// The encoders of the tests are written separately, digit by digit, so that they share no mistake with the
// package.

const bitcoinDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func encode58(digits string, payload []byte) string {
	number, base, digit := new(big.Int).SetBytes(payload), big.NewInt(58), new(big.Int)
	text := ""
	for number.Sign() > 0 {
		number.DivMod(number, base, digit)
		text = string(digits[digit.Int64()]) + text
	}
	for _, b := range payload {
		if b != 0 {
			break
		}
		text = digits[:1] + text
	}
	return text
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

// encodeSegwit encodes a witness program with the constant of bech32 (1) or bech32m (0x2bc830a3).
func encodeSegwit(prefix string, version byte, program []byte, constant uint32) string {
	var values []byte
	bits := ""
	for _, b := range program {
		for i := 7; i >= 0; i-- {
			bits += string('0' + b>>i&1)
		}
	}
	for len(bits)%5 != 0 {
		bits += "0"
	}
	values = append(values, version)
	for i := 0; i < len(bits); i += 5 {
		n, _ := new(big.Int).SetString(bits[i:i+5], 2)
		values = append(values, byte(n.Int64()))
	}
	var all []byte
	for _, c := range []byte(prefix) {
		all = append(all, c>>5)
	}
	all = append(all, 0)
	for _, c := range []byte(prefix) {
		all = append(all, c&31)
	}
	all = append(append(all, values...), 0, 0, 0, 0, 0, 0)
	sum := uint32(1)
	for _, v := range all {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	sum ^= constant
	text := prefix + "1"
	for _, v := range values {
		text += string("qpzry9x8gf2tvdw0s3jn54khce6mua7l"[v])
	}
	for i := range 6 {
		text += string("qpzry9x8gf2tvdw0s3jn54khce6mua7l"[sum>>(5*(5-i))&31])
	}
	return text
}

const (
	bech32Constant  = 1
	bech32mConstant = 0x2bc830a3
)

// encodeStrkey encodes a strkey. It computes the checksum as a division of polynomials, bit by bit.
func encodeStrkey(payload []byte) string {
	message := new(big.Int).Lsh(new(big.Int).SetBytes(payload), 16)
	divisor := big.NewInt(1<<16 | 1<<12 | 1<<5 | 1)
	for message.BitLen() > 16 {
		message.Xor(message, new(big.Int).Lsh(divisor, uint(message.BitLen()-17)))
	}
	crc := message.Uint64()
	all := append(payload[:len(payload):len(payload)], byte(crc), byte(crc>>8))
	bits := ""
	for _, b := range all {
		for i := 7; i >= 0; i-- {
			bits += string('0' + b>>i&1)
		}
	}
	for len(bits)%5 != 0 {
		bits += "0"
	}
	text := ""
	for i := 0; i < len(bits); i += 5 {
		n, _ := new(big.Int).SetString(bits[i:i+5], 2)
		text += string("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[n.Int64()])
	}
	return text
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
	return country + string([]byte{byte('0' + check/10), byte('0' + check%10)}) + account
}

func bytesOf(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// repeated returns n bytes that are not all the same.
func repeated(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(31*i + 9)
	}
	return b
}
