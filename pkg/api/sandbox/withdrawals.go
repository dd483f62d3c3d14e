package sandbox

import (
	"encoding/json"
	"slices"
	"time"
)

// A withdrawal as the store keeps it. Fields are exported so that a change can
// be saved as JSON; what the wire shows is withdrawalView.
type withdrawal struct {
	ID       string    `json:"id"`
	Account  string    `json:"account"`
	Currency string    `json:"currency"`
	Amount   money     `json:"amount"` // as it was sent
	Debit    int64     `json:"debit"`  // what it cost, in Currency
	Address  string    `json:"address"`
	Memo     string    `json:"memo,omitempty"`
	Callback string    `json:"callback,omitempty"`
	OrderID  string    `json:"order_id,omitempty"`
	Statuses []reached `json:"statuses"` // never empty; grows only by making a new slice
}

type reached struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"`
}

func (w *withdrawal) created() time.Time   { return w.Statuses[0].At }
func (w *withdrawal) currencyCode() string { return w.Currency }
func (w *withdrawal) current() string      { return w.Statuses[len(w.Statuses)-1].Status }

func (s *Server) createWithdrawal(r *request) (any, error) {
	if err := r.query().done(); err != nil {
		return nil, err
	}
	w, err := readWithdrawal(r)
	if err != nil {
		return nil, err
	}
	if err := s.addWithdrawal(w); err != nil {
		return nil, err
	}
	return w.ID, nil
}

func readWithdrawal(r *request) (*withdrawal, error) {
	in := r.object()
	currency := in.currency("currency")
	w := &withdrawal{
		ID:       newUUID(),
		Account:  r.account,
		Currency: currency.Code,
		Amount:   in.amount("amount"),
		Address:  in.text("address"),
	}
	if in.has("callback") {
		w.Callback = in.url("callback")
	}
	if in.has("external_order_id") {
		w.OrderID = in.text("external_order_id")
		if n, ok := parseInteger(w.OrderID); !ok || n < 0 {
			in.failAt("external_order_id", "is %q; it must be a string of digits without leading zeros that fits in an int64", shorten(w.OrderID))
		}
	}
	if in.has("memo") {
		w.Memo = in.text("memo")
	} else if currency.MemoRequired {
		in.failKind(memoRequired, "memo", "is missing; a withdrawal in %s needs one", currency.Code)
	}
	if unit := byCode[w.Amount.Code]; unit.Kind == crypto && unit.Code != currency.Code {
		in.failKind(invalidAmount, "amount", "is in %s, and the withdrawal in %s; give the amount in %[2]s or in a fiat currency", unit.Code, currency.Code)
	}
	return w, in.done()
}

// addWithdrawal takes the money and stores the withdrawal, in one change. It is
// made now, unless the demo has given it a history.
func (s *Server) addWithdrawal(w *withdrawal) error {
	debit, err := s.settings.debit(w.Amount, w.Currency)
	if err != nil {
		return err
	}
	w.Debit = debit
	return s.store.write(func(st *state) (change, error) {
		a, err := st.account(w.Account)
		if err != nil {
			return change{}, err
		}
		if w.Statuses == nil {
			w.Statuses = []reached{{s.settings.flow.first, s.now()}}
		}
		if s.settings.duplicateOrderIDs == "reject" && a.orderIDs[w.OrderID] {
			return change{}, fail(duplicateOrderID, "external_order_id %s was used before; use another, or look for the withdrawal that has it.", w.OrderID)
		}
		moves, swaps, err := s.settings.raise(a, w.Currency, debit)
		for i := range swaps {
			swaps[i].Withdrawal, swaps[i].At = w.ID, w.created()
		}
		return change{Withdrawal: w, Moves: moves, Swaps: swaps}, err
	})
}

func (s *Server) getWithdrawal(r *request) (any, error) {
	q := r.query()
	id := q.text("id")
	if err := q.done(); err != nil {
		return nil, err
	}
	return s.withdrawalOf(r.account, id)
}

// withdrawalOf is the single view of a withdrawal. Another account's is not
// found, the same as one that never was.
func (s *Server) withdrawalOf(account, id string) (any, error) {
	if uuid, ok := parseUUID(id); ok {
		id = uuid
	}
	var w withdrawal
	s.store.read(func(st *state) {
		if found := st.withdrawals[id]; found != nil && found.Account == account {
			w = *found
		}
	})
	if w.ID == "" {
		return nil, fail(notFound, "There is no withdrawal %q in this account; check the id.", shorten(id))
	}
	view := s.viewWithdrawal(&w)
	view.Address = w.Address
	return view, nil
}

func (s *Server) listWithdrawals(r *request) (any, error) {
	q := r.query()
	p := s.settings.readPaging(q)
	if err := q.done(); err != nil {
		return nil, err
	}
	return s.pageOfWithdrawals(r, r.account, p)
}

