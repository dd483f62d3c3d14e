package cli

import (
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/till/internal/address"
	"example.com/till/internal/cmdutil"
	"github.com/spf13/cobra"
)

// tree returns the program's commands.
func tree(t *testing.T) *cobra.Command {
	t.Helper()
	a := &cmdutil.App{
		IO: cmdutil.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
			Environ: func() []string { return nil }, Now: time.Now},
		Ctx: context.Background(), SendCtx: context.Background(),
	}
	return root(a)
}

// leaves returns the commands that do something, without help topics.
func leaves(cmd *cobra.Command) []*cobra.Command {
	if !cmd.HasSubCommands() {
		if !cmd.Runnable() || cmd.Name() == "help" {
			return nil
		}
		return []*cobra.Command{cmd}
	}
	var all []*cobra.Command
	for _, child := range cmd.Commands() {
		all = append(all, leaves(child)...)
	}
	return all
}

// TestEveryCommandIsComplete checks that every command has a sentence, an example, and a script that tests
// it.
func TestEveryCommandIsComplete(t *testing.T) {
	found := leaves(tree(t))
	if len(found) < 22 {
		t.Fatalf("only %d commands: the walk is wrong", len(found))
	}
	for _, cmd := range found {
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || strings.ToUpper(cmd.Short[:1]) != cmd.Short[:1] {
			t.Errorf("%s: Short is %q: a sentence without its full stop belongs there", path, cmd.Short)
		}
		if !strings.Contains(cmd.Example, path) && !strings.Contains(cmd.Example, strings.TrimPrefix(path, "till ")) {
			t.Errorf("%s: the example does not show it: %q", path, cmd.Example)
		}
		script := strings.ReplaceAll(strings.TrimPrefix(path, "till "), " ", "_")
		if _, err := os.Stat("testdata/script/" + script + ".txtar"); err != nil {
			t.Errorf("%s has no script: %v", path, err)
		}
	}
}

// TestHelpSize checks that every help page fits a terminal of 80 columns without wrapped lines, and that no
// command has more than 40 lines of it. That of till itself lists all of them.
func TestHelpSize(t *testing.T) {
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		text, err := helpText(cmd)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		if n := strings.Count(text, "\n"); n > maxHelp && cmd.HasParent() && !cmd.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s: its help has %d lines, more than %d: move some of it to a topic", cmd.CommandPath(), n, maxHelp)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%s: a line of its help is %d wide: %q", cmd.CommandPath(), n, line)
			}
			if strings.TrimRight(line, " \t") != line {
				t.Errorf("%s: a line of its help ends with spaces: %q", cmd.CommandPath(), line)
			}
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(tree(t))
	if pages < 50 {
		t.Fatalf("only %d pages: the walk is wrong", pages)
	}
}

// maxHelp is the maximum number of lines of a command's help.
const maxHelp = 40

// TestColumnsHaveMeanings checks that every column of every command is explained in one line.
func TestColumnsHaveMeanings(t *testing.T) {
	found := 0
	for _, cmd := range leaves(tree(t)) {
		columns := columnsOf(cmd)
		width := 0
		for _, column := range columns {
			name, _, _ := strings.Cut(column, "\t")
			width = max(width, len(name))
		}
		for _, column := range columns {
			found++
			name, about, _ := strings.Cut(column, "\t")
			if about == "" || strings.HasSuffix(about, ".") || width+len("  ")+len(about) > helpWidth {
				t.Errorf("%s: the meaning of the column %s is %q: it must be a phrase that fits a line",
					cmd.CommandPath(), name, about)
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d columns: the walk is wrong", found)
	}
}

// TestShownAddresses checks that every address that a person may copy is valid, so that readers learn no
// wrong ones.
func TestShownAddresses(t *testing.T) {
	pages := map[string]string{}
	for name, text := range topicTexts(t) {
		pages["till help "+name] = text
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		pages[cmd.CommandPath()] = cmd.Long + cmd.Example
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(tree(t))
	shown, found := regexp.MustCompile(`(?:--address |address: |"address":")([0-9A-Za-z]{4,})`), 0
	for page, text := range pages {
		for _, match := range shown.FindAllStringSubmatch(text, -1) {
			found++
			if match[1] == "ADDR" {
				continue
			}
			if address.Detect(match[1]) == "" {
				t.Errorf("%s shows the address %s, which is not valid", page, match[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d addresses are shown: the search is wrong", found)
	}
}

// TestCommandsAreBuiltByName checks that each command has the name under which it is built.
func TestCommandsAreBuiltByName(t *testing.T) {
	a := &cmdutil.App{IO: cmdutil.IO{Environ: func() []string { return nil }}}
	for name, build := range commands(nil) {
		if got := build(a).Name(); got != name {
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
