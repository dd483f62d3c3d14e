package cli

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const repository = "../.."

// repositoryFiles returns the files that the repository has, and their directories. Outside of a checkout
// these are all files.
func repositoryFiles(t *testing.T) map[string]bool {
	t.Helper()
	var names []string
	if _, err := os.Stat(filepath.Join(repository, ".git")); err == nil {
		// In CI the checkout may belong to another user.
		cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z")
		cmd.Dir = repository
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		names = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	} else if err := fs.WalkDir(os.DirFS(repository), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{".": true}
	for _, name := range names {
		for ; name != "."; name = path.Dir(name) {
			files[name] = true
		}
	}
	return files
}

// shownFiles returns what readers may copy: the pages, the help and the examples.
func shownFiles(t *testing.T) map[string]string {
	t.Helper()
	shown := regexp.MustCompile(`^(README|CONTRIBUTING)\.md$|^(docs|examples|man|internal/cli/help)/`)
	texts := map[string]string{}
	for name := range repositoryFiles(t) {
		if info, err := os.Stat(absolute(t, name)); err == nil && !info.IsDir() && shown.MatchString(name) {
			texts[name] = pageText(t, name)
		}
	}
	return texts
}

const (
	readme      = "README.md"
	agentsPage  = "AGENTS.md"
	installPage = "docs/install.md"
	updateDocs  = "TILL_UPDATE_DOCS" // if set, TestDocs and TestExitCodesPage write what is printed into the pages
)

// docsPages returns the pages that users read, by their names in the repository.
func docsPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("docs/ has only %q, %v", pages, err)
	}
	for i, page := range pages {
		pages[i] = "docs/" + filepath.Base(page)
	}
	return append([]string{readme, agentsPage}, pages...)
}

var (
	pageFence   = regexp.MustCompile("(?ms)^```.*?^```$")
	pageCode    = regexp.MustCompile("`[^`\n]*`")
	pageLink    = regexp.MustCompile(`\]\(\s*([^()\s]*)[^()]*\)|(?m:^\[[^\]]+\]:\s*(\S+))|(?:src|href)="([^"]*)"`)
	pageHeading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	elsewhere   = regexp.MustCompile(`^[a-z]+:`)
)

// TestPagesNameWhatExists checks that the commands, flags, make targets, files and tests that the pages for users
// and for contributors name in their text exist.
func TestPagesNameWhatExists(t *testing.T) {
	makefile, root := pageText(t, "Makefile"), tree(t)
	flags := map[string]bool{"help": true, "version": true, "no-save": true, "workers": true} // the last two: Playwright
	for _, cmd := range withAll(root) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		}
	}
	var tests strings.Builder
	for name := range repositoryFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			tests.WriteString(pageText(t, name))
		}
	}
	of := map[string]struct {
		named  *regexp.Regexp
		exists func(string) bool
	}{
		"command": {regexp.MustCompile("`till ([^`]+)`"), func(words string) bool { return commandExists(root, words) }},
		"flag":    {regexp.MustCompile("`[^`\n]*?--([a-z][a-z-]*)"), func(flag string) bool { return flags[flag] }},
		"make target": {regexp.MustCompile("`make ([a-z]+)`"), func(target string) bool {
			return strings.Contains(makefile, "\n"+target+":")
		}},
		"file": {regexp.MustCompile("`((?:cmd|pkg|internal|tools|e2e|examples|docs|\\.ci)/[\\w./-]+)`"),
			func(name string) bool {
				_, err := os.Stat(absolute(t, name))
				return err == nil
			}},
		"test": {regexp.MustCompile("`(Test\\w+)`"), func(name string) bool {
			return strings.Contains(tests.String(), "func "+name+"(")
		}},
	}
	contributors := []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	for _, page := range append(docsPages(t), contributors...) {
		prose := pageFence.ReplaceAllString(pageText(t, page), "")
		for kind, thing := range of {
			for _, m := range thing.named.FindAllStringSubmatch(prose, -1) {
				ofUsers := kind == "command" || kind == "flag" || kind == "make target"
				if !thing.exists(m[1]) && !(ofUsers && slices.Contains(contributors, page)) {
					t.Errorf("%s: there is no %s %s", page, kind, m[1])
				}
			}
		}
	}
}

// commandExists reports whether words begin with the name of a command or topic, or with a flag.
func commandExists(root *cobra.Command, words string) bool {
	var names []string
	for _, word := range strings.Fields(strings.TrimPrefix(words+" ", "help ")) {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
			break
		}
		names = append(names, word)
	}
	cmd, rest, err := root.Find(names)
	return len(names) == 0 || err == nil && cmd != root && (len(rest) == 0 || !cmd.HasSubCommands())
}

