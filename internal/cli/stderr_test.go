package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
)

// desk runs command lines in one home directory, with the embedded sandbox unless they say otherwise.
type desk struct {
	*testing.T
	home    string
	environ []string
}

func newDesk(t *testing.T) *desk {
	home := t.TempDir()
	return &desk{t, home, []string{"HOME=" + home, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + home + "/no-bus",
		"PATH=" + os.Getenv("PATH")}}
}

func (d *desk) file(name, text string) string {
	d.Helper()
	path := filepath.Join(d.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return path
}

func (d *desk) till(args ...string) (code int, out, stderr string) {
	var stdout, errors bytes.Buffer
	code = Run(context.Background(), append([]string{"till"}, args...), cmdutil.IO{
		In: strings.NewReader(""), Out: &stdout, Err: &errors, Environ: func() []string { return d.environ }, Now: time.Now,
	})
	if err := newSchemaCheck().check(seenRun{Args: args, Code: code, Out: stdout.Bytes(),
		Err: errors.Bytes()}); err != nil {
		d.Errorf("till %q, which ended with %d: %v", args, code, err)
	}
	return code, stdout.String(), errors.String()
}

// said is a line of standard error under -o json.
type said struct {
	kind     string
	Message  string
	ExitCode int `json:"exit_code"`
	cmdutil.About
}

// lines parses standard error. It fails if a line is not an object with exactly one of the three keys.
func (d *desk) lines(stderr string) (all []said) {
	d.Helper()
	for line := range strings.Lines(stderr) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil || len(object) != 1 {
			d.Errorf("not one JSON object with one key: %s", line)
			continue
		}
		for kind, value := range object {
			s := said{kind: kind}
			if err := json.Unmarshal(value, &s); err != nil || s.Message == "" ||
				!slices.Contains([]string{"note", "warning", "error"}, kind) {
				d.Errorf("%v: %s", err, line)
			}
			all = append(all, s)
		}
	}
	return all
}

var (
	namedOrder = regexp.MustCompile(`\border (?:id )?([0-9]+)\b`)
	namedRun   = regexp.MustCompile(`\brun ([0-9a-f]{8})\b`)
)

