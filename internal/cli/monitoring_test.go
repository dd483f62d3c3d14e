//go:build unix

package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// watched is a service whose profile has on_finish.
type watched struct {
	*faulty
	env  []string
	plan string
}

// startWatched makes a plan of two payments for a profile that runs a program of examples/monitoring.
func startWatched(t *testing.T, program, argument string, env ...string) watched {
	t.Helper()
	w := watched{faulty: startFaulty(t, nil)}
	dir := t.TempDir()
	w.plan = filepath.Join(dir, "staff.plan")
	w.env = docsEnv(t, append([]string{"TILL_API_KEY=" + w.box.Key(), "TILL_CONFIG=" + dir + "/config.yaml"}, env...)...)
	file := writeFile(t, dir+"/staff.csv", payoutHead+"1,Btc,0.5,bc1qa\n2,Btc,0.25,bc1qb\n")
	execute(t, w.env, "sh", "-ec", `till profile set live base_url=$0 "on_finish=[$1, $2]"
till currency set Btc --kind crypto --decimals 8
till payout plan "$3" --out "$4" -q >"$4.digest"`, w.url, absolute(t, "examples/monitoring/"+program), argument, file,
		w.plan).want(t, 0, "")
	return w
}

// apply applies the plan, and checks the exit code and that standard error has no warning.
func (w watched) apply(t *testing.T, code int, args ...string) {
	t.Helper()
	f := execute(t, w.env, append([]string{"till", "payout", "apply", w.plan, "--yes"}, args...)...)
	if f.code != code || strings.Contains(f.err, "warning") {
		t.Fatalf("it ended with %d: %s", f.code, f.err)
	}
}

// TestMailExample applies a plan with an unknown outcome, and reads what mail.sh hands to sendmail.
func TestMailExample(t *testing.T) {
	needProgram(t, "jq")
	t.Parallel()
	sendmail, mails := noting(t)
	w := startWatched(t, "mail.sh", "payroll@shop.example", "SENDMAIL="+sendmail)
	w.answer(t, "2", "drop-before")
	w.apply(t, 20)
	want := regexp.MustCompile(`^\*\*\*
-i -t
To: payroll@shop\.example
Subject: till payout apply [0-9a-f]{8}: unknown \(exit code 20\)
Content-Type: text/plain; charset=utf-8
Auto-Submitted: auto-generated

till payout apply [0-9a-f]{8}: unknown \(exit code 20\)
the outcome of order 2 is unknown: .*
Next: .*till payout reconcile [0-9a-f]{8}
Orders: 1 accepted, 1 unknown
total: 0\.75000000 Btc
accepted: 0\.50000000 Btc
Open in the journal: 1 unknown
live at http://.*, .*Z, [0-9.]+ s, [0-9]+ calls
$`)
	if got := contents(t, mails); !want.MatchString(got) {
		t.Errorf("the mail is\n%s", got)
	}
}

// TestChatExample applies a plan, and reads what chat.sh posts to a webhook.
func TestChatExample(t *testing.T) {
	needProgram(t, "jq")
	needProgram(t, "curl")
	t.Parallel()
	posts := make(chan string, 10)
	var status atomic.Int32
	status.Store(http.StatusOK)
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/services/secret" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, %v", r.Method, r.URL, err)
		}
		var message map[string]string
		if err := json.Unmarshal(body, &message); err != nil || len(message) != 1 {
			t.Errorf("%v: %s", err, body)
		}
		posts <- message["text"]
		rw.WriteHeader(int(status.Load()))
	}))
	defer hook.Close()
	w := startWatched(t, "chat.sh", writeFile(t, t.TempDir()+"/webhook", hook.URL+"/services/secret\n"))
	// posted returns the only post since the last call.
	posted := func() string {
		t.Helper()
		if len(posts) != 1 {
			t.Fatalf("there are %d posts", len(posts))
		}
		return <-posts
	}
	w.apply(t, 0)
	if got := posted(); !regexp.MustCompile(`^till payout apply [0-9a-f]{8}: done\nOrders: 2 accepted\n`).MatchString(got) {
		t.Errorf("it posted %q", got)
	}
	// The service's words cannot call everybody.
	f := execute(t, w.env, "till", "withdraw", "wait", "--order-id", "1", "--status", "<!channel>", "--timeout",
		"1s", "--interval", "100ms")
	if got := posted(); f.code != 42 || !strings.Contains(got, "did not become &lt;!channel&gt; within") {
		t.Errorf("it ended with %d and posted %q: %s", f.code, got, f.err)
	}
	status.Store(http.StatusGone)
	f = execute(t, w.env, "till", "payout", "apply", w.plan, "--yes")
	posted()
	if f.code != 0 || !strings.Contains(f.err, "chat.sh of on_finish failed: exit status") {
		t.Errorf("it ended with %d: %s", f.code, f.err)
	}
}

// TestAlerts runs the tests of the alerts, and checks that Prometheus accepts a metrics file.
func TestAlerts(t *testing.T) {
	needProgram(t, "promtool")
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := command(t, os.Environ(), append([]string{"promtool"}, args...)...)
		cmd.Dir = absolute(t, "examples/monitoring")
		if f := finish(t, cmd); f.code != 0 {
			t.Errorf("promtool %v ended with %d:\n%s%s", args, f.code, f.out, f.err)
		}
	}
	w := startWatched(t, "mail.sh", "x", "SENDMAIL=true")
	w.answer(t, "2", "drop-before")
	file := filepath.Join(t.TempDir(), "pay \"roll\"\\.prom")
	w.apply(t, 20, "--metrics", file)
	execute(t, w.env, "till", "withdraw", "wait", "--order-id", "1", "--status", "New", "--metrics", file)
	check := command(t, os.Environ(), "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(contents(t, file))
	if f := finish(t, check); f.code != 0 || f.out+f.err != "" || !strings.Contains(contents(t, file), "withdraw wait") {
		t.Errorf("promtool ended with %d: %s%s\n%s", f.code, f.out, f.err, contents(t, file))
	}
}

// TestMonitoringPage checks that the page, the help and the alerts name the metrics that there are, and no
// others.
func TestMonitoringPage(t *testing.T) {
	of := func(text string) []string {
		names := regexp.MustCompile(`till_[a-z_]+`).FindAllString(text, -1)
		slices.Sort(names)
		return slices.Compact(names)
	}
	want := of(topicTexts(t)["monitoring"])
	if got := of(pageText(t, "docs/monitoring.md")); len(want) != 9 || !slices.Equal(got, want) {
		t.Errorf("the page names %q, and the help %q", got, want)
	}
	for _, name := range of(pageText(t, "examples/monitoring/alerts.yml")) {
		if !slices.Contains(want, name) {
			t.Errorf("the alerts name %s", name)
		}
	}
}
