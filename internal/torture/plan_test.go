//go:build unix

package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A plan is what is done to one order, drawn from the seed of the run and the order's number alone.
type plan struct {
	orderID string     // empty: the program makes one
	content [2]content // the one that is asked for, and the other that is tried under the same order id
	kills   int        // how many are enough
	steps   []step
	reject  bool // in the end the ledger rejects it
	paidAs  bool // an unknown order is settled by a person where it can be, not by reconciling
}

// content is what a withdrawal asks for: as it is written on the command line, and as it goes to the ledger.
type content struct {
	code, amount   string
	currency, json string
	address, memo  string
}

// A step is something that is done to an order.
type step struct {
	what  string
	shots [2]shot // of creates, the second for two that run at the same moment
}

const (
	doCreate    = "create"
	doTwo       = "two creates at once"
	doTwin      = "create under another order id" // while this one is unknown
	doReconcile = "reconcile"
	doResolve   = "resolve"
	doRelease   = "let what is late be paid"
)

// A shot is one run of the program and what is done to it.
type shot struct {
	point    string  // at which it kills itself
	random   float64 // after which part of the usual time it is killed; 0: not at random
	fault    instruction
	refuse   bool // nobody listens at the ledger's port
	other    bool // the other content
	noLookup bool
	pause    bool // before the record is made, until the others are there too
}

func (s shot) String() string {
	text := ""
	add := func(yes bool, format string, args ...any) {
		if yes {
			text += " " + fmt.Sprintf(format, args...)
		}
	}
	add(s.fault.fault != "", "fault=%s", s.fault.fault)
	add(s.fault.commit, "paid")
	add(s.fault.phase != "", "killed-by-ledger=%s", s.fault.phase)
	add(s.point != "", "kill=%s", s.point)
	add(s.random > 0, "kill=random(%.2f)", s.random)
	add(s.refuse, "refused")
	add(s.other, "other-content")
	add(s.noLookup, "lookup=never")
	add(s.pause, "paused")
	return text
}

// faults are those that the ledger is told to make; +c: paid all the same. Those that cost most are there more than once.
var faults = []string{
	"ok+c", "ok+c", "ok+c", "slow+c", "unread", "unread+c", "drop", "drop+c", "drop+c", "late", "late", "late", "late", "late", "late", "hang", "hang+c", "hang+c", "hang+c", "hang+c", "cut", "cut+c",
	"500", "500+c", "500e", "500e+c", "502", "502+c", "503e", "503e+c", "504+c", "400", "400+c", "400e", "422e", "422e", "401e", "403e", "429e", "429+c",
	"408e+c", "409e+c", "307", "307+c", "307+c", "307+c", "307+c", "html", "html+c", "null+c", "empty", "trailing+c", "other", "other+c",
}

// draw makes the plan of an order.
func draw(seed uint64, n int) plan {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	chance := func(percent int) bool { return rng.IntN(100) < percent }
	p := plan{kills: 2 + rng.IntN(6), reject: chance(10), paidAs: chance(25)}
	first := sure(seed)
	if !chance(20) || n < len(first) {
		p.orderID = fmt.Sprint(1_000_000 + n)
	}
	p.content[0] = drawContent(rng, n)
	p.content[1] = p.content[0]
	for p.content[1] == p.content[0] {
		if p.content[1] = drawContent(rng, n); chance(50) { // only the memo is another
			memo := p.content[1].memo
			p.content[1] = p.content[0]
			if memo != "" || p.content[0].code != "Xlr" {
				p.content[1].memo = memo
			}
		}
	}
	if n < len(first) {
		p.steps = first[n]
	}
	for range 40 {
		p.steps = append(p.steps, drawStep(rng, p.orderID != ""))
	}
	if p.reject && n >= len(first) {
		p.kills = 2
		for i := range p.steps {
			for j := range p.steps[i].shots {
				p.steps[i].shots[j].leaveNoDoubt(rng)
			}
		}
	}
	return p
}

// leaveNoDoubt makes a shot one after which the order may still be rejected: one that was ever in doubt stays so.
func (s *shot) leaveNoDoubt(rng *rand.Rand) {
	s.random, s.point = 0, pick(rng, []string{"", "before-intent", "in-intent"})
	s.fault = instruction{fault: pick(rng, []string{"400e", "401e", "403e", "422e", "429e"})}
}

