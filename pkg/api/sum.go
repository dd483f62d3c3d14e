package api

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// A Sum is an exact sum of minor units. It has 128 bits, more than any number of amounts needs. Equal sums
// are equal values.
type Sum struct{ hi, lo uint64 } // two's complement

// SumOf returns a number as a Sum.
func SumOf(minor int64) Sum { return Sum{uint64(minor >> 63), uint64(minor)} }

// SumOfHalves returns high * 2^32 + low.
func SumOfHalves(high, low int64) Sum {
	s := Sum{uint64(high >> 32), uint64(high) << 32}
	s.Add(low)
	return s
}

// Add adds a number.
func (s *Sum) Add(minor int64) { s.Plus(SumOf(minor)) }

// Plus adds another sum.
func (s *Sum) Plus(o Sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi, _ = bits.Add64(s.hi, o.hi, carry)
}

// Compare returns -1, 0 or 1, as cmp.Compare does.
func (s Sum) Compare(o Sum) int {
	return cmp.Or(cmp.Compare(int64(s.hi), int64(o.hi)), cmp.Compare(s.lo, o.lo))
}

// Int64 returns the sum, and whether it is one that an int64 can have.
func (s Sum) Int64() (minor int64, fits bool) { return int64(s.lo), s == SumOf(int64(s.lo)) }

// Big returns the sum as a big.Int.
func (s Sum) Big() *big.Int {
	n := big.NewInt(int64(s.hi))
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(s.lo))
}

func (s Sum) String() string { return s.Big().String() }

// BigAmount is an amount that may be larger than an int64, such as a total. In JSON it looks like an Amount.
type BigAmount struct {
	Kind  Kind
	Code  string
	Minor Sum // in minor units
}

// Big returns an amount as a BigAmount.
func Big(a Amount) BigAmount { return BigAmount{a.Kind, a.Code, SumOf(a.Minor)} }

// Unit returns the kind and the code of the amount.
func (a BigAmount) Unit() Currency { return Currency{a.Kind, a.Code} }

// SameUnit reports whether two amounts are in one unit. Codes that differ only in case are one.
func (a BigAmount) SameUnit(o BigAmount) bool {
	return a.Kind == o.Kind && strings.EqualFold(a.Code, o.Code)
}

// MarshalJSON writes an object such as {"Crypto":{"Btc":1500000}}. A BigAmount without a kind or a code is an
// error.
func (a BigAmount) MarshalJSON() ([]byte, error) {
	return marshalAmount(a.Kind, a.Code, a.Minor.Big().String())
}

// UnmarshalJSON reads what MarshalJSON writes and refuses anything else.
func (a *BigAmount) UnmarshalJSON(text []byte) error { return unmarshal(text, a) }

func (a *BigAmount) read(r *reader) error { return r.amount(&a.Kind, &a.Code, nil, &a.Minor) }

func (s *Sum) read(r *reader) error {
	text, err := r.number()
	if err != nil {
		return err
	}
	if n, ok := new(big.Int).SetString(string(text), 10); ok {
		low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
		*s = Sum{uint64(new(big.Int).Rsh(n, 64).Int64()), low.Uint64()}
		if s.Big().Cmp(n) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%.40s is not an integer of 128 bits in plain digits", text)
}
