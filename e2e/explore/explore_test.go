package explore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/till/pkg/payout"
)

var (
	prove      = flag.Bool("prove", false, "explore more, and find every bug")
	inDatabase = flag.Bool("postgres", false, "keep the journal in PostgreSQL")
	only       = flag.String("world", "", "explore this world alone")
	switches   = flag.Int("switches", -1, "explore with at most so many switches; -1: as many as usual")
	faults     = flag.Int("faults", 0, "and with at most so many faults")
	statements = flag.Bool("statements", false, "have TestReplay show each statement of the journal, and its result")
	schedule   = flag.String("schedule", "", "what TestReplay carries out in -world, as a failure prints it")
)

// bounds returns the bounds within which all schedules of a world are explored.
func (w *world) bounds() []cost {
	all := []cost{{1, 0}, {0, 1}}
	switch {
	case w.long && !*prove && *switches < 0:
		return all[:1]
	case *switches >= 0:
		return []cost{{*switches, *faults}}
	case *prove && !*inDatabase && w.long:
		all = append(all, cost{1, 1})
	case *prove && !*inDatabase:
		all = append(all, cost{1, 1}, cost{2, 0}, cost{0, 2})
	}
	return all
}

// An explorer goes through all schedules of a world within a bound.
type explorer struct {
	t     *testing.T
	world *world
	dir   string
	base  *database // nil in SQLite
	files folder
	bound cost
	seen  map[uint64][]cost

	schedules, steps int
}

func newExplorer(t *testing.T, w *world) *explorer {
	dir := t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "explore-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(memory) })
		dir = memory
	}
	e := &explorer{t: t, world: w, dir: dir, files: folder{dir: dir}}
	if *inDatabase {
		e.base = newDatabase(t)
	}
	e.makeBase()
	return e
}

// makeBase makes the journal with which every run begins, and the plan.
func (e *explorer) makeBase() {
	defer os.Setenv(asVariant, os.Getenv(asVariant))
	os.Unsetenv(asVariant) // a variant begins with a sound journal too
	synctest.Test(e.t, func(t *testing.T) {
		ctx := context.Background()
		r := &run{world: &world{empty: true}}
		p := &process{r: r, quiet: true, told: map[string]string{}}
		j, err := payout.OpenJournal(p.watched(), e.place())
		must(t, err)
		p.journal = j
		if !e.world.empty {
			r.journal = &inspector{now: map[string]entry{"1": {state: "sending"}}}
			r.owner, r.sent = map[string]*process{"1": p}, map[string]time.Time{}
			r.claimed, r.changed = map[string]time.Time{"1": r.clock()}, map[string]int{}
			r.service = newService(r, conduct{})
			if _, err := p.sender().Send(ctx, withdraw("1", 5)); err != nil {
				t.Fatal(err)
			}
			if r.violation != "" {
				t.Fatal(r.violation)
			}
		}
		if e.world.plan != nil {
			must(t, e.world.makePlans(ctx, j, e.dir))
		}
		must(t, j.Close())
	})
	must(e.t, errors.Join(e.base.keep(), e.files.keep()))
}

// run carries out one schedule.
func (e *explorer) run(schedule []int, seen map[uint64][]cost) *run {
	must(e.t, errors.Join(e.base.restore(), e.files.restore()))
	r := &run{world: e.world, dir: e.dir, place: e.place(), schedule: schedule, bound: e.bound,
		visited: seen}
	r.do(e.t)
	e.schedules++
	e.steps += len(r.steps)
	return r
}

// explore carries out all schedules within the bound, depth first. It returns the first run that violates an
// invariant; nil: there is none.
func (e *explorer) explore(bound cost) *run {
	e.bound, e.seen = bound, map[uint64][]cost{}
	for schedule := []int(nil); ; {
		r := e.run(schedule, e.seen)
		if r.violation != "" {
			return r
		}
		if schedule = following(r.steps, bound); schedule == nil {
			return nil
		}
	}
}

// following returns the schedule after one whose steps are given: it takes another option at the last step
// that has one left within the bound.
func following(steps []step, bound cost) []int {
	spent := make([]cost, len(steps)+1) // before each step
	for i, s := range steps {
		spent[i+1] = spent[i].plus(s.options[s.chosen])
	}
	for i := len(steps) - 1; i >= 0; i-- {
		for c := steps[i].chosen + 1; c < len(steps[i].options); c++ {
			if spent[i].plus(steps[i].options[c]).within(bound) {
				return append(chosen(steps[:i]), c)
			}
		}
	}
	return nil
}

func chosen(steps []step) (all []int) {
	for _, s := range steps {
		all = append(all, s.chosen)
	}
	return all
}

