//go:build unix

package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// These tests run README.md, AGENTS.md and the pages of docs/ as a reader would: the commands of each page one after the
// other in a shell of its own, with an empty home. They compare the output with the page.

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
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 10 {
		t.Fatalf("docs/ has only %q", pages)
	}
	for i, page := range pages {
		pages[i] = "docs/" + filepath.Base(page)
	}
	return append([]string{readme, agentsPage}, pages...)
}

// fence is a fenced block of a page.
type fence struct {
	kind     string // sh, go, text or console
	text     string
	from, to int // the lines of its text
}

func fencesOf(lines []string) (all []fence) {
	for i := 0; i < len(lines); i++ {
		kind, opens := strings.CutPrefix(lines[i], "```")
		if !opens {
			continue
		}
		f := fence{kind: kind, from: i + 1}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			f.text += lines[i] + "\n"
		}
		f.to = i
		all = append(all, f)
	}
	return all
}

// TestDocs runs the commands of each page and compares their output with the page. A block that no output
// block follows prints nothing.
func TestDocs(t *testing.T) {
	for _, page := range docsPages(t) {
		t.Run(strings.ReplaceAll(page, "/", "-"), func(t *testing.T) {
			t.Parallel()
			runPage(t, page)
		})
	}
}

// reader runs the blocks of one page.
type reader struct {
	page     string
	makefile string
	env      []string
	outer    *shell
	inner    *shell // with a sandbox; nil outside of one
	unrun    int    // lines that nothing runs
}

