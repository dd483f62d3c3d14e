package cli

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/till/internal/address"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func topicTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, topic := range Tree().Commands() {
		if !topic.IsAdditionalHelpTopicCommand() {
			continue
		}
		text, err := helpText(topic)
		if err != nil {
			t.Fatal(err)
		}
		texts[topic.Name()] = text
	}
	return texts
}

func TestTopicsFitATerminal(t *testing.T) {
	for name, text := range topicTexts(t) {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > helpWidth || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s: the line %q is wider than %d, ends in spaces or has a tab", name, line, helpWidth)
			}
		}
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("%s has %d lines: split it", name, n)
		}
	}
}

// TestHelpUsesNoOrderOfTheDemo checks that an example can be tried on a sandbox with --seed demo. With an
// order id that is on its list, a create would be a conflict.
func TestHelpUsesNoOrderOfTheDemo(t *testing.T) {
	demo, err := sandbox.New(sandbox.WithSeed("demo"))
	if err != nil {
		t.Fatal(err)
	}
	defer demo.Close()
	at := httptest.NewServer(demo)
	defer at.Close()
	client, err := api.New(at.URL, api.WithAPIKey(demo.Key()))
	if err != nil {
		t.Fatal(err)
	}
	texts := topicTexts(t)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		texts[cmd.CommandPath()] = cmd.Long + cmd.Example
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(Tree())
	seen := 0
	for w, err := range client.Withdrawals.All(t.Context(), api.WithdrawalFilter{}, api.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for name, text := range texts {
			if regexp.MustCompile(`\b` + w.ExternalOrderID + `\b`).MatchString(text) {
				t.Errorf("%s has order %s, which the demo has paid", name, w.ExternalOrderID)
			}
		}
	}
	if seen == 0 {
		t.Error("the demo has no withdrawal")
	}
}

// TestFirstScreen checks that till alone fits a terminal of 24 lines and shows every command and topic once.
func TestFirstScreen(t *testing.T) {
	root := tree(t)
	text := overview(&cmdutil.App{}, root)
	if n := strings.Count(text, "\n"); n > 24 {
		t.Errorf("it has %d lines:\n%s", n, text)
	}
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			continue
		}
		label := regexp.MustCompile(`(?m)^(?:[A-Z][a-z -]+|) +` + cmd.Name() + ` +[A-Z]`)
		if cmd.IsAdditionalHelpTopicCommand() {
			label = regexp.MustCompile(`(?s)\nTopics .*\b` + cmd.Name() + `[,\n]`)
		}
		if found := label.FindAllString(text, -1); len(found) != 1 {
			t.Errorf("%s is on it %d times:\n%s", cmd.Name(), len(found), text)
		}
	}
}

// TestFlagsTopic checks that the topic has every global flag.
func TestFlagsTopic(t *testing.T) {
	text := topicTexts(t)["flags"]
	tree(t).PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if n := len(regexp.MustCompile(`(?m)^  .{4}--`+f.Name+`\b[^-]`).FindAllString(text, -1)); n != 1 {
			t.Errorf("--%s is explained %d times:\n%s", f.Name, n, text)
		}
	})
}

func TestExitCodesTopic(t *testing.T) {
	text := topicTexts(t)["exit-codes"]
	for _, e := range cmdutil.ExitCodes() {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d +%s`, e.Code, e.Kind)).MatchString(text) {
			t.Errorf("%d %s is not in it", e.Code, e.Kind)
		}
	}
}

// TestPayoutsTopic checks that the topic explains every state of the journal.
func TestPayoutsTopic(t *testing.T) {
	text := topicTexts(t)["payouts"]
	for _, state := range payout.States() {
		if !strings.Contains(text, "\n  "+string(state)+" ") {
			t.Errorf("it does not say what becomes of an order that is %s", state)
		}
	}
}

func TestSettingsTopicHasEveryAddressFormat(t *testing.T) {
	text := topicTexts(t)["settings"]
	for _, format := range address.Formats() {
		if !regexp.MustCompile(` ` + format + `[,.]`).MatchString(text) {
			t.Errorf("%s is not in it", format)
		}
	}
}

// TestEnvironmentTopicListsEveryVariable compares the page with the variables that are really read.
func TestEnvironmentTopicListsEveryVariable(t *testing.T) {
	asked := map[string]bool{}
	env := func(name string) string { asked[name] = true; return "" }
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	in := config.Input{Flags: flags, Env: env, Home: t.TempDir()}
	settings, err := config.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	config.Keys{Env: env}.Source(settings)
	want := slices.DeleteFunc(slices.Sorted(func(yield func(string) bool) {
		for name := range asked {
			if !yield(name) {
				return
			}
		}
	}), func(name string) bool { return name == "" || name == "HOME" })
	var got []string
	for _, v := range config.Variables() {
		got = append(got, v.Name)
		if v.About == "" {
			t.Errorf("%s is not explained", v.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked for (-), explained (+):\n%s", diff)
	}
}

func TestFindTopic(t *testing.T) {
	root := Tree()
	root.AddCommand(&cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}})
	for _, test := range []struct{ names, path, hint string }{
		{"", "till", ""},
		{"withdraw", "till withdraw", ""},
		{"withdraw create", "till withdraw create", ""},
		{"exit-codes", "till exit-codes", ""},
		{"exit-code", "", "did you mean exit-codes?"},
		{"mony", "", "did you mean money?"},
		{"witdraw", "", "did you mean withdraw?"},
		{"withdraw crate", "", "did you mean create?"},
		{"secre", "", "see: till help"},
		{"nonsense", "", "see: till help"},
		{"withdraw nonsense", "", "see: till help withdraw"},
		{"withdraw create nonsense", "", "see: till help withdraw create"},
	} {
		cmd, err := findTopic(root, strings.Fields(test.names))
		if test.hint == "" {
			if err != nil || cmd.CommandPath() != test.path {
				t.Errorf("%q: %v, %v", test.names, cmd, err)
			}
			continue
		}
		if r := cmdutil.Explain(err); err == nil || r.Code != cmdutil.ExitUsage || r.Hint.String() != test.hint {
			t.Errorf("%q: %v, exit code %d, hint %q, want %q", test.names, err, r.Code, r.Hint, test.hint)
		}
	}
}

func TestFill(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 20))
	for _, test := range []struct{ label, text, want string }{
		{"  a", "b c", "  a   b c\n"},
		{"  a", long, "  a   " + strings.TrimSpace(strings.Repeat("word ", 14)) + "\n      " +
			strings.TrimSpace(strings.Repeat("word ", 6)) + "\n"},
		{"  too wide", "b", "  too wide\n      b\n"},
	} {
		if diff := cmp.Diff(test.want, fill(test.label, 6, test.text)); diff != "" {
			t.Errorf("%q: %s", test.label, diff)
		}
	}
}
