package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/exit"
	"example.com/till/pkg/payout"
	gocmp "github.com/google/go-cmp/cmp"
)

// said is a line of standard error under -o json.
type said struct {
	kind    string
	Message string
	exit.About
}

// saidIn parses standard error.
func saidIn(t *testing.T, stderr string) (all []said) {
	t.Helper()
	for line := range strings.Lines(stderr) {
		var object map[string]said
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		for kind, s := range object {
			s.kind = kind
			all = append(all, s)
		}
	}
	return all
}

var (
	namedOrder = regexp.MustCompile(`\border (?:id )?([0-9]+)\b`)
	namedRun   = regexp.MustCompile(`\brun ([0-9a-f]{8})\b`)
)

// TestStderrSaysWhatItIsAbout checks that under -o json fields of the lines on standard error say what they are
// about, in addition to the message, and that an error is the last line, and ends with a code.
func TestStderrSaysWhatItIsAbout(t *testing.T) {
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	home := t.TempDir()
	env := []string{"HOME=" + home}
	t.Chdir(home)
	writeFile(t, "staff.csv", "order_id,currency,amount,address\n1,Btc,0.01,a\n2,Btc,0.01,a\n")
	planned := till(t, env, "payout", "plan", "staff.csv", "--out", "p", "-q", "--sandbox")
	run := strings.TrimPrefix(planned.out, "sha256:")[:8]
	pay := "withdraw create --currency Btc --address bc1qexample --order-id "
	for _, step := range []struct {
		line  string
		code  int
		about exit.About // of the last line, if there is one; the run "*" is any
	}{
		{pay + "4711 --amount 0.1", 12, exit.About{OrderID: "4711"}},
		{pay + "4711 --amount 0.1 --yes", 0, exit.About{}},
		{pay + "4711 --amount 0.1 --yes", 0, exit.About{OrderID: "4711"}},
		{pay + "4711 --amount 0.2 --yes", 12, exit.About{OrderID: "4711"}},
		{pay + "4713 --amount 9999999 --yes", 30, exit.About{OrderID: "4713"}},
		{"sandbox fault add --do drop-after --times 1 --on POST/api/merchant_withdrawal/create", 0, exit.About{}},
		{pay + "4712 --amount 0.3 --yes", 20, exit.About{OrderID: "4712"}},
		{pay + "4712 --amount 0.3 --yes", 20, exit.About{OrderID: "4712"}},
		{"withdraw get --order-id 4712", 20, exit.About{OrderID: "4712"}},
		{"withdraw resolve 4712 4711 --not-sent --reason x", 12, exit.About{OrderIDs: []string{"4712", "4711"}}},
		{"withdraw reconcile 4712", 0, exit.About{}},
		{"withdraw get " + id, 30, exit.About{ID: id}},
		{"withdraw wait --status Completed " + id, 30, exit.About{ID: id}},
		{"withdraw get --order-id 999", 10, exit.About{OrderID: "999"}},
		{"invoice get " + id, 30, exit.About{ID: id}},
		{"invoice wait --status Paid " + id, 30, exit.About{ID: id}},
		{"invite get " + id, 30, exit.About{ID: id}},
		{"journal show 999", 10, exit.About{OrderID: "999"}},
		{"payout plan staff.csv --out p2", 0, exit.About{OrderID: "2", Run: "*"}},
		{"payout apply p", 12, exit.About{Run: run}},
		{"payout apply p --digest " + strings.Repeat("0", 64), 12, exit.About{Run: run}},
		{"payout apply p --yes", 0, exit.About{Run: run}},
		{"payout apply p --yes", 0, exit.About{Run: run}},
		{"payout plan staff.csv --out p2", 0, exit.About{Run: "*"}},
		{"payout apply p2 --yes", 12, exit.About{Run: "*"}},
		{"payout wait --status Never --timeout 10ms " + run, 42, exit.About{OrderIDs: []string{"1", "2"}, Run: run}},
		{"payout wait --status Never --fail-on New " + run, 33, exit.About{OrderIDs: []string{"1", "2"}, Run: run}},
		{"payout reconcile " + run, 0, exit.About{Run: run}},
	} {
		args := strings.Fields(step.line + " -o json --sandbox")
		for i, arg := range args {
			args[i] = strings.Replace(arg, "POST/", "POST /", 1)
		}
		f := till(t, env, args...)
		lines := saidIn(t, f.err)
		if f.code != step.code {
			t.Errorf("till %s ended with %d, not %d: %s", step.line, f.code, step.code, f.err)
		}
		for i, line := range lines {
			isLast := i == len(lines)-1
			if (line.kind == "error") != (f.code != 0 && isLast) {
				t.Errorf("till %s: %+v", step.line, line)
			}
			if m := namedOrder.FindStringSubmatch(line.Message); m != nil && line.OrderID != m[1] &&
				!slices.Contains(line.OrderIDs, m[1]) {
				t.Errorf("till %s: no field has the order: %+v", step.line, line)
			}
			if m := namedRun.FindStringSubmatch(line.Message); m != nil && line.Run != m[1] {
				t.Errorf("till %s: no field has the run: %+v", step.line, line)
			}
			if step.about.Run == "*" {
				step.about.Run = line.Run
			}
			if step.about.ID == "" {
				line.ID = ""
			}
			if diff := gocmp.Diff(step.about, line.About); isLast && diff != "" {
				t.Errorf("till %s: it is about (want -, got +):\n%s", step.line, diff)
			}
		}
	}
}

