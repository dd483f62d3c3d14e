package sandbox

import (
	"math/big"
	"time"
)

// A Swap is what one automatic exchange moved. Taken is the smallest number of
// minor units of From that is worth at least Given of To, so what rounding
// leaves with the service is always less than one minor unit of From.
type Swap struct {
	Withdrawal string    `json:"withdrawal"`
	Account    string    `json:"account"` // whose funds: the merchant's id or a reseller's
	From       string    `json:"from"`
	Taken      int64     `json:"taken"`
	To         string    `json:"to"`
	Given      int64     `json:"given"`
	At         time.Time `json:"at"`
}

// A market is the currencies that there are and what each is worth.
type market struct {
	currencies []Currency          // in the order in which a swap draws on them
	unitValue  map[string]*big.Int // what one minor unit is worth, all on one scale
}

// mulDiv is a*b/c, exact until its single rounding: down, or up when asked.
func mulDiv(a, b, c *big.Int, up bool) *big.Int {
	q, r := new(big.Int).QuoRem(new(big.Int).Mul(a, b), c, new(big.Int))
	if up && r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// convert says what amount (minor units, not negative) of one currency is worth
// in another by the rate table.
func (s *market) convert(amount int64, from, to string, up bool) *big.Int {
	if from == to {
		return big.NewInt(amount)
	}
	return mulDiv(big.NewInt(amount), s.unitValue[from], s.unitValue[to], up)
}

// rebate is the reseller's part of a paid invoice, rounded down.
func (s *terms) rebate(paid int64) int64 {
	const whole = 100 * percentScale
	return mulDiv(big.NewInt(paid), big.NewInt(s.rebatePercent), big.NewInt(whole), false).Int64()
}

// debit turns the amount of a withdrawal into minor units of the withdrawn
// currency. A fiat equivalent is rounded up: never less leaves than was asked.
func (s *market) debit(amount money, code string) (int64, error) {
	debit := s.convert(amount.Minor, amount.Code, code, true)
	if !debit.IsInt64() {
		return 0, fail(amountTooLarge, "amount is worth more than an int64 of minor units of %s can hold; ask for less.", code)
	}
	return debit.Int64(), nil
}

// raise finds need minor units of code in the balances: its own first, then the
// other currencies in the order of the registry, by the rate table. It changes
// nothing and says what has to change.
func (s *market) raise(a *account, code string, need int64) (moves []move, swaps []Swap, err error) {
	own := min(a.books[line{balance, code}], need)
	if own > 0 {
		moves = append(moves, move{a.ID, balance, code, -own})
	}
	short := need - own
	for _, source := range s.currencies {
		if short == 0 {
			break
		}
		held := a.books[line{balance, source.Code}]
		if source.Code == code || held <= 0 {
			continue
		}
		given := short
		if worth := s.convert(held, source.Code, code, false); worth.IsInt64() {
			given = min(short, worth.Int64())
		}
		if given == 0 {
			continue // all of it is worth less than one minor unit
		}
		taken := s.convert(given, code, source.Code, true).Int64() // at most held, because given is at most its worth
		moves = append(moves, move{a.ID, balance, source.Code, -taken})
		swaps = append(swaps, Swap{Account: a.ID, From: source.Code, Taken: taken, To: code, Given: given})
		short -= given
	}
	if short > 0 {
		return nil, nil, fail(insufficientFunds,
			"The balances in all currencies together are %d minor units of %s short of the %d this withdrawal needs; add funds or ask for less.", short, code, need)
	}
	return moves, swaps, nil
}
