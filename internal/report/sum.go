package report

import (
	"cmp"
	"math/big"
	"math/bits"
)

// sum is a sum of int64 in two's complement of 128 bits.
type sum struct{ hi, lo uint64 }

func (s *sum) add(n int64) { s.plus(sum{uint64(n >> 63), uint64(n)}) }

func (s *sum) plus(o sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi, _ = bits.Add64(s.hi, o.hi, carry)
}

func (s sum) compare(o sum) int {
	return cmp.Or(cmp.Compare(int64(s.hi), int64(o.hi)), cmp.Compare(s.lo, o.lo))
}

func (s sum) big() *big.Int {
	n := big.NewInt(int64(s.hi))
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(s.lo))
}

// tenths returns part of whole in tenths of a percent, rounded half away from zero, or nil if whole is 0.
func tenths(part, whole *big.Int) *big.Int {
	if whole.Sign() == 0 {
		return nil
	}
	size := new(big.Int).Abs(whole)
	n := new(big.Int).Abs(part)
	n.Mul(n, big.NewInt(2000)).Add(n, size)
	n.Quo(n, size.Lsh(size, 1))
	if part.Sign() != whole.Sign() {
		n.Neg(n)
	}
	return n
}
