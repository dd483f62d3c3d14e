package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"github.com/google/go-cmp/cmp"
)

// TestRulesAreCatalogued compares till schema --errors with the constants of the rules. No code names a rule
// in another way.
func TestRulesAreCatalogued(t *testing.T) {
	declared, used := map[string]string{}, map[string]bool{}
	for _, dir := range []string{"internal", "pkg/payout"} {
		eachSource(t, filepath.Join(repository, dir), func(path string, file *ast.File) {
			catalogue := strings.HasSuffix(path, "internal/cmdutil/rules.go")
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if isRule(name) && i < len(n.Values) {
							declared[name.Name] = literal(n.Values[i])
						}
					}
					return !slices.ContainsFunc(n.Names, isRule)
				case *ast.Ident:
					if isRule(n) && !catalogue {
						used[n.Name] = true
					}
				case *ast.CallExpr:
					if called := nameOf(n.Fun); (called == "refused" || called == "Refusal") && literal(n.Args[0]) != "" {
						t.Errorf("%s: %s names the rule %q without its constant", path, called, literal(n.Args[0]))
					}
				case *ast.KeyValueExpr:
					if nameOf(n.Key) == "Rule" && literal(n.Value) != "" {
						t.Errorf("%s: the rule %q is named without its constant", path, literal(n.Value))
					}
				}
				return true
			})
		})
	}
	var catalogued []string
	for _, r := range cmdutil.Rules() {
		catalogued = append(catalogued, r.Name)
	}
	slices.Sort(catalogued)
	if diff := cmp.Diff(slices.Sorted(maps.Values(declared)), catalogued); diff != "" {
		t.Errorf("constants of rules (-), what cmdutil.Rules returns (+):\n%s", diff)
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if !used[name] {
			t.Errorf("nothing refuses by the rule %s", declared[name])
		}
	}
}

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

// eachSource parses the files below a directory that are not tests.
func eachSource(t *testing.T, dir string, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(filepath.ToSlash(path), file)
		}
		return err
	})
	must(t, err)
}

// isRule reports whether a name is that of a rule's constant, such as RuleLimit.
func isRule(name *ast.Ident) bool {
	return regexp.MustCompile(`^Rule[A-Z][A-Za-z]*$`).MatchString(name.Name)
}

// nameOf returns the last part of a name, such as Refusal of cmdutil.Refusal.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literal returns the text of a string that is written out, or "".
func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, _ := strconv.Unquote(l.Value)
		return text
	}
	return ""
}
