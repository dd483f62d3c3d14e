//go:build unix

package torture

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/till/e2e/overlay"
)

// The code of a patch may call the functions of helpers:
//
//	killpoint("NAME")   a point
//	at("NAME")          the same, for something other than a kill
//	mutant("NAME")      whether the program is to have this bug

// points are the places inside the program where it can be killed. The patches below have their names.
var points = []string{"before-intent", "in-intent", "after-intent", "before-connect", "before-first-byte", "mid-body",
	"before-outcome", "in-outcome", "after-outcome"}

// mutants are bugs that single withdrawals must reveal, and batchMutants those that batches must: with them,
// a kill or a fault of the network does harm. Package explore looks for all others, and for these too.
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

// at reports whether this is the point, and the time at which it is to happen: the first, or a number of
// times from another one on.
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

// clock is the clock of this machine, as far ahead as the test has noted, and after the time that has passed
// for it.
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
func allPatches() []overlay.Patch { return append(overlay.Bugs(), patches...) }

var patches = []overlay.Patch{
	{File: "pkg/payout/send.go", Old: `
	ticket, err := s.ledger.Claim(ctx, c)
`, New: `
	killpoint("before-intent")
	waitForOthers() // so that two that run at the same moment have both found nothing when they come to the record
	ticket, err := s.ledger.Claim(ctx, c)
	if err == nil {
		killpoint("after-intent")
	}
`},
	{File: "pkg/payout/send.go", Old: `
		call := s.call(ctx, calls, ticket)
		out`, New: `
		call := s.call(ctx, calls, ticket)
		killpoint("before-outcome")
		out`},
	{File: "pkg/payout/send.go", Old: `
			order, recording, another, err = s.ledger.FinishAndClaim(ctx, ticket, out, *next)
`, New: `
			killpoint("before-intent")
			waitForOthers()
			order, recording, another, err = s.ledger.FinishAndClaim(ctx, ticket, out, *next)
			if err == nil {
				killpoint("after-intent")
			}
`},
	{File: "pkg/payout/send.go", Old: `
		ended(s.recorded(ticket, call, order, recording))
`, New: `
		killpoint("after-outcome")
		ended(s.recorded(ticket, call, order, recording))
		killpoint("between-rows")
`},
	{File: "pkg/payout/send.go", Old: `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
`, New: `
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
		killpoint("before-first-byte")
`},
	{File: "pkg/payout/send.go", Old: `
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	if mutant`, New: `
	killpoint("before-connect")
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	if mutant`},
	{File: "pkg/payout/list.go", Old: `
	pauseBetween = time.Second
`, New: `
	pauseBetween = 10 * time.Millisecond
`},
	{File: "pkg/payout/journal.go", Old: `
	j, err := journal.Open(ctx, where, journal.Options{Now: time.Now, SinceBoot: journal.SinceBoot, User: name, Host: host, Existing: existing})
`, New: `
	j, err := journal.Open(ctx, where, journal.Options{Now: clock, SinceBoot: func() (string, time.Duration) {
		boot, since := journal.SinceBoot()
		return boot, since + durationOf("passed")
	}, User: name, Host: host, Existing: existing})
`},
	{File: "pkg/payout/sender.go", Old: `
		now: time.Now, skew:`, New: `
		now: clock, skew:`},
	{File: "cmd/till/main.go", Old: `
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now,
`, New: `
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: clock,
`},
	{File: "cmd/till/main.go", Old: `
	"os"
	"time"
`, New: `
	"os"
`},
	{File: "internal/journal/tx.go", Old: `
	"strings"
`, New: `
	"fmt"
	"strings"
	"syscall"
`},
	{File: "internal/journal/tx.go", Old: `
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
`, New: `
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
`},
	{File: "internal/journal/claim.go", Old: `
	now, err := t.happen(old, e)
`, New: `
	killpoint("in-intent")
	inClaim = true
	now, err := t.happen(old, e)
`},
	{File: "internal/journal/finish.go", Old: `
	out.Reason = keepable(out.Reason)
`, New: `
	inOutcome = true
	killpoint("in-outcome")
	out.Reason = keepable(out.Reason)
`},
	{File: "internal/journal/run.go", Old: `
	rowsInAPiece = 1024
`, New: `
	rowsInAPiece = 7
`},
	{File: "internal/journal/run.go", Old: `
		time.Sleep(betweenPieces)
	}
	return l.locked(ctx,`, New: `
		killpoint("in-run")
		time.Sleep(betweenPieces)
	}
	killpoint("in-run")
	return l.locked(ctx,`},
	{File: "pkg/payout/apply.go", Old: `
	if err != nil {
		return accountChanged(err)
	}
	if !run.New && !a.Begun() {`, New: `
	killpoint("after-run")
	if err != nil {
		return accountChanged(err)
	}
	if !run.New && !a.Begun() {`},
	{File: "internal/cmdutil/outfile.go", Old: `
	buffered := bufio.NewWriter(file)
	err = fill(buffered)
	if err == nil {
`, New: `
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = fill(struct{ io.Writer }{buffered}) // a writer of CSV would flush it
	killpoint("in-results") // nothing of it is written
	if err == nil {
`},
	{File: "internal/cmdutil/outfile.go", Old: `
	return file.Commit()
`, New: `
	killpoint("before-rename")
	err = file.Commit()
	killpoint("after-rename")
	return err
`},
	{File: "pkg/api/client.go", Old: `
	h := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
`, New: `
	h := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
	if n := attemptNumber(); n != "" {
		h["X-Torture"] = []string{n}
	}
`},
	{File: "pkg/api/gate.go", Old: `
	n, err := c.Conn.Write(b)
`, New: `
	if first && c.before != nil && len(b) > 40 && at("mid-body") {
		c.Conn.Write(b[:len(b)-40])
		die()
	}
	n, err := c.Conn.Write(b)
`},
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
	b.once.Do(func() {
		if b.clean, b.err = overlay.Build(b.dir, "till", nil, "", "build", "./cmd/till"); b.err == nil {
			b.patched, b.err = overlay.Build(b.dir, "till-patched", allPatches(), helpers, "build", "./cmd/till")
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.clean, b.patched
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
