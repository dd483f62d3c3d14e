package overlay

import (
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	p := Patch{"some.go", "\tb := 1\n", "\tb := 2\n"}
	for source, fits := range map[string]bool{"\ta := 1\n\tb := 1\n": true, "\ta := 1\n": false,
		"\tb := 1\n\tb := 1\n": false} {
		if got, err := p.Apply(source); (err == nil) != fits || fits && got != "\ta := 1\n\tb := 2\n" {
			t.Errorf("%q: %q, %v", source, got, err)
		}
	}
	p = Patch{"some.go", "old", `killpoint("here")` + "\n" + `if at("there") || mutant("bug") || mutant("bug") {`}
	if _, err := p.Apply("new"); err == nil || !strings.Contains(err.Error(),
		"the patch for the point here, the point there, the mutant bug does not apply to some.go") {
		t.Error(err)
	}
}
