package reseller

import (
	"math/big"
	"testing"

	"example.com/till/internal/report"
)

// TestOthersHaveGained checks that a loss that has become smaller is a gain, as in the rows that are added up.
func TestOthersHaveGained(t *testing.T) {
	sum := sumOf([]report.Row{{Rebates: big.NewInt(80), PreviousRebates: big.NewInt(-990)}})
	if got := changeText(sum, false); got != "▲ 108%" {
		t.Errorf("-9.90 has become 0.80: %s", got)
	}
}