// TestStderrIsJSON checks that under -o json and jsonl every line on standard error is an object with the
// single key note, warning or error. Fields say what it is about, in addition to the message.
func TestStderrIsJSON(t *testing.T) {
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	pay := func(order, amount string, more ...string) []string {
		return append([]string{"withdraw", "create", "--currency", "Btc", "--amount", amount, "--address", "bc1qexample",
			"--order-id", order}, more...)
	}
	for _, format := range []string{"json", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			d := newDesk(t)
			staff := d.file("staff.csv", "order_id,currency,amount,address\n1,Btc,0.01,a\n2,Btc,0.01,a\n")
			wrong := d.file("wrong.csv", "order_id,currency,amount,address\n1,Btc,x,a\n")
			plan := filepath.Join(d.home, "staff.plan")
			_, digest, _ := d.till("payout", "plan", staff, "--out", plan, "-q", "--sandbox")
			run := strings.TrimPrefix(digest, "sha256:")[:8]
			for _, step := range []struct {
				args []string
				code int
				last cmdutil.About // of the last line
				n    int           // lines; -1 for any number
			}{
				{[]string{"profile", "list"}, 0, cmdutil.About{}, 1},
				{[]string{"nonsense"}, 10, cmdutil.About{}, 1},
				{[]string{"--nonsense"}, 10, cmdutil.About{}, 1},
				{[]string{"withdraw"}, 10, cmdutil.About{}, 1},
				{[]string{"withdraw", "get"}, 10, cmdutil.About{}, 1},
				{[]string{"withdraw", "list", "--limit", "x"}, 10, cmdutil.About{}, 1},
				{[]string{"withdraw", "list", "--page", "1", "--all"}, 10, cmdutil.About{}, 1},
				{[]string{"payout", "plan", staff}, 10, cmdutil.About{}, 1},
				{[]string{"help", "nonsense"}, 10, cmdutil.About{}, 1},
				{[]string{"withdraw", "list"}, 0, cmdutil.About{}, 1},
				{[]string{"withdraw", "list", "--debug"}, 0, cmdutil.About{}, -1},
				{pay("4711", "0.1"), 12, cmdutil.About{OrderID: "4711"}, 1},
				{pay("4711", "0.1", "--yes"), 0, cmdutil.About{}, 0},
				{pay("4711", "0.1", "--yes"), 0, cmdutil.About{OrderID: "4711"}, 1},
				{pay("4711", "0.2", "--yes"), 12, cmdutil.About{OrderID: "4711"}, 1},
				{pay("4713", "1e3", "--yes"), 10, cmdutil.About{}, 1},
				{pay("4713", "9999999", "--yes"), 30, cmdutil.About{OrderID: "4713"}, -1},
				{[]string{"sandbox", "fault", "add", "--do", "drop-after", "--times", "1", "--on",
					"POST /api/merchant_withdrawal/create"}, 0, cmdutil.About{}, 0},
				{pay("4712", "0.3", "--yes"), 20, cmdutil.About{OrderID: "4712"}, 1},
				{pay("4712", "0.3", "--yes"), 20, cmdutil.About{OrderID: "4712"}, 1},
				{[]string{"withdraw", "get", "--order-id", "4712"}, 20, cmdutil.About{OrderID: "4712"}, 1},
				{[]string{"withdraw", "resolve", "4712", "4711", "--not-sent", "--reason", "x"}, 12,
					cmdutil.About{OrderIDs: []string{"4712", "4711"}}, 1},
				{[]string{"withdraw", "reconcile", "4712"}, 0, cmdutil.About{}, 0},
				{[]string{"withdraw", "reconcile"}, 0, cmdutil.About{}, 1},
				{[]string{"withdraw", "get", id}, 30, cmdutil.About{ID: id}, 1},
				{[]string{"withdraw", "wait", id, "--status", "Completed"}, 30, cmdutil.About{ID: id}, 1},
				{[]string{"withdraw", "get", "--order-id", "999"}, 10, cmdutil.About{OrderID: "999"}, 1},
				{[]string{"invoice", "get", id}, 30, cmdutil.About{ID: id}, 1},
				{[]string{"invoice", "wait", id, "--status", "Paid"}, 30, cmdutil.About{ID: id}, 1},
				{[]string{"invite", "get", id}, 30, cmdutil.About{ID: id}, 1},
				{[]string{"journal", "show", "999"}, 10, cmdutil.About{OrderID: "999"}, 1},
				{[]string{"payout", "list"}, 0, cmdutil.About{}, 1},
				{[]string{"payout", "plan", wrong, "--out", plan}, 10, cmdutil.About{}, 1},
				{[]string{"payout", "plan", staff, "--out", plan, "--fail-on-warning"}, 12, cmdutil.About{}, 1},
				{[]string{"payout", "plan", staff, "--out", plan + "2"}, 0, cmdutil.About{OrderID: "2", Run: "*"}, 3},
				{[]string{"payout", "apply", plan}, 12, cmdutil.About{Run: run}, 1},
				{[]string{"payout", "apply", plan, "--digest", strings.Repeat("0", 64)}, 12, cmdutil.About{Run: run}, 1},
				{[]string{"payout", "apply", plan, "--yes"}, 0, cmdutil.About{Run: run}, 1},
				{[]string{"payout", "apply", plan, "--yes"}, 0, cmdutil.About{Run: run}, 2},
				{[]string{"payout", "plan", staff, "--out", plan + "2"}, 0, cmdutil.About{Run: "*"}, 2},
				{[]string{"payout", "apply", plan + "2", "--yes"}, 12, cmdutil.About{Run: "*"}, 1},
				{[]string{"payout", "status", run}, 0, cmdutil.About{}, 0},
				{[]string{"payout", "status", "00000000"}, 10, cmdutil.About{}, 1},
				{[]string{"payout", "wait", run, "--status", "Never", "--timeout", "10ms"}, 42,
					cmdutil.About{OrderIDs: []string{"1", "2"}, Run: run}, 1},
				{[]string{"payout", "wait", run, "--status", "Never", "--fail-on", "New"}, 33,
					cmdutil.About{OrderIDs: []string{"1", "2"}, Run: run}, 1},
				{[]string{"payout", "reconcile", run}, 0, cmdutil.About{Run: run}, 1},
				{[]string{"payout", "export", run}, 0, cmdutil.About{}, 0},
				{[]string{"journal", "check"}, 0, cmdutil.About{}, 1},
				{[]string{"callback", "listen", "--count", "1", "--timeout", "10ms"}, 42, cmdutil.About{}, 2},
				{[]string{"journal", "copy", filepath.Join(d.home, "copy.db")}, 0, cmdutil.About{}, 1},
				{[]string{"journal", "copy", filepath.Join(d.home, "copy.db")}, 14, cmdutil.About{}, 1},
				{[]string{"profile", "set", "shop", "base_url=https://pay.example.com"}, 0, cmdutil.About{}, 1},
				{[]string{"currency", "set", "Doge", "--kind", "crypto", "--decimals", "8"}, 0, cmdutil.About{}, 1},
				{[]string{"profile", "use", "none"}, 11, cmdutil.About{}, 1},
				{[]string{"profile", "remove", "shop"}, 0, cmdutil.About{}, 2},
			} {
				args := append([]string{"-o", format}, step.args...)
				if !slices.Contains([]string{"profile", "currency"}, step.args[0]) {
					args = append(args, "--sandbox")
				}
				code, _, stderr := d.till(args...)
				lines := d.lines(stderr)
				if code != step.code || step.n >= 0 && len(lines) != step.n {
					t.Errorf("till %s ended with %d and %d lines, not %d and %d:\n%s", strings.Join(args, " "), code, len(lines),
						step.code, step.n, stderr)
					continue
				}
				for i, line := range lines {
					isLast := i == len(lines)-1
					if (line.kind == "error") != (code != 0 && isLast) || line.ExitCode != 0 && line.ExitCode != code {
						t.Errorf("till %s: %+v", strings.Join(args, " "), line)
					}
					if m := namedOrder.FindStringSubmatch(line.Message); m != nil && line.OrderID != m[1] &&
						!slices.Contains(line.OrderIDs, m[1]) {
						t.Errorf("till %s: no field has the order: %+v", strings.Join(args, " "), line)
					}
					if m := namedRun.FindStringSubmatch(line.Message); m != nil && line.Run != m[1] {
						t.Errorf("till %s: no field has the run: %+v", strings.Join(args, " "), line)
					}
					if want := step.last; isLast { // "*" matches any run
						if line.OrderID != want.OrderID || !slices.Equal(line.OrderIDs, want.OrderIDs) ||
							want.ID != "" && line.ID != want.ID || want.Run != "*" && line.Run != want.Run {
							t.Errorf("till %s: it is about %+v, not %+v", strings.Join(args, " "), line.About, want)
						}
					}
				}
			}
		})
	}
}