func runPage(t *testing.T, page string) {
	lines := strings.Split(contents(t, absolute(t, page)), "\n")
	r := reader{page: page, makefile: contents(t, absolute(t, "Makefile"))}
	// The tests do not touch the machine's keyring.
	r.env = docsEnv(t, "HOME="+t.TempDir(), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus", "EXAMPLES="+absolute(t, "examples"))
	r.outer = startShell(t, command(t, r.env, "sh"))

	fences := fencesOf(lines)
	outputs := map[int]string{} // by the number of the text block
	var before fence
	for i, f := range fences {
		expected, shown := "", i+1 < len(fences) && fences[i+1].kind == "text"
		if shown {
			expected = fences[i+1].text
		}
		if f.kind == "text" {
			if before.kind != "sh" && before.kind != "go" && page != installPage {
				t.Errorf("%s:%d: an output, but no command before it", page, f.from)
			}
			before = f
			continue
		}
		before = f
		got, ran := r.run(t, f)
		if !ran || masked(got) == masked(expected) {
			continue
		}
		if shown {
			outputs[i+1] = got
		}
		if os.Getenv(updateDocs) == "" || !shown {
			t.Errorf("%s:%d:\n%s\nprints\n%s\nand not\n%s", page, f.from, f.text, got, expected)
		}
	}
	if r.inner != nil {
		t.Errorf("%s: the shell with the sandbox is never left", page)
	}
	r.outer.leave(t)
	if len(outputs) == 0 || os.Getenv(updateDocs) == "" {
		return
	}
	for i := len(fences) - 1; i >= 0; i-- { // from the end, so that earlier line numbers stay valid
		if out, changed := outputs[i]; changed {
			out := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			lines = slices.Replace(lines, fences[i].from, fences[i].to, out...)
		}
	}
	if err := os.WriteFile(absolute(t, page), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs one block. Some blocks are only checked: ran is false for them.
func (r *reader) run(t *testing.T, f fence) (got string, ran bool) {
	t.Helper()
	opener := strings.HasPrefix(f.text, "till sandbox run ") && strings.HasSuffix(f.text, " -- sh\n")
	switch {
	case f.kind == "console":
		r.checkUnrun(t, f)
		return "", false
	case f.kind == "go":
		return runGo(t, f.text), true
	case f.kind != "sh":
		t.Errorf("%s:%d: a block of %q, which nothing runs", r.page, f.from, f.kind)
		return "", false
	case strings.HasPrefix(f.text, "make "): // these would run this test again
		for line := range strings.Lines(f.text) {
			target := strings.Fields(line)[1]
			if !strings.Contains(r.makefile, "\n"+target+":") {
				t.Errorf("%s:%d: the Makefile has no target %q", r.page, f.from, target)
			}
		}
		return "", false
	case opener && r.inner == nil:
		cmd := command(t, r.env, "sh", "-c", "exec "+f.text)
		cmd.Dir = strings.TrimSpace(r.outer.run(t, "pwd\n"))
		r.inner = startShell(t, cmd)
		return "", true
	case f.text == "exit\n":
		if r.inner == nil {
			t.Fatalf("%s:%d: there is no shell to leave", r.page, f.from)
		}
		got, r.inner = r.inner.leave(t), nil
		return got, true
	}
	return cmp.Or(r.inner, r.outer).run(t, f.text), true
}

// checkUnrun checks a block that no test can run, because it changes the machine: only the page about
// installing has such blocks, and the README two lines.
func (r *reader) checkUnrun(t *testing.T, f fence) {
	t.Helper()
	r.unrun += strings.Count(f.text, "\n")
	if r.page != installPage && (r.page != readme || r.unrun > 2) {
		t.Errorf("%s:%d: a block that nothing runs: it belongs in %s", r.page, f.from, installPage)
	}
}

// runGo runs a program with a sandbox, or a test, as the page says.
func runGo(t *testing.T, source string) string {
	t.Helper()
	env := docsEnv(t)
	if strings.Contains(source, "*testing.T)") {
		file := filepath.Join(t.TempDir(), "page_test.go")
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, env, "go", "test", "-trimpath", file)
		cmd.Dir = absolute(t, ".")
		if f := finish(t, cmd); f.code != 0 {
			t.Errorf("the test fails: %s%s", f.out, f.err)
		}
		return ""
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := buildGo(t, env, file)
	f := finish(t, command(t, env, "till", "sandbox", "run", "--seed", "demo", "--", program))
	if f.code != 0 {
		t.Errorf("the program ended with %d: %s", f.code, f.err)
	}
	return f.out
}

// shell is a shell that gets its commands step by step.
type shell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader // standard output and standard error, in the order of writing
}

func startShell(t *testing.T, cmd *exec.Cmd) *shell {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd.Stdout, cmd.Stderr = w, w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s := &shell{cmd, in, bufio.NewReader(r)}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return s
}

// run runs commands in the shell and returns their output.
func (s *shell) run(t *testing.T, commands string) string {
	t.Helper()
	const mark = "-- that was all --\n"
	if _, err := fmt.Fprintf(s.in, "%secho '%s'\n", commands, strings.TrimSuffix(mark, "\n")); err != nil {
		t.Fatal(err)
	}
	var got string
	for !strings.HasSuffix(got, mark) {
		line, err := s.out.ReadString('\n')
		got += line
		if err != nil {
			t.Fatalf("the shell has ended in\n%s\nafter\n%s", commands, got)
		}
	}
	return strings.TrimSuffix(got, mark)
}

func (s *shell) leave(t *testing.T) string {
	t.Helper()
	if _, err := io.WriteString(s.in, "exit\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(s.out)
	if err := cmp.Or(err, s.cmd.Wait()); err != nil {
		t.Error(err)
	}
	return string(rest)
}

// TestExitCodesPage compares the table of docs/exit-codes.md with the list of exit codes.
func TestExitCodesPage(t *testing.T) {
	const page = "docs/exit-codes.md"
	const head = "| Code | Kind | Meaning |\n|---|---|---|\n"
	var want strings.Builder
	for _, e := range cmdutil.ExitCodes() {
		kind := ""
		if e.Kind != "" {
			kind = "`" + e.Kind + "`"
		}
		fmt.Fprintf(&want, "| %d | %s | %s |\n", e.Code, kind, e.Meaning)
	}
	before, after, found := strings.Cut(contents(t, absolute(t, page)), head)
	if !found {
		t.Fatalf("%s has no table of exit codes", page)
	}
	table := regexp.MustCompile(`^(\|.*\n)*`).FindString(after)
	if table == want.String() {
		return
	}
	if os.Getenv(updateDocs) == "" {
		t.Fatalf("the table of exit codes is\n%s\nand not\n%s", table, want.String())
	}
	updated := before + head + want.String() + strings.TrimPrefix(after, table)
	if err := os.WriteFile(absolute(t, page), []byte(updated), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestConfigurationPage checks that docs/configuration.md has every setting of a profile and every variable.
func TestConfigurationPage(t *testing.T) {
	const page = "docs/configuration.md"
	text := contents(t, absolute(t, page))
	for _, key := range config.ProfileKeys() {
		if !strings.Contains(text, "\n| `"+key+"` |") {
			t.Errorf("%s has no row for the setting %s", page, key)
		}
	}
	for _, variable := range config.Variables() {
		if !strings.Contains(text, "\n| `"+variable.Name+"` |") {
			t.Errorf("%s has no row for the variable %s", page, variable.Name)
		}
	}
}

// TestGapsPage checks that docs/interface-gaps.md has every choice of the sandbox, and that the settings
// which it names exist.
func TestGapsPage(t *testing.T) {
	const page = "docs/interface-gaps.md"
	text := contents(t, absolute(t, page))
	exists := map[string]bool{}
	for _, s := range sandbox.Settings() {
		exists[s.Name] = true
		if !strings.Contains(text, "`"+s.Name+"`") {
			t.Errorf("%s has nothing on the setting %s", page, s.Name)
		}
	}
	for _, key := range config.ProfileKeys() {
		exists[key] = true
	}
	for _, m := range regexp.MustCompile("`([a-z]+_[a-zA-Z_]+)`").FindAllStringSubmatch(text, -1) {
		if name := m[1]; !exists[name] && !slices.Contains(interfaceFields, name) {
			t.Errorf("%s: there is no setting %s", page, name)
		}
	}
}

// interfaceFields are the fields of the service in docs/interface-gaps.md that look like settings.
var interfaceFields = []string{"created_date", "due_date", "invoice_stats", "order_id", "page_count", "page_size"}

// TestDocsNameWhatExists checks that the commands, flags, make targets and files that the pages name exist.
func TestDocsNameWhatExists(t *testing.T) {
	makefile := contents(t, absolute(t, "Makefile"))
	root := tree(t)
	flags := map[string]bool{"help": true, "version": true, "no-save": true, "workers": true} // the last two: Playwright
	var collect func(cmd *cobra.Command)
	collect = func(cmd *cobra.Command) {
		add := func(f *pflag.Flag) { flags[f.Name] = true }
		cmd.Flags().VisitAll(add)
		cmd.PersistentFlags().VisitAll(add)
		for _, sub := range cmd.Commands() {
			collect(sub)
		}
	}
	collect(root)
	for _, page := range docsPages(t) {
		prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(contents(t, absolute(t, page)), "")
		for _, m := range regexp.MustCompile("`till ([^`]+)`").FindAllStringSubmatch(prose, -1) {
			var names []string
			for _, word := range strings.Fields(m[1]) {
				if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
					break
				}
				names = append(names, word)
			}
			if len(names) > 0 && names[0] == "help" {
				names = names[1:]
			}
			if len(names) == 0 { // a flag alone
				continue
			}
			cmd, rest, err := root.Find(names)
			if err != nil || cmd == root || len(rest) > 0 && cmd.HasSubCommands() {
				t.Errorf("%s: there is no command till %s", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`[^`\n]*?--([a-z][a-z-]*)").FindAllStringSubmatch(prose, -1) {
			if !flags[m[1]] {
				t.Errorf("%s: no command has a flag --%s", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`make ([a-z]+)`").FindAllStringSubmatch(prose, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %q", page, m[1])
			}
		}
		files := regexp.MustCompile("`((?:cmd|pkg|internal|examples|docs)/[^` ]*)`")
		for _, m := range files.FindAllStringSubmatch(prose, -1) {
			if _, err := os.Stat(absolute(t, m[1])); err != nil {
				t.Errorf("%s names what does not exist: %v", page, err)
			}
		}
	}
}
