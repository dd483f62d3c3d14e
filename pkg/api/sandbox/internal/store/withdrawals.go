package store

import (
	"math/big"
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

type Withdrawal struct {
	ID       string       `json:"id"`
	Account  string       `json:"account"`
	Currency string       `json:"currency"`
	Amount   money.Amount `json:"amount"` // as it was sent
	Debit    int64        `json:"debit"`  // the cost in minor units of Currency
	Address  string       `json:"address"`
	Memo     string       `json:"memo,omitempty"`
	Callback string       `json:"callback,omitempty"`
	OrderID  string       `json:"order_id,omitempty"`
	Statuses []Reached    `json:"statuses"` // never empty; appended to only by making a new slice
}

type Reached struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"`
}

func (w *Withdrawal) MadeAt() time.Time    { return w.Statuses[0].At }
func (w *Withdrawal) CurrencyCode() string { return w.Currency }
func (w *Withdrawal) Current() string      { return w.Statuses[len(w.Statuses)-1].Status }

// AddWithdrawal takes the money and stores the withdrawal, in one change.
func (s *Store) AddWithdrawal(w *Withdrawal) error {
	debit, err := s.Terms().Debit(w.Amount, w.Currency)
	if err != nil {
		return err
	}
	w.Debit = debit
	return s.Write(func(st *State) (c Change, err error) {
		a, err := st.Account(w.Account)
		if err != nil {
			return c, err
		}
		w.Statuses = []Reached{{s.Terms().Flow.First, s.Now()}}
		same := func(old *Withdrawal) bool { return old.OrderID == w.OrderID }
		if w.OrderID != "" && s.Terms().DuplicateOrderIDs == "reject" && slices.ContainsFunc(a.Withdrawals, same) {
			return c, refusal.New(refusal.DuplicateOrderID,
				"external_order_id %s was used before; use another, or look for the withdrawal that has it.", w.OrderID)
		}
		moves, swaps, err := s.Terms().raise(a, w.Currency, debit)
		if err != nil {
			return c, err
		}
		w.ID = s.IDs().Withdrawal(s.Terms().IDFormat) // now, because a state that has just begun has other ids
		for i := range swaps {
			swaps[i].Withdrawal, swaps[i].At = w.ID, w.MadeAt()
		}
		c = Change{Withdrawal: w, Moves: moves, Swaps: swaps}
		if s.Terms().CallbackOnCreate == "yes" {
			c.Delivery, c.Then = s.announce(st, w)
		}
		return c, nil
	})
}

// proceed returns the change that moves a withdrawal to its next status: the record, the refund if there is
// one, and the delivery. Every change of a status uses it.
func (s *Store) proceed(st *State, w *Withdrawal, status string, at time.Time) (c Change, err error) {
	if err := s.Terms().Flow.check(w.Current(), status); err != nil {
		return c, err
	}
	next := *w
	next.Statuses = append(slices.Clone(w.Statuses), Reached{status, at})
	c.Withdrawal = &next
	c.Delivery, c.Then = s.announce(st, &next)
	if s.Terms().Flow.Refunds[status] {
		err = st.Accounts[w.Account].credit(&c, Balance, w.Currency, w.Debit)
	}
	return c, err
}

// Advance moves a withdrawal to its next status. It returns the delivery, or nil if there is no callback.
func (s *Store) Advance(id, status string) (made *Delivery, err error) {
	err = s.Write(func(st *State) (c Change, err error) {
		w := st.Withdrawals[id]
		if w == nil {
			return c, refusal.New(refusal.NotFound, "There is no withdrawal %q; check the id.", refusal.Shorten(id))
		}
		c, err = s.proceed(st, w, status, s.Now())
		made = c.Delivery
		return c, err
	})
	return made, err
}

func (s *Terms) Shows(st *State, account, owner string) bool {
	return owner == account || account == st.Merchant && s.MerchantSees == "all"
}

func (s *Terms) WithdrawalsOf(st *State, a *Account) []*Withdrawal {
	if !s.Shows(st, a.ID, "") {
		return a.Withdrawals
	}
	all := slices.Clone(a.Withdrawals)
	for _, id := range st.ResellerIDs {
		all = append(all, st.Accounts[id].Withdrawals...)
	}
	slices.SortStableFunc(all, func(v, w *Withdrawal) int { return v.MadeAt().Compare(w.MadeAt()) })
	return all
}

// A Swap is one automatic exchange. Taken is the smallest number of minor units of From that is worth at
// least Given of To, so rounding costs less than one minor unit of From.
type Swap struct {
	Withdrawal string    `json:"withdrawal"`
	Account    string    `json:"account"` // whose funds: the merchant's id or a reseller's
	From       string    `json:"from"`
	Taken      int64     `json:"taken"`
	To         string    `json:"to"`
	Given      int64     `json:"given"`
	At         time.Time `json:"at"`
}

// raise finds need minor units of code in the balances: first in that currency, then in the others in the
// order of the setting currencies, by the rate table. It changes nothing; it returns the moves and swaps to
// make.
func (s *Terms) raise(a *Account, code string, need int64) (moves []Move, swaps []Swap, err error) {
	own := min(a.Books[Line{Balance, code}], need)
	if own > 0 {
		moves = append(moves, Move{a.ID, Balance, code, -own})
	}
	short := need - own
	for _, source := range s.Currencies {
		if short == 0 {
			break
		}
		held := a.Books[Line{Balance, source.Code}]
		if source.Code == code || held <= 0 {
			continue
		}
		given := short
		if worth := s.Convert(held, source.Code, code, false); worth.IsInt64() {
			given = min(short, worth.Int64())
		}
		if given == 0 {
			continue // the balance is worth less than one minor unit
		}
		// At most held, because given is at most its worth.
		taken := s.Convert(given, code, source.Code, true).Int64()
		moves = append(moves, Move{a.ID, Balance, source.Code, -taken})
		swaps = append(swaps, Swap{Account: a.ID, From: source.Code, Taken: taken, To: code, Given: given})
		short -= given
	}
	if short > 0 {
		return nil, nil, refusal.New(refusal.InsufficientFunds,
			"This withdrawal needs %d minor units of %s, and %d are missing, all balances counted; add funds or ask for less.", need, code, short)
	}
	return moves, swaps, nil
}

func (s *Terms) Rebate(paid int64) int64 {
	const whole = 100 * PercentScale
	return money.MulDiv(big.NewInt(paid), big.NewInt(s.RebatePercent), big.NewInt(whole), false).Int64()
}

func (s *Store) Fund(code string, minor int64) error {
	return s.Write(func(st *State) (c Change, err error) {
		err = st.Accounts[st.Merchant].credit(&c, Balance, code, minor)
		return c, err
	})
}
