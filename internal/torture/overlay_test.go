//go:build unix

package torture

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A patch replaces a snippet of a source file, which must be there exactly once.
type patch struct{ file, old, new string }

// points are the places inside the program at which it can be killed, by their names in the patches below.
var points = []string{"before-intent", "in-intent", "after-intent", "before-connect", "before-first-byte", "mid-body", "before-outcome", "in-outcome", "after-outcome"}

// mutants are the bugs that these tests have to find, each a way in which such a program is often written.
var mutants = []string{
	"send-first",      // the record is made after the call
	"lazy-commit",     // the record is committed while the call is under way
	"no-sync",         // a commit is lost when the program dies, as one without a sync is when the machine does
	"reap-planned",    // what a dead process was sending may be sent again
	"retry-timeout",   // a time-out is answered with a second call
	"follow-307",      // a redirect is followed, body and all
	"report-first",    // the id is printed before it is on record
	"unknown-no",      // an unknown outcome is recorded as a rejection
	"absent-not-sent", // what the list does not show was not sent
	"duplicates",      // the same may go out under another order id while one is unknown
	"no-claim",        // a record that says sending keeps nobody from sending
}

// helpers is a file that is added to each package that is patched.
const helpers = `package %s

import (
	"os"
	"syscall"
	"time"
)

func killpoint(name string) {
	if os.Getenv("TILL_TORTURE_POINT") == name {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func pause() {
	if os.Getenv("TILL_TORTURE_PAUSE") != "" {
		time.Sleep(20 * time.Millisecond)
	}
}

// unsynced says that a transaction is over, and not yet committed.
var unsynced bool

// silence lets what is printed from now on go nowhere: what was printed too early is not printed again.
func silence() {
	if nowhere, err := syscall.Open("/dev/null", syscall.O_WRONLY, 0); err == nil {
		syscall.Close(1)
		syscall.Dup(nowhere)
	}
}

func mutant(name string) bool { return os.Getenv("TILL_TORTURE_MUTANT") == name }
`

var patches = []patch{
	{
		"internal/payout/send.go", `
	ticket, err := b.Journal.Claim(ctx, b.Account, claim)
	if err != nil {
		return b.notClaimed(w, err)
	}
	outcome, callErr, left := b.call(ctx, calls, w.Request, ticket)
	order, err := b.Journal.Finish(ctx, ticket, outcome)
`, `
	var ticket journal.Ticket
	var outcome journal.Outcome
	var callErr, err error
	var left bool
	killpoint("before-intent")
	pause() // so that two that run at the same moment have both found nothing when they come to the record
	switch {
	case mutant("send-first"):
		outcome, callErr, left = b.call(ctx, calls, w.Request, journal.Ticket{Began: b.Now()})
		ticket, err = b.Journal.Claim(ctx, b.Account, claim)
	case mutant("lazy-commit"):
		claimed := make(chan bool)
		go func() {
			time.Sleep(5 * time.Millisecond)
			ticket, err = b.Journal.Claim(ctx, b.Account, claim)
			claimed <- true
		}()
		outcome, callErr, left = b.call(ctx, calls, w.Request, journal.Ticket{Began: b.Now()})
		<-claimed
	default:
		ticket, err = b.Journal.Claim(ctx, b.Account, claim)
	}
	if err != nil {
		return b.notClaimed(w, err)
	}
	killpoint("after-intent")
	if !mutant("send-first") && !mutant("lazy-commit") {
		outcome, callErr, left = b.call(ctx, calls, w.Request, ticket)
	}
	if mutant("report-first") && outcome.State == journal.Accepted {
		fmt.Println(outcome.Withdrawal)
		silence()
	}
	killpoint("before-outcome")
	order, err := b.Journal.Finish(ctx, ticket, outcome)
	killpoint("after-outcome")
`,
	},
	{
		"internal/payout/send.go", `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
`, `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
		killpoint("before-first-byte")
`,
	},
	{
		"internal/payout/send.go", `
	id, err := b.Client.Withdrawals.Create(calls, r)
`, `
	killpoint("before-connect")
	id, err := b.Client.Withdrawals.Create(calls, r)
	if mutant("retry-timeout") && errors.Is(err, context.DeadlineExceeded) {
		id, err = b.Client.Withdrawals.Create(calls, r)
	}
`,
	},
	{
		"internal/payout/send.go", `
	out := journal.Outcome{State: journal.Unknown, Reason: err.Error()}
`, `
	out := journal.Outcome{State: journal.Unknown, Reason: err.Error()}
	if mutant("unknown-no") {
		out.State = journal.Rejected
	}
`,
	},
	{
		"internal/payout/reconcile.go", `
		if len(records) == 0 {
			continue
`, `
		if len(records) == 0 {
			if mutant("absent-not-sent") && o.State == journal.Unknown {
				if decided, err := b.Journal.Decide(ctx, b.Account, journal.Decision{OrderID: o.OrderID, NotSent: true, Reason: "not on the list"}); err == nil {
					results[i].Order = decided
				}
			}
			continue
`,
	},
	{
		"internal/journal/journal.go", `
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
`, `
	if mutant("no-sync") && j.sends {
		unsynced = true
	} else if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
`,
	},
	{
		"internal/journal/journal.go", `
		_, err := j.conn.ExecContext(ctx, j.dialect.begin())
`, `
		if unsynced {
			unsynced = false
			if err := j.dialect.commit(ctx, j.conn); err != nil {
				return err
			}
		}
		_, err := j.conn.ExecContext(ctx, j.dialect.begin())
`,
	},
	{
		"internal/journal/journal.go", `
	j.disconnect()
	return errors.Join(j.db.Close(), j.dialect.close())
`, `
	if unsynced {
		j.dialect.commit(context.Background(), j.conn)
	}
	j.disconnect()
	return errors.Join(j.db.Close(), j.dialect.close())
`,
	},
	{
		"internal/journal/transition.go", `
	next.State, next.Reason = Unknown, "the process that was sending it died"
`, `
	next.State, next.Reason = Unknown, "the process that was sending it died"
	if mutant("reap-planned") {
		next.State = Planned
	}
`,
	},
	{
		"internal/journal/transition.go", `
	if c.AllowDuplicate {
`, `
	if c.AllowDuplicate || mutant("duplicates") {
`,
	},
	{
		"internal/journal/transition.go", `
		if old.State != "" && old.State != Planned && (old.State != Rejected || c.NotRejected) {
`, `
		if old.State != "" && old.State != Planned && (old.State != Rejected || c.NotRejected) && !(mutant("no-claim") && old.State == Sending) {
`,
	},
	{
		"internal/journal/transition.go", `
		now, err := t.order(account, c.OrderID)
		ticket.account,`, `
		killpoint("in-intent")
		now, err := t.order(account, c.OrderID)
		ticket.account,`,
	},
	{
		"internal/journal/transition.go", `
		o, err = t.orderRow(ticket.order)
`, `
		killpoint("in-outcome")
		o, err = t.orderRow(ticket.order)
`,
	},
	{
		"pkg/api/gate.go", `
	n, err := c.Conn.Write(b)
`, `
	if first && c.before != nil && len(b) > 40 && os.Getenv("TILL_TORTURE_POINT") == "mid-body" {
		c.Conn.Write(b[:len(b)-40])
		killpoint("mid-body")
	}
	n, err := c.Conn.Write(b)
`,
	},
	{
		"pkg/api/call.go", `
	if resp.StatusCode() != http.StatusOK {
		return nil, 0, r.refused(resp, got.text, c.key)
`, `
	if mutant("follow-307") && resp.StatusCode() == http.StatusTemporaryRedirect {
		r.query = "again"
		return c.exchange(ctx, r)
	}
	if resp.StatusCode() != http.StatusOK {
		return nil, 0, r.refused(resp, got.text, c.key)
`,
	},
}

