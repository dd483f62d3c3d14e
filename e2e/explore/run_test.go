package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
)

// A run carries out one schedule in a world. Everything in it happens in a bubble of testing/synctest: its
// clock does not move while anything runs, and time passes only if the schedule says so, or if all processes
// sleep.
type run struct {
	world    *world
	dir      string // of the plan
	place    string // of the journal
	schedule []int  // the option to take at each step; after its end, the first one
	bound    cost
	visited  map[uint64][]cost // states reached before, and what was left of the bound then; nil: none
	deaths   map[uint64][]cost // states after deaths that were options, and what these would have cost in all

	journal   *inspector
	service   *service
	outside   outside
	processes []*process // of all stages
	current   *process   // the one that took the last step
	events    []*event
	woken     chan struct{} // has a value after a process has parked or ended
	writer    *conn         // has begun to write to a journal in SQLite

	commits   uint64               // hash of everything that was committed, in order
	shown     map[string]string    // who has found an order on the list, and has ended since
	owner     map[string]*process  // who sent an order last
	claimed   map[string]time.Time // when that was recorded
	sent      map[string]time.Time // when a create of it left last
	changed   map[string]int       // the step at which the journal has changed an order last
	jumped    int                  // the step at which the clock has jumped
	steps     []step
	spent     cost
	story     []string
	violation string
	cut       bool // the run ended early, because its state was reached before
}

// A step is what could happen at a moment, and what did.
type step struct {
	options []cost
	chosen  int
}

// A cost is how much of the bound an option takes.
type cost struct{ switches, faults int }

func (c cost) plus(o cost) cost   { return cost{c.switches + o.switches, c.faults + o.faults} }
func (c cost) within(o cost) bool { return c.switches <= o.switches && c.faults <= o.faults }

// An event is something that happens in a world once, at any moment or never.
type event struct {
	what  string
	do    func(r *run)
	ready func(r *run) bool // nil: it can happen at any moment
	done  bool
}

// A process runs real code, which reaches the world only through its journal and its client.
type process struct {
	r       *run
	name    string
	stage   int
	main    func(p *process)
	key     string          // empty: firstKey
	demands approval.Policy // what its profile demands
	journal *payout.Journal
	plan    *payout.Plan // that it applies
	rows    []string     // that the plan was made from
	ctx     context.Context
	cancel  context.CancelFunc
	given   context.Context // of everything but its calls; it ends when a person interrupts the process
	stop    context.CancelFunc
	conns   []*conn
	mu      sync.Mutex // for parked and seen: a process may have several calls in flight
	parked  []*point
	quiet   bool // it opens or closes its journal, which is one step
	well    bool // it comes alone, and nothing can go wrong: it never waits for a turn
	dead    bool
	ended   bool
	found   map[string]int // the steps at which it has last seen each order on a list
	halted  []string       // orders that keep it from sending more of its plan

	interrupted bool
	seen        uint64            // hash of everything that it has learned
	listed      int               // the step at which it last began to read a list
	listedAt    time.Time         // when that was, see clock
	told        map[string]string // the ids that the service has answered it, by order id
}

// A point is a place where a process waits for its turn.
type point struct {
	p       *process
	what    string
	choices []choice    // what can happen next; the first is what should
	ready   func() bool // nil: it is
	alone   bool        // no other process takes its turn here, because it could see no difference
	silent  bool        // not worth telling
	since   int         // the step before it
	reply   chan choice
}

// fresh reports whether the call that took the last step has come to the point. To let another call of the same
// process go on is a switch.
func (at *point) fresh() bool { return at.since == len(at.p.r.steps) }

// A choice is one way in which a step can end.
type choice struct {
	kind kind
	what string // what happens, for the story
}

type kind int

const (
	goesOn kind = iota
	dies        // the process is killed
	breaks      // the connection to the journal breaks
	fails       // any other fault
)

// dead is the choice of a process that dies and does nothing more.
var dead = choice{dies, "and dies"}

func (c choice) cost() (n cost) {
	if c.kind != goesOn {
		n.faults = 1
	}
	return n
}

// do runs the schedule to its end.
func (r *run) do(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r.sent, r.shown, r.deaths = map[string]time.Time{}, map[string]string{}, map[uint64][]cost{}
		r.woken, r.owner, r.claimed = make(chan struct{}, 1), map[string]*process{}, map[string]time.Time{}
		r.changed = map[string]int{}
		r.service, r.outside = newService(r, r.world.service), r.world.outside()
		for _, e := range r.world.events {
			r.events = append(r.events, &event{what: e.what, do: e.do, ready: e.ready})
		}
		var err error
		if r.journal, err = inspect(r.place); err != nil {
			t.Fatal(err)
		}
		for i, stage := range r.world.stages {
			first := len(r.processes)
			for _, a := range stage {
				r.start(t, i, a)
			}
			r.current = r.processes[first]
			for r.step() {
			}
			if r.violation != "" || r.cut {
				break
			}
		}
		r.finish()
		if err := r.journal.close(); err != nil {
			t.Error(err)
		}
	})
}

