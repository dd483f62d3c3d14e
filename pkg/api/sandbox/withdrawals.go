package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

func (s *Server) createWithdrawal(r *request) action {
	if r.choices.ResellerWithdraws == "forbidden" && r.account != *s.store.Merchant.Load() {
		return func() (any, error) {
			return nil, refusal.New(refusal.Forbidden, "A reseller's key cannot create withdrawals; use the merchant's key.")
		}
	}
	in := r.fields()
	currency := in.Currency("currency")
	w := &store.Withdrawal{
		Account:  r.account,
		Currency: currency.Code,
		Amount:   in.Amount("amount"),
		Address:  in.Text("address"),
		Callback: in.URLOr("callback", ""),
	}
	if in.Has("external_order_id") {
		w.OrderID = in.Text("external_order_id")
		if _, ok := wire.OrderNumber(w.OrderID); !ok && r.choices.OrderIDFormat == "digits" {
			in.FailAt("external_order_id",
				"is %q; it must be a string of digits without leading zeros that fits in an int64",
				refusal.Shorten(w.OrderID))
		}
	}
	if in.Has("memo") {
		w.Memo = in.Text("memo")
		if !currency.MemoRequired && r.choices.NeedlessMemo == "reject" {
			in.FailAt("memo", "has no use in a withdrawal in %s; leave it out", currency.Code)
		}
	} else if currency.MemoRequired {
		in.FailKind(refusal.MemoRequired, "memo", "is missing; a withdrawal in %s needs one", currency.Code)
	}
	if unit := money.ByCode[w.Amount.Code]; unit.Kind == money.Crypto && unit.Code != currency.Code {
		in.FailKind(refusal.InvalidAmount, "amount",
			"is in %s, and the withdrawal in %s; give the amount in %[2]s or in a fiat currency", unit.Code,
			currency.Code)
	}
	return func() (any, error) {
		err := s.store.AddWithdrawal(w)
		return w.ID, err
	}
}

func (s *Server) getWithdrawal(r *request) action {
	id := r.query.Text("id")
	return func() (any, error) { return s.withdrawalOf(r.choices, r.account, id) }
}

// withdrawalOf returns the view of one withdrawal. A withdrawal of another account is not found, like one
// that does not exist. Without an account, it is any withdrawal.
func (s *Server) withdrawalOf(by *settings, account, id string) (view wire.WithdrawalView, err error) {
	id = wire.Lower(id)
	var w store.Withdrawal
	s.store.Read(func(st *store.State) {
		if found := st.Withdrawals[id]; found != nil && (account == "" || by.Shows(st, account, found.Account)) {
			w = *found
		}
	})
	if w.ID == "" {
		return view, refusal.New(refusal.NotFound, "There is no withdrawal %q in this account; check the id.",
			refusal.Shorten(id))
	}
	return by.ViewWithdrawal(&w, *s.store.Merchant.Load(), w.Address), nil
}

func (s *Server) listWithdrawals(r *request) action {
	p := r.choices.ReadPaging(r.query)
	return func() (any, error) { return s.pageOfWithdrawals(r, r.account, p) }
}

func (s *Server) pageOfWithdrawals(r *request, id string, p wire.Paging) (any, error) {
	in := r.fields()
	f := r.choices.ReadFilter(in, r.choices.Flow.Statuses, true)
	if err := in.Done(); err != nil {
		return nil, err
	}
	f.Hide(r.stale, s.store.Now())
	tagged := func(w *store.Withdrawal, tags []string) bool {
		if r.choices.TagsMatch == "current" {
			return slices.Contains(tags, w.Current())
		}
		return slices.ContainsFunc(w.Statuses, func(r store.Reached) bool { return slices.Contains(tags, r.Status) })
	}
	view := func(w *store.Withdrawal) wire.WithdrawalView {
		return r.choices.ViewWithdrawal(w, *s.store.Merchant.Load(), r.choices.ListAddress(w))
	}
	var page wire.Page[wire.WithdrawalView]
	var err error
	s.store.Read(func(st *store.State) {
		var a *store.Account
		if a, err = st.Account(id); err == nil {
			page, err = wire.Pick(&r.choices.Rules, r.choices.WithdrawalsOf(st, a), f, p, tagged, view)
		}
	})
	return page, err
}

