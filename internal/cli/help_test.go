package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/address"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/pkg/payout"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func topicTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, topic := range tree(t).Commands() {
		if topic.IsAdditionalHelpTopicCommand() {
			text := helpPage(quiet(), topic)
			texts[topic.Name()] = text
		}
	}
	return texts
}

// TestFirstScreen checks that till alone fits a terminal of 24 lines and shows every command and topic once.
func TestFirstScreen(t *testing.T) {
	root := tree(t)
	text := overview(&cmdutil.App{}, root)
	if n := strings.Count(text, "\n"); n > 24 {
		t.Errorf("it has %d lines:\n%s", n, text)
	}
	for _, cmd := range root.Commands() {
		label := `(?m)^(?:[A-Z][a-z -]+|) +` + cmd.Name() + ` +[A-Z]`
		if cmd.IsAdditionalHelpTopicCommand() {
			label = `(?s)\nTopics .*\b` + cmd.Name() + `[,\n]`
		}
		if n := len(regexp.MustCompile(label).FindAllString(text, -1)); n != 1 && cmd.Name() != "help" {
			t.Errorf("%s is on it %d times:\n%s", cmd.Name(), n, text)
		}
	}
}

// TestTopicsAreComplete checks that a topic has everything that it is about, and each flag once.
func TestTopicsAreComplete(t *testing.T) {
	want := map[string][]string{} // expressions by topic
	tree(t).PersistentFlags().VisitAll(func(f *pflag.Flag) {
		want["flags"] = append(want["flags"], `(?m)^  .{4}--`+f.Name+`\b[^-]`)
	})
	for _, e := range exit.Codes() {
		want["exit-codes"] = append(want["exit-codes"], fmt.Sprintf(`(?m)^ +%d +%s`, e.Code, e.Kind))
	}
	for _, state := range payout.States() {
		want["payouts"] = append(want["payouts"], "\n  "+string(state)+" ")
	}
	for _, format := range address.Formats() {
		want["settings"] = append(want["settings"], ` `+format+`[,.]`)
	}
	texts := topicTexts(t)
	for topic, all := range want {
		for _, expression := range all {
			if n := len(regexp.MustCompile(expression).FindAllString(texts[topic], -1)); n == 0 || n > 1 && topic == "flags" {
				t.Errorf("%s has %q %d times:\n%s", topic, expression, n, texts[topic])
			}
		}
	}
}

func TestEnvironmentTopicListsEveryVariable(t *testing.T) {
	asked := map[string]bool{}
	env := func(name string) string { asked[name] = true; return "" }
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	settings, err := config.Resolve(config.Input{Ctx: t.Context(), Flags: flags, Env: env, Home: t.TempDir()})
	must(t, err)
	config.Keys{Env: env}.Source(settings)
	delete(asked, "")
	delete(asked, "HOME")
	var got []string
	for _, v := range config.Variables() {
		if got = append(got, v.Name); v.About == "" {
			t.Errorf("%s is not explained", v.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(asked)), got); diff != "" {
		t.Errorf("asked for (-), explained (+):\n%s", diff)
	}
}