// sure is what the first orders of every run begin with, one each, so that nothing is left to chance: each point, each
// phase, each fault, and what it takes to find some of the mutants.
func sure(seed uint64) (all [][]step) {
	good := instruction{fault: "ok", commit: true}
	begin := func(steps ...step) {
		all = append(all, steps)
	}
	create := func(s shot) step { return step{what: doCreate, shots: [2]shot{s}} }
	for _, name := range points {
		begin(create(shot{point: name, fault: good, noLookup: true}))
	}
	for _, name := range []string{"read", "commit", "answer"} {
		good.phase = name
		begin(create(shot{fault: good, noLookup: true}))
	}
	for n, name := range faults {
		if slices.Index(faults, name) == n {
			fault, commit := strings.CutSuffix(name, "+c")
			begin(create(shot{fault: instruction{fault: fault, commit: commit}, noLookup: true}))
		}
	}
	slow := shot{fault: instruction{fault: "slow", commit: true}, noLookup: true, pause: true}
	for range 3 {
		begin(step{what: doTwo, shots: [2]shot{slow, slow}})
	}
	late := create(shot{fault: instruction{fault: "late"}, noLookup: true})
	begin(late, step{what: doReconcile}, late)
	begin(late, step{what: doTwin, shots: [2]shot{{noLookup: true}}})
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func drawContent(rng *rand.Rand, n int) content {
	minor := 1 + rng.Int64N(9_000_000_000)
	c := content{code: "Btc", currency: `{"Crypto":"Btc"}`, address: fmt.Sprintf("bc1qtorture%d", n)}
	if rng.IntN(2) == 0 {
		c.memo = fmt.Sprintf("rent %d", rng.IntN(1000))
	}
	switch rng.IntN(3) {
	case 0:
		c.amount, c.json = fmt.Sprintf("%d.%08d", minor/1e8, minor%1e8), fmt.Sprintf(`{"Crypto":{"Btc":%d}}`, minor)
	case 1:
		c.amount, c.json = fmt.Sprintf("%d.%02d USD", minor/100, minor%100), fmt.Sprintf(`{"Fiat":{"USD":%d}}`, minor)
	case 2:
		c.code, c.currency, c.memo = "Xlr", `{"Crypto":"Xlr"}`, fmt.Sprintf("memo %d", rng.IntN(1000))
		c.amount, c.json = fmt.Sprintf("%d.%07d", minor/1e7, minor%1e7), fmt.Sprintf(`{"Crypto":{"Xlr":%d}}`, minor)
	}
	return c
}

func drawStep(rng *rand.Rand, named bool) step {
	whats := []string{doCreate, doCreate, doCreate, doCreate, doCreate, doCreate, doCreate, doTwo, doTwo, doTwo, doReconcile, doReconcile, doResolve, doTwin, doTwin, doRelease}
	s := step{what: whats[rng.IntN(len(whats))]}
	for n := range s.shots {
		s.shots[n] = drawShot(rng)
		s.shots[n].other = s.shots[n].other && named
	}
	if s.what == doTwo && rng.IntN(100) < 60 {
		s.shots[0].pause, s.shots[1].pause = true, true
		for n := range s.shots {
			if rng.IntN(2) == 0 { // slow enough for the other to come in between
				s.shots[n] = shot{fault: instruction{fault: "slow", commit: true}, noLookup: s.shots[n].noLookup, pause: true}
			}
		}
	}
	if s.what == doReconcile || s.what == doResolve { // the ledger does not see these, and they have no points
		s.shots[0] = shot{random: s.shots[0].random}
	}
	if s.what == doTwin { // it is only to be refused
		s.shots[0] = shot{noLookup: s.shots[0].noLookup}
	}
	return s
}

func drawShot(rng *rand.Rand) (s shot) {
	s.fault.fault, s.fault.commit = strings.CutSuffix(pick(rng, faults), "+c")
	s.other, s.noLookup = rng.IntN(100) < 12, rng.IntN(100) < 50
	random := max(rng.Float64(), 0.01)
	switch fate := rng.IntN(100); {
	case fate < 26:
		s.point = pick(rng, points)
		if s.point == "before-outcome" || s.point == "in-outcome" || s.point == "after-outcome" {
			if rng.IntN(3) > 0 {
				s.fault = instruction{fault: "ok", commit: true}
			}
		}
	case fate < 44:
		s.fault.phase = pick(rng, []string{"read", "commit", "answer"})
		if s.fault.phase == "answer" { // there must be one
			s.fault.fault, s.fault.commit = pick(rng, []string{"ok", "500e", "422e", "html"}), false
			s.fault.commit = s.fault.fault == "ok" || s.fault.fault != "422e" && rng.IntN(2) == 0
		}
	case fate < 48:
		s.random = random
	case fate < 50:
		s.refuse = true
	}
	return s
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
