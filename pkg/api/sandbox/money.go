package sandbox

import (
	"math/big"
)

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

// debit turns the amount of a withdrawal into minor units of the withdrawn
// currency. A fiat equivalent is rounded up: never less leaves than was asked.
func (s *market) debit(amount money, code string) (int64, error) {
	debit := s.convert(amount.Minor, amount.Code, code, true)
	if !debit.IsInt64() {
		return 0, fail(amountTooLarge, "amount is worth more than an int64 of minor units of %s can hold; ask for less.", code)
	}
	return debit.Int64(), nil
}
