package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/exit"
	"example.com/till/pkg/schema"
	"github.com/google/go-cmp/cmp"
)

// TestCommandLines compares the list of commands with the tree and with the help.
func TestCommandLines(t *testing.T) {
	listed := map[string]commandLine{}
	for _, line := range commandLines(Tree()) {
		listed[line.Command] = line
	}
	inHelp := regexp.MustCompile(`(?m)^  (?:-.,|   ) --([a-z-]+)`)
	for _, cmd := range leaves(tree(t)) {
		line, found := listed[cmd.CommandPath()]
		if !found {
			t.Errorf("%s is not listed: add it to deeds.go", cmd.CommandPath())
			continue
		}
		text := helpPage(quiet(), cmd)
		own, global, _ := strings.Cut(text, "\nGlobal Flags:\n")
		var want, got []string
		for _, match := range inHelp.FindAllStringSubmatch(own[strings.Index(own, "\nFlags:\n"):], -1) {
			want = append(want, match[1])
		}
		for _, f := range line.Flags {
			got = append(got, f.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: flags in the help (-), in the list (+):\n%s", line.Command, diff)
		}
		want, got = nil, nil
		for _, match := range inHelp.FindAllStringSubmatch(global, -1) {
			got = append(got, match[1])
		}
		for _, name := range []string{"output", "jq", "quiet", "yes", "dry-run", "timeout"} {
			writes := slices.Contains(line.Writes, "money") || slices.Contains(line.Writes, "service")
			if slices.Contains(line.GlobalFlags, name) && (writes || name != "dry-run") {
				want = append(want, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: global flags in the list (-), in the help (+):\n%s", line.Command, diff)
		}
	}
	for path := range deeds() {
		if _, found := listed["till "+path]; !found {
			t.Errorf("deeds.go has %q, which is no command", path)
		}
	}
	want := []string{"error", "finish", "note", "plan", "report", "request", "warning"} // those of no command
	for _, line := range listed {
		if line.Schema != "" {
			want = append(want, line.Schema)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(schema.Names()))); diff != "" {
		t.Errorf("what is printed (-), what has a schema (+):\n%s", diff)
	}
}

// TestArguments checks that the list reads arguments as cobra's checks do.
func TestArguments(t *testing.T) {
	for _, cmd := range leaves(tree(t)) {
		if strings.Contains(cmd.Use, " -- ") { // the check wants the dashes, which only a command line has
			continue
		}
		least, most := 0, 0
		for _, a := range lineOf(cmd).Arguments {
			most++
			if a.Required {
				least++
			}
			if a.Repeats {
				most += 9
			}
		}
		for n := range 12 {
			err := cmd.Args(cmd, slices.Repeat([]string{"1=2"}, n))
			if fits := n >= least && n <= most; n <= 9 && fits != (err == nil) {
				t.Errorf("%s with %d arguments: %v, and its usage is %q", cmd.CommandPath(), n, err, cmd.Use)
			}
		}
	}
}

func TestExitCodesOfCommands(t *testing.T) {
	for _, line := range commandLines(Tree()) {
		for _, code := range line.ExitCodes {
			if exit.KindOf(code).Meaning == "" {
				t.Errorf("%s: till has no exit code %d", line.Command, code)
			}
		}
	}
}
