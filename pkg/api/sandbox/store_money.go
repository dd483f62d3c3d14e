package sandbox

import (
	"math/big"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A swap is what one automatic exchange moved, as the store keeps it.
type swap struct {
	Withdrawal string    `json:"withdrawal"`
	Account    string    `json:"account"`
	From       string    `json:"from"`
	Taken      int64     `json:"taken"`
	To         string    `json:"to"`
	Given      int64     `json:"given"`
	At         time.Time `json:"at"`
}

// raise finds need minor units of code in the balances: its own first, then the
// other currencies in the order of the registry, by the rate table. It changes
// nothing and says what has to change.
func (s *terms) raise(a *account, code string, need int64) (moves []move, swaps []swap, err error) {
	own := min(a.books[line{balance, code}], need)
	if own > 0 {
		moves = append(moves, move{a.ID, balance, code, -own})
	}
	short := need - own
	for _, source := range s.Currencies {
		if short == 0 {
			break
		}
		held := a.books[line{balance, source.Code}]
		if source.Code == code || held <= 0 {
			continue
		}
		given := short
		if worth := s.Convert(held, source.Code, code, false); worth.IsInt64() {
			given = min(short, worth.Int64())
		}
		if given == 0 {
			continue // all of it is worth less than one minor unit
		}
		taken := s.Convert(given, code, source.Code, true).Int64() // at most held, because given is at most its worth
		moves = append(moves, move{a.ID, balance, source.Code, -taken})
		swaps = append(swaps, swap{Account: a.ID, From: source.Code, Taken: taken, To: code, Given: given})
		short -= given
	}
	if short > 0 {
		return nil, nil, refusal.New(refusal.InsufficientFunds,
			"The balances in all currencies together are %d minor units of %s short of the %d this withdrawal needs; add funds or ask for less.", short, code, need)
	}
	return moves, swaps, nil
}

// rebate is the reseller's part of a paid invoice, rounded down.
func (s *terms) rebate(paid int64) int64 {
	const whole = 100 * percentScale
	return money.MulDiv(big.NewInt(paid), big.NewInt(s.rebatePercent), big.NewInt(whole), false).Int64()
}

// fund adds to the merchant's balance.
func (s *store) fund(code string, minor int64) error {
	return s.write(func(st *state) (change, error) {
		m, err := st.accounts[st.merchant].credit(balance, code, minor)
		return change{Moves: []move{m}}, err
	})
}
