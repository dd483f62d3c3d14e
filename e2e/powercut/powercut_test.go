//go:build unix

package powercut

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"example.com/till/e2e/overlay"
	"example.com/till/e2e/powercut/tape"
	"example.com/till/internal/journal"
)

var (
	states = flag.Int("states", 500, "how many states of the disk after a power cut")
	seed   = flag.Uint64("seed", 1, "decides which states")
)

// programDir is where the workload is built.
var programDir string

// program is the workload, built once from patched sources.
var program = sync.OnceValues(func() (string, error) {
	return overlay.Build(programDir, "workload", patches, "", "build", "./e2e/powercut/workload")
})

func TestMain(m *testing.M) {
	var err error
	if programDir, err = os.MkdirTemp("", "powercut-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(programDir)
	os.Exit(code)
}

// history is a record, and what the journal had to know when it began.
type history struct {
	tape.Record
	Before duties
}

// run runs the workload in an empty directory.
func run(t *testing.T, kind, mutant string) history {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "below") // what is beside it is not part of the record
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return history{runIn(t, dir, mutant, kind), duties{map[string][]byte{}, map[string]string{}}}
}

// runIn runs the workload, and checks that its record misses nothing: replayed, it gives the files that are
// there.
func runIn(t *testing.T, dir, mutant, kind string, args ...string) tape.Record {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(path, append([]string{kind, dir, out}, args...)...)
	cmd.Env = append(os.Environ(), "TILL_POWERCUT_MUTANT="+mutant)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the workload: %v\n%s", err, text)
	}
	r, err := tape.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	d := newDisk(true)
	for _, e := range r.Events {
		d.do(e)
	}
	end := d.state(choice{kept: d.maybe})
	for _, suffix := range []string{"", "-wal", "-journal"} {
		content, err := os.ReadFile(filepath.Join(dir, r.Journal+suffix))
		if n, found := end.names[r.Journal+suffix]; found != (err == nil) || !bytes.Equal(content, end.files[n]) {
			t.Fatalf("the record has another %s%s than the workload: %d bytes and %d, %v", r.Journal, suffix,
				len(end.files[n]), len(content), err)
		}
	}
	return r
}

// cutAgain runs the workload on what a power cut has left.
func cutAgain(t *testing.T, h history, c cut, s state) history {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "below")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.write(dir), leaveIndex(dir, s, c.number, h.Record)); err != nil {
		t.Fatal(err)
	}
	again := history{runIn(t, dir, "", "again", h.Address), h.Before.after(h.Events[:c.after])}
	paid := maps.Clone(h.Paid)
	maps.Copy(paid, again.Paid)
	again.Paid = paid
	return again
}

// A cut is a power cut after a number of events, with one choice of what reached the disk.
type cut struct{ after, choice, number int }

// cuts draws up to n cuts with different states. Half of them are systematic, as far as there are so many,
// and the others random.
func cuts(r history, trusted bool, n int, random *rand.Rand) []cut {
	d := newDisk(trusted)
	var first, systematic []cut // nothing and all of what may have happened, and the other systematic choices
	for i := range len(r.Events) + 1 {
		if i < r.Base {
		} else if i == len(r.Events) || !isChange(r.Events[i]) {
			for choice := range d.systematic() {
				if c := (cut{after: i, choice: choice}); choice < 2 {
					first = append(first, c)
				} else {
					systematic = append(systematic, c)
				}
			}
		}
		if i < len(r.Events) {
			d.do(r.Events[i])
		}
	}
	shuffle := func(all []cut) { random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) }
	shuffle(first)
	shuffle(systematic)
	var all []cut
	all = append(all, first[:min(len(first), n/2)]...)
	for i := 0; len(all) < 3*n; i++ { // more than are needed, because many states are equal
		if i < len(systematic) {
			all = append(all, systematic[i])
		}
		all = append(all, cut{after: r.Base + random.IntN(len(r.Events)-r.Base+1), choice: -1})
	}
	for i := range all {
		all[i].number = i
	}
	return all
}

// isChange reports whether an event changes a file or a name. A cut before such an event has the states of a
// later cut, or fewer.
func isChange(e tape.Event) bool {
	return e.Kind == tape.Write || e.Kind == tape.Truncate || e.Kind == tape.Mkdir
}

// choose makes the choice of a cut, always the same.
func (c cut) choose(d *disk) choice {
	random := rand.New(rand.NewPCG(*seed, uint64(c.number)))
	if c.choice < 0 {
		return d.choose(d.systematic(), random)
	}
	return d.choose(c.choice, random)
}

// each calls f with the disk at every cut.
func each(r history, trusted bool, all []cut, f func(*disk, cut)) {
	slices.SortFunc(all, func(a, b cut) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.number, b.number))
	})
	d, done := newDisk(trusted), 0
	for _, c := range all {
		for ; done < c.after; done++ {
			d.do(r.Events[done])
		}
		f(d, c)
	}
}

// distinct keeps n cuts whose states or duties differ.
func distinct(r history, trusted bool, all []cut, n int) []cut {
	type key struct {
		state  uint64
		duties int
	}
	sums, source := map[int]key{}, maphash.MakeSeed()
	dutiesAt := make([]int, len(r.Events)+1)
	for i, e := range r.Events {
		dutiesAt[i+1] = dutiesAt[i]
		if e.Kind == tape.Left || e.Kind == tape.Refused || e.Kind == tape.Reported {
			dutiesAt[i+1]++
		}
	}
	each(r, trusted, all, func(d *disk, c cut) {
		sums[c.number] = key{d.state(c.choose(d)).sum(source), dutiesAt[c.after]}
	})
	slices.SortFunc(all, func(a, b cut) int { return cmp.Compare(a.number, b.number) })
	seen := map[key]bool{}
	var some []cut
	for _, c := range all {
		if k := sums[c.number]; !seen[k] && len(some) < n {
			seen[k] = true
			some = append(some, c)
		}
	}
	return some
}

