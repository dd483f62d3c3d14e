package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/big"
)

// KeyHash is what the state has of a key: looking a key up by its hash takes the
// same time whether half of it is right or nothing.
type KeyHash [sha256.Size]byte

func HashKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// MarshalText and UnmarshalText let a saved reseller carry its key's hash.
func (h KeyHash) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString(h[:])), nil
}

func (h *KeyHash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err == nil && len(raw) != len(h) {
		err = errors.New("the hash of a key has another length")
	}
	copy(h[:], raw)
	return err
}

// NewUUID returns a random UUID, version 4.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:], b[0:4])
	hex.Encode(text[9:], b[4:6])
	hex.Encode(text[14:], b[6:8])
	hex.Encode(text[19:], b[8:10])
	hex.Encode(text[24:], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// NewWithdrawalID is a withdrawal's id, of which the interface says only that it is
// a string.
func (s *Terms) NewWithdrawalID() string {
	switch s.IDFormat {
	case "text":
		return "W-" + rand.Text()[:16]
	case "digits":
		n, _ := rand.Int(rand.Reader, big.NewInt(9e17)) // never fails
		return n.Add(n, big.NewInt(1e17)).String()
	}
	return NewUUID()
}
