package sandbox

import (
	"strconv"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// An invite is an offer to become a reseller.
type invite struct {
	ID       string    `json:"id"`
	Label    string    `json:"label"`
	Created  time.Time `json:"created"`
	Redeemed bool      `json:"redeemed"`
}

// addInvite makes an invite, now or where the demo wants it.
func (s *store) addInvite(sent string, at time.Time) (*invite, error) {
	v := &invite{ID: sent, Created: at}
	if s.terms.inviteUUID == "reference" {
		v.ID, v.Label = newUUID(), sent
	}
	return v, s.write(func(st *state) (change, error) {
		if st.invites[v.ID] != nil {
			return change{}, refusal.New(refusal.InviteExists, "There is an invite %s already; send another UUID.", v.ID)
		}
		if v.Created.IsZero() {
			v.Created = s.now()
		}
		if v.Label == "" {
			v.Label = strings.NewReplacer("{n}", strconv.Itoa(len(st.inviteOrder)+1), "{invite}", v.ID).Replace(s.terms.inviteLabel)
		}
		return change{Invite: v}, nil
	})
}

// redeemInvite turns an invite into a reseller, now or when the demo says. A label
// replaces the invite's; an empty one leaves it.
func (s *store) redeemInvite(id, label string, key keyHash, at time.Time) (resellerID string, err error) {
	r := &reseller{ID: newUUID(), Invite: id, Key: key}
	return r.ID, s.write(func(st *state) (change, error) {
		old := st.invites[id]
		if old == nil {
			return change{}, refusal.New(refusal.NotFound, "There is no invite %s; make it first.", id)
		}
		if old.Redeemed && s.terms.inviteReuse == "reject" {
			return change{}, refusal.New(refusal.InviteUsed, "Invite %s has been redeemed; make another one.", id)
		}
		v := *old
		v.Redeemed = true
		if label != "" {
			v.Label = label
		}
		if r.Label, r.Created = v.Label, at; at.IsZero() {
			r.Created = s.now()
		}
		return change{Invite: &v, Reseller: r}, nil
	})
}

// A reseller is an account that came from an invite.
type reseller struct {
	ID      string    `json:"id"`
	Invite  string    `json:"invite"`
	Label   string    `json:"label"`
	Key     keyHash   `json:"key"`
	Created time.Time `json:"created"`
}
