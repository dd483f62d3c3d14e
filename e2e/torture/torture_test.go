//go:build unix

package torture

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
)

var (
	kills = flag.Int("kills", 400, "how many kills TestCrashes makes, and TestBatchCrashes")
	seed  = flag.Uint64("seed", 1, "what all of them draw their plans from")
	place = flag.String("journal", "",
		"address of a PostgreSQL database in which TestCrashes keeps the journal, instead of a file for each merchant")
)

var built programs

func TestMain(m *testing.M) {
	if os.Getenv("TILL_TORTURE_LEDGER") != "" {
		serveLedger()
		return
	}
	flag.Parse()
	// A background job of a script ignores it, and so would all processes that it starts.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	dir, err := os.MkdirTemp("", "till-torture-programs-*")
	if err != nil {
		panic(err)
	}
	built.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestCrashes kills the program again and again, and checks that the money and the record agree.
func TestCrashes(t *testing.T) {
	r := newRun(t, *seed, *kills)
	r.clean, r.patched = built.get(t)
	r.start()
	began := time.Now()
	r.all()
	reached := r.report(t, "orders", "creates", began)
	if len(r.violations) > 0 {
		return
	}
	if *kills >= 4000 {
		for _, name := range faults {
			if reached[name] == 0 {
				t.Errorf("the ledger never did %s", name)
			}
		}
	}
	if *kills >= 400 { // a point that is never reached proves nothing
		for _, name := range points {
			if r.byWhat["point: "+name] == 0 {
				t.Errorf("nothing was killed at the point %s", name)
			}
		}
		for _, name := range []string{"read", "commit", "answer"} {
			if r.byWhat["ledger: "+name] == 0 {
				t.Errorf("the ledger killed nothing at %s", name)
			}
		}
		if r.byWhat["random"] == 0 {
			t.Error("nothing was killed at random")
		}
	}
}

// TestMutants gives the program bugs, and checks that the crash tests find them within 400 kills, or those of
// batches in the beginnings that every run has.
func TestMutants(t *testing.T) {
	clean, patched := built.get(t)
	find := func(name string, kills int, crash func(r *run)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, *seed, kills)
			r.mutant, r.clean, r.patched = name, clean, patched
			r.start()
			crash(r)
			r.foundOut()
		})
	}
	for _, name := range mutants {
		find(name, 400, (*run).all)
	}
	for _, name := range batchMutants {
		find(name, 0, func(r *run) { r.allBatches(pgtest.SharedIfInstalled(r.t)) })
	}
}

// foundOut checks that a mutant was found.
func (r *run) foundOut() {
	if len(r.violations) == 0 {
		r.t.Fatalf("not found out with %d kills", r.kills)
	}
	for line := range strings.Lines(r.violations[0]) {
		// The program loses the journal, and ends with 14 as it should.
		if strings.Contains(line, "kill=sever-") || strings.Contains(line, "was moved away or removed") {
			continue
		}
		for _, other := range []string{"panic:", "exit 14", "ended with 14"} {
			if strings.Contains(line, other) {
				r.t.Fatalf("it was found out by something else, which proves nothing: %s", r.violations[0])
			}
		}
	}
	r.t.Logf("found out after %d kills: %s", r.caughtAt, r.violations[0])
}

func newRun(t *testing.T, seed uint64, enough int) *run {
	return &run{t: t, seed: seed, enough: enough, journal: *place,
		attempts: map[int]*attempt{}, byWhat: map[string]int{}, byCommand: map[string]int{}, exits: map[int]int{},
		usual: 30 * time.Millisecond, usualApply: 100 * time.Millisecond}
}

// all creates one world after the other until there are enough kills.
func (r *run) all() {
	for n := 0; !r.stopped(); n++ {
		w, i := r.world(n), 0
		r.parallel(func() (number int, more bool) {
			i++
			return n*ordersPerWorld + i - 1, i <= ordersPerWorld && !r.stopped()
		}, w.torture)
		if !r.failed() {
			w.finish()
		}
		if r.failed() && r.mutant == "" {
			r.t.Logf("its configuration and its journal are kept in %s", w.dir)
		} else {
			os.RemoveAll(w.dir)
		}
		w.ask("/remove", nil)
	}
}

// parallel calls do with all numbers that next returns, several at a time.
func (r *run) parallel(next func() (number int, more bool), do func(number int)) {
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for number := range numbers {
				do(number)
			}
		})
	}
	for number, more := next(); more; number, more = next() {
		r.orders++
		numbers <- number
	}
	close(numbers)
	workers.Wait()
}

func counts[K int | string](m map[K]int) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, " %v: %d,", k, m[k])
	}
	return strings.Trim(b.String(), " ,")
}

