//go:build unix

package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// These tests run README.md, AGENTS.md and the pages of docs/ as a reader would: the commands of each page one after the
// other in a shell of its own, with an empty home. They compare the output with the page.

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
	lines := strings.Split(pageText(t, page), "\n")
	r := reader{page: page, makefile: pageText(t, "Makefile")}
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
	writeFile(t, absolute(t, page), strings.Join(lines, "\n"))
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
	env, dir := docsEnv(t), t.TempDir()
	if strings.Contains(source, "*testing.T)") {
		cmd := command(t, env, "go", "test", "-trimpath", writeFile(t, dir+"/page_test.go", source))
		cmd.Dir = absolute(t, ".")
		if f := finish(t, cmd); f.code != 0 {
			t.Errorf("the test fails: %s%s", f.out, f.err)
		}
		return ""
	}
	program := buildGo(t, env, writeFile(t, dir+"/main.go", source))
	f := execute(t, env, "till", "sandbox", "run", "--seed", "demo", "--", program)
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
	must(t, err)
	t.Cleanup(func() { r.Close() })
	cmd.Stdout, cmd.Stderr = w, w
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	w.Close()
	s := &shell{cmd, in, bufio.NewReader(r)}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return s
}

// run runs commands in the shell and returns their output.
func (s *shell) run(t *testing.T, commands string) string {
	t.Helper()
	const mark = "-- that was all --\n"
	_, err := fmt.Fprintf(s.in, "%secho '%s'\n", commands, strings.TrimSuffix(mark, "\n"))
	must(t, err)
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
	_, err := io.WriteString(s.in, "exit\n")
	must(t, err)
	rest, err := io.ReadAll(s.out)
	if err := cmp.Or(err, s.cmd.Wait()); err != nil {
		t.Error(err)
	}
	return string(rest)
}
