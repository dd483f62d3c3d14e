package report

import "math/big"

// Tenths returns part of whole in tenths of a percent, rounded half away from zero, or nil if whole is 0.
func Tenths(part, whole *big.Int) *big.Int {
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
