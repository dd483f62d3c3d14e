package cli

import (
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// mostLines is how long the page of pkg/payout may be, with the comment of the package: about two screens.
const mostLines = 96

// TestPayoutFace checks that go doc shows pkg/payout on two screens. It also checks that no declaration or
// comment there or in a package below names something of an internal package, because no reader of another
// module can look that up.
func TestPayoutFace(t *testing.T) {
	const payout = "example.com/till/pkg/payout"
	page := goPrints(t, "doc", payout)
	if lines := strings.Count(page, "\n"); lines > mostLines {
		t.Errorf("go doc has %d lines, and may have %d", lines, mostLines)
	}
	var names []string
	for _, p := range strings.Fields(goPrints(t, "list", "-deps", payout)) {
		if strings.HasPrefix(p, "example.com/till/internal/") {
			names = append(names, path.Base(p))
		}
	}
	internal := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\.[A-Z]\w*`)
	for _, p := range strings.Fields(goPrints(t, "list", payout+"/...")) {
		for line := range strings.Lines(goPrints(t, "doc", "-all", p)) {
			if used := internal.FindString(line); used != "" {
				t.Errorf("%s shows %s: %s", p, used, line)
			}
		}
	}
}

// goPrints returns what a command of go prints.
func goPrints(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return string(out)
}
