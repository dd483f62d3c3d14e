package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// registryCommand matches a command that fetches from a registry, up to the end of its line or of its code.
var registryCommand = regexp.MustCompile(`\b(?:npx|uvx|npm (?:i|install|exec)|(?:pip3?|pipx|apt|apt-get|dnf) install|` +
	`apk add|go (?:run|get|install)) [^` + "`" + `\n"]*`)

var (
	pinned = regexp.MustCompile(`^(?:@[a-z-]+/)?[\w./-]+@v?\d+\.\d+\.\d+$`)
	// A package of our own, or a file in this directory.
	local = regexp.MustCompile(`^(?:go run (?:\./\S+|main\.go)|(?:apt|dnf) install \./till_VERSION|` +
		`apk add --allow-untrusted \./till_VERSION)`)
)

// ranBy has, for each package that a page or an example tells to fetch, the test that runs its command.
var ranBy = map[string]struct{ file, test string }{
	"@playwright/test@1.65.1":     {"internal/cli/workers_test.go", "TestWorkersInPlaywright"},
	"@hey-api/openapi-ts@0.80.18": {"e2e/openapi/openapi_test.go", "TestDescription"},
}

// TestFetchedPackagesArePinned checks that what pages, help and examples tell to fetch from a registry has a
// version, and is fetched and run by a test.
func TestFetchedPackagesArePinned(t *testing.T) {
	found := map[string]bool{}
	for name := range repositoryFiles(t) {
		isPage := strings.HasPrefix(name, "docs/") || name == "README.md" || name == "CONTRIBUTING.md"
		isShown := strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "internal/cli/help/")
		if filepath.Ext(name) == "" || !isPage && !isShown || strings.HasPrefix(name, "docs/pictures") {
			continue
		}
		for _, command := range registryCommand.FindAllString(pageText(t, filepath.Join(pagesRoot, name)), -1) {
			checkFetched(t, name, command, found)
		}
	}
	for what, by := range ranBy {
		if !found[what] {
			t.Errorf("no page tells to fetch %s, which a test runs", what)
		}
		if !strings.Contains(pageText(t, filepath.Join(pagesRoot, by.file)), "func "+by.test+"(") {
			t.Errorf("%s has no test %s", by.file, by.test)
		}
	}
}

// checkFetched checks one command, and notes what it fetches.
func checkFetched(t *testing.T, page, command string, found map[string]bool) {
	t.Helper()
	fetches := false
	for word := range strings.FieldsSeq(command) {
		if pinned.MatchString(word) {
			fetches = true
			if found[word] = true; ranBy[word].test == "" {
				t.Errorf("%s: no test runs %q", page, command)
			}
		}
	}
	if !fetches && !local.MatchString(command) {
		t.Errorf("%s: %q names no version", page, command)
	}
}
