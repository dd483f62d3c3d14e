//go:build unix

package powercut

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/till/e2e/overlay"
	"example.com/till/e2e/powercut/tape"
)

var (
	states = flag.Int("states", 1000, "how many states of the disk after a power cut")
	seed   = flag.Uint64("seed", 1, "decides which states")
)

// program is the workload, built once from patched sources.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "powercut-*")
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", err
	}
	sources, err := overlay.Sources(root, overlay.Patches(patches), "")
	if err != nil {
		return "", err
	}
	file, err := overlay.Write(dir, root, sources)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "workload")
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", file, "-o", path, "./e2e/powercut/workload")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// run runs the workload and returns its record.
func run(t *testing.T, kind, mutant string) tape.Record {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "record")
	below := filepath.Join(dir, "below") // what is beside it is not part of the record
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, kind, below, out)
	cmd.Env = append(os.Environ(), "TILL_POWERCUT_MUTANT="+mutant)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the workload: %v\n%s", err, text)
	}
	r, err := tape.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A cut is a power cut after a number of events, with one choice of what reached the disk.
type cut struct{ after, choice, number int }

// cuts draws up to n cuts with different states. Half of them are systematic, as far as there are so many, and
// the others random.
func cuts(r tape.Record, trusted bool, n int, random *rand.Rand) []cut {
	d := newDisk(trusted)
	var first, systematic []cut // nothing and all of what may have happened, and the other systematic choices
	for i := range len(r.Events) + 1 {
		if i == len(r.Events) || !isChange(r.Events[i]) {
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
		all = append(all, cut{after: random.IntN(len(r.Events) + 1), choice: -1})
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
func each(r tape.Record, trusted bool, all []cut, f func(*disk, cut)) {
	slices.SortFunc(all, func(a, b cut) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.number, b.number)) })
	d, done := newDisk(trusted), 0
	for _, c := range all {
		for ; done < c.after; done++ {
			d.do(r.Events[done])
		}
		f(d, c)
	}
}

// distinct keeps n cuts whose states or duties differ.
func distinct(r tape.Record, trusted bool, all []cut, n int) []cut {
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
	each(r, trusted, all, func(d *disk, c cut) { sums[c.number] = key{d.state(c.choose(d)).sum(source), dutiesAt[c.after]} })
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
	return fmt.Sprintf("cut after event %d, of what was not synced: %s; the disk has %s: %v", f.after, f.what, f.state, f.err)
}

// result is what came of all states of a record.
type result struct {
	states, cuts int
	findings     []finding
	refused      []finding
}

// explore checks n states of a record, or fewer, if the first findings are enough.
func explore(t *testing.T, r tape.Record, trusted bool, n, enough int) (all result) {
	t.Helper()
	random := rand.New(rand.NewPCG(*seed, 0))
	chosen := distinct(r, trusted, cuts(r, trusted, n, random), n)
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
				err := try(job.state, job.number, dutiesOf(r.Events[:job.after]), r)
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
	places := map[int]bool{}
	each(r, trusted, chosen, func(d *disk, c cut) {
		places[c.after] = true
		choice := c.choose(d)
		select {
		case jobs <- job{c, choice, d.state(choice)}:
		case <-ctx.Done():
		}
	})
	close(jobs)
	workers.Wait()
	all.cuts = len(places)
	return all
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
	return d.check(context.Background(), dir, r)
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

// TestPowerCuts checks the states of the disk that a power cut can leave behind.
func TestPowerCuts(t *testing.T) {
	for kind, n := range map[string]int{"new": *states * 4 / 5, "old": *states / 5} {
		t.Run(kind, func(t *testing.T) {
			r := run(t, kind, "")
			all := explore(t, r, true, n, 10)
			for _, f := range all.findings {
				t.Error(f)
			}
			messages := map[string]int{}
			for _, f := range all.refused {
				messages[strings.ReplaceAll(f.err.Error(), os.TempDir(), "")]++
				t.Error(f)
			}
			fmt.Printf("power cuts, %s journal: %d states after %d cuts in %d events, seed %d: %d wrong, %d journals refused\n",
				kind, all.states, all.cuts, len(r.Events), *seed, len(all.findings), len(all.refused))
		})
	}
}

// TestMutants checks that the tests find programs with bugs.
func TestMutants(t *testing.T) {
	for _, mutant := range mutants {
		t.Run(mutant, func(t *testing.T) {
			all := explore(t, run(t, "new", mutant), true, 300, 1)
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
