//go:build unix

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/till/e2e/overlay"
)

// patch is an overlay.Patch. Its new code may call the functions of helpers:
//
//	killpoint("NAME")   a point
//	at("NAME")          the same, for something other than a kill
//	mutant("NAME")      whether the program is to have this bug
type patch struct{ File, Old, New string }

// points are the places inside the program where it can be killed. The patches below have their names.
var points = []string{"before-intent", "in-intent", "after-intent", "before-connect", "before-first-byte", "mid-body",
	"before-outcome", "in-outcome", "after-outcome"}

// mutants are bugs that single withdrawals must reveal, and batchMutants those that batches must: with them, a kill or
// a fault of the network does harm. Package explore looks for all others, and for these too.
var (
	mutants = []string{
		"reap-planned",  // what a dead process was sending may be sent again
		"retry-timeout", // a timeout is answered with a second call
		"unknown-no",    // an unknown outcome is recorded as a rejection
	}
	batchMutants = []string{
		"lost-ack",     // a commit whose outcome is unknown is treated as done
		"run-in-parts", // the rows of a run are not recorded all at once
		"half-results", // the results file is not replaced atomically
	}
)

// batchPoints are the points of a batch. Some are reached once for each row. A drawn number says at which of
// these times the program is killed.
var batchPoints = []string{"before-intent", "in-intent", "at-commit", "after-commit", "after-intent", "before-connect",
	"before-first-byte", "mid-body", "before-outcome", "in-outcome",
	"after-outcome", "between-rows", "in-run", "after-run", "in-results", "before-rename", "after-rename"}

// helpers is a file that is added to each patched package.
const helpers = `package %s

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// passed is how often this process has come by its point. A point is in one package only.
var passed atomic.Int64

// at reports whether this is the point, and the time at which it is to happen: the first, or a number of times from
// another one on.
func at(name string) bool {
	if os.Getenv("TILL_TORTURE_POINT") != name {
		return false
	}
	from, times := max(numberOf("NTH"), 1), max(numberOf("TIMES"), 1)
	n := passed.Add(1)
	return from <= n && n < from+times
}

func numberOf(name string) int64 {
	n, _ := strconv.ParseInt(os.Getenv("TILL_TORTURE_"+name), 10, 64)
	return n
}

// killpoint is where the program is killed, or is stopped until the test lets it go on.
func killpoint(name string) {
	if !at(name) {
		return
	}
	switch os.Getenv("TILL_TORTURE_DO") {
	case "stop": // which other threads may do before this one
		leaveNote("stops")
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		for !foundNote("go") {
			time.Sleep(time.Millisecond)
		}
		leaveNote("went")
	default:
		die()
	}
}

// leaveNote leaves a note for the test, and foundNote reports whether the test has left one.
func leaveNote(note string) {
	if place := os.Getenv("TILL_TORTURE_NOTES"); place != "" {
		os.WriteFile(filepath.Join(place, note), nil, 0o600)
	}
}

func foundNote(note string) bool {
	_, err := os.Stat(filepath.Join(os.Getenv("TILL_TORTURE_NOTES"), note))
	return err == nil
}

// clock is the clock of this machine, as far ahead as the test has noted, and after the time that has passed for it.
func clock() time.Time {
	if ahead := durationOf("ahead") + durationOf("passed"); ahead != 0 {
		return time.Now().Round(0).Add(ahead) // a clock that somebody has set
	}
	return time.Now()
}

func durationOf(note string) time.Duration {
	text, _ := os.ReadFile(filepath.Join(os.Getenv("TILL_TORTURE_NOTES"), note))
	d, _ := time.ParseDuration(string(text))
	return d
}

func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// attemptNumber is that of the attempt, which the ledger is told where several processes are at the same plan.
func attemptNumber() string { return os.Getenv("TILL_TORTURE_NUMBER") }

var met sync.Once

// waitForOthers waits for the other processes, and from then on is for a moment, in which all of them come by.
func waitForOthers() {
	place := os.Getenv("TILL_TORTURE_MEET")
	if place == "" {
		return
	}
	met.Do(func() {
		os.WriteFile(filepath.Join(place, strconv.Itoa(os.Getpid())), nil, 0o600)
		parties, _ := strconv.Atoi(os.Getenv("TILL_TORTURE_PARTIES"))
		for range 10_000 {
			if came, _ := os.ReadDir(place); len(came) >= parties {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	time.Sleep(20 * time.Millisecond)
}

// inClaim says that somebody in a transaction wants to send, and inOutcome that it has an outcome.
var inClaim, inOutcome bool

func mutant(name string) bool { return os.Getenv("TILL_TORTURE_MUTANT") == name }
`

