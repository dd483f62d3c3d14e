package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
)

// KeyHash is the hash of a key. The state looks keys up by hash, so that the time
// does not reveal how much of a key is right.
type KeyHash [sha256.Size]byte

// HashKey returns the SHA-256 hash of a key.
func HashKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// MarshalText returns the hash in hexadecimal, so that a saved reseller includes it.
func (h KeyHash) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString(h[:])), nil
}

// UnmarshalText parses what MarshalText returns.
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
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// NewWithdrawalID returns a new id for a withdrawal. The interface says only that it
// is a string.
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