// apply returns a source with a patch, or an error where the source has changed.
func (p patch) apply(source string) (string, error) {
	if n := strings.Count(source, p.old); n != 1 {
		return "", fmt.Errorf("%s has changed: this snippet, which the crash tests patch, is there %d times and not once; adapt the patch to what it is now:\n%s", p.file, n, p.old)
	}
	return strings.Replace(source, p.old, p.new, 1), nil
}

// programs are the program as it is, and once more with the patches. They are built once, into a directory of TestMain's.
type programs struct {
	dir            string
	once           sync.Once
	clean, patched string
	err            error
}

func (b *programs) get(t *testing.T) (clean, patched string) {
	t.Helper()
	b.once.Do(func() { b.err = b.build() })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.clean, b.patched
}

func (b *programs) build() error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	sources, replace := map[string]string{}, map[string]string{}
	for _, p := range patches {
		if sources[p.file] == "" {
			text, err := os.ReadFile(filepath.Join(root, p.file))
			if err != nil {
				return err
			}
			sources[p.file] = string(text)
		}
		text, err := p.apply(sources[p.file])
		if err != nil {
			return err
		}
		sources[p.file] = text
		added := filepath.Join(filepath.Dir(p.file), "torture_helpers.go")
		sources[added] = fmt.Sprintf(helpers, filepath.Base(filepath.Dir(p.file)))
	}
	for file, text := range sources {
		copied := filepath.Join(b.dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(root, file)] = copied
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return err
	}
	b.clean, b.patched = filepath.Join(b.dir, "till"), filepath.Join(b.dir, "till-patched")
	for _, args := range [][]string{{"build", "-o", b.clean, "./cmd/till"}, {"build", "-overlay", overlay, "-o", b.patched, "./cmd/till"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// A patch that no longer fits must be noticed: without it, a point would never be reached, and nobody would know.
func TestPatchesFit(t *testing.T) {
	p := patch{"some.go", "\tb := 1\n", "\tb := 2\n"}
	for source, fits := range map[string]bool{"\ta := 1\n\tb := 1\n": true, "\ta := 1\n": false, "\tb := 1\n\tb := 1\n": false} {
		if got, err := p.apply(source); (err == nil) != fits || fits && got != "\ta := 1\n\tb := 2\n" {
			t.Errorf("%q: %q, %v", source, got, err)
		}
	}
	all := ""
	for _, p := range patches {
		all += p.new
	}
	for _, name := range points {
		if !strings.Contains(all, fmt.Sprintf("killpoint(%q)", name)) {
			t.Errorf("no patch has the point %s", name)
		}
	}
	for _, name := range mutants {
		if !strings.Contains(all, fmt.Sprintf("mutant(%q)", name)) {
			t.Errorf("no patch has the mutant %s", name)
		}
	}
}