// allPatches returns the patches that the program is built with. The bugs that other tests look for too are
// in overlay.Bugs, and come first.
func allPatches() []overlay.Patch { return append(overlay.Bugs(), overlay.Patches(patches)...) }

var patches = []patch{
	{
		"pkg/payout/send.go", `
	ticket, err := s.ledger.Claim(ctx, c)
`, `
	killpoint("before-intent")
	waitForOthers() // so that two that run at the same moment have both found nothing when they come to the record
	ticket, err := s.ledger.Claim(ctx, c)
	if err == nil {
		killpoint("after-intent")
	}
`,
	},
	{
		"pkg/payout/send.go", `
		call := s.call(ctx, calls, ticket)
		out`, `
		call := s.call(ctx, calls, ticket)
		killpoint("before-outcome")
		out`,
	},
	{
		"pkg/payout/send.go", `
			order, recording, another, err = s.ledger.FinishAndClaim(ctx, ticket, out, *next)
`, `
			killpoint("before-intent")
			waitForOthers()
			order, recording, another, err = s.ledger.FinishAndClaim(ctx, ticket, out, *next)
			if err == nil {
				killpoint("after-intent")
			}
`,
	},
	{
		"pkg/payout/send.go", `
		ended(s.recorded(ticket, call, order, recording))
`, `
		killpoint("after-outcome")
		ended(s.recorded(ticket, call, order, recording))
		killpoint("between-rows")
`,
	},
	{
		"pkg/payout/send.go", `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
`, `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
		killpoint("before-first-byte")
`,
	},
	{
		"pkg/payout/send.go", `
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	if mutant`, `
	killpoint("before-connect")
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	if mutant`,
	},
	{
		"pkg/payout/list.go", `
	pauseBetween = time.Second
`, `
	pauseBetween = 10 * time.Millisecond
`,
	},
	{
		"pkg/payout/journal.go", `
	j, err := journal.Open(ctx, where, journal.Options{Now: time.Now, SinceBoot: journal.SinceBoot, User: name, Host: host, Existing: existing})
`, `
	j, err := journal.Open(ctx, where, journal.Options{Now: clock, SinceBoot: func() (string, time.Duration) {
		boot, since := journal.SinceBoot()
		return boot, since + durationOf("passed")
	}, User: name, Host: host, Existing: existing})
`,
	},
	{
		"pkg/payout/sender.go", `
		now: time.Now, skew:`, `
		now: clock, skew:`,
	},
	{
		"cmd/till/main.go", `
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now,
`, `
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: clock,
`,
	},
	{
		"cmd/till/main.go", `
	"os"
	"time"
`, `
	"os"
`,
	},
	{
		"internal/journal/tx.go", `
	"strings"
`, `
	"strings"
	"syscall"
`,
	},
	{
		"internal/journal/tx.go", `
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
`, `
	claims, outcomes := inClaim, inOutcome
	inClaim, inOutcome = false, false
	if claims {
		killpoint("at-commit")
	}
	if outcomes && at("outcome-full") {
		return fmt.Errorf("write journal.db-wal: %w", syscall.ENOSPC)
	}
	if outcomes && at("outcome-before") { // as sever-before
		return driver.ErrBadConn
	}
	if claims && at("sever-before") { // the connection breaks, and the database has undone it
		return driver.ErrBadConn
	}
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	if outcomes && at("outcome-error") { // what was written is there, perhaps
		return fmt.Errorf("sync journal.db-wal: %w", syscall.EIO)
	}
	committed = true
	if outcomes && at("outcome-after") { // as sever-after
		j.disconnect()
		return driver.ErrBadConn
	}
	if claims && at("sever-after") { // it breaks as well, and the database has done it
		j.disconnect()
		return driver.ErrBadConn
	}
	if claims {
		killpoint("after-commit")
	}
`,
	},
	{
		"internal/journal/claim.go", `
	now, err := t.happen(old, e)
`, `
	killpoint("in-intent")
	inClaim = true
	now, err := t.happen(old, e)
`,
	},
	{
		"internal/journal/finish.go", `
	out.Reason = keepable(out.Reason)
`, `
	inOutcome = true
	killpoint("in-outcome")
	out.Reason = keepable(out.Reason)
`,
	},
	{
		"internal/journal/query.go", `
const mostAtOnce = 64
`, `
const mostAtOnce = 7 // so that a small plan has parts
`,
	},
	{
		"internal/journal/run.go", `
	rowsInAPiece = 1024
`, `
	rowsInAPiece = 7
`,
	},
	{
		"internal/journal/run.go", `
		time.Sleep(betweenPieces)
	}
	return l.locked(ctx,`, `
		killpoint("in-run")
		time.Sleep(betweenPieces)
	}
	killpoint("in-run")
	return l.locked(ctx,`,
	},
	{
		"pkg/payout/apply.go", `
	if err != nil {
		return accountChanged(err)
	}
	if !run.New && !a.Begun() {`, `
	killpoint("after-run")
	if err != nil {
		return accountChanged(err)
	}
	if !run.New && !a.Begun() {`,
	},
	{
		"internal/cmdutil/outfile.go", `
	buffered := bufio.NewWriter(file)
	err = fill(buffered)
	if err == nil {
`, `
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = fill(struct{ io.Writer }{buffered}) // a writer of CSV would flush it
	killpoint("in-results") // nothing of it is written
	if err == nil {
`,
	},
	{
		"internal/cmdutil/outfile.go", `
	return file.Commit()
`, `
	killpoint("before-rename")
	err = file.Commit()
	killpoint("after-rename")
	return err
`,
	},
	{
		"pkg/api/client.go", `
	h := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
`, `
	h := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
	if n := attemptNumber(); n != "" {
		h["X-Torture"] = []string{n}
	}
`,
	},
	{
		"pkg/api/gate.go", `
	n, err := c.Conn.Write(b)
`, `
	if first && c.before != nil && len(b) > 40 && at("mid-body") {
		c.Conn.Write(b[:len(b)-40])
		die()
	}
	n, err := c.Conn.Write(b)
`,
	},
}