// start starts a process, which opens its journal before any other goes on.
func (r *run) start(t *testing.T, stage int, a actor) {
	p := &process{r: r, name: a.name, stage: stage, main: a.main, quiet: true, told: map[string]string{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.given, p.stop = context.WithCancel(p.ctx)
	r.processes = append(r.processes, p)
	go func() {
		defer p.end(t)
		var err error
		if p.journal, err = payout.OpenJournal(p.watched(), r.place); err != nil {
			t.Errorf("%s cannot open the journal: %v", p.name, err)
			return
		}
		if p.quiet = false; p.pass(&point{what: "begins"}).kind != dies {
			p.main(p)
			p.ends()
		}
	}()
	synctest.Wait()
}

// end closes the journal of a process. If the process is dead, this only releases its locks.
func (p *process) end(t *testing.T) {
	p.quiet = true
	if p.journal != nil {
		if err := p.journal.Close(); err != nil && !p.dead {
			t.Errorf("%s cannot close the journal: %v", p.name, err)
		}
	}
	p.cancel()
	p.ended = true
	p.r.wake()
}

func (r *run) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// pass waits until the schedule lets the process go on, and returns how. A dead process never waits.
func (p *process) pass(at *point) choice {
	if p.dead || p.quiet {
		if p.dead {
			return choice{kind: dies}
		}
		return choice{}
	}
	if at.choices == nil {
		at.choices = []choice{{}}
	}
	if p.well {
		return at.choices[0]
	}
	at.p, at.since, at.reply = p, len(p.r.steps), make(chan choice)
	p.mu.Lock()
	p.parked = append(p.parked, at)
	p.mu.Unlock()
	p.r.wake()
	c := <-at.reply
	if p.saw(at.what, c.what, time.Now().UnixNano()); c.kind == dies { // it may look at the clock
		p.die()
	}
	return c
}

// saw notes what a process has learned. The order of what it learns at the same time does not matter.
func (p *process) saw(what ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen += mix(1, what...)
}

// die ends all that the process holds. From here on nothing that it does reaches the world.
func (p *process) die() {
	p.dead = true
	for _, c := range p.conns {
		c.breakNow()
	}
	p.cancel()
}

// An option is a step that the schedule can take.
type option struct {
	at    *point
	taken choice
	event func()
	what  string
	cost  cost
}

// step lets one thing happen. It reports whether the stage goes on.
func (r *run) step() bool {
	synctest.Wait()
	if r.violation != "" || r.cut {
		return false
	}
	options := r.options()
	if len(options) == 0 {
		if !slices.ContainsFunc(r.processes, func(p *process) bool { return !p.ended }) {
			return false
		}
		select { // all sleep: time passes until one of them wakes
		case <-r.woken:
		case <-time.After(time.Hour):
			panic("no process can go on: " + strings.Join(r.story, "\n"))
		}
		return true
	}
	if r.before() {
		r.cut = true
		return false
	}
	s := step{}
	for _, o := range options {
		s.options = append(s.options, o.cost)
	}
	if n := len(r.steps); n < len(r.schedule) && r.schedule[n] < len(options) {
		s.chosen = r.schedule[n]
	}
	r.steps = append(r.steps, s)
	o := options[s.chosen]
	r.spent = r.spent.plus(o.cost)
	select {
	case <-r.woken: // of an earlier moment
	default:
	}
	if o.at == nil {
		r.tell("%s", o.what)
		o.event()
		return true
	}
	p := o.at.p
	if !o.at.silent || o.taken.kind != goesOn {
		r.tell("%s %s", p.name, strings.TrimSpace(o.at.what+" "+o.taken.what))
	}
	r.current = p
	p.parked = slices.DeleteFunc(p.parked, func(at *point) bool { return at == o.at })
	o.at.reply <- o.taken
	if o.taken.kind == dies {
		for _, at := range p.parked { // its other calls
			at.reply <- dead
		}
		p.parked = nil
	}
	return true
}

// options returns all that can happen now. The first is that the current process goes on, without a fault. To
// let another process take its turn is a switch, unless the current one cannot go on.
func (r *run) options() (all []option) {
	turn := append([]*process{r.current}, slices.DeleteFunc(slices.Clone(r.processes),
		func(p *process) bool { return p == r.current })...)
	for _, p := range turn {
		slices.SortStableFunc(p.parked, func(a, b *point) int {
			return cmp.Or(cmp.Compare(b.since, a.since), strings.Compare(a.what, b.what))
		})
		for _, at := range p.parked {
			if at.ready != nil && !at.ready() {
				continue
			}
			free := len(all) == 0 || all[0].at.p != r.current || p == r.current && at.fresh() == all[0].at.fresh()
			for _, c := range at.choices {
				o := option{at: at, taken: c, cost: c.cost()}
				if !free {
					o.cost.switches++
				}
				if !r.sameDeath(o) {
					all = append(all, o)
				}
			}
			if at.alone && p == r.current {
				return all
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	another := cost{switches: 1}
	for _, e := range r.events {
		if !e.done && (e.ready == nil || e.ready(r)) {
			all = append(all, option{event: func() { e.done = true; e.do(r) }, what: e.what, cost: another})
		}
	}
	for i, w := range r.service.late {
		what := fmt.Sprintf("the create of order %s by %s lands late", w.orderID, w.by.name)
		all = append(all, option{event: func() { r.service.land(i) }, what: what, cost: another})
	}
	if slices.ContainsFunc(r.processes, func(p *process) bool { return !p.ended && len(p.parked) == 0 }) {
		all = append(all, option{event: func() { <-r.woken }, what: "time passes", cost: another})
	}
	return all
}

// finish lets the processes that are left die, so that the bubble can end.
func (r *run) finish() {
	for _, p := range r.processes {
		if p.ended {
			continue
		}
		if !p.dead {
			p.quiet = true
			p.die()
		}
		for _, at := range p.parked {
			at.reply <- choice{kind: dies}
		}
		p.parked = nil
		for !p.ended {
			<-r.woken
		}
	}
}

func (r *run) tell(format string, args ...any) {
	r.story = append(r.story, fmt.Sprintf("%d: ", len(r.steps)-1)+fmt.Sprintf(format, args...))
}

// violated notes the first thing that must never happen.
func (r *run) violated(format string, args ...any) {
	if r.violation == "" {
		r.violation = fmt.Sprintf(format, args...)
		r.tell("VIOLATION: %s", r.violation)
	}
}