func (s *Server) pageOfWithdrawals(r *request, id string, p paging) (any, error) {
	in := r.object()
	f := s.settings.readFilter(in, s.settings.flow.statuses, true)
	if err := in.done(); err != nil {
		return nil, err
	}
	tagged := func(w *withdrawal, tags []string) bool {
		if s.settings.tagsMatch == "current" {
			return slices.Contains(tags, w.current())
		}
		return slices.ContainsFunc(w.Statuses, func(r reached) bool { return slices.Contains(tags, r.Status) })
	}
	var page pageOf[withdrawal]
	var err error
	s.store.read(func(st *state) {
		var a *account
		if a, err = st.account(id); err == nil {
			page, err = pick(s.settings, a.withdrawals, f, p, tagged)
		}
	})
	if err != nil {
		return nil, err
	}
	return viewPage(page, func(w *withdrawal) withdrawalView {
		view := s.viewWithdrawal(w)
		view.Address = listAddress{addressIn{w.Currency, w.Address}}
		return view
	}), nil
}

// AdvanceWithdrawal moves a withdrawal to its next status, if the setting
// withdrawal_flow knows that step, and gives the money back where it says so.
func (s *Server) AdvanceWithdrawal(id, status string) error {
	return s.advanceWithdrawal(id, status, time.Time{})
}

// advanceWithdrawal does so now, or when the demo says.
func (s *Server) advanceWithdrawal(id, status string, at time.Time) error {
	return s.store.write(func(st *state) (change, error) {
		w := st.withdrawals[id]
		if w == nil {
			return change{}, fail(notFound, "There is no withdrawal %q; check the id.", shorten(id))
		}
		if at.IsZero() {
			at = s.now()
		}
		return s.moveWithdrawal(st, w, status, at)
	})
}

// moveWithdrawal is the change that brings a withdrawal to its next status, with
// the money that goes back. Whoever moves one, a control or the clock, moves it so.
func (s *Server) moveWithdrawal(st *state, w *withdrawal, status string, at time.Time) (change, error) {
	if err := s.settings.flow.check(w.current(), status); err != nil {
		return change{}, err
	}
	next := *w
	next.Statuses = append(slices.Clone(w.Statuses), reached{status, at})
	c := change{Withdrawal: &next}
	if s.settings.flow.refunds[status] {
		back, err := st.accounts[w.Account].credit(balance, w.Currency, w.Debit)
		if err != nil {
			return change{}, err
		}
		c.Moves = []move{back}
	}
	return c, nil
}

// withdrawalView is section 2.2. The fields of type any are a value, a JSON null
// or left out, as the settings have it; Address has a shape of its own in each
// view, which the handlers fill in.
type withdrawalView struct {
	ID              string       `json:"id"`
	ExternalID      any          `json:"external_id,omitempty"`
	MerchantID      string       `json:"merchant_id"`
	Currency        currencyView `json:"currency"`
	Amount          amountView   `json:"amount"`
	Statuses        []statusView `json:"statuses"`
	Current         string       `json:"current"`
	Address         any          `json:"address"`
	IsTestnet       bool         `json:"is_testnet"`
	Callback        any          `json:"callback,omitempty"`
	ExternalOrderID any          `json:"external_order_id,omitempty"`
	Memo            string       `json:"memo,omitempty"`
}

type statusView struct {
	Status string `json:"status"`
	At     string `json:"at"`
}

type listAddress struct {
	Crypto addressIn `json:"Crypto"`
}

type addressIn struct {
	Currency string `json:"currency"`
	Address  string `json:"address"`
}

func (s *Server) viewWithdrawal(w *withdrawal) withdrawalView {
	v := withdrawalView{
		ID:              w.ID,
		ExternalID:      s.settings.absent(),
		MerchantID:      w.Account,
		Currency:        byCode[w.Currency].view(),
		Amount:          w.Amount.view(),
		Statuses:        make([]statusView, len(w.Statuses)),
		Current:         w.current(),
		IsTestnet:       s.settings.isTestnet == "true",
		Callback:        s.settings.absent(),
		ExternalOrderID: s.settings.absent(),
	}
	for i, r := range w.Statuses {
		v.Statuses[i] = statusView{r.Status, r.At.Format(s.settings.timeLayout)}
	}
	if w.OrderID != "" {
		v.ExternalID, v.ExternalOrderID = json.RawMessage(w.OrderID), w.OrderID
	}
	if w.Callback != "" {
		v.Callback = w.Callback
	}
	if s.settings.amountShown == "converted" {
		v.Amount = money{w.Currency, w.Debit}.view()
	}
	if s.settings.memoShown == "yes" {
		v.Memo = w.Memo
	}
	return v
}

// absent is what stands for a field without a value: a JSON null, or nil, which
// leaves the field out.
func (s *settings) absent() any {
	if s.absentFields == "null" {
		return json.RawMessage("null")
	}
	return nil
}