// pageLinks returns the targets of a page's links to pages and files of the repository.
func pageLinks(text string) (targets []string) {
	text = pageCode.ReplaceAllString(pageFence.ReplaceAllString(text, ""), "")
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		if target := m[1] + m[2] + m[3]; !elsewhere.MatchString(target) {
			targets = append(targets, target)
		}
	}
	return targets
}

// pageAnchors returns the anchors of a page's headings as GitHub names them.
func pageAnchors(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range pageHeading.FindAllStringSubmatch(pageFence.ReplaceAllString(text, ""), -1) {
		heading := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), "")
		anchor = strings.ReplaceAll(anchor, " ", "-")
		name := anchor
		for n := 1; anchors[name]; n++ {
			name = fmt.Sprint(anchor, "-", n)
		}
		anchors[name] = true
	}
	return anchors
}

// TestLinks checks that every link of a page to something in the repository leads there, the anchor included, that
// README.md can be read in one sitting, and that its links lead to every page of docs/.
func TestLinks(t *testing.T) {
	if size := len(pageText(t, readme)); size > 10_000 {
		t.Errorf("README.md has %d bytes, and may have 10,000: move something to docs/", size)
	}
	files, checked := repositoryFiles(t), 0
	leads := map[string][]string{} // from a page to others
	for page := range files {
		if path.Ext(page) != ".md" {
			continue
		}
		for _, target := range pageLinks(pageText(t, page)) {
			checked++
			file, anchor, anchored := strings.Cut(target, "#")
			linked := page
			if file != "" {
				linked = path.Join(path.Dir(page), file)
			}
			leads[page] = append(leads[page], linked)
			switch {
			case target == "", !files[linked]:
				t.Errorf("%s: the link %s leads to no file of the repository", page, target)
			case anchored && (path.Ext(linked) != ".md" || !pageAnchors(pageText(t, linked))[anchor]):
				t.Errorf("%s: the link %s leads to no heading", page, target)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were found: the pages were not understood", checked)
	}
	reached := []string{readme}
	for i := 0; i < len(reached); i++ {
		for _, page := range leads[reached[i]] {
			if !slices.Contains(reached, page) {
				reached = append(reached, page)
			}
		}
	}
	for file := range files {
		if strings.HasPrefix(file, "docs/") && path.Ext(file) == ".md" && !slices.Contains(reached, file) {
			t.Errorf("no link leads from README.md to %s", file)
		}
	}
}

// TestPagesHaveTheSandboxesDecimals checks that no page, help or example gives a currency other decimals than the
// sandbox counts in. A reader who copied them there would move the point.
func TestPagesHaveTheSandboxesDecimals(t *testing.T) {
	counts := map[string]string{}
	for _, c := range sandbox.Currencies() {
		counts[c.Code] = strconv.Itoa(c.Decimals)
	}
	set := regexp.MustCompile(`currency set (\w+)[^\n]*?--decimals (\d+)|code: (\w+),[^\n}]*decimals: (\d+)`)
	found := 0
	for name, text := range shownFiles(t) {
		for _, m := range set.FindAllStringSubmatch(strings.ReplaceAll(text, `\-`, "-"), -1) {
			code, decimals := m[1]+m[3], m[2]+m[4]
			if found++; counts[code] != "" && counts[code] != decimals {
				t.Errorf("%s: %s has %s decimals, and the sandbox counts %s", name, code, decimals, counts[code])
			}
		}
	}
	if found == 0 {
		t.Error("no page sets decimals")
	}
}

// TestNoExampleResets fails if an example would disturb the tests of others.
func TestNoExampleResets(t *testing.T) {
	for name, text := range shownFiles(t) {
		if strings.HasPrefix(name, "examples/") && strings.Contains(text, "sandbox/reset") {
			t.Errorf("%s resets a sandbox", name)
		}
	}
}

var (
	// registryCommand matches a command that fetches from a registry, up to the end of its line or of its code.
	registryCommand = regexp.MustCompile(`\b(?:npx|uvx|npm (?:i|install|exec)|(?:pip3?|pipx|apt|apt-get|dnf) install|` +
		`apk add|go (?:run|get|install)) [^` + "`" + `\n"]*`)
	pinned = regexp.MustCompile(`^(?:@[a-z-]+/)?[\w./-]+@v?\d+\.\d+\.\d+$`)
	// A package of our own, or a file in this directory.
	local = regexp.MustCompile(`^(?:go run (?:\./\S+|main\.go)|(?:apt|dnf) install \./till_VERSION|` +
		`apk add --allow-untrusted \./till_VERSION)`)
)

// TestFetchedPackagesArePinned checks that what pages, help and examples tell to fetch from a registry has a
// version, and is fetched and run by a test.
func TestFetchedPackagesArePinned(t *testing.T) {
	ranBy := map[string][2]string{ // the file and the test
		"@playwright/test@1.65.1":     {"internal/cli/workers_test.go", "TestWorkersInPlaywright"},
		"@hey-api/openapi-ts@0.80.18": {"e2e/openapi/openapi_test.go", "TestDescription"},
	}
	found := map[string]bool{}
	for name, text := range shownFiles(t) {
		if filepath.Ext(name) == "" || strings.HasPrefix(name, "docs/pictures") || strings.HasPrefix(name, "man/") {
			continue
		}
		for _, command := range registryCommand.FindAllString(text, -1) {
			fetches := false
			for word := range strings.FieldsSeq(command) {
				if pinned.MatchString(word) {
					fetches, found[word] = true, true
					if ranBy[word][1] == "" {
						t.Errorf("%s: no test runs %q", name, command)
					}
				}
			}
			if !fetches && !local.MatchString(command) {
				t.Errorf("%s: %q names no version", name, command)
			}
		}
	}
	for what, by := range ranBy {
		if !found[what] || !strings.Contains(pageText(t, by[0]), "func "+by[1]+"(") {
			t.Errorf("no page tells to fetch %s, or %s has no test %s", what, by[0], by[1])
		}
	}
}

// TestExitCodesPage checks that the page has each exit code, and that a script ends with it.
func TestExitCodesPage(t *testing.T) {
	const page = "docs/exit-codes.md"
	const head = "| Code | Kind | Meaning |\n|---|---|---|\n"
	scripts, err := exec.Command("sh", "-c", "cat testdata/script/*.txtar").Output()
	must(t, err)
	want := ""
	for _, e := range exit.Codes() {
		if e.Code > exit.Internal && !regexp.MustCompile(fmt.Sprintf(`(?m)^(exits|ends \w+) %d\b`, e.Code)).Match(scripts) {
			t.Errorf("no script ends with %d", e.Code)
		}
		kind := ""
		if e.Kind != "" {
			kind = "`" + e.Kind + "`"
		}
		want += fmt.Sprintf("| %d | %s | %s |\n", e.Code, kind, e.Meaning)
	}
	before, after, found := strings.Cut(pageText(t, page), head)
	table := regexp.MustCompile(`^(\|.*\n)*`).FindString(after)
	switch {
	case found && table == want:
	case !found || os.Getenv(updateDocs) == "":
		t.Fatalf("the table of exit codes is\n%s\nand not\n%s", table, want)
	default:
		writeFile(t, absolute(t, page), before+head+want+strings.TrimPrefix(after, table))
	}
}

// TestSettingsPages checks that docs/configuration.md has every setting of a profile and every variable, and
// docs/interface-gaps.md every choice of the sandbox, and no setting that does not exist.
func TestSettingsPages(t *testing.T) {
	exists := map[string]bool{}
	configured := pageText(t, "docs/configuration.md")
	want := func(name string) {
		if !strings.Contains(configured, "`"+name+"`") {
			t.Errorf("docs/configuration.md has nothing on %s", name)
		}
	}
	for _, key := range config.ProfileKeys() {
		exists[key] = true
		want(key)
	}
	for _, variable := range config.Variables() {
		want(variable.Name)
	}
	gaps := pageText(t, "docs/interface-gaps.md")
	for _, s := range sandbox.Settings() {
		exists[s.Name] = true
		if !strings.Contains(gaps, "`"+s.Name+"`") {
			t.Errorf("docs/interface-gaps.md has nothing on the setting %s", s.Name)
		}
	}
	for _, field := range []string{"created_date", "due_date", "invoice_stats", "order_id", "page_count", "page_size"} {
		exists[field] = true // of the service
	}
	for _, m := range regexp.MustCompile("`([a-z]+_[a-zA-Z_]+)`").FindAllStringSubmatch(gaps, -1) {
		if !exists[m[1]] {
			t.Errorf("docs/interface-gaps.md: there is no setting %s", m[1])
		}
	}
}