// AdvanceWithdrawal moves a withdrawal to its next status, if the setting withdrawal_flow has that step, and
// refunds the money if the flow says so. It returns after the first attempt to post the callback, or at once
// if an earlier delivery of the same withdrawal is still in progress. A receiver that fails is no error;
// Deliveries has the result.
func (s *Server) AdvanceWithdrawal(id, status string) error {
	_, err := s.advance(context.Background(), id, status)
	return err
}

func (s *Server) advance(ctx context.Context, id, status string) (*Delivery, error) {
	made, err := s.store.Advance(id, status)
	if err != nil || made == nil {
		return nil, err
	}
	d := s.sender.AwaitFirst(ctx, made)
	first := viewDelivery(&d)
	return &first, nil
}

// A Delivery carries one status of a withdrawal to the withdrawal's callback. It is stored in the same change
// as the status.
//
// Its State is pending, delivered, failed (given up), refused (the target is not allowed) or lost (the fault
// lose-callback struck it).
type Delivery struct {
	ID         string          `json:"id"`
	Withdrawal string          `json:"withdrawal"`
	Status     string          `json:"status"` // the status that it reports
	URL        string          `json:"url"`
	State      string          `json:"state" schema:"delivery-state"`
	Attempts   []Attempt       `json:"attempts"` // oldest first
	Body       json.RawMessage `json:"body"`     // the withdrawal at the time of the status

	// Due is when it is posted, by the sandbox's clock, while delay-callback delays it.
	Due time.Time `json:"due,omitzero"`
}

// An Attempt is one try to post a Delivery: At, by the sandbox's clock, and the Status and the Answer that
// came, or the Error why none did.
type Attempt = store.Attempt

func viewDelivery(d *store.Delivery) Delivery {
	attempts := append([]Attempt{}, d.Attempts...)
	return Delivery{d.ID, d.Withdrawal, d.Status, d.URL, d.State, attempts, json.RawMessage(d.Body), d.Due}
}

// announce returns the delivery of a withdrawal's current status, or nil if there is no callback. Faults may
// strike it.
func (s *Server) announce(st *store.State, w *store.Withdrawal) (*store.Delivery, []store.Change) {
	if w.Callback == "" {
		return nil, nil
	}
	view := s.settings().ViewWithdrawal(w, *s.store.Merchant.Load(), w.Address)
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(view) // a view is plain data
	d := &store.Delivery{ID: s.store.IDs().UUID("delivery"), Withdrawal: w.ID, Status: w.Current(), URL: w.Callback,
		Body: body.String(), State: store.Pending}
	return d, fault.ApplyToDelivery(st.Faults, d, w.Statuses[len(w.Statuses)-1].At)
}

// Deliveries returns the callbacks that were posted or are pending, oldest first.
func (s *Server) Deliveries() []Delivery {
	all := []Delivery{}
	s.read(func(st *store.State) {
		for _, d := range st.DeliveryOrder {
			all = append(all, viewDelivery(d))
		}
	})
	return all
}

// Resend posts a delivery again, whatever its state, and returns it as it is after the attempt. It is no
// error if the receiver fails again. A pending delivery is posted at once, unless an earlier one of the same
// withdrawal is also pending: that one must come first.
func (s *Server) Resend(id string) (Delivery, error) {
	d, err := s.resend(context.Background(), id)
	return d, err
}

func (s *Server) resend(ctx context.Context, id string) (Delivery, error) {
	if err := s.store.Refresh(); err != nil {
		return Delivery{}, err
	}
	d, err := s.sender.Resend(ctx, id)
	if err != nil {
		return Delivery{}, err
	}
	return viewDelivery(&d), nil
}

func (s *Server) controlResend(r *request) action {
	id := wire.Lower(r.fields().Text("id"))
	return func() (any, error) { return s.resend(r.http.Context(), id) }
}
