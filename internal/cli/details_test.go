package cli

import (
	"fmt"
	"strings"
	"testing"

	"example.com/till/pkg/payout"
)

// TestDetailLines checks that one mistake in a whole file does not fill the terminal, and hides no other one.
func TestDetailLines(t *testing.T) {
	wrong := func(rows, reasons int) (all []payout.Detail) {
		for i := range rows {
			all = append(all, payout.Detail{Line: i + 2, Field: "amount",
				Message: fmt.Sprintf("the amount \"x%d\" is wrong as %s", i, strings.Repeat("z", i%reasons))})
		}
		return all
	}
	for _, tt := range []struct{ rows, reasons, lines int }{{1, 1, 1}, {20, 1, 20}, {21, 1, 2}, {30000, 3, 6}, {30000, 500, 19}} {
		lines := detailLines(wrong(tt.rows, tt.reasons))
		if len(lines) != tt.lines {
			t.Errorf("%d rows with %d reasons: %d lines: %q", tt.rows, tt.reasons, len(lines), lines)
		}
	}
	all := append(wrong(30000, 1), payout.Detail{Line: 7, Field: "address", Message: "missing"}, payout.Detail{Message: "and 5 more"})
	want := []string{`line 2: amount: the amount "x0" is wrong as `, "  and 29999 more of this kind, up to line 30001",
		"line 7: address: missing", "and 5 more"}
	if lines := detailLines(all); strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", lines)
	}
}
