package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesNameWhatExists checks that the files, tests and pages that the pages for contributors name exist.
func TestPagesNameWhatExists(t *testing.T) {
	const root = "../.."
	var tests strings.Builder
	for _, pattern := range []string{"internal/*/*_test.go", "pkg/*/*_test.go", "pkg/*/*/*_test.go", "e2e/*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	for _, page := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([A-Za-z][\w./-]*)\)`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			}
		}
		if page == "README.md" {
			continue
		}
		for _, m := range regexp.MustCompile("`((?:cmd|pkg|internal|tools|e2e|\\.ci)/[\\w./-]+)`").FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(tests.String(), "func "+m[1]+"(") {
				t.Errorf("%s: there is no test %s", page, m[1])
			}
		}
	}
}
