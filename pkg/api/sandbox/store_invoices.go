package sandbox

import (
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// An invoice as the store keeps it.
type invoice struct {
	ID        string       `json:"id"`
	Account   string       `json:"account"`
	OrderID   *string      `json:"order_id,omitempty"`
	Number    *int64       `json:"number,omitempty"`
	Title     string       `json:"title"`
	Currency  string       `json:"currency"`
	Items     []item       `json:"items"`
	Total     int64        `json:"total"`
	Callback  string       `json:"callback,omitempty"`
	Created   time.Time    `json:"created"`
	Phase     invoicePhase `json:"phase"`
	PaidAt    time.Time    `json:"paid_at,omitzero"`
	Paid      money.Amount `json:"paid,omitzero"` // where it was not Total in Currency
	ExpiredAt time.Time    `json:"expired_at,omitzero"`
	Rebate    int64        `json:"rebate"` // fixed at payment
}

// An item is kept as it is shown: its amount is a string.
type item struct {
	Name   string `json:"name"`
	Amount string `json:"amount"`
}

// An invoicePhase is the phase of an invoice, whatever the settings call it.
type invoicePhase int

const (
	awaiting invoicePhase = iota
	paid
	expired
)

func (v *invoice) created() time.Time { return v.Created }

func (v *invoice) currencyCode() string { return v.Currency }

// payment is what a paid invoice brought in.
func (v *invoice) payment() money.Amount {
	if v.Paid.Code != "" {
		return v.Paid
	}
	return money.Amount{Code: v.Currency, Minor: v.Total}
}

// addInvoice stores an invoice, made now or when the demo says.
func (s *store) addInvoice(v *invoice) error {
	return s.write(func(st *state) (change, error) {
		a, err := st.account(v.Account)
		if err != nil {
			return change{}, err
		}
		if v.Created.IsZero() {
			v.Created = s.now()
		}
		if v.OrderID != nil && s.terms.duplicateInvoiceIDs == "reject" && a.invoiceIDs[*v.OrderID] {
			return change{}, refusal.New(refusal.DuplicateOrderID, "order_id %q was used before; use another, or look for the invoice that has it.", refusal.Shorten(*v.OrderID))
		}
		return change{Invoice: v}, nil
	})
}

func (s *store) payInvoice(id string, at time.Time) error {
	return s.write(func(st *state) (change, error) {
		v, err := st.waiting(id)
		if err != nil {
			return change{}, err
		}
		v.Phase, v.PaidAt = paid, at
		if at.IsZero() {
			v.PaidAt = s.now()
		}
		if v.Paid, err = s.terms.paid(&v); err != nil {
			return change{}, err
		}
		got := v.payment()
		if st.resellers[v.Account] != nil {
			v.Rebate = s.terms.rebate(got.Minor)
		}
		c := change{Invoice: &v}
		for _, credit := range []struct {
			book  book
			minor int64
		}{{balance, got.Minor}, {volume, got.Minor}, {rebates, v.Rebate}} {
			m, err := st.accounts[v.Account].credit(credit.book, got.Code, credit.minor)
			if err != nil {
				return change{}, err
			}
			c.Moves = append(c.Moves, m)
		}
		return c, nil
	})
}

// paid is what a customer pays for an invoice in another currency than its own, and
// nothing where it is its own.
func (s *terms) paid(v *invoice) (money.Amount, error) {
	code := s.paidIn
	if code == "" || code == v.Currency {
		return money.Amount{}, nil
	}
	worth := s.Convert(v.Total, v.Currency, code, true)
	if !worth.IsInt64() {
		return money.Amount{}, refusal.New(refusal.AmountTooLarge, "Invoice %s is worth more than an int64 of minor units of %s can hold; change the setting paid_in.", v.ID, code)
	}
	return money.Amount{Code: code, Minor: worth.Int64()}, nil
}

func (s *store) expireInvoice(id string, at time.Time) error {
	return s.write(func(st *state) (change, error) {
		v, err := st.waiting(id)
		if at.IsZero() {
			at = s.now()
		}
		return v.expire(at), err
	})
}

// expire is the change that ends an invoice unpaid, by a control or by the clock.
func (v invoice) expire(at time.Time) change {
	v.Phase, v.ExpiredAt = expired, at
	return change{Invoice: &v}
}

// waiting is a copy of an invoice that can still be paid.
func (st *state) waiting(id string) (invoice, error) {
	v := st.invoices[id]
	switch {
	case v == nil:
		return invoice{}, refusal.New(refusal.NotFound, "There is no invoice %q; check the id.", refusal.Shorten(id))
	case v.Phase == paid:
		return invoice{}, refusal.New(refusal.WrongStatus, "Invoice %s is paid already.", id)
	case v.Phase == expired:
		return invoice{}, refusal.New(refusal.WrongStatus, "Invoice %s has expired; make a new one.", id)
	}
	return *v, nil
}

func (s *terms) invoiceTagged(v *invoice, tags []string) bool {
	return slices.Contains(tags, s.invoiceStatuses[v.Phase])
}