// TestUsageErrorsAreJSONToo checks that errors are JSON wherever that format is set, even if the
// command line is wrong.
func TestUsageErrorsAreJSONToo(t *testing.T) {
	for args, want := range map[string]bool{
		"-o json nonsense": true, "-ojson nonsense": true, "-o=jsonl nonsense": true, "-yqojson nonsense": true,
		"--output json nonsense": true, "--output=json nonsense": true, "nonsense -o json": true, "nonsense --jq .": true,
		"withdraw list --limit 0 --template x -o json": true, "withdraw list --limit 0 --jq .": true,
		"TILL_OUTPUT=json nonsense": true, "TILL_OUTPUT=json nonsense -o table": false, "nonsense -o csv": false,
		"nonsense --template x": false, "withdraw list --limit 0 --template x": false, "nonsense -- -o json": false,
		"nonsense": false,
	} {
		words, env := strings.Fields(args), []string{}
		if strings.Contains(words[0], "=") && words[0][0] == 'T' {
			words, env = words[1:], words[:1]
		}
		f := till(t, env, words...)
		if got := strings.HasPrefix(f.err, `{"error":`); got != want {
			t.Errorf("till %s: %s", args, f.err)
		}
	}
}

// TestOutputOfRunCommandsBecomesNotes checks that each line of a command that till runs becomes a note, even
// an incomplete last line.
func TestOutputOfRunCommandsBecomesNotes(t *testing.T) {
	home := t.TempDir()
	key := home + "/key"
	writeProgram(t, key, "printf 'one\\ntwo\\033[1m' >&2\nexit 1")
	config := writeFile(t, home+"/config.yaml",
		"current: shop\nprofiles:\n  shop:\n    base_url: https://pay.example.com\n"+
			"    api_key_command: ["+key+"]\n")
	f := till(t, nil, "-o", "json", "--config", config, "withdraw", "list")
	lines := saidIn(t, f.err)
	if f.code != exit.Config || len(lines) != 3 || lines[0].Message != "one" || lines[1].Message != "two\x1b[1m" ||
		lines[2].kind != "error" || strings.Contains(f.err, "\x1b") {
		t.Errorf("%d: %q", f.code, f.err)
	}
	if f := till(t, nil, "--config", config, "withdraw", "list"); !strings.HasPrefix(f.err, "one\ntwo\x1b[1m") {
		t.Errorf("as text it is not passed on as it is: %q", f.err)
	}
}

// TestDetailLines checks that one mistake in a whole file does not fill the terminal, and hides no other one.
func TestDetailLines(t *testing.T) {
	wrong := func(rows, reasons int) (all []payout.Detail) {
		for i := range rows {
			all = append(all, payout.Detail{Line: i + 2, Field: "amount",
				Message: fmt.Sprintf("the amount \"x%d\" is wrong as %s", i, strings.Repeat("z", i%reasons))})
		}
		return all
	}
	for _, tt := range []struct{ rows, reasons, lines int }{{1, 1, 1}, {20, 1, 20}, {21, 1, 2}, {30000, 3, 6}, {30000, 500, 19}} {
		lines := detailLines(wrong(tt.rows, tt.reasons))
		if len(lines) != tt.lines {
			t.Errorf("%d rows with %d reasons: %d lines: %q", tt.rows, tt.reasons, len(lines), lines)
		}
	}
	all := append(wrong(30000, 1), payout.Detail{Line: 7, Field: "address", Message: "missing"}, payout.Detail{Message: "and 5 more"})
	want := []string{`line 2: amount: the amount "x0" is wrong as `, "  and 29999 more of this kind, up to line 30001",
		"line 7: address: missing", "and 5 more"}
	if lines := detailLines(all); strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", lines)
	}
}
