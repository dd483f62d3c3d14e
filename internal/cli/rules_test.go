package cli

import (
	"path/filepath"
	"regexp"
	"testing"

	"example.com/till/internal/cmdutil"
)

// TestRulesHaveScripts checks that a script sees till refuse by each rule.
func TestRulesHaveScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	must(t, err)
	seen := map[string]bool{}
	for _, script := range scripts {
		for _, m := range regexp.MustCompile(`(?m)^stderr .*(?:till: |"rule":")([a-z_]+)[:"]`).
			FindAllStringSubmatch(contents(t, script), -1) {
			seen[m[1]] = true
		}
	}
	for _, r := range cmdutil.Rules() {
		if !seen[r.Name] {
			t.Errorf("no script has an error of the rule %s", r.Name)
		}
	}
}