// TestBatchCrashes does to plans what TestCrashes does to withdrawals.
func TestBatchCrashes(t *testing.T) {
	r := newRun(t, *seed, *kills)
	r.clean, r.patched = built.get(t)
	r.start()
	began := time.Now()
	r.allBatches(pgtest.SharedIfInstalled(t))
	r.report(t, "plans", "applies", began)
	if len(r.violations) > 0 {
		return
	}
	for _, what := range r.missed() { // an event that never happens proves nothing
		t.Errorf("it never came to this: %s", what)
	}
	if *kills >= 400 && r.byWhat["random"] == 0 {
		t.Error("nothing was killed at random")
	}
}

// missed returns the events that a run of batches should have and has not had yet.
func (r *run) missed() (all []string) {
	var reached map[string]int
	r.ask("/reached", &reached, nil)
	for _, name := range faults {
		if reached[name] == 0 && !slices.Contains(all, ledgerDoes+name) {
			all = append(all, ledgerDoes+name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range batchPoints {
		if r.byWhat["point: "+name] == 0 {
			all = append(all, "killed at point "+name)
		}
	}
	for _, name := range []string{"ledger: read", "ledger: commit", "ledger: answer"} {
		if r.byWhat[name] == 0 {
			all = append(all, "killed by "+name)
		}
	}
	return all
}

// wantsMore reports whether a run continues after a number of batches. It continues until there are enough
// kills, and then for a while if events are missing, because chance decides which rows meet a fault.
func (r *run) wantsMore(batches, sure int) bool {
	switch {
	case r.failed():
		return false
	case batches < sure || !r.stopped():
		return true
	}
	if r.mutant != "" || batches >= 3*sure {
		return false
	}
	missed := r.missed()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = slices.DeleteFunc(slices.Clone(missed),
		func(what string) bool { return !strings.HasPrefix(what, ledgerDoes) })
	return len(missed) > 0
}

// missing returns a fault that has not yet happened by chance, or "".
func (r *run) missing() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wanted) == 0 {
		return ""
	}
	name := r.wanted[0]
	r.wanted = append(r.wanted[1:], name)
	return strings.TrimPrefix(name, ledgerDoes)
}

// ledgerDoes is the prefix of a fault in the result of missed.
const ledgerDoes = "ledger does "

// allBatches runs one plan after the other until there are enough kills. It starts with all plans of
// sureOfBatches.
func (r *run) allBatches(server *pgtest.Server) {
	r.journal = "" // each has its own
	sure := sureOfBatches(r.seed)
	order := make([]int, len(sure))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sure[b].isFor(r.mutant), sure[a].isFor(r.mutant))
	})
	n := -1
	r.parallel(func() (number int, more bool) {
		if n++; n < len(sure) {
			return order[n], r.wantsMore(n, len(sure))
		}
		return n, r.wantsMore(n, len(sure))
	}, func(n int) {
		p, where := drawBatch(r.seed, n), server
		if !p.share {
			where = nil
		}
		b := r.batch(n, p, where)
		b.torture()
		b.ask("/remove", nil)
		if r.failed() && r.mutant == "" {
			r.t.Logf("batch %d: its configuration and its journal are kept in %s %s", n, b.dir, b.journal)
		} else {
			os.RemoveAll(b.dir)
			b.drop()
		}
	})
}

// isFor returns 1 if a batch begins at the point that shows a mutant, and otherwise 0. The run of a mutant
// starts with these batches.
func (b beginning) isFor(mutant string) int {
	point := map[string]string{"lost-ack": "sever-before", "run-in-parts": "in-run", "half-results": "in-results"}[mutant]
	if slices.ContainsFunc(b.steps, func(s batchStep) bool { return s.shots[0].point == point }) {
		return 1
	}
	return 0
}

// report logs what has happened, and returns how often the ledger did what.
func (r *run) report(t *testing.T, orders, commands string, began time.Time) (reached map[string]int) {
	t.Helper()
	for _, v := range r.violations {
		t.Error(v)
	}
	t.Logf("seed %d: %d kills, %d runs, %d %s, %d payments in %s", r.seed, r.kills, r.runs, r.orders, orders, r.payments,
		time.Since(began).Round(time.Second/10))
	t.Logf("exit codes of %s (-1: killed): %s", commands, counts(r.exits))
	t.Logf("kills: %s", counts(r.byWhat))
	t.Logf("commands killed: %s", counts(r.byCommand))
	r.ask("/reached", &reached, nil)
	t.Logf("what the ledger did with creates (+c: it paid): %s", counts(reached))
	return reached
}