// A finding is what is wrong in one state.
type finding struct {
	cut
	what  string
	state string
	err   error
}

func (f finding) String() string {
	return fmt.Sprintf("cut after event %d, of what was not synced: %s; the disk has %s: %v", f.after,
		f.what, f.state, f.err)
}

// result is what came of all states of a record.
type result struct {
	states   int
	findings []finding
	refused  []finding // journals that do not open
}

// explore checks n states of a history, or fewer, if the first findings are enough.
func explore(t *testing.T, h history, trusted bool, n, enough int) (all result) {
	t.Helper()
	chosen := choose(h, trusted, n)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var workers sync.WaitGroup
	type job struct {
		cut
		choice
		state
	}
	jobs := make(chan job)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for job := range jobs {
				err := try(job.state, job.number, h.Before.after(h.Events[:job.after]), h.Record)
				mu.Lock()
				all.states++
				f := finding{job.cut, job.choice.what, job.state.String(), err}
				switch {
				case err == nil:
				case errors.As(err, new(refusal)):
					all.refused = append(all.refused, f)
				default:
					if all.findings = append(all.findings, f); len(all.findings) >= enough {
						stop()
					}
				}
				mu.Unlock()
			}
		})
	}
	each(h, trusted, chosen, func(d *disk, c cut) {
		choice := c.choose(d)
		select {
		case jobs <- job{c, choice, d.state(choice)}:
		case <-ctx.Done():
		}
	})
	close(jobs)
	workers.Wait()
	return all
}

// choose draws n cuts.
func choose(h history, trusted bool, n int) []cut {
	return distinct(h, trusted, cuts(h, trusted, n, rand.New(rand.NewPCG(*seed, 0))), n)
}

// try writes a state to a directory and checks it.
func try(s state, number int, d duties, r tape.Record) error {
	dir, err := os.MkdirTemp("", "powercut-state-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := s.write(dir); err != nil {
		return err
	}
	if err := leaveIndex(dir, s, number, r); err != nil {
		return err
	}
	return d.check(journal.WithHooks(context.Background(), journal.Hooks{Copies: true}), dir, r)
}

// leaveIndex leaves an index of the log that was never synced. It can have any content after a cut.
func leaveIndex(dir string, s state, number int, r tape.Record) error {
	if _, found := s.names[r.Journal]; !found || number%3 == 0 {
		return nil
	}
	content := make([]byte, 32<<10)
	if number%3 == 1 {
		random := rand.New(rand.NewPCG(*seed, uint64(number)))
		for i := range content {
			content[i] = byte(random.Uint32())
		}
	}
	return os.WriteFile(filepath.Join(dir, r.Journal)+"-shm", content, 0o600)
}

// TestPowerCuts checks the states of the disk that a power cut can leave behind: of a new journal, of one of
// the first version, and of one that had a power cut before.
func TestPowerCuts(t *testing.T) {
	t.Run("new", func(t *testing.T) {
		h := run(t, "new", "")
		report(t, "a new journal", *states*7/10, h)
		n := max(2, *states/500)
		var again []history
		each(h, true, spread(choose(h, true, 20*n), n), func(d *disk, c cut) {
			again = append(again, cutAgain(t, h, c, d.state(c.choose(d))))
		})
		report(t, fmt.Sprintf("%d journals after a cut", n), *states/10, again...)
	})
	t.Run("old", func(t *testing.T) { report(t, "a journal of the first version", *states/5, run(t, "old", "")) })
}

// spread keeps n of the cuts, over all times.
func spread(all []cut, n int) (some []cut) {
	slices.SortFunc(all, func(a, b cut) int { return cmp.Compare(a.after, b.after) })
	for i := range n {
		some = append(some, all[(2*i+1)*len(all)/(2*n)])
	}
	return some
}

// report checks n states of histories and prints what was found.
func report(t *testing.T, what string, n int, histories ...history) {
	t.Helper()
	const enough = 10
	n /= len(histories)
	var checked, wrong, refused, events int
	for _, h := range histories {
		all := explore(t, h, true, n, enough)
		checked, wrong, refused, events = checked+all.states, wrong+len(all.findings), refused+len(all.refused),
			events+len(h.Events)
		bad := slices.Concat(all.findings, all.refused[:min(enough, len(all.refused))])
		for _, f := range bad {
			t.Error(f)
		}
	}
	fmt.Printf("power cuts of %s: %d states, %d events, seed %d: %d wrong, %d do not open\n", what, checked, events,
		*seed, wrong, refused)
}

// TestMutants checks that the tests find programs with bugs.
func TestMutants(t *testing.T) {
	for _, mutant := range mutants {
		t.Run(mutant, func(t *testing.T) {
			all := explore(t, run(t, "new", mutant), true, 100, 1)
			if len(all.findings) == 0 {
				t.Errorf("not found in %d states", all.states)
				return
			}
			t.Logf("found in state %d: %s", all.states, all.findings[0])
		})
	}
}

// TestLyingDisk checks that the tests find a disk that says it has synced, and has not.
func TestLyingDisk(t *testing.T) {
	if all := explore(t, run(t, "new", ""), false, 100, 1); len(all.findings) == 0 {
		t.Errorf("not found in %d states", all.states)
	}
}
