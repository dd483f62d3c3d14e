package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// pagesRoot is the root of the repository.
const pagesRoot = "../.."

// TestPagesNameWhatExists checks that the files and tests that the pages for contributors name exist.
func TestPagesNameWhatExists(t *testing.T) {
	var tests strings.Builder
	for _, pattern := range []string{
		"internal/*/*_test.go", "pkg/*/*_test.go", "pkg/*/*/*_test.go", "e2e/*/*_test.go",
	} {
		files, err := filepath.Glob(filepath.Join(pagesRoot, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			tests.WriteString(pageText(t, file))
		}
	}
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		text := pageText(t, filepath.Join(pagesRoot, page))
		named := regexp.MustCompile("`((?:cmd|pkg|internal|tools|e2e|docs|\\.ci)/[\\w./-]+)`")
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(pagesRoot, m[1])); err != nil {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests.String(), "func "+m[1]+"(") {
				t.Errorf("%s: there is no test %s", page, m[1])
			}
		}
	}
}

func pageText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// repositoryFiles returns the files that the repository has, and their directories. Outside of a checkout
// these are all files.
func repositoryFiles(t *testing.T) map[string]bool {
	t.Helper()
	var names []string
	if _, err := os.Stat(filepath.Join(pagesRoot, ".git")); err == nil {
		// In CI the checkout may belong to another user.
		cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z")
		cmd.Dir = pagesRoot
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		names = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	} else {
		err := fs.WalkDir(os.DirFS(pagesRoot), ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]bool{".": true}
	for _, name := range names {
		for ; name != "."; name = path.Dir(name) {
			files[name] = true
		}
	}
	return files
}

var (
	pageFence   = regexp.MustCompile("(?ms)^```.*?^```$")
	pageCode    = regexp.MustCompile("`[^`\n]*`")
	pageLink    = regexp.MustCompile(`\]\(\s*([^()\s]*)[^()]*\)|(?m:^\[[^\]]+\]:\s*(\S+))|(?:src|href)="([^"]*)"`)
	pageHeading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	elsewhere   = regexp.MustCompile(`^[a-z]+:`)
)

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
		for name, n := anchor, 1; ; n++ {
			if !anchors[name] {
				anchors[name] = true
				break
			}
			name = anchor + "-" + string(rune('0'+n))
		}
	}
	return anchors
}

// TestLinks checks that every link of a page to something in the repository leads there, the anchor included.
func TestLinks(t *testing.T) {
	files := repositoryFiles(t)
	checked := 0
	for page := range files {
		if path.Ext(page) != ".md" {
			continue
		}
		text := pageText(t, filepath.Join(pagesRoot, page))
		for _, target := range pageLinks(text) {
			checked++
			file, anchor, anchored := strings.Cut(target, "#")
			linked := page
			if file != "" {
				linked = path.Join(path.Dir(page), file)
			}
			switch {
			case target == "", !files[linked]:
				t.Errorf("%s: the link %s leads to no file of the repository", page, target)
			case !anchored:
			case path.Ext(linked) != ".md" || !pageAnchors(pageText(t, filepath.Join(pagesRoot, linked)))[anchor]:
				t.Errorf("%s: the link %s leads to no heading", page, target)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were found: the pages were not understood", checked)
	}
}

// TestReadmeIsShort checks that the README can be read in one sitting, and that it leads to every page of
// docs/.
func TestReadmeIsShort(t *testing.T) {
	if size := len(pageText(t, filepath.Join(pagesRoot, "README.md"))); size > 10_000 {
		t.Errorf("README.md has %d bytes, and may have 10,000: move something to docs/", size)
	}
	reached := map[string]bool{"README.md": true}
	for todo := []string{"README.md"}; len(todo) > 0; todo = todo[1:] {
		for _, target := range pageLinks(pageText(t, filepath.Join(pagesRoot, todo[0]))) {
			file, _, _ := strings.Cut(target, "#")
			linked := path.Join(path.Dir(todo[0]), file)
			if path.Ext(linked) == ".md" && !reached[linked] {
				reached[linked] = true
				todo = append(todo, linked)
			}
		}
	}
	for file := range repositoryFiles(t) {
		if strings.HasPrefix(file, "docs/") && path.Ext(file) == ".md" && !reached[file] {
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
	for name := range repositoryFiles(t) {
		if !strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "internal/cli/help/") &&
			!strings.HasPrefix(name, "man/") && !strings.HasPrefix(name, "examples/") && name != "README.md" {
			continue
		}
		if info, err := os.Stat(filepath.Join(pagesRoot, name)); err != nil || info.IsDir() {
			continue
		}
		for _, m := range set.FindAllStringSubmatch(strings.ReplaceAll(pageText(t, filepath.Join(pagesRoot, name)), `\-`, "-"), -1) {
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
