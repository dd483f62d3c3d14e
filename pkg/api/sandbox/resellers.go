package sandbox

import (
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/money"
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

func (s *Server) aboutReseller(view func(*wire.Rules, *store.Reseller, *store.Account) any) func(*request) action {
	return func(req *request) action {
		id := req.query.UUID("id")
		return func() (any, error) {
			return s.ofReseller(id, func(r *store.Reseller, a *store.Account) any { return view(&req.choices.Rules, r, a) })
		}
	}
}

func (s *Server) listResellers(r *request) action {
	return func() (any, error) {
		all := map[string]any{}
		s.store.Read(func(st *store.State) {
			for _, id := range st.ResellerIDs {
				all[id] = r.choices.ViewReseller(st.Resellers[id], st.Accounts[id])
			}
		})
		return all, nil
	}
}

func (s *Server) listResellerIDs() (any, error) {
	ids := []string{}
	s.store.Read(func(st *store.State) { ids = append(ids, st.ResellerIDs...) })
	return ids, nil
}

func (s *Server) listResellerWithdrawals(r *request) action {
	id, p := r.query.UUID("id"), r.choices.ReadPaging(r.query)
	return s.ifKnown(id, func() (any, error) { return s.pageOfWithdrawals(r, id, p) })
}

func (s *Server) getResellerWithdrawal(r *request) action {
	read := r.query.Text
	if r.choices.IDFormat == "uuid" {
		read = r.query.UUID
	}
	id, withdrawal := r.query.UUID("id"), read("withdraw")
	return s.ifKnown(id, func() (any, error) { return s.withdrawalOf(r.choices, id, withdrawal) })
}

// listResellerInvoices takes the withdrawal filter. By default every field is optional, so {} selects all
// invoices.
func (s *Server) listResellerInvoices(r *request) action {
	id, p := r.query.UUID("id"), r.choices.ReadPaging(r.query)
	return s.ifKnown(id, func() (any, error) {
		in := r.fields()
		var f wire.Filter
		err := *in.Err
		if r.choices.InvoiceFilter != "ignored" {
			f = r.choices.ReadFilter(in, r.choices.InvoiceStatuses[:], r.choices.InvoiceFilter == "required")
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
		if r.choices.InvoiceList == "array" {
			return page.Content, err
		}
		return page, err
	})
}

func (s *Server) aboutResellerInvoice(view func(*wire.Rules, *store.Invoice) any) func(*request) action {
	return func(r *request) action {
		id, invoice := r.query.UUID("id"), r.query.UUID("invoice")
		return s.ifKnown(id, func() (any, error) { return s.ofInvoice(&r.choices.Rules, id, invoice, view) })
	}
}

// ifKnown refuses an action for a reseller that does not exist.
func (s *Server) ifKnown(reseller string, do action) action {
	return func() (any, error) {
		if _, err := s.ofReseller(reseller, func(*store.Reseller, *store.Account) any { return nil }); err != nil {
			return nil, err
		}
		return do()
	}
}

func (s *Server) listInvites(r *request) action {
	return func() (any, error) {
		all := []wire.InviteView{}
		s.store.Read(func(st *store.State) {
			for _, v := range st.InviteOrder {
				if !v.Redeemed || r.choices.InvitesListed == "all" {
					all = append(all, wire.InviteView{Invite: v.ID, Label: v.Label})
				}
			}
		})
		return all, nil
	}
}

func (s *Server) getInvite(r *request) action {
	id := r.query.UUID("id")
	return func() (view any, err error) {
		err = refusal.New(refusal.NotFound, "There is no invite %s; check the id.", id)
		s.store.Read(func(st *store.State) {
			if v := st.Invites[id]; v != nil {
				view, err = wire.InviteView{Invite: v.ID, Label: v.Label}, nil
			}
		})
		return view, err
	}
}

func (s *Server) createInvite(r *request) action {
	return func() (any, error) {
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
			Replace(r.choices.InviteURL)
		return wire.InviteView{Invite: v.ID, Label: v.Label, URL: url}, nil
	}
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

func (s *Server) getResellerBalanceIn(r *request) action {
	id, currency, fiatCode := r.query.UUID("id"), r.query.Currency("currency"), r.choices.readIncludeFiat(r.query)
	return func() (any, error) {
		held, err := s.heldIn(id, store.Balance, currency.Code)
		if err != nil || fiatCode == "" {
			return r.choices.ViewBalance(held, nil), err
		}
		worth := r.choices.Convert(held.Minor, held.Code, fiatCode, false)
		if !worth.IsInt64() {
			return nil, refusal.New(refusal.AmountTooLarge,
				"The balance is worth more than an int64 of minor units of %s can hold; ask without include_fiat.",
				fiatCode)
		}
		return r.choices.ViewBalance(held, &money.Amount{Code: fiatCode, Minor: worth.Int64()}), nil
	}
}

func (s *Server) heldIn(id string, b store.Book, code string) (held money.Amount, err error) {
	_, err = s.ofReseller(id, func(_ *store.Reseller, a *store.Account) any {
		held = money.Amount{Code: code, Minor: a.Books[store.Line{Book: b, Code: code}]}
		return nil
	})
	return held, err
}

func (s *settings) readIncludeFiat(q *wire.Query) string {
	given, value := q.Has("include_fiat"), q.Values.Get("include_fiat")
	switch {
	case !given && s.IncludeFiat == "required":
		q.Fail("The query parameter include_fiat is missing; add include_fiat=%s.",
			map[string]string{"flag": "true or include_fiat=false", "currency": s.FiatCurrency}[s.IncludeFiatIs])
	case !given, s.IncludeFiatIs == "flag" && value == "false":
	case s.IncludeFiatIs == "flag" && (value == "" || value == "true"):
		return s.FiatCurrency
	case s.IncludeFiatIs == "flag":
		q.Fail("The query parameter include_fiat is %q; it must be true or false.", refusal.Shorten(value))
	default:
		c := q.Currency("include_fiat")
		if c.Kind != money.Fiat {
			q.Fail("The query parameter include_fiat is %q; it must be one of %s.", refusal.Shorten(value), s.Known(money.Fiat))
		}
		return c.Code
	}
	return ""
}

func (s *Server) getResellerRebateIn(r *request) action {
	id, currency := r.query.UUID("id"), r.query.Currency("currency")
	return func() (any, error) {
		earned, err := s.heldIn(id, store.Rebates, currency.Code)
		return map[string]wire.AmountView{wire.Spelled(currency.Code, r.choices.RebateCodes): wire.ViewAmount(earned)}, err
	}
}