// programs has the program without and with the patches. Both are built once, into a directory of TestMain.
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
	sources, err := overlay.Sources(root, allPatches(), helpers)
	if err != nil {
		return err
	}
	file, err := overlay.Write(b.dir, root, sources)
	if err != nil {
		return err
	}
	b.clean, b.patched = filepath.Join(b.dir, "till"), filepath.Join(b.dir, "till-patched")
	for _, args := range [][]string{{"build", "-trimpath", "-o", b.clean, "./cmd/till"},
		{"build", "-trimpath", "-overlay", file, "-o", b.patched, "./cmd/till"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// TestPatchesFit fails if a patch no longer fits. Otherwise it could go unnoticed that a point is never
// reached.
func TestPatchesFit(t *testing.T) {
	if _, err := overlay.Sources(filepath.Join("..", ".."), allPatches(), helpers); err != nil {
		t.Error(err)
	}
	all := ""
	for _, p := range allPatches() {
		all += p.New
	}
	for _, name := range slices.Concat(points, batchPoints, severances) {
		if !strings.Contains(all, fmt.Sprintf("killpoint(%q)", name)) &&
			!strings.Contains(all, fmt.Sprintf(" at(%q)", name)) {
			t.Errorf("no patch has the point %s", name)
		}
	}
	for _, name := range slices.Concat(mutants, batchMutants) {
		if !strings.Contains(all, fmt.Sprintf("mutant(%q)", name)) {
			t.Errorf("no patch has the mutant %s", name)
		}
	}
}
