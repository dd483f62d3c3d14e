package store

import (
	"cmp"
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

type Invoice struct {
	ID        string       `json:"id"`
	Account   string       `json:"account"`
	OrderID   *string      `json:"order_id,omitempty"`
	Number    *int64       `json:"number,omitempty"`
	Title     string       `json:"title"`
	Currency  string       `json:"currency"`
	Items     []Item       `json:"items"`
	Total     int64        `json:"total"`
	Callback  string       `json:"callback,omitempty"`
	Created   time.Time    `json:"created"`
	Phase     InvoicePhase `json:"phase"`
	PaidAt    time.Time    `json:"paid_at,omitzero"`
	Paid      money.Amount `json:"paid,omitzero"` // if it was not Total in Currency
	ExpiredAt time.Time    `json:"expired_at,omitzero"`
	FailedAt  time.Time    `json:"failed_at,omitzero"` // when a payment last failed
	Rebate    int64        `json:"rebate"`             // fixed at payment
}

// An Item is one item of an invoice. Amount is a string of minor units, as in answers.
type Item struct {
	Name   string `json:"name"`
	Amount string `json:"amount"`
}

// An InvoicePhase is the phase of an invoice. Settings choose the name of its status.
type InvoicePhase int

const (
	Awaiting InvoicePhase = iota
	Paid
	Expired
)

func (v *Invoice) MadeAt() time.Time    { return v.Created }
func (v *Invoice) CurrencyCode() string { return v.Currency }

func (v *Invoice) Payment() money.Amount {
	if v.Paid.Code != "" {
		return v.Paid
	}
	return money.Amount{Code: v.Currency, Minor: v.Total}
}

func (s *Store) AddInvoice(v *Invoice) error {
	return s.Write(func(st *State) (c Change, err error) {
		a, err := st.Account(v.Account)
		if err != nil {
			return c, err
		}
		same := func(old *Invoice) bool { return old.OrderID != nil && *old.OrderID == *v.OrderID }
		if v.OrderID != nil && s.Terms().DuplicateInvoiceOrderIDs == "reject" && slices.ContainsFunc(a.Invoices, same) {
			return c, refusal.New(refusal.DuplicateOrderID,
				"order_id %q was used before; use another, or look for the invoice that has it.", refusal.Shorten(*v.OrderID))
		}
		v.ID, v.Created = s.IDs().UUID("invoice"), s.Now()
		return Change{Invoice: v}, nil
	})
}

// Pay pays a waiting invoice in full, unless it fails: never, first or always, as in the setting
// payment_fails. Then only the time of the failure is stored, and the invoice goes on waiting. The books
// change in the same change as the invoice.
func (s *Store) Pay(id, fails string) error {
	return s.Write(func(st *State) (c Change, err error) {
		v, err := st.waiting(id)
		if err != nil {
			return c, err
		}
		c.Invoice = &v
		if fails == "always" || fails == "first" && v.FailedAt.IsZero() {
			v.FailedAt = s.Now()
			return c, nil
		}
		v.Phase, v.PaidAt = Paid, s.Now()
		if v.Paid, err = s.Terms().Paid(&v); err != nil {
			return c, err
		}
		got := v.Payment()
		if st.Resellers[v.Account] != nil {
			v.Rebate = s.Terms().Rebate(got.Minor)
		}
		a := st.Accounts[v.Account]
		err = cmp.Or(a.credit(&c, Balance, got.Code, got.Minor), a.credit(&c, Volume, got.Code, got.Minor),
			a.credit(&c, Rebates, got.Code, v.Rebate))
		return c, err
	})
}

// Paid returns the amount that a customer pays for an invoice in another currency than its own, or nothing if
// it is paid in its own, as a free one is.
func (s *Terms) Paid(v *Invoice) (money.Amount, error) {
	code := s.PaidIn
	if code == "" || code == v.Currency || v.Total == 0 {
		return money.Amount{}, nil
	}
	worth := s.Convert(v.Total, v.Currency, code, true)
	if !worth.IsInt64() {
		return money.Amount{}, refusal.New(refusal.AmountTooLarge,
			"Invoice %s is worth more than an int64 of minor units of %s can hold; change the setting paid_in.", v.ID, code)
	}
	return money.Amount{Code: code, Minor: worth.Int64()}, nil
}

func (s *Store) ExpireInvoice(id string) error {
	return s.Write(func(st *State) (Change, error) {
		v, err := st.waiting(id)
		return v.expire(s.Now()), err
	})
}

// expire returns the change that ends an invoice unpaid, by a control or by the clock.
func (v Invoice) expire(at time.Time) Change {
	v.Phase, v.ExpiredAt = Expired, at
	return Change{Invoice: &v}
}

func (st *State) waiting(id string) (Invoice, error) {
	v := st.Invoices[id]
	switch {
	case v == nil:
		return Invoice{}, refusal.New(refusal.NotFound, "There is no invoice %q; check the id.", refusal.Shorten(id))
	case v.Phase == Paid:
		return Invoice{}, refusal.New(refusal.WrongStatus, "Invoice %s is paid already.", id)
	case v.Phase == Expired:
		return Invoice{}, refusal.New(refusal.WrongStatus, "Invoice %s has expired; make a new one.", id)
	}
	return *v, nil
}

func (s *Store) Invoice(id string) (v Invoice, found bool) {
	s.Read(func(st *State) {
		if kept := st.Invoices[id]; kept != nil {
			v, found = *kept, true
		}
	})
	return v, found
}
