package address

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"example.com/till/internal/near"
	"github.com/btcsuite/btcd/btcutil/base58"
)

// base58Alphabet is the alphabet of Bitcoin, in the order of its digits.
const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// A chain describes the addresses of a network that follows Bitcoin: base58 with a version and a checksum of
// 4 bytes (BIP 13 and the pages on Base58Check) and, if the network has a prefix, bech32 (see segwit.go).
type chain struct {
	versions    string // the possible version bytes, each the first byte of a payload
	first       string // the characters that an address in base58 can begin with; empty: no base58
	least, most int    // bounds of the length in base58, one wider at each end than that of nearly all addresses
	prefix      string // the human-readable part in bech32; empty: no bech32
}

func bitcoinLike(format, one, all string, c chain) kind {
	return kind{format, one, all, c.shape, func(text string) error { return c.check(text, one) }, c.begins()}
}

// begins returns how an address of the network can begin.
func (c chain) begins() []string {
	all := strings.Split(c.first, "")
	if c.prefix != "" {
		all = append(all, c.prefix+"1")
	}
	return all
}

func (c chain) shape(text string) bool {
	return c.isBech32(text) && isSegwitShape(text) || c.isBase58Shape(text)
}

func (c chain) isBase58Shape(text string) bool {
	return len(text) >= max(c.least, 1) && len(text) <= c.most && strings.IndexByte(c.first, text[0]) >= 0 &&
		scrambled(text) && mostly(text, base58Alphabet)
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

// isBech32 reports whether a text begins like a bech32 address of this network.
func (c chain) isBech32(text string) bool {
	n := len(c.prefix)
	return n > 0 && len(text) > n && text[n] == '1' && strings.EqualFold(text[:n], c.prefix)
}

func (c chain) check(text, one string) error {
	if c.isBech32(text) {
		return checkSegwit(text)
	}
	if c.first == "" || text == "" || strings.IndexByte(c.first, text[0]) < 0 {
		return fmt.Errorf("it begins otherwise than %s, which begins with %s", one, near.Or(c.begins()))
	}
	bytes, err := decodeBase58(text, 25)
	if err != nil {
		return err
	}
	if strings.IndexByte(c.versions, bytes[0]) < 0 {
		return fmt.Errorf("%w than %s", errNetwork, one)
	}
	return nil
}

// decodeBase58 decodes base58 with a checksum: the last four bytes are the first four of the double SHA-256
// of the others.
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
	first := sha256.Sum256(bytes[:size-4])
	sum := sha256.Sum256(first[:])
	if string(sum[:4]) != string(bytes[size-4:]) {
		return nil, errChecksum
	}
	return bytes, nil
}
