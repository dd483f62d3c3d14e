//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
	"go.yaml.in/yaml/v3"
)

// These tests run every example as a reader would, with a sandbox. The README and the pages of docs/ are run
// by pages_run_test.go.

// docsEnv is the environment of a reader who has till in the PATH and no configuration. Go keeps its caches.
func docsEnv(t *testing.T, set ...string) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOENV").Output()
	must(t, err)
	home := t.TempDir()
	environ := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "TILL_") })
	return withEnv(environ, append([]string{
		"XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TMPDIR=" + t.TempDir(),
		"GOENV=" + strings.TrimSpace(string(out)),
		"CGO_ENABLED=0", "NO_COLOR=", "GORACE=atexit_sleep_ms=0", "LC_ALL=C",
	}, set...))
}

// withEnv returns an environment with more settings. If a name is set twice, the last value wins.
func withEnv(environ, set []string) []string { return slices.Concat(environ, set) }

// command returns a reader's command. It is killed if the test takes far too long.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), env, time.Second
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd) finished {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%s: %v", cmd, err)
	}
	return finished{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

func execute(t *testing.T, env []string, args ...string) finished {
	t.Helper()
	return finish(t, command(t, env, args...))
}

func (f finished) want(t *testing.T, code int, out string) {
	t.Helper()
	if f.code != code || masked(f.out) != masked(out) {
		t.Fatalf("it ended with %d and printed\n%s\nwant %d and\n%s\nstandard error:\n%s", f.code, f.out, code, out, f.err)
	}
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	changing = map[string]*regexp.Regexp{ // what differs from run to run, by what takes its place
		"<time>":               regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`),
		"$1 <run>":             regexp.MustCompile(`\b(till payout [a-z]+|run) [0-9a-f]{8}\b`),
		"on <today>.":          regexp.MustCompile(`\bon \d{4}-\d\d-\d\d\.`),
		"SHA256:<fingerprint>": regexp.MustCompile(`SHA256:[A-Za-z0-9+/]{43}`), // of an SSH key
		"127.0.0.1:<port>":     regexp.MustCompile(`127\.0\.0\.1:\d{4,5}`),
	}
)

// masked returns a text without the parts that differ from run to run. Different ids stay different.
func masked(text string) string {
	seen := map[string]string{}
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("<id %d>", len(seen)+1)
		}
		return seen[id]
	})
	for mask, differs := range changing {
		text = differs.ReplaceAllString(text, mask)
	}
	return text
}

func buildGo(t *testing.T, env []string, what string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	cmd := command(t, env, "go", "build", "-trimpath", "-o", program, what)
	cmd.Dir = absolute(t, ".")
	if f := finish(t, cmd); f.code != 0 {
		t.Fatalf("go build %s: %s", what, f.err)
	}
	return program
}

func TestPayoutsTopicRuns(t *testing.T) {
	_, text, found := strings.Cut(topicTexts(t)["payouts"], "Try it on a sandbox\n")
	text, _, ended := strings.Cut(text, "\n\n")
	if !found || !ended {
		t.Fatal("it is not in the help")
	}
	server := sandbox.Start(t)
	var commands strings.Builder
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(line, "    ")
		if is && !strings.HasSuffix(line, "\\\n") {
			command = strings.TrimSuffix(command, "\n") + "; echo \"= $?\"\n"
		}
		if is {
			commands.WriteString(strings.NewReplacer("ADDRESS", server.URL, "KEY=KEY", "KEY="+server.Key()).Replace(command))
		}
	}
	f := execute(t, docsEnv(t), "sh", "-c", commands.String())
	codes := strings.Join(regexp.MustCompile(`(?m)^= \d+$`).FindAllString(f.out, -1), " ")
	if want := "= 0 = 0 = 0 = 20 = 20 = 0 = 0 = 0"; codes != want {
		t.Errorf("%s\nends with %s, not %s\n%s%s", commands.String(), codes, want, f.out, f.err)
	}
}

// TestExamplesAreTested fails if there is an example that no test below runs. A test of tools/dist runs
// verify.sh.
func TestExamplesAreTested(t *testing.T) {
	const want = "ci ci-checkout.yml ci-invoice.yml demo.sh freelancers.csv invoices monitoring nightly.sh node payout.sh " +
		"payouts payroll.sh playwright python rebate-check.sh schedule seed.yaml shop verify.sh"
	entries, err := os.ReadDir(absolute(t, "examples"))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("examples/ has %q, and the tests run %q (%v)", got, want, err)
	}
}

func TestDemoScriptRuns(t *testing.T) {
	t.Parallel()
	till, err := exec.LookPath("till")
	must(t, err)
	left := t.TempDir()
	f := execute(t, docsEnv(t, "TMPDIR="+left, "TILL_OUTPUT=yaml"), "sh", absolute(t, "examples/demo.sh"), till)
	if f.code != 0 || f.err != "" {
		t.Fatalf("the demo ended with %d: %s\n%s", f.code, f.err, f.out)
	}
	for want, times := range map[string]int{"(exit code 10)": 1, "(exit code 20)": 3, "\n9003 ": 1, "accepted  17\n": 1,
		"accepted  40\n": 1, "INV-2026/118;Ada Brandt;accepted;Eur;213,41;DE8": 1, "\nHarbour Books,0.12985007,12985007,Btc,": 1, "29.50 USD": 1} {
		if got := strings.Count(f.out, want); got != times {
			t.Errorf("%q is there %d times, not %d:\n%s", want, got, times, f.out)
		}
	}
	if entries, err := os.ReadDir(left); err != nil || len(entries) > 0 {
		t.Errorf("the demo leaves %v behind (%v)", entries, err)
	}
}

// faulty is a sandbox whose creates can be made to fail, order by order.
type faulty struct {
	box    *sandbox.Server
	url    string
	server *httptest.Server
	gone   bool  // after the list is read, no new connection is accepted
	told   int64 // the last request that sent has told of
}

// startFaulty starts one with answers to the creates, by order id: each is what a sandbox.Fault does.
func startFaulty(t *testing.T, answers map[string][]string) *faulty {
	t.Helper()
	box, err := sandbox.New()
	must(t, err)
	f := &faulty{box: box}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.gone && !strings.HasSuffix(r.URL.Path, "/create") {
			f.server.Listener.Close()
		}
		box.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context()))) // a delayed create outlives who has sent it
	}))
	f.url = f.server.URL
	t.Cleanup(func() {
		f.server.Listener.Close()
		f.server.CloseClientConnections()
	})
	for order, all := range answers {
		f.answer(t, order, all...)
	}
	return f
}

// answer sets how the next creates of an order are answered.
func (f *faulty) answer(t *testing.T, order string, answers ...string) {
	t.Helper()
	for _, answer := range answers {
		_, err := f.box.AddFault(sandbox.Fault{Do: answer, On: "POST /api/merchant_withdrawal/create", Times: 1,
			Match: map[string]string{"external_order_id": order}})
		must(t, err)
	}
}

// sent returns the order ids of the creates since the last call.
func (f *faulty) sent() string {
	var orders []string
	for _, r := range f.box.Requests() {
		if r.ID > f.told && strings.HasSuffix(r.Path, "/create") {
			f.told = r.ID
			orders = append(orders, regexp.MustCompile(`"external_order_id":"(\w+)"`).FindStringSubmatch(string(r.Body))[1])
		}
	}
	return strings.Join(orders, " ")
}

// listed returns the order ids that the service has, the oldest first. They show how often each was paid.
func (f *faulty) listed(t *testing.T) string {
	t.Helper()
	dump, err := f.box.Dump()
	must(t, err)
	var orders []string
	for _, m := range regexp.MustCompile(`"order_id": "(\w+)"`).FindAllSubmatch(dump, -1) {
		orders = append(orders, string(m[1]))
	}
	return strings.Join(orders, " ")
}

func (f *faulty) env(t *testing.T, set ...string) []string {
	t.Helper()
	return docsEnv(t, append([]string{"TILL_BASE_URL=" + f.url, "TILL_API_KEY=" + f.box.Key(),
		"TILL_PROFILE=sandbox"}, set...)...)
}

// payoutFile writes a file to a path that a careless script does not handle.
func payoutFile(t *testing.T, text string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "pay outs $HOME.csv"), text)
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if masked(got) != masked(want) {
		t.Fatalf("%s:\n%s\nand not\n%s", what, got, want)
	}
}

var tooMany = slices.Repeat([]string{"status=429"}, 3)

const payoutHead = "order_id,currency,amount,address\n"

// anyID is any id in an expected text: after masking, all first ids are equal.
const anyID = "00000000-0000-4000-8000-000000000000"

// scriptRun is a run of examples/payout.sh.
type scriptRun struct {
	code int
	out  string // ID is any id
	sent string // the orders that it sends
	says string // on standard error
	env  string
}

func TestPayoutScript(t *testing.T) {
	t.Parallel()
	script, crash := absolute(t, "examples/payout.sh"), t.TempDir()
	writeProgram(t, crash+"/till", `[ "$2" = reconcile ] || kill -KILL $$`)
	quick := []string{"PAYOUT_PAUSE=0", "PAYOUT_TRIES=2"}
	const (
		two   = payoutHead + "1,Btc,0.5,a\n2,Btc,0.5,b\n"
		all   = "1 accepted ID\n2 accepted ID\n3 accepted ID\n"
		mixed = "1 accepted ID\n2 not-sent 30\n3 not-sent 10\n4 not-sent 10\n5 accepted ID\n6 accepted ID\n"
	)
	type test struct {
		name    string
		answers map[string][]string
		rows    string
		runs    []scriptRun
		list    string
	}
	wrong := []scriptRun{{code: 10}}
	tests := []test{
		// A second run prints the same ids and tries only the orders that were not accepted, even if the journal is lost.
		{"every kind of row", map[string][]string{"5": {"status=429"}}, payoutHead +
			"1,Btc,0.5,bc1q*\r\n2,Btc,9000000,bc1qb\n3,Btc,1e3,bc1qc\n4,Xlr,5,GD\n5,Btc,25.00 USD,bc1qe\n6,Eth,1,0xf",
			[]scriptRun{{50, mixed, "1 2 5 5 6", "", ""}, {50, mixed, "2", "", ""},
				{50, mixed, "2", "on the service's list already", "XDG_STATE_HOME=" + t.TempDir()}}, "1 5 6"},
		{"a lost answer", map[string][]string{"2": {"drop-after"}}, two + "3,Btc,0.5,c\n",
			[]scriptRun{{20, "1 accepted ID\n", "1 2", "order 2 is UNKNOWN (exit code 20)", ""}, {0, all, "3", "", ""},
				{0, all, "", "", ""}}, "1 2 3"},
		// Its absence from the list proves nothing.
		{"a payment that never arrived", map[string][]string{"1": {"drop-before"}}, two,
			[]scriptRun{{20, "", "1", "", ""}, {20, "", "", "", ""}}, ""},
		{"till crashes", nil, two, []scriptRun{{code: 20, env: "PATH=" + crash + ":" + os.Getenv("PATH")}}, ""},
		{"the key is refused", map[string][]string{"1": {"status=401"}}, two, []scriptRun{{code: 31, sent: "1"}}, ""},
		{"too many calls", map[string][]string{"1": tooMany}, two, []scriptRun{{code: 32, sent: "1 1"}}, ""},
		{"nobody is there", nil, two, []scriptRun{{code: 40}}, ""},
		{"an empty file", nil, "", wrong, ""},
		{"no head", nil, "1,Btc,0.5,a\n", wrong, ""},
	}
	for _, row := range []string{"1,Btc,0.5,a\n1,Btc,0.5,b", "1,Btc,0.5", "01,Btc,0.5,a", "1,Btc,0.5,\"a\"", "1,Btc,0.5,a b",
		"1,,0.5,a"} {
		tests = append(tests, test{row, nil, payoutHead + row + "\n", wrong, ""})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, file := startFaulty(t, c.answers), payoutFile(t, c.rows)
			f.gone = c.name == "nobody is there"
			env, ids := f.env(t, quick...), map[string]string{}
			for _, want := range c.runs {
				run := execute(t, withEnv(env, []string{want.env}), "sh", script, file)
				if out := uuids.ReplaceAllString(run.out, "ID"); run.code != want.code || out != want.out ||
					!strings.Contains(run.err, want.says) {
					t.Fatalf("%+v\nis wanted, and not\n%+v", want, run)
				}
				wantText(t, "sent", f.sent(), want.sent)
				for line := range strings.Lines(run.out) {
					order, id, _ := strings.Cut(line, " ")
					if ids[order] = cmp.Or(ids[order], id); ids[order] != id {
						t.Errorf("the order %s had the id %s and now has %s", order, ids[order], id)
					}
				}
			}
			wantText(t, "the list", f.listed(t), c.list)
		})
	}

	t.Run("a signal waits for the row", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, map[string][]string{"1": {"delay=1s"}})
		cmd := command(t, f.env(t, quick...), "sh", script, payoutFile(t, two))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		ended := make(chan finished)
		go func() { ended <- finish(t, cmd) }()
		eventually(t, "the create", func() bool { return f.sent() == "1" })
		must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
		run := <-ended
		run.want(t, 60, "1 accepted "+anyID+"\n")
		wantText(t, "sent", f.sent(), "")
	})
}

func TestPayoutsProgram(t *testing.T) {
	t.Parallel()
	program := buildGo(t, docsEnv(t), "./examples/payouts")
	const rows = "order_id,currency,amount_minor,address\n1,Btc,50000000,a\n2,Btc,50000000,b\n3,crypto:Eth,5,c\n"
	f := startFaulty(t, map[string][]string{"2": {"drop-after"}})
	file := payoutFile(t, rows)
	env := f.env(t, "TILL_JOURNAL="+filepath.Join(t.TempDir(), "journal.db"))
	execute(t, env, program, file).want(t, 20, "1 of 3 rows are paid\n")
	execute(t, env, program, file).want(t, 0, "3 of 3 rows are paid\n")
	wantText(t, "sent", f.sent(), "1 2 3")
	wantText(t, "the list", f.listed(t), "1 2 3")
	execute(t, env, program, file).want(t, 0, "3 of 3 rows are paid\n")
	wantText(t, "sent", f.sent(), "")

	// A wrong file makes no plan.
	execute(t, env, program).want(t, 1, "")
	for _, row := range []string{"9,Btc,0.5,a", "9,Btc,-5,a", "09,Btc,5,a", "9,Btc,5,a\n9,Btc,5,b", "9,Btc,5"} {
		execute(t, env, program, payoutFile(t, "order_id,currency,amount_minor,address\n"+row+"\n")).want(t, 1, "")
	}
	wantText(t, "sent", f.sent(), "")
}

func TestInvoicesProgram(t *testing.T) {
	t.Parallel()
	program := buildGo(t, docsEnv(t), "./examples/invoices")
	f := startFaulty(t, nil)

	cmd := command(t, f.env(t), program, "-interval", "10ms")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewReader(out)
	invoice, err := lines.ReadString('\n')
	must(t, cmp.Or(err, f.box.PayInvoice(strings.TrimSpace(invoice))))
	rest, err := io.ReadAll(lines)
	if err := cmp.Or(err, cmd.Wait()); err != nil || string(rest) != "paid\n" {
		t.Errorf("it printed %q after the invoice was paid: %v", rest, err)
	}

	run := execute(t, f.env(t), program, "-interval", "10ms", "-timeout", "500ms")
	run.want(t, 1, anyID+"\n")
	if !strings.Contains(run.err, `the status "Awaiting"`) {
		t.Errorf("standard error: %s", run.err)
	}

	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }))
	defer broken.Close()
	execute(t, docsEnv(t, "TILL_BASE_URL="+broken.URL, "TILL_API_KEY="+f.box.Key()), program).want(t, 20, "")
}

func TestRebateCheck(t *testing.T) {
	t.Parallel()
	script, env := absolute(t, "examples/rebate-check.sh"), docsEnv(t)
	// Last month it earned 10.00, and in the month before that 90.00. In May of 2021 it was 20.00, in April
	// 80.00.
	now := time.Now().UTC()
	ago := func(months int) string {
		return time.Date(now.Year(), now.Month()-time.Month(months), 15, 10, 0, 0, 0, time.UTC).Format(time.RFC3339)
	}
	text := "resellers:\n  - {label: Harbour Books}\ninvoices:\n"
	for i, invoice := range []struct{ created, total string }{
		{ago(1), "1000.00 Usd"}, {ago(2), "9000.00 Usd"}, {ago(1), "0.50000000 Btc"},
		{"2021-05-31T23:59:59Z", "2000.00 Usd"}, {"2021-04-30T23:59:59Z", "8000.00 Usd"},
	} {
		text += fmt.Sprintf("  - {account: Harbour Books, title: Order %d, total: %s, status: Paid, created: %q}\n", i,
			invoice.total, invoice.created)
	}
	seed := writeFile(t, filepath.Join(t.TempDir(), "seed.yaml"), text)
	const lastMonth = "last-month to last-month are "
	for _, c := range []struct {
		args string // of the script, for a shell
		code int
		says string
	}{
		{"'Harbour Books' Usd 1000", 0, ""},
		{"'Harbour Books' usd 1001", 42, lastMonth + "1000 minor units of usd, less than 1001"},
		{"'Harbour Books' Usd 2000 2021-05 2021-05", 0, ""},
		{"'Harbour Books' Usd 2001 2021-05 2021-05", 42, "2021-05 to 2021-05 are 2000 minor units of Usd, less than 2001"},
		{"'Harbour Books' Btc 999999999999999999", 42, lastMonth + "500000 minor units of Btc, less than 999999999999999999"},
		{"'Harbour Books' Gbp 1", 42, lastMonth + "0 minor units of Gbp, less than 1"},
		{"'Harbour Books' Gbp 0", 0, ""},
		{"'Harbour Books' Usdd 0", 10, ""},
		{"'Harbour Books' Usd 75.46", 10, ""},
		{"'Harbour Books' Usd ''", 10, ""},
		{"'Harbour Books' Usd 1 2026-05", 10, ""},
		{"'Harbour Books' Usd 1 lastmonth today", 10, ""},
		{"Nobody Usd 1", 10, ""},
	} {
		run := execute(t, env, "till", "sandbox", "run", "--seed", seed, "--", "sh", "-c", `exec sh "$0" `+c.args, script)
		want := ""
		if c.code == 42 {
			want = "Harbour Books: rebates from " + c.says + "\n"
		}
		if run.want(t, c.code, want); (run.err == "") != (c.code == 0 || c.code == 42) {
			t.Errorf("%s: standard error: %s", c.args, run.err)
		}
	}
	unreachable := docsEnv(t, "TILL_BASE_URL=http://127.0.0.1:9", "TILL_API_KEY=till_sandbox_x",
		"TILL_PROFILE=sandbox", "TILL_RETRIES=0")
	execute(t, unreachable, "sh", script, "Harbour Books", "Usd", "1").want(t, 41, "")
	execute(t, unreachable, "sh", script, "00000000-0000-4000-8000-000000000000", "Usd", "1").want(t, 50, "")
}

// TestSeedExample checks the contents of a sandbox that was started with the example of a seed.
func TestSeedExample(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ run, want string }{
		{"till reseller stats --no-headers --sort label --columns label,volume,rebates",
			"Harbour Books  75.00 USD  0.75 USD\n" + "Kiosk am Eck\n"},
		{"till reseller balance 'Harbour Books' --jq .Fiat.USD; till reseller balance 'Kiosk am Eck' --jq .Fiat.EUR",
			"6500\n4200\n"},
		{"till withdraw list --no-headers --columns order_id,status,amount",
			"4711  New         0.01500000 Btc\n" + "      Completed  25.00       USD\n"},
		{"TILL_API_KEY=till_sandbox_harbour till withdraw list --jq '.[].current'", "Processing\n"},
		{"till reseller invoice list 'Harbour Books' --jq '.page_content | sort_by(.tittle) | .[].status'",
			"Paid\nAwaiting\nExpired\n"},
		{"till sandbox dump --jq '.balances | length'", "7\n"},
	} {
		cmd := command(t, docsEnv(t), "till", "sandbox", "run", "--seed", absolute(t, "examples/seed.yaml"),
			"--", "sh", "-c", c.run)
		finish(t, cmd).want(t, 0, c.want)
	}
}

// TestCIWorkflow runs the steps of the jobs as GitHub's runner does: each in its own shell, with the PATH and
// the environment that the earlier steps have extended.
func TestCIWorkflow(t *testing.T) {
	t.Parallel()
	for file, steps := range map[string]int{"ci-invoice.yml": 3, "ci-checkout.yml": 5} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			needProgram(t, "python3")
			runWorkflow(t, "examples/"+file, steps)
		})
	}
}

func runWorkflow(t *testing.T, file string, steps int) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Uses, Run string
				Env             map[string]string
			}
		}
	}
	text := pageText(t, file)
	must(t, yaml.Unmarshal([]byte(text), &workflow))
	if strings.Contains(text, "secrets.") {
		t.Error("the job wants a secret")
	}
	shell := "sh"
	if found, err := exec.LookPath("bash"); err == nil {
		shell = found
	}
	for _, job := range workflow.Jobs {
		temp, path := t.TempDir(), ""
		var extended []string                               // by GITHUB_ENV
		must(t, os.Symlink(absolute(t, "."), temp+"/till")) // the job's second checkout
		ran := 0
		for _, step := range job.Steps {
			if step.Run == "" {
				continue
			}
			env := withEnv(docsEnv(t, "RUNNER_TEMP="+temp, "GITHUB_PATH="+temp+"/path", "GITHUB_ENV="+temp+"/env",
				"GITHUB_RUN_ID=4711", "PATH="+path+os.Getenv("PATH")), extended)
			for name, value := range step.Env {
				env = append(env, name+"="+value)
			}
			cmd := command(t, env, shell, "-e", "-c", step.Run)
			cmd.Dir = temp
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			// Processes that a step leaves running end with the job.
			t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) })
			if f := finish(t, cmd); f.code != 0 {
				t.Fatalf("the step %q ended with %d:\n%s%s", step.Name, f.code, f.out, f.err)
			}
			path = strings.ReplaceAll(contents(t, temp+"/path"), "\n", ":")
			if added, err := os.ReadFile(temp + "/env"); err == nil {
				extended = strings.Split(strings.TrimSpace(string(added)), "\n")
			}
			ran++
		}
		if ran != steps {
			t.Errorf("%d steps were run", ran)
		}
	}
}
