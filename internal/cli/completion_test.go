package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComplete checks the offers that a shell gets. In a command line, ” is an empty word.
func TestComplete(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "config.yaml"), "current: live\nprofiles:\n  live: {base_url: "+
		"'https://pay.example.com', currencies: [{code: Doge, kind: crypto, decimals: 8}]}\n")
	for _, test := range []struct{ line, want string }{
		{"version --profile ''", "live\thttps://pay.example.com\nsandbox\tbuilt in\n:4\n"},
		{"profile use l", "live\thttps://pay.example.com\n:4\n"},
		{"profile use live ''", ":4\n"},
		{"profile set live api_", "api_key_command=\tprogram that prints the key, with an absolute path\n" +
			"api_key_file=\tfile that holds the key, readable by you alone\n:6\n"},
		{"profile set live api_key_file=/k api_",
			"api_key_command=\tprogram that prints the key, with an absolute path\n:6\n"},
		{"profile set live api_key_file=/", ":0\n"},
		{"withdraw create --currency do", "dop\tfiat, decimals 2\ndoge\tcrypto, decimals 8\n:4\n"},
		{"currency remove ''", "Doge\tcrypto, decimals 8\n:4\n"},
		{"currency set Doge --kind ''", "crypto\nfiat\n:4\n"},
		{"version -o ''", "table\njson\njsonl\ncsv\nyaml\n:4\n"},
		{"version --columns version,com",
			"version,commit\tcommit that it was built from\nversion,committed\ttime of that commit\n:6\n"},
		{"version --columns version,commit,commit", "version,commit,committed\ttime of that commit\n:6\n"},
		{"version --columns h", "help\twhat each column means\n:6\n"},
		{"version --columns x", ":6\n"},
		{"schema --columns ''",
			"name\twhat there is a schema of: a command, or another name\nhelp\twhat each column means\n:6\n"},
		{"version --sort=-p", "-platform\toperating system and processor that it runs on\n:4\n"},
		{"version --sort p", "platform\toperating system and processor that it runs on\n:4\n"},
		{"version --sort=--p", ":4\n"},
		{"version --config ''", ":0\n"},
		{"version --base-url ''", ":4\n"},
		{"help exit", "exit-codes\tWhat the exit codes mean, and what to do next\n:4\n"},
		{"completion b", "bash\n:4\n"},
		{"--missing withdraw create --currency do", ":4\n"},
		{"--missing version --profile ''", "sandbox\tbuilt in\n:4\n"},
	} {
		line, missing := strings.CutPrefix(test.line, "--missing ")
		env := []string{"TILL_CONFIG=" + file}
		if missing {
			env[0] += ".missing"
		}
		words := strings.Fields("__complete " + line)
		for i, word := range words {
			words[i] = strings.TrimPrefix(word, "''")
		}
		f := till(t, env, words...)
		if f.code != 0 || sortedLines(f.out) != sortedLines(test.want) {
			t.Errorf("%q offers\n%swant\n%s%s", test.line, f.out, test.want, f.err)
		}
	}
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
