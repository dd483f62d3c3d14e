//go:build unix

package torture

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"
)

// These things happen to a batch from outside, while it is applied or between two applies. The
// journal may be of either kind unless a comment names one.
const (
	doPlanFile = "the plan file changes"
	doFiles    = "files of the journal are lost"                // SQLite
	doLockFile = "the file of the locks is removed"             // SQLite
	doRestore  = "an older copy of the journal takes its place" // SQLite
	doAccount  = "rename, adopt-key and copy"
	doRenamed  = "the account changes past till"
	doStop     = "SIGSTOP"
	doClock    = "the clock is set"
	doLocked   = "another program holds the journal's lock"
	doStale    = "the list is stale"
	doRejected = "what was rejected is paid by another machine"
	doSkew     = "the service's clock is not that of this machine"
	doEarly    = "a decision by a clock that is ahead" // PostgreSQL
	doSameID   = "two outcomes with one id"            // PostgreSQL
)

func beside(what, how string, s applyShot) batchStep {
	s.concurrency, s.part = max(s.concurrency, 1), max(s.part, 0.1)
	return batchStep{what: what, how: how, shots: []applyShot{s}}
}

// endings returns the steps that may end a run.
func endings() (all []batchStep) {
	for _, how := range []string{"overwritten", "replaced", "truncated", "deleted"} {
		all = append(all, beside(doPlanFile, how, applyShot{}))
	}
	for _, point := range []string{"between-rows", "before-outcome"} {
		all = append(all, beside(doAccount, "", applyShot{shot: shot{point: point}}))
	}
	all = append(all, beside(doClock, "1h", applyShot{shot: shot{point: "between-rows"}}))
	all = append(all, beside(doClock, "-1h", applyShot{shot: shot{point: "before-intent"}}))
	all = append(all, beside(doClock, "6s", applyShot{shot: shot{point: "after-intent"}}))
	all = append(all, beside(doStop, "short", applyShot{}), beside(doStop, "long", applyShot{}))
	return all
}

// besides returns the beginnings for batches that consist of one of these steps.
func besides() []beginning {
	return []beginning{
		{apart: true, steps: []batchStep{beside(doPlanFile, "overwritten", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doFiles, "journal.db", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doFiles, "journal.db-wal journal.db-shm", applyShot{})},
			finds: []string{"one-file"}},
		{apart: true, file: true, steps: []batchStep{beside(doFiles,
			"journal.db-wal journal.db-shm, in flight", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doFiles, "journal.db-wal journal.db-shm, killed", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doFiles,
			"journal.db journal.db-wal journal.db-shm, killed", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doLockFile, "", applyShot{})}},
		{apart: true, file: true, steps: []batchStep{beside(doRestore, "", applyShot{})}},
		{apart: true, steps: []batchStep{beside(doRenamed, "", applyShot{})}, finds: []string{"account-by-name"}},
		{apart: true, share: true, steps: []batchStep{beside(doStop, "lost", applyShot{})}, finds: []string{"slept"}},
		{apart: true, file: true, steps: []batchStep{beside(doLocked, "", applyShot{})}, finds: []string{"outcome-once"}},
		{apart: true, share: true, steps: []batchStep{beside(doLocked, "", applyShot{})}},
		{apart: true, elsewhere: 3, steps: []batchStep{beside(doStale, "", applyShot{})}, finds: []string{"one-reading"}},
		{apart: true, steps: []batchStep{beside(doRejected, "", applyShot{})}, finds: []string{"retry-blind", "one-case"}},
		{apart: true, share: true, steps: []batchStep{beside(doEarly, "", applyShot{})}, finds: []string{"own-clock"}},
		{apart: true, share: true, steps: []batchStep{beside(doSameID, "", applyShot{})},
			finds: []string{"outcome-unlocked"}},
	}
}

// notes is a directory of files with which a program and the test communicate. "held" and "stops" say that
// the program is at its point, "go" lets it continue, "went" says that it does, "ahead" has how far its
// clock is ahead, and "passed" how much time has passed for the machine.
type notes string

func (w *world) notes() notes {
	dir, err := os.MkdirTemp(w.dir, "notes-*")
	if err != nil {
		panic(err)
	}
	return notes(dir)
}

