package store

import (
	"strconv"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// An Invite is an offer to become a reseller.
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
			return Change{},
				refusal.New(refusal.InviteExists, "There is an invite %s already; send another UUID.", v.ID)
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

// A Reseller is an account that came from an invite.
type Reseller struct {
	ID      string    `json:"id"`
	Invite  string    `json:"invite"`
	Label   string    `json:"label"`
	Key     KeyHash   `json:"key"`
	Created time.Time `json:"created"`
}
