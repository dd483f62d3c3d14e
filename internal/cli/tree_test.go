package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"github.com/spf13/cobra"
)

// quiet returns an app without variables, which writes nothing.
func quiet() *cmdutil.App {
	return &cmdutil.App{IO: cmdutil.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		Environ: func() []string { return nil }, Now: time.Now}}
}

// tree returns the program's commands.
func tree(t *testing.T) *cobra.Command {
	a := quiet()
	a.Ctx, a.SendCtx = t.Context(), t.Context()
	return root(a)
}

// withAll returns a command and all commands and topics below it.
func withAll(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		all = append(all, withAll(child)...)
	}
	return all
}

// leaves returns the commands that do something, without help topics.
func leaves(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(withAll(cmd), func(c *cobra.Command) bool {
		return c.HasSubCommands() || !c.Runnable() || c.Name() == "help"
	})
}

const (
	mostLines  = 40 // of the help of a command; that of till itself lists all of them
	topicLines = 60
)

// TestEveryCommandIsComplete checks that every command has a sentence, an example, a script that tests it, and
// a line about each of its columns.
func TestEveryCommandIsComplete(t *testing.T) {
	found, columns := leaves(tree(t)), 0
	for _, cmd := range found {
		path := strings.TrimPrefix(cmd.CommandPath(), "till ")
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || strings.ToUpper(cmd.Short[:1]) != cmd.Short[:1] {
			t.Errorf("%s: Short is %q: a sentence without its full stop belongs there", path, cmd.Short)
		}
		if !strings.Contains(cmd.Example, path) {
			t.Errorf("%s: the example does not show it: %q", path, cmd.Example)
		}
		if _, err := os.Stat("testdata/script/" + strings.ReplaceAll(path, " ", "_") + ".txtar"); err != nil {
			t.Errorf("%s has no script: %v", path, err)
		}
		for line := range strings.Lines(cmdutil.ColumnsHelp(cmd.Annotations[cmdutil.ColumnsKey])) {
			name, about, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			if about = strings.TrimSpace(about); name == "" {
				continue // it has no columns
			}
			columns++
			if about == "" || strings.HasSuffix(about, ".") || len(line) > helpWidth+1 {
				t.Errorf("%s: the meaning of the column %s is %q: it must be a phrase that fits a line", path, name, about)
			}
		}
	}
	if len(found) < 60 || columns < 300 {
		t.Errorf("only %d commands and %d columns: the walk is wrong", len(found), columns)
	}
}

// TestHelpSize checks that every help page and topic has an example, fits a terminal of 80 columns without
// wrapped lines, and is not long.
func TestHelpSize(t *testing.T) {
	for _, cmd := range withAll(tree(t)) {
		text := helpPage(quiet(), cmd)
		most := mostLines
		if cmd.IsAdditionalHelpTopicCommand() {
			most = topicLines
		}
		if n := strings.Count(text, "\n"); n > most && cmd.HasParent() {
			t.Errorf("%s: its help has %d lines, more than %d: move some of it to a topic", cmd.CommandPath(), n, most)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > helpWidth || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s: the line %q is wider than %d, ends in spaces or has a tab", cmd.CommandPath(), line, helpWidth)
			}
		}
	}
}

// TestEveryPageHasACommand checks that no page of help/commands is of a command that is gone.
func TestEveryPageHasACommand(t *testing.T) {
	names := map[string]bool{"help": true}
	for _, cmd := range withAll(tree(t)) {
		names[strings.ReplaceAll(cmdline.CommandName(cmd), " ", "/")] = true
	}
	fs.WalkDir(helpFiles, "help/commands", func(page string, d fs.DirEntry, _ error) error {
		if name := strings.TrimSuffix(strings.TrimPrefix(page, "help/commands/"), ".txt"); !d.IsDir() && !names[name] {
			t.Errorf("%s belongs to no command", page)
		}
		return nil
	})
}

// TestCommandsAreBuiltByName checks that each command has the name under which it is built.
func TestCommandsAreBuiltByName(t *testing.T) {
	for name, build := range commands(nil) {
		if got := build(quiet()).Name(); got != name {
			t.Errorf("%q is built for %q", got, name)
		}
	}
	if got := commands([]string{"--profile", "x", "invoice", "list"}); len(got) != 1 || got["invoice"] == nil {
		t.Errorf("for invoice list %d commands are built", len(got))
	}
	for _, args := range [][]string{{"help", "invoice"}, {"__complete", "invoice", ""}, {"-h"}, {"nonsense"}} {
		if got := commands(args); len(got) != len(commands(nil)) {
			t.Errorf("for %v only %d commands are built", args, len(got))
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
	for _, r := range exit.Rules() {
		if !seen[r.Name] {
			t.Errorf("no script has an error of the rule %s", r.Name)
		}
	}
}