// TestErrorHasTheEnvelope checks that an error has the fields of the service's error envelope if there was an
// envelope, even if they are empty, and otherwise has none of them.
func TestErrorHasTheEnvelope(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, want string
	}{
		"full": {404, `{"error":{"code":1001,"reason":"NOT_FOUND","description":"it is not there"}}`,
			`"status":404,"code":1001,"reason":"NOT_FOUND","description":"it is not there"`},
		"empty": {404, `{"error":{"code":0,"reason":"","description":""}}`,
			`"status":404,"code":0,"reason":"","description":""`},
		"no reason": {404, `{"error":{"code":5,"reason":"","description":"gone"}}`,
			`"status":404,"code":5,"reason":"","description":"gone"`},
		"a gateway": {500, `{"error":{"code":0,"reason":"","description":""}}`,
			`"status":500,"code":0,"reason":"","description":""`},
		"none":       {404, `<html>`, `"status":404,"hint"`},
		"not proper": {404, `{"error":{"code":0,"reason":""}}`, `"status":404,"hint"`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer server.Close()
			d := newDesk(t)
			d.environ = append(d.environ, "TILL_API_KEY=secret", "TILL_RETRIES=0")
			_, _, stderr := d.till("invite", "list", "-o", "json", "--base-url", server.URL)
			if d.lines(stderr); !strings.Contains(stderr, c.want) {
				t.Errorf("%s lacks %s", stderr, c.want)
			}
		})
	}
}

// TestUsageErrorsAreJSONToo checks that errors are JSON wherever that format is set, even if the
// command line is wrong.
func TestUsageErrorsAreJSONToo(t *testing.T) {
	for _, c := range []struct {
		args string
		env  string
		want bool
	}{
		{"-o json nonsense", "", true},
		{"-ojson nonsense", "", true},
		{"-o=jsonl nonsense", "", true},
		{"-qo json nonsense", "", true},
		{"-yqojson nonsense", "", true},
		{"--output json nonsense", "", true},
		{"--output=json nonsense", "", true},
		{"nonsense -o json", "", true},
		{"nonsense --jq .", "", true},
		{"nonsense", "json", true},
		{"nonsense -o table", "json", false},
		{"nonsense -o csv", "", false},
		{"nonsense --template x", "", false},
		{"withdraw list --limit 0 --template x", "", false},
		{"withdraw list --limit 0 --template x -o json", "", true},
		{"withdraw list --limit 0 --jq .", "", true},
		{"nonsense -- -o json", "", false},
		{"nonsense", "", false},
	} {
		d := newDesk(t)
		d.environ = append(d.environ, "TILL_OUTPUT="+c.env)
		_, _, stderr := d.till(strings.Fields(c.args)...)
		if got := strings.HasPrefix(stderr, `{"error":`); got != c.want {
			t.Errorf("till %s with %q: %s", c.args, c.env, stderr)
		}
	}
}

// TestOutputOfRunCommandsBecomesNotes checks that each line of a command that till runs becomes a note, even
// an incomplete last line.
func TestOutputOfRunCommandsBecomesNotes(t *testing.T) {
	d := newDesk(t)
	d.file("key", "#!/bin/sh\nprintf 'one\\ntwo\\033[1m' >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(d.home, "key"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := d.file("config.yaml",
		"current: shop\nprofiles:\n  shop:\n    base_url: https://pay.example.com\n    api_key_command: "+
			"["+filepath.Join(d.home, "key")+"]\n")
	code, _, stderr := d.till("-o", "json", "--config", config, "withdraw", "list")
	lines := d.lines(stderr)
	if code != cmdutil.ExitConfig || len(lines) != 3 || lines[0].Message != "one" || lines[1].Message != "two\x1b[1m" ||
		lines[2].kind != "error" {
		t.Errorf("%d: %s", code, stderr)
	}
	if strings.Contains(stderr, "\x1b") {
		t.Errorf("a control character is not escaped: %q", stderr)
	}
	if _, _, stderr := d.till("--config", config, "withdraw", "list"); !strings.HasPrefix(stderr, "one\ntwo\x1b[1m") {
		t.Errorf("as text it is not passed on as it is: %q", stderr)
	}
}
