package cli

import (
	"testing"

	"example.com/till/internal/money"
)

// A plan may have a hundred thousand rows. Its file can be read again, so that a table of them is never in memory.
func TestPlanIsShownInLittleMemory(t *testing.T) {
	if !plannedView(money.NewRegistry()).Again {
		t.Error("a table of a plan keeps all of its rows")
	}
}
