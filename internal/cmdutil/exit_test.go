package cmdutil

import (
	"testing"

	"example.com/till/pkg/payout"
)

// TestObservationsHaveExitCodes checks that every observation of a create has the exit code of its kind.
func TestObservationsHaveExitCodes(t *testing.T) {
	want := map[string]int{"": ExitDone, "rejected": 30, "unauthorized": 31, "rate_limited": 32, "unreachable": 40, "interrupted": 60, "usage": 10, "unknown": 20}
	for _, o := range payout.Observations() {
		if code, known := want[o.Exit]; !known || codeOf(o.Exit) != code {
			t.Errorf("%s ends with %d, want %d", o.Seen, codeOf(o.Exit), code)
		}
	}
}
