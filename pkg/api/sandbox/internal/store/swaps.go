package store

import (
	"math/big"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A Swap is one automatic exchange, as the store keeps it.
type Swap struct {
	Withdrawal string    `json:"withdrawal"`
	Account    string    `json:"account"`
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

// Rebate returns the reseller's part of a paid invoice, rounded down.
func (s *Terms) Rebate(paid int64) int64 {
	const whole = 100 * PercentScale
	return money.MulDiv(big.NewInt(paid), big.NewInt(s.RebatePercent), big.NewInt(whole), false).Int64()
}

func (s *Store) Fund(code string, minor int64) error {
	return s.Write(func(st *State) (Change, error) {
		m, err := st.Accounts[st.Merchant].credit(Balance, code, minor)
		return Change{Moves: []Move{m}}, err
	})
}
