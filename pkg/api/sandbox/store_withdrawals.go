package sandbox

import (
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A withdrawal as the store keeps it, and as a change is saved.
type withdrawal struct {
	ID       string       `json:"id"`
	Account  string       `json:"account"`
	Currency string       `json:"currency"`
	Amount   money.Amount `json:"amount"` // as it was sent
	Debit    int64        `json:"debit"`  // what it cost, in Currency
	Address  string       `json:"address"`
	Memo     string       `json:"memo,omitempty"`
	Callback string       `json:"callback,omitempty"`
	OrderID  string       `json:"order_id,omitempty"`
	Statuses []reached    `json:"statuses"` // never empty; grows only by making a new slice
}

type reached struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"`
}

func (w *withdrawal) created() time.Time { return w.Statuses[0].At }

func (w *withdrawal) currencyCode() string { return w.Currency }

func (w *withdrawal) current() string { return w.Statuses[len(w.Statuses)-1].Status }

// addWithdrawal takes the money and stores the withdrawal, in one change. It is
// made now, unless the demo has given it a history.
func (s *store) addWithdrawal(w *withdrawal) error {
	debit, err := s.terms.Debit(w.Amount, w.Currency)
	if err != nil {
		return err
	}
	w.Debit = debit
	return s.write(func(st *state) (change, error) {
		a, err := st.account(w.Account)
		if err != nil {
			return change{}, err
		}
		if w.Statuses == nil {
			w.Statuses = []reached{{s.terms.flow.first, s.now()}}
		}
		if s.terms.duplicateOrderIDs == "reject" && a.orderIDs[w.OrderID] {
			return change{}, refusal.New(refusal.DuplicateOrderID, "external_order_id %s was used before; use another, or look for the withdrawal that has it.", w.OrderID)
		}
		moves, swaps, err := s.terms.raise(a, w.Currency, debit)
		for i := range swaps {
			swaps[i].Withdrawal, swaps[i].At = w.ID, w.created()
		}
		c := change{Withdrawal: w, Moves: moves, Swaps: swaps}
		if s.terms.callbackOnCreate == "yes" {
			c.Delivery = s.announce(w)
		}
		return c, err
	})
}

// proceed is the change that brings a withdrawal to its next status: the record,
// the money where it goes back, and what its callback is to be told. Whatever
// changes a status is made of it.
func (s *store) proceed(st *state, w *withdrawal, status string, at time.Time) (change, error) {
	if err := s.terms.flow.check(w.current(), status); err != nil {
		return change{}, err
	}
	next := *w
	next.Statuses = append(slices.Clone(w.Statuses), reached{status, at})
	c := change{Withdrawal: &next, Delivery: s.announce(&next)}
	if s.terms.flow.refunds[status] {
		back, err := st.accounts[w.Account].credit(balance, w.Currency, w.Debit)
		if err != nil {
			return change{}, err
		}
		c.Moves = []move{back}
	}
	return c, nil
}

// advance moves a withdrawal to its next status, now or when the demo says. It returns the delivery, or nil where
// the withdrawal has no callback.
func (s *store) advance(id, status string, at time.Time) (made *delivery, err error) {
	err = s.write(func(st *state) (change, error) {
		w := st.withdrawals[id]
		if w == nil {
			return change{}, refusal.New(refusal.NotFound, "There is no withdrawal %q; check the id.", refusal.Shorten(id))
		}
		if at.IsZero() {
			at = s.now()
		}
		c, err := s.proceed(st, w, status, at)
		made = c.Delivery
		return c, err
	})
	return made, err
}

// shows says whether what belongs to owner is there for the key of account.
func (s *terms) shows(st *state, account, owner string) bool {
	return owner == account || account == st.merchant && s.merchantSees == "all"
}

// withdrawalsOf are the withdrawals in the list of an account, by time of creation.
func (s *terms) withdrawalsOf(st *state, a *account) []*withdrawal {
	if !s.shows(st, a.ID, "") {
		return a.withdrawals
	}
	all := slices.Clone(a.withdrawals)
	for _, id := range st.resellerIDs {
		all = append(all, st.accounts[id].withdrawals...)
	}
	slices.SortStableFunc(all, func(v, w *withdrawal) int { return v.created().Compare(w.created()) })
	return all
}
