package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/render"
	"github.com/google/go-cmp/cmp"
)

func TestCompleteColumns(t *testing.T) {
	columns := []string{"id", "status\tthe status", "since"}
	for _, test := range []struct {
		typed string
		want  []string
	}{
		{"", []string{"id", "status\tthe status", "since", "help\twhat each column means"}},
		{"s", []string{"status\tthe status", "since"}},
		{"h", []string{"help\twhat each column means"}},
		{"id,", []string{"id,status\tthe status", "id,since"}},
		{"id,status,s", []string{"id,status,since"}},
		{"x", nil},
	} {
		if diff := cmp.Diff(test.want, completeColumns(columns, test.typed)); diff != "" {
			t.Errorf("%q: %s", test.typed, diff)
		}
	}
	if got := completeColumns(nil, ""); got != nil {
		t.Errorf("a command without columns offers %q", got)
	}
	if diff := cmp.Diff([]string{"id", "status\tthe status", "since"}, columns); diff != "" {
		t.Errorf("the columns were changed: %s", diff)
	}
}

func TestCompleteSort(t *testing.T) {
	columns := []string{"id", "status", "since"}
	for typed, want := range map[string][]string{
		"":    {"id", "status", "since"},
		"s":   {"status", "since"},
		"-":   {"-id", "-status", "-since"},
		"-i":  {"-id"},
		"--i": nil,
	} {
		if diff := cmp.Diff(want, completeSort(columns, typed)); diff != "" {
			t.Errorf("%q: %s", typed, diff)
		}
	}
}

// TestOutputValues checks that the configuration accepts exactly the formats that can be printed.
func TestOutputValues(t *testing.T) {
	var formats []string
	for _, f := range []render.Format{render.Table, render.JSON, render.JSONL, render.CSV, render.YAML} {
		formats = append(formats, string(f))
	}
	if diff := cmp.Diff(formats, config.Values("output")); diff != "" {
		t.Error(diff)
	}
}

// complete returns the offers that a shell gets.
func complete(t *testing.T, env []string, words ...string) string {
	t.Helper()
	var out, errors bytes.Buffer
	code := Run(context.Background(), append([]string{"till", "__complete"}, words...), cmdutil.IO{
		In: strings.NewReader(""), Out: &out, Err: &errors, Environ: func() []string { return env }, Now: time.Now,
	})
	if code != 0 {
		t.Errorf("%q: exit code %d: %s", words, code, &errors)
	}
	return out.String()
}

func TestComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "current: live\nprofiles:\n  live: {base_url: 'https://pay.example.com', currencies: [{code: Doge, kind: " +
		"crypto, decimals: 8}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	right := []string{"TILL_CONFIG=" + file}
	wrong := []string{"TILL_CONFIG=" + file + ".missing"}
	for _, test := range []struct {
		env   []string
		words []string
		want  string
	}{
		{right, []string{"version", "--profile", ""}, "live\thttps://pay.example.com\nsandbox\tbuilt in\n:4\n"},
		{right, []string{"profile", "use", "l"}, "live\thttps://pay.example.com\n:4\n"},
		{right, []string{"profile", "use", "live", ""}, ":4\n"},
		{right, []string{"withdraw", "create", "--currency", "do"}, "dop\tfiat, decimals 2\ndoge\tcrypto, decimals 8\n:4\n"},
		{right, []string{"currency", "remove", ""}, "Doge\tcrypto, decimals 8\n:4\n"},
		{right, []string{"currency", "set", "Doge", "--kind", ""}, "crypto\nfiat\n:4\n"},
		{right, []string{"version", "-o", ""}, "table\njson\njsonl\ncsv\nyaml\n:4\n"},
		{right, []string{"version", "--columns", "version,com"},
			"version,commit\tcommit that it was built from\nversion,committed\ttime of that commit\n:6\n"},
		{right, []string{"version", "--sort=-p"}, "-platform\toperating system and processor that it runs on\n:4\n"},
		{right, []string{"version", "--config", ""}, ":0\n"},
		{right, []string{"version", "--base-url", ""}, ":4\n"},
		{right, []string{"help", "exit"}, "exit-codes\tWhat the exit codes mean, and what to do next\n:4\n"},
		{right, []string{"completion", "b"}, "bash\n:4\n"},
		{wrong, []string{"withdraw", "create", "--currency", "do"}, ":4\n"},
		{wrong, []string{"version", "--profile", ""}, "sandbox\tbuilt in\n:4\n"},
	} {
		got := complete(t, test.env, test.words...)
		if sortedLines(got) != sortedLines(test.want) {
			t.Errorf("%q offers\n%swant\n%s", test.words, got, test.want)
		}
	}
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		first, err := completionScript(tree(t), shell)
		if err != nil || len(first) == 0 {
			t.Fatalf("%s: %d bytes, %v", shell, len(first), err)
		}
		if second, _ := completionScript(tree(t), shell); !bytes.Equal(first, second) {
			t.Errorf("%s: two scripts differ", shell)
		}
	}
	if script, err := completionScript(tree(t), "tcsh"); script != nil || err != nil {
		t.Errorf("tcsh: %q, %v", script, err)
	}
}
