package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// KeyHash is the SHA-256 hash of a key, in hexadecimal. The state looks keys up by hash, so that the time does not
// reveal how much of a key is right.
type KeyHash string

func HashKey(key string) KeyHash {
	sum := sha256.Sum256([]byte(key))
	return KeyHash(hex.EncodeToString(sum[:]))
}

func NewUUID() string { return NewIDs("").UUID("") }

// IDs makes the ids and keys of the records of a state: random ones or, with a seed, the same ones every
// time. Each kind of record has a sequence of its own.
type IDs struct {
	seed string // empty: random

	mu   sync.Mutex
	made map[string]int // by kind
}

// NewIDs returns a maker of ids. Without a seed they are random. Two states with different seeds have no id
// in common.
func NewIDs(seed string) *IDs { return &IDs{seed: seed, made: map[string]int{}} }

func (g *IDs) next(kind string) (b [sha256.Size]byte) {
	if g.seed == "" {
		rand.Read(b[:]) // never fails
		return b
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made[kind]++
	return sha256.Sum256(fmt.Appendf(nil, "%s %s %d", g.seed, kind, g.made[kind]))
}

// UUID returns the next UUID of a kind, in the form of version 4.
func (g *IDs) UUID(kind string) string {
	b := g.next(kind)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// Text returns the next text of a kind: 26 letters and digits that cannot be guessed without the
// seed.
func (g *IDs) Text(kind string) string {
	b := g.next(kind)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:16])
}

// Withdrawal returns the next id of a withdrawal, in the form of the setting id_format. The interface says
// only that it is a string.
func (g *IDs) Withdrawal(format string) string {
	switch format {
	case "text":
		return "W-" + g.Text("withdrawal")[:16]
	case "digits":
		b := g.next("withdrawal")
		return strconv.FormatUint(1e17+binary.BigEndian.Uint64(b[:])%9e17, 10)
	}
	return g.UUID("withdrawal")
}

type Invite struct {
	ID       string    `json:"id"`
	Label    string    `json:"label"`
	Created  time.Time `json:"created"`
	Redeemed bool      `json:"redeemed"`
}

func (s *Store) AddInvite(sent string) (*Invite, error) {
	v := &Invite{ID: sent}
	if s.Terms().InviteUUID == "reference" {
		v.ID, v.Label = s.IDs().UUID("invite"), sent
	}
	return v, s.Write(func(st *State) (Change, error) {
		if st.Invites[v.ID] != nil {
			return Change{}, refusal.New(refusal.InviteExists, "There is an invite %s already; send another UUID.", v.ID)
		}
		v.Created = s.Now()
		if v.Label == "" {
			v.Label = strings.NewReplacer("{n}", strconv.Itoa(len(st.InviteOrder)+1), "{invite}", v.ID).
				Replace(s.Terms().InviteLabel)
		}
		return Change{Invite: v}, nil
	})
}

// RedeemInvite turns an invite into a reseller. A label replaces the invite's; an empty one leaves it.
func (s *Store) RedeemInvite(id, label string, key KeyHash) (resellerID string, err error) {
	r := &Reseller{ID: s.IDs().UUID("reseller"), Invite: id, Key: key}
	return r.ID, s.Write(func(st *State) (Change, error) {
		old := st.Invites[id]
		if old == nil {
			return Change{}, refusal.New(refusal.NotFound, "There is no invite %s; make it first.", id)
		}
		if old.Redeemed && s.Terms().InviteReuse == "reject" {
			return Change{}, refusal.New(refusal.InviteUsed, "Invite %s has been redeemed; make another one.", id)
		}
		v := *old
		v.Redeemed = true
		if label != "" {
			v.Label = label
		}
		r.Label, r.Created = v.Label, s.Now()
		return Change{Invite: &v, Reseller: r}, nil
	})
}

type Reseller struct {
	ID      string    `json:"id"`
	Invite  string    `json:"invite"`
	Label   string    `json:"label"`
	Key     KeyHash   `json:"key"`
	Created time.Time `json:"created"`
}
