package sandbox

import (
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// ofReseller returns the view of one reseller and its account. The store is locked while view runs.
func (s *Server) ofReseller(id string, view func(*store.Reseller, *store.Account) any) (answer any, err error) {
	s.store.Read(func(st *store.State) {
		if r := st.Resellers[id]; r != nil {
			answer = view(r, st.Accounts[id])
		} else {
			err = refusal.New(refusal.NotFound, "There is no reseller %s; check the id.", id)
		}
	})
	return answer, err
}

func (s *Server) aboutReseller(
	view func(*wire.Rules, *store.Reseller, *store.Account) any,
) func(*request) (any, error) {
	return withID(func(req *request, id string) (any, error) {
		return s.ofReseller(id, func(r *store.Reseller, a *store.Account) any { return view(&req.choices.Rules, r, a) })
	})
}

func (s *Server) listResellers(r *request) (any, error) {
	all := map[string]any{}
	s.store.Read(func(st *store.State) {
		for _, id := range st.ResellerIDs {
			all[id] = r.choices.ViewReseller(st.Resellers[id], st.Accounts[id])
		}
	})
	return all, nil
}

func (s *Server) listResellerIDs(r *request) (any, error) {
	ids := []string{}
	s.store.Read(func(st *store.State) { ids = append(ids, st.ResellerIDs...) })
	return ids, nil
}

func (s *Server) listResellerWithdrawals(r *request) (any, error) {
	q := r.query()
	id, p := q.UUID("id"), r.choices.ReadPaging(q)
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	return s.pageOfWithdrawals(r, id, p)
}

func (s *Server) getResellerWithdrawal(r *request) (any, error) {
	q := r.query()
	read := q.Text
	if r.choices.IDFormat == "uuid" {
		read = q.UUID
	}
	id, withdrawal := q.UUID("id"), read("withdraw")
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	return s.withdrawalOf(r.choices, id, withdrawal)
}

// listResellerInvoices takes the withdrawal filter. By default every field is optional, so {} selects all
// invoices.
func (s *Server) listResellerInvoices(r *request) (any, error) {
	q := r.query()
	id, p := q.UUID("id"), r.choices.ReadPaging(q)
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	in := r.object()
	var f wire.Filter
	err := *in.Err
	if r.choices.invoiceFilter != "ignored" {
		f = r.choices.ReadFilter(in, r.choices.InvoiceStatuses[:], r.choices.invoiceFilter == "required")
		err = in.Done()
	}
	if err != nil {
		return nil, err
	}
	f.Hide(r.stale, s.store.Now())
	tagged := func(v *store.Invoice, tags []string) bool {
		return slices.Contains(tags, r.choices.InvoiceStatuses[v.Phase])
	}
	var page wire.Page[any]
	s.store.Read(func(st *store.State) {
		var a *store.Account
		if a, err = st.Account(id); err == nil {
			page, err = wire.Pick(&r.choices.Rules, a.Invoices, f, p, tagged, r.choices.ViewInvoice)
		}
	})
	if r.choices.invoiceList == "array" {
		return page.Content, err
	}
	return page, err
}

func (s *Server) aboutResellerInvoice(view func(*wire.Rules, *store.Invoice) any) func(*request) (any, error) {
	return func(r *request) (any, error) {
		q := r.query()
		id, invoice := q.UUID("id"), q.UUID("invoice")
		if err := s.knownReseller(q, id); err != nil {
			return nil, err
		}
		return s.ofInvoice(&r.choices.Rules, id, invoice, view)
	}
}

// knownReseller finishes reading a query that names a reseller, and reports an error if the reseller does not
// exist.
func (s *Server) knownReseller(q *wire.Query, id string) error {
	if err := q.Done(); err != nil {
		return err
	}
	_, err := s.ofReseller(id, func(*store.Reseller, *store.Account) any { return nil })
	return err
}

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

// RedeemInvite turns an invite into a reseller and returns the reseller's id and API key. The sandbox keeps
// only a hash of the key, so the key cannot be read again. A label replaces the label of the invite; an empty
// one leaves it.
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
		return "", "", err
	}
	return resellerID, key, nil
}