func (n notes) leave(note, text string) {
	// The note is renamed, so that it is never read incomplete.
	half := filepath.Join(string(n), note+".half")
	if err := errors.Join(os.WriteFile(half, []byte(text), 0o600),
		os.Rename(half, filepath.Join(string(n), note))); err != nil {
		panic(err)
	}
}

func (n notes) found(note string) bool {
	_, err := os.Stat(filepath.Join(string(n), note))
	return err == nil
}

// await waits for a note, or for the end of the attempt that should leave it. It reports whether the note
// exists.
func (n notes) await(note string, a *attempt) bool {
	for !n.found(note) {
		select {
		case <-a.done:
			return n.found(note)
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// heldAt applies the plan until one of its rows is at a point, calls act, and lets the attempt run to its
// end. It reports whether the attempt reached the point. It checks nothing.
func (b *batch) heldAt(s applyShot, do, point string, act func(*attempt)) (a *attempt, held bool) {
	s.point, s.do, s.notes, s.random, s.interrupts, s.rate = point, do, b.notes(), 0, 0, ""
	a = b.apply(s)
	held = b.meanwhile(a, func() {
		b.story = append(b.story, fmt.Sprintf("attempt %d is at the point %s: %s", a.n, point, do))
		act(a)
	})
	return a, held
}

// meanwhile calls act when an attempt is held or stopped at its point, lets the attempt continue, and waits
// for its end. It reports whether the attempt reached its point.
func (w *world) meanwhile(a *attempt, act func()) (held bool) {
	ended := make(chan struct{})
	go func() {
		w.end(a)
		close(ended)
	}()
	notes, first := a.shot.notes, "held"
	if a.shot.do == "stop" { // it may be stopped before it can say more
		first = "stops"
	}
	if held = notes.await(first, a); held {
		act()
		notes.leave("go", "")
		// A signal that comes before the process has stopped has no effect.
		for a.shot.do == "stop" && !notes.found("went") && !a.over() {
			a.signal(syscall.SIGCONT)
			time.Sleep(time.Millisecond)
		}
	}
	<-ended
	return held
}

func (a *attempt) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// sent returns how many creates the ledger has received from the merchant's batches.
func (b *batch) sent() int {
	var all []created
	if err := json.Unmarshal(b.ask("/creates", b.own()), &all); err != nil {
		panic(err)
	}
	return len(all)
}

// run runs a separate command, whose exit code must be in want.
func (b *batch) run(want []int, args ...string) *attempt {
	var a *attempt
	for range 5 {
		a = b.till(&attempt{}, args...)
		b.noted(a)
		if slices.Contains(want, a.exit) {
			return a
		}
		if a.exit != 41 { // 41 says only that the list could not be read
			break
		}
	}
	b.wrong("till %s ended with %d", a.what, a.exit)
	return a
}

// doBesides does the step, which is the first step of a batch.
func (b *batch) doBesides(s batchStep) {
	shot := s.shots[0]
	b.story = append(b.story, s.what+" "+s.how)
	switch s.what {
	case doPlanFile:
		b.doPlanFile(shot, s.how)
	case doFiles:
		b.doFiles(shot, s.how)
	case doLockFile:
		b.doLockFile(shot)
	case doRestore:
		b.doRestore(shot)
	case doAccount:
		b.doAccount(shot)
	case doRenamed:
		b.doRenamed(shot)
	case doStop:
		b.doStop(shot, s.how)
	case doClock:
		b.doClock(shot, s.how)
	case doLocked:
		b.doLocked(shot)
	case doStale:
		b.doStale(shot)
	case doRejected:
		b.doRejected(shot)
	case doSkew:
		b.doSkew(shot)
	case doEarly:
		b.doEarly(shot)
	case doSameID:
		b.doSameID(shot)
	default:
		panic("there is no step " + s.what)
	}
}

// doPlanFile changes the plan's file while the plan is applied: the run that has begun does not change.
func (b *batch) doPlanFile(s applyShot, how string) {
	place := filepath.Join(b.dir, "staff.plan")
	text, err := os.ReadFile(place)
	if err != nil {
		panic(err)
	}
	// The other order ids have the same length, so that the rows keep their offsets.
	other := bytes.ReplaceAll(text, []byte(`"order_id":"7`), []byte(`"order_id":"6`))
	if bytes.Equal(text, other) {
		b.wrong("the plan has no order ids that can be changed")
	}
	write := func(name string, text []byte) error { return os.WriteFile(name, text, 0o600) }
	a, _ := b.heldAt(s, "hold", "between-rows", func(*attempt) {
		switch how {
		case "overwritten":
			err = write(place, other)
		case "replaced":
			err = errors.Join(write(place+".other", other), os.Rename(place+".other", place))
		case "truncated":
			err = os.Truncate(place, int64(len(text)/2))
		case "deleted":
			err = os.Remove(place)
		}
	})
	if err = errors.Join(err, write(place, text)); err != nil {
		panic(err)
	}
	b.applied(a)
}

// journalFile returns the path of the journal, or of another of its files.
func (b *batch) journalFile(suffix string) string {
	return filepath.Join(b.dir, "state", "till", "journal.db"+suffix)
}

// doFiles removes files of the journal while it is open. After that, nothing more is sent, and a call in
// flight is not lost. how has the names of the files. It also has "killed" if the process dies at that
// moment, or "in flight" if a call is in flight.
func (b *batch) doFiles(s applyShot, how string) {
	point := "before-intent"
	if strings.Contains(how, "in flight") {
		point = "before-outcome"
	}
	before := 0
	a, held := b.heldAt(s, "hold", point, func(a *attempt) {
		before = b.sent()
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			if slices.Contains(strings.Fields(how), "journal.db"+suffix) {
				if err := os.Remove(b.journalFile(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					panic(err)
				}
			}
		}
		if strings.Contains(how, "killed") {
			a.kill()
			<-a.done
		}
	})
	b.noted(a)
	if held {
		if a.exit != -1 && !slices.Contains([]int{14, 20, 50}, a.exit) {
			b.wrong("%s were removed, and it ended with %d", how, a.exit)
		}
		if n := b.sent() - before; n > 0 {
			b.wrong("%s were removed, and it sent %d more", how, n)
		}
		if point == "before-outcome" {
			paid := b.paid("")
			if id := paid[len(paid)-1].ID; a.exit != 20 || !strings.Contains(a.stderr.String(), id) {
				b.wrong("%s were removed while %s was under way, and it ended with %d", how, id, a.exit)
			}
		}
	}
	if _, err := os.Stat(b.journalFile("")); errors.Is(err, fs.ErrNotExist) {
		b.removeRest()
	}
	b.forgotten()
}

// removeRest removes the rest of a journal whose database is missing. Until then, till creates no journal
// there.
func (b *batch) removeRest() {
	left := 0
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(b.journalFile(suffix)); err == nil {
			left++
		}
	}
	if left > 0 {
		b.run([]int{14}, "payout", "apply", "staff.plan", "--yes")
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(b.journalFile(suffix))
	}
}

// doLockFile removes the lock file while a call is in flight. Another process may then consider the caller
// dead, and find out the outcome of the row.
func (b *batch) doLockFile(s applyShot) {
	a, _ := b.heldAt(s, "hold", "before-outcome", func(*attempt) {
		if err := os.Remove(b.journalFile(".lock")); err != nil {
			panic(err)
		}
		b.run([]int{0, 13, 20, 41}, "payout", "apply", "staff.plan", "--yes")
	})
	b.noted(a)
	b.look()
}

// doRestore replaces the journal after the run with a copy from the middle of the run.
func (b *batch) doRestore(s applyShot) {
	a, held := b.heldAt(s, "hold", "between-rows", func(*attempt) {
		b.run([]int{0}, "journal", "copy", "backup.db")
	})
	b.applied(a)
	if !held {
		return
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(b.journalFile(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			panic(err)
		}
	}
	if err := os.Rename(filepath.Join(b.dir, "backup.db"), b.journalFile("")); err != nil {
		panic(err)
	}
	b.forgotten()
}

// forgotten records that the journal may have lost records. From then on, only the list prevents a second
// payment.
func (b *batch) forgotten() {
	b.lost, b.settled = true, false
	os.Remove(filepath.Join(b.dir, "staff.plan.results.csv")) // a journal with more records wrote it
	b.stood, b.doubt = map[string]row{}, map[string]bool{}
	list, ok := b.rowsOfRun()
	if !ok {
		return
	}
	known := map[string]row{}
	for _, o := range list {
		known[o.OrderID] = o
	}
	for _, p := range b.paid("") {
		if o, found := known[p.OrderID]; !found || o.State == "planned" {
			b.earlier[p.OrderID], b.unseen[p.OrderID] = true, true
		}
	}
	b.alreadyPaid = len(b.earlier)
	b.look()
}

// doAccount tries to change the account while the plan is applied, which is refused, and copies the journal,
// which is allowed. Afterwards it renames the account and renames it back.
func (b *batch) doAccount(s applyShot) {
	a, _ := b.heldAt(s, "hold", s.point, func(a *attempt) {
		b.run([]int{13}, "journal", "rename", b.name, b.name+"-new")
		b.run([]int{13}, "journal", "adopt-key", "--yes")
		b.run([]int{0}, "journal", "copy", fmt.Sprintf("copy-%d.db", a.n))
	})
	b.applied(a)
	b.run([]int{0}, "journal", "rename", b.name, b.name+"-new")
	b.run([]int{0}, "journal", "rename", b.name+"-new", b.name)
	b.look()
}

// doRenamed renames the account directly in the database, like an older version of the program that does not
// know which processes use it. A sender stops when its account has changed.
func (b *batch) doRenamed(s applyShot) {
	before := 0
	a, held := b.heldAt(s, "hold", "between-rows", func(*attempt) {
		before = b.sent()
		b.exec("UPDATE accounts SET name = name || '-moved'")
	})
	if !held {
		b.applied(a)
		return
	}
	b.noted(a)
	if n := b.sent() - before; n > 1 { // the next row may already be claimed
		b.wrong("its account was renamed, and it sent %d more", n)
	}
	if a.exit == 0 || a.exit == -1 {
		b.wrong("its account was renamed, and it ended with %d", a.exit)
	}
	b.exec("UPDATE accounts SET name = substr(name, 1, length(name) - 6) WHERE name LIKE '%-moved'")
	b.look()
}

// exec changes the journal without till.
func (b *batch) exec(query string) {
	if b.server != nil {
		conn, err := pgx.Connect(context.Background(), b.journal+"&application_name=torture")
		if err != nil {
			panic(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), query); err != nil {
			b.wrong("%s: %v", query, err)
		}
		return
	}
	db := b.openFile()
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		b.wrong("%s: %v", query, err)
	}
}

func (b *batch) openFile() *sql.DB {
	db, err := sql.Open("sqlite", "file:"+b.journalFile("")+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// doStop stops the process between its record and the first byte. While it sleeps, no other process changes
// its row. If it has slept too long, it does not send. how is "short", "long" or "lost". "lost" is a long
// sleep in which the database ends its sessions. Then others consider it dead, decide about its row, and send
// that row again.
func (b *batch) doStop(s applyShot, how string) {
	if how == "lost" && b.server == nil {
		how = "long"
	}
	a, held := b.heldAt(s, "stop", "before-connect", func(a *attempt) {
		var sending string
		for _, o := range b.rowsNow() {
			if o.State == "sending" {
				sending = o.OrderID
			}
		}
		if sending == "" {
			b.wrong("it has stopped before a call, and the journal has no row that is being sent")
			return
		}
		if how != "lost" {
			b.run([]int{13}, "withdraw", "resolve", sending, "--not-sent", "--reason", "it does not move", "--yes")
		} else {
			b.endSessions("")
			b.alone() // the server has only been told to end them
			b.run([]int{20}, "withdraw", "reconcile", sending)
			b.run([]int{0}, "withdraw", "resolve", sending, "--not-sent", "--reason", "the provider says so", "--yes")
			b.resolved[sending] = true
			other := b.readable(applyShot{concurrency: 1})
			b.noted(other)
			if other.exit != 0 {
				b.wrong("another process has ended with %d", other.exit)
			}
		}
		if how != "short" {
			a.shot.notes.leave("ahead", "6s")
		}
	})
	if !held || how == "short" {
		b.applied(a)
		return
	}
	b.noted(a)
	if how == "long" && a.exit != 40 && a.exit != 50 {
		b.wrong("it slept too long, and ended with %d", a.exit)
	}
	b.resolved = map[string]bool{} // the row must not change in any other way
	b.look()
}

// doClock sets the clock of the process in the middle of its run.
func (b *batch) doClock(s applyShot, how string) {
	s.harmed = true
	a, held := b.heldAt(s, "hold", s.point, func(a *attempt) { a.shot.notes.leave("ahead", how) })
	if held && !slices.Contains([]int{0, 40, 50}, a.exit) {
		b.wrong("its clock was set, and it ended with %d", a.exit)
	}
	b.applied(a)
}

// doLocked locks the journal when an outcome arrives, until an attempt to record it has failed. The outcome
// must still be recorded.
func (b *batch) doLocked(s applyShot) {
	var unlock func()
	s.wait = 100 * time.Millisecond
	a, _ := b.heldAt(s, "hold", "before-outcome", func(a *attempt) {
		release := b.lock()
		unlock = release
		go func() {
			a.shot.notes.await("failed", a)
			release()
		}()
	})
	if unlock != nil {
		unlock()
	}
	b.applied(a)
	if unlock != nil && a.exit != 0 && a.exit != 50 { // it may stop before the next row
		b.wrong("an outcome had to wait for the journal's lock, and it ended with %d", a.exit)
	}
}

// lock takes the lock that every writer of the journal needs, until release is called.
func (b *batch) lock() (release func()) {
	ctx := context.Background()
	if b.server != nil {
		conn, err := pgx.Connect(ctx, b.journal+"&application_name=torture")
		if err == nil {
			_, err = conn.Exec(ctx, "BEGIN; LOCK TABLE orders IN EXCLUSIVE MODE")
		}
		if err != nil {
			panic(err)
		}
		return sync.OnceFunc(func() { conn.Close(ctx) })
	}
	db := b.openFile()
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		panic(err)
	}
	return sync.OnceFunc(func() {
		conn.ExecContext(ctx, "ROLLBACK")
		conn.Close()
		db.Close()
	})
}

// doStale applies the plan while the list does not yet show the last row that another machine has paid: it
// shows the row only when it is read for the second time.
func (b *batch) doStale(s applyShot) {
	v := drawView(b.seed, b.number)
	v.Order, v.Restless, v.Page, v.Stale = "", false, 1, 1
	v.Hidden = []string{b.file[len(b.file)-1].orderID}
	b.show(v)
	b.alreadyPaid = 0
	b.approved(s)
	b.show(drawView(b.seed, b.number))
}

// readable applies the plan, and repeats that if the list could not be read, which says nothing.
func (b *batch) readable(s applyShot) (a *attempt) {
	for range 5 {
		if a = b.end(b.apply(s)); a.exit != 41 {
			return a
		}
		b.noted(a)
	}
	return a
}

// approved applies the plan as a person who does not know that some of it is already paid. If apply reports
// the right number, it is run again with that number.
func (b *batch) approved(s applyShot) {
	a := b.readable(s)
	if a.exit == 12 {
		b.noted(a)
		n, text := 0, a.stderr.String()
		fmt.Sscanf(text[max(0, strings.LastIndex(text, "--already-paid")):], "--already-paid %d", &n)
		if n != len(b.unseen) {
			b.wrong("%d of its orders were paid by another machine, and apply says %d", len(b.unseen), n)
		}
		b.alreadyPaid = n
		a = b.end(b.apply(s))
	}
	b.applied(a)
}

// doRejected has a row rejected and then paid by a machine with another journal, and applies the plan again.
func (b *batch) doRejected(s applyShot) {
	s.faults, s.keepGoing = everyRow(0.5, faultOf(0, "422e").instruction), true
	b.applied(b.end(b.apply(s)))
	for n, r := range b.file {
		if b.stood[r.orderID].State == "rejected" {
			b.payElsewhere(n)
			break
		}
	}
	b.alreadyPaid = 0
	b.approved(applyShot{concurrency: s.concurrency, retryRejected: true})
}

// doSkew checks that decisions that an order was not sent are refused while the clocks of the service and of
// this machine differ.
func (b *batch) doSkew(s applyShot) {
	unknown := b.oneLate(s)
	if unknown == "" {
		return
	}
	v := drawView(b.seed, b.number)
	v.Skew = 10 * time.Minute
	b.show(v)
	b.run([]int{12}, "withdraw", "resolve", unknown, "--not-sent", "--reason", "it is not there", "--yes")
	v.Skew = 0
	b.show(v)
	b.look()
}

// oneLate applies the plan with a row that the service pays later. It returns the order id when it is
// unknown.
func (b *batch) oneLate(s applyShot) string {
	s.faults = everyRow(0.2, faultOf(0, "late").instruction)
	b.applied(b.readable(s))
	for _, r := range b.file {
		if b.stood[r.orderID].State == "unknown" {
			return r.orderID
		}
	}
	b.wrong("no row is unknown")
	return ""
}

// doEarly has a machine whose clock is ahead decide too early that an order was not sent. The service's clock
// is wrong by as much, so only the database's clock can show it.
func (b *batch) doEarly(s applyShot) {
	unknown := b.oneLate(s)
	if unknown == "" {
		return
	}
	profile := filepath.Join(b.dir, "config", "till", "config.yaml")
	text, err := os.ReadFile(profile)
	if err == nil {
		err = os.WriteFile(profile, bytes.Replace(text, []byte("settle_after: 0s"), []byte("settle_after: 15m"), 1), 0o600)
	}
	if err != nil {
		panic(err)
	}
	v := drawView(b.seed, b.number)
	v.Skew = 16 * time.Minute
	b.show(v)
	note := b.notes()
	note.leave("ahead", "16m")
	var a *attempt
	for tries := 0; tries == 0 || a.exit == 41 && tries < 10; tries++ { // any reading of the list may fail
		a = b.till(&attempt{shot: shot{notes: note}}, "withdraw", "resolve", unknown, "--not-sent", "--reason",
			"it is not there", "--yes")
		b.noted(a)
	}
	if a.exit != 12 {
		b.wrong("it was decided by the clock of a machine, and that ended with %d", a.exit)
	}
	v.Skew = 0
	b.show(v)
	if err := os.WriteFile(profile, text, 0o600); err != nil {
		panic(err)
	}
	b.look()
}

// doSameID has two processes apply the plan. The service answers a row of one with an id. It answers a row of
// the other with the same id while the first is being recorded.
func (b *batch) doSameID(s applyShot) {
	if b.server == nil {
		return
	}
	place := b.notes()
	var attempts []*attempt
	for range 2 {
		s := s
		s.several, s.noLookup, s.keepGoing, s.point, s.do, s.notes = true, true, true, "before-commit", "meet", place
		s.part = 0 // the first outcome of each
		s.faults = everyRow(0, faultOf(0, "twin+c").instruction)
		attempts = append(attempts, b.apply(s))
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for b.atPoint(attempts) == 0 && !attempts[0].over() && !attempts[1].over() {
			time.Sleep(time.Millisecond)
		}
		b.ask("/twin", b.own())
		b.untilBlocked(attempts)
		place.leave("go", "")
	}()
	b.endAll(attempts)
	<-over
	b.applied(attempts...)
}

// atPoint returns how many of the attempts are at their point.
func (b *batch) atPoint(attempts []*attempt) (n int) {
	for _, a := range attempts {
		if a.shot.notes.found(fmt.Sprintf("held-%d", a.cmd.Process.Pid)) {
			n++
		}
	}
	return n
}

// untilBlocked waits until a session of the journal waits for a lock, until all attempts are at their point,
// or until one of them has ended.
func (b *batch) untilBlocked(attempts []*attempt) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.journal+"&application_name=torture")
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	for {
		at, blocked := b.atPoint(attempts), 0
		if slices.ContainsFunc(attempts, (*attempt).over) {
			return
		}
		if err := conn.QueryRow(ctx,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "+
				"'Lock'").Scan(&blocked); err != nil {
			panic(err)
		}
		if at == len(attempts) || at > 0 && blocked > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
