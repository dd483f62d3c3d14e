package sandbox

import (
	"strings"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

func (s *Server) listInvites(r *request) (any, error) {
	all := []wire.InviteView{}
	s.store.Read(func(st *store.State) {
		for _, v := range st.InviteOrder {
			if !v.Redeemed || r.choices.invitesListed == "all" {
				all = append(all, wire.InviteView{Invite: v.ID, Label: v.Label})
			}
		}
	})
	return all, nil
}

func (s *Server) getInvite(_ *request, id string) (any, error) {
	var view wire.InviteView
	s.store.Read(func(st *store.State) {
		if v := st.Invites[id]; v != nil {
			view = wire.InviteView{Invite: v.ID, Label: v.Label}
		}
	})
	if view.Invite == "" {
		return nil, refusal.New(refusal.NotFound, "There is no invite %s; check the id.", id)
	}
	return view, nil
}

func (s *Server) createInvite(r *request) (any, error) {
	raw, err := r.body()
	if err != nil {
		return nil, err
	}
	text, _ := wire.AsString(raw)
	sent, ok := wire.ParseUUID(text)
	if !ok {
		return nil, refusal.New(refusal.InvalidBody,
			"The body must be a JSON string that holds a UUID, such as %q, not %s.",
			"6f1c2a34-9d0e-4b7a-8c55-0123456789ab", refusal.Shorten(string(raw)))
	}
	v, err := s.store.AddInvite(sent)
	if err != nil {
		return nil, err
	}
	url := strings.NewReplacer("{base}", s.base(r.http), "{host}", hostOf(r.http), "{invite}", v.ID).
		Replace(r.choices.inviteURL)
	return wire.InviteView{Invite: v.ID, Label: v.Label, URL: url}, nil
}

// RedeemInvite turns an invite into a reseller and returns the reseller's id and API
// key. The sandbox keeps only a hash of the key, so the key cannot be read again. A
// label replaces the label of the invite; an empty one leaves it.
func (s *Server) RedeemInvite(invite, label string) (resellerID, key string, err error) {
	id, ok := wire.ParseUUID(invite)
	key = KeyPrefix + s.store.IDs().Text("key")
	switch {
	case !ok:
		err = refusal.New(refusal.InvalidQuery,
			"The invite %q is not a UUID; give the one that the invite was made with.", refusal.Shorten(invite))
	case label != "" && !wire.IsPlain(label):
		err = refusal.New(refusal.InvalidQuery,
			"The label %q is blank or holds control characters; use plain text.", refusal.Shorten(label))
	default:
		resellerID, err = s.store.RedeemInvite(id, label, store.HashKey(key))
	}
	if err != nil {
		return "", "", exported(err)
	}
	return resellerID, key, nil
}