// text formats the choices of a schedule that differ from the first option, as STEP:OPTION.
func text(steps []step) string {
	var all []string
	for i, s := range steps {
		if s.chosen != 0 {
			all = append(all, fmt.Sprintf("%d:%d", i, s.chosen))
		}
	}
	return strings.Join(all, ",")
}

func parse(text string) (schedule []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var at, option int
		if part == "" {
			continue
		}
		if _, err := fmt.Sscanf(part, "%d:%d", &at, &option); err != nil || at < len(schedule) {
			return nil, fmt.Errorf("the schedule %q is not a list of STEP:OPTION: %v", text, err)
		}
		schedule = append(schedule, make([]int, at-len(schedule))...)
		schedule = append(schedule, option)
	}
	return schedule, nil
}

func (r *run) report() string {
	again := "go test ./e2e/explore -v"
	if *inDatabase {
		again += " -postgres"
	}
	again += " -run TestReplay -world " + r.world.name
	if choices := text(r.steps); choices != "" { // otherwise the first option was taken at every step
		again += " -schedule " + choices
	}
	return fmt.Sprintf("%s\n\n%s\n\n%s", r.violation, again, strings.Join(r.story, "\n"))
}

// TestExplore explores all worlds, several at a time.
func TestExplore(t *testing.T) {
	if *faults > 0 && *switches < 0 {
		t.Fatal("-faults needs -switches")
	}
	all := allWorlds()
	explored := 0
	lines := make([]string, len(all)) // of the table
	var schedules, steps atomic.Int64
	for i, w := range all {
		if *only != "" && *only != w.name || !w.fits() {
			continue
		}
		explored++
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := newExplorer(t, w)
			for _, b := range w.bounds() {
				e.schedules, e.steps = 0, 0
				began := time.Now()
				if r := e.explore(b); r != nil {
					t.Fatal(r.report())
				}
				took := time.Since(began).Seconds()
				t.Logf("switches %d, faults %d: %d schedules in %.1f s", b.switches, b.faults, e.schedules, took)
				lines[i] += fmt.Sprintf("%-10s %9d %7d %10d %9d %8d %8.1f  %s\n", w.name, b.switches, b.faults,
					e.schedules, e.steps, len(e.seen), took, w.about)
				schedules.Add(int64(e.schedules))
				steps.Add(int64(e.steps))
			}
		})
	}
	if explored == 0 {
		t.Errorf("there is no world %q for this journal", *only)
	}
	t.Cleanup(func() { // the worlds have ended by then
		if schedules.Load() == 0 { // the first one of a variant has failed
			return
		}
		t.Logf("\n%-10s %9s %7s %10s %9s %8s %8s  %s\n%s%d schedules, %d steps", "world", "switches", "faults",
			"schedules", "steps", "states", "seconds", "in which", strings.Join(lines, ""), schedules.Load(), steps.Load())
	})
}

// TestSameTwice carries out schedules twice. Without the same steps and the same story, neither a replay nor
// the comparison of states would prove anything.
func TestSameTwice(t *testing.T) {
	for _, w := range allWorlds() {
		if !w.fits() {
			continue
		}
		e := newExplorer(t, w)
		e.bound = cost{100, 100}
		length := len(e.run(nil, nil).steps)
		for _, at := range []int{length / 3, length / 2, length - 2} {
			schedule := append(make([]int, at), 1, 0, 2)
			states := [2]map[uint64][]cost{{}, {}}
			one, two := e.run(schedule, states[0]), e.run(schedule, states[1])
			if !slices.Equal(one.story, two.story) || !reflect.DeepEqual(one.steps, two.steps) ||
				!reflect.DeepEqual(states[0], states[1]) {
				t.Errorf("%s: the schedule %s differs the second time:\n%s\n\n%s", w.name, text(one.steps),
					strings.Join(one.story, "\n"), strings.Join(two.story, "\n"))
			}
		}
	}
}

// TestReplay carries out the schedule of the flag -schedule.
func TestReplay(t *testing.T) {
	if *only == "" {
		t.Skip("no -world is given")
	}
	numbers, err := parse(*schedule)
	must(t, err)
	for _, w := range allWorlds() {
		if w.name == *only {
			r := newExplorer(t, w).run(numbers, nil)
			t.Log(strings.Join(r.story, "\n"))
			for at, option := range numbers {
				if option != 0 && (at >= len(r.steps) || r.steps[at].chosen != option) {
					t.Errorf("there is no option %d at step %d: the schedule belongs to other code, or to the other journal",
						option, at)
				}
			}
			if r.violation != "" {
				t.Error(r.violation)
			}
			return
		}
	}
	t.Errorf("there is no world %q", *only)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
