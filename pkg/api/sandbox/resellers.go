package sandbox

import (
	"example.com/till/pkg/api/sandbox/internal/refusal"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// ofReseller runs look on one reseller and its account while nothing changes.
func (s *Server) ofReseller(id string, look func(*store.Reseller, *store.Account)) error {
	found := false
	s.store.Read(func(st *store.State) {
		if r := st.Resellers[id]; r != nil {
			found = true
			look(r, st.Accounts[id])
		}
	})
	if !found {
		return refusal.New(refusal.NotFound, "There is no reseller %s; check the id.", id)
	}
	return nil
}

func (s *Server) listResellers(r *request) (any, error) {
	if err := r.query().Done(); err != nil {
		return nil, err
	}
	all := map[string]wire.ResellerView{}
	s.store.Read(func(st *store.State) {
		for _, id := range st.ResellerIDs {
			all[id] = s.settings.ViewReseller(st.Resellers[id], st.Accounts[id])
		}
	})
	return all, nil
}

func (s *Server) listResellerIDs(r *request) (any, error) {
	if err := r.query().Done(); err != nil {
		return nil, err
	}
	ids := []string{}
	s.store.Read(func(st *store.State) { ids = append(ids, st.ResellerIDs...) })
	return ids, nil
}

func (s *Server) getReseller(r *request) (any, error) {
	id, err := r.onlyID()
	if err != nil {
		return nil, err
	}
	var view wire.ResellerView
	err = s.ofReseller(id, func(r *store.Reseller, a *store.Account) { view = s.settings.ViewReseller(r, a) })
	return view, err
}

func (s *Server) getResellerInvite(r *request) (any, error) {
	id, err := r.onlyID()
	if err != nil {
		return nil, err
	}
	var view wire.InviteView
	err = s.ofReseller(id, func(r *store.Reseller, _ *store.Account) { view = wire.ViewInviteOf(r) })
	return view, err
}

// getResellerStats counts the invoices and lists the paid ones. The totals come
// from the books, which every payment enters in the same change as the invoice.
func (s *Server) getResellerStats(r *request) (any, error) {
	id, err := r.onlyID()
	if err != nil {
		return nil, err
	}
	view := wire.StatsView{
		ID:             id,
		InvoiceStats:   map[string]int64{},
		InvoiceRebates: map[string]wire.RebateView{},
	}
	if s.settings.StatsZeros == "show" {
		for _, status := range s.settings.InvoiceStatuses {
			view.InvoiceStats[status] = 0
		}
	}
	err = s.ofReseller(id, func(r *store.Reseller, a *store.Account) {
		view.Label = r.Label
		for _, v := range a.Invoices {
			view.InvoiceStats[s.settings.InvoiceStatuses[v.Phase]]++
			if v.Phase != store.Paid {
				continue
			}
			got, at := v.Payment(), v.Created
			if s.settings.RebateCreated == "payment" {
				at = v.PaidAt
			}
			code := s.settings.StatsCode(money.ByCode[got.Code])
			view.InvoiceRebates[v.ID] = wire.RebateView{
				ID:         v.ID,
				PaidAmount: map[string]int64{code: got.Minor},
				Rebate:     map[string]int64{code: v.Rebate},
				Created:    at.Format(s.settings.CreatedLayout),
			}
		}
		view.TotalVolume = s.settings.Totals(a, store.Volume)
		view.TotalRebates = s.settings.Totals(a, store.Rebates)
	})
	return view, err
}

func (s *Server) listResellerWithdrawals(r *request) (any, error) {
	q := r.query()
	id, p := q.UUID("id"), s.settings.ReadPaging(q)
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	return s.pageOfWithdrawals(r, id, p)
}

func (s *Server) getResellerWithdrawal(r *request) (any, error) {
	q := r.query()
	id, withdrawal := q.UUID("id"), ""
	if s.settings.IdFormat == "uuid" {
		withdrawal = q.UUID("withdraw")
	} else {
		withdrawal = q.Text("withdraw")
	}
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	return s.withdrawalOf(id, withdrawal)
}

// listResellerInvoices takes the withdrawal filter, by default with every field
// optional, so that {} is all of them.
func (s *Server) listResellerInvoices(r *request) (any, error) {
	q := r.query()
	id, p := q.UUID("id"), s.settings.ReadPaging(q)
	if err := s.knownReseller(q, id); err != nil {
		return nil, err
	}
	in := r.object()
	var f wire.Filter
	err := *in.Err
	if s.settings.invoiceFilter != "ignored" {
		f = s.settings.ReadFilter(in, s.settings.InvoiceStatuses[:], s.settings.invoiceFilter == "required")
		err = in.Done()
	}
	if err != nil {
		return nil, err
	}
	var page wire.PageOf[store.Invoice]
	s.store.Read(func(st *store.State) {
		var a *store.Account
		if a, err = st.Account(id); err == nil {
			page, err = wire.Pick(&s.settings.Rules, a.Invoices, f, p, s.settings.InvoiceTagged)
		}
	})
	if err != nil {
		return nil, err
	}
	view := wire.ViewPage(page, s.settings.ViewInvoice)
	if s.settings.invoiceList == "array" {
		return view.Content, nil
	}
	return view, nil
}

func (s *Server) getResellerInvoice(r *request) (any, error) {
	v, err := s.resellerInvoice(r)
	if err != nil {
		return nil, err
	}
	return s.settings.ViewInvoice(&v), nil
}

func (s *Server) getResellerInvoiceFinished(r *request) (any, error) {
	v, err := s.resellerInvoice(r)
	if err != nil {
		return nil, err
	}
	return s.settings.finished(&v), nil
}

func (s *Server) resellerInvoice(r *request) (store.Invoice, error) {
	q := r.query()
	id, invoiceID := q.UUID("id"), q.UUID("invoice")
	if err := s.knownReseller(q, id); err != nil {
		return store.Invoice{}, err
	}
	return s.invoiceOf(id, invoiceID)
}

// knownReseller ends the reading of a query that names a reseller.
func (s *Server) knownReseller(q *wire.Query, id string) error {
	if err := q.Done(); err != nil {
		return err
	}
	return s.ofReseller(id, func(*store.Reseller, *store.Account) {})
}

// onlyID reads a query that is nothing but a reseller's id.
func (r *request) onlyID() (string, error) {
	q := r.query()
	id := q.UUID("id")
	return id, q.Done()
}
