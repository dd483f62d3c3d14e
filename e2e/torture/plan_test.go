//go:build unix

package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// plan is what is done to one order. It depends only on the seed of the run and the number of the order.
type plan struct {
	orderID string     // empty if the program makes one
	content [2]content // the content of the order, and another for the same order id
	kills   int        // how many are enough
	steps   []step
	ending  decisions // while it is settled
	reject  bool      // the ledger rejects it in the end
	paidAs  bool      // a person settles it if it is unknown, if possible; not reconcile
}

// content is what a withdrawal asks for, as on the command line and as it is sent to the ledger.
type content struct {
	code, amount   string
	currency, json string
	address, memo  string
}

// step is something that is done to an order.
type step struct {
	what  string
	shots [2]shot // of creates; the second for two at the same moment
}

const (
	doCreate    = "create"
	doTwo       = "two creates at once"
	doReconcile = "reconcile"
	doResolve   = "resolve"
	doRelease   = "let what is late be paid"
	doStop      = "SIGSTOP"
)

// shot is one run of the program and what is done to it.
type shot struct {
	point    string  // at which it kills itself
	random   float64 // the fraction of the usual time after which it is killed; 0: not at random
	fault    instruction
	refuse   bool // nothing listens at the ledger's port
	other    bool // the other content
	noLookup bool
	pause    bool // before the record is made, until the others are there

	do    string // at its point, instead of dying: "stop"
	notes notes
	times int    // in a row that its point is reached; 0: once
	ahead string // how far its clock is ahead; with "stop", from then on
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
	add(s.do != "", "%s-there", s.do)
	add(s.ahead != "", "clock+%s", s.ahead)
	return text
}

// faults are the faults of the ledger; +c: paid nevertheless. The most expensive ones are there more than
// once.
var faults = []string{
	"ok+c", "ok+c", "ok+c", "slow+c", "unread", "unread+c", "drop", "drop+c", "drop+c", "late", "late", "late", "late",
	"late", "late", "hang", "hang+c", "hang+c", "hang+c", "hang+c", "cut", "cut+c",
	"500", "500+c", "500e", "500e+c", "502", "502+c", "503e", "503e+c", "504+c", "400", "400+c", "400e", "422e", "422e",
	"401e", "403e", "429e", "429+c",
	"408e+c", "409e+c", "307", "307+c", "307+c", "307+c", "307+c", "html", "html+c", "null+c", "empty", "empty", "empty",
	"trailing+c", "other", "other+c",
}

// draw draws the plan of an order.
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
		if p.content[1] = drawContent(rng, n); chance(50) { // only the memo differs
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
	p.ending = drawDecisions(rng)
	return p
}

// decisions has, for each of some calls of reconcile and resolve, the fraction of the usual time after which
// it is killed; 0: it is not killed.
type decisions []float64

// drawDecisions ends before the settling does, so that everything is settled at last.
func drawDecisions(rng *rand.Rand) (all decisions) {
	for range 10 {
		all = append(all, drawDecision(rng))
	}
	return all
}

func drawDecision(rng *rand.Rand) float64 {
	if rng.IntN(100) < 60 {
		return max(rng.Float64(), 0.01)
	}
	return 0
}

// next removes the first of them.
func (d *decisions) next() (random float64) {
	if len(*d) > 0 {
		random, *d = (*d)[0], (*d)[1:]
	}
	return random
}

// leaveNoDoubt changes a shot so that the order may still be rejected after it. An order that was ever in
// doubt stays in doubt.
func (s *shot) leaveNoDoubt(rng *rand.Rand) {
	s.random, s.do, s.times, s.ahead, s.point = 0, "", 0, "",
		pick(rng, []string{"", "before-intent", "in-intent"})
	s.fault = instruction{fault: pick(rng, []string{"400e", "401e", "403e", "422e", "429e"})}
}

// sure returns the beginnings of the first orders of every run, one each, so that nothing depends on chance.
// They have each point, each phase and each fault.
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
		killed := good
		killed.phase = name
		begin(create(shot{fault: killed, noLookup: true}))
	}
	for n, name := range faults {
		if slices.Index(faults, name) == n {
			fault, commit := strings.CutSuffix(name, "+c")
			begin(create(shot{fault: instruction{fault: fault, commit: commit}, noLookup: true}))
		}
	}
	slow := shot{fault: instruction{fault: "slow", commit: true}, noLookup: true, pause: true}
	begin(step{what: doTwo, shots: [2]shot{slow, slow}})
	for _, name := range failures {
		begin(create(shot{point: name, times: 3, fault: good, noLookup: true}))
	}
	for _, ahead := range clocks {
		begin(create(shot{ahead: ahead, fault: instruction{fault: "drop", commit: true}, noLookup: true}),
			create(shot{fault: good}))
	}
	for _, ahead := range []string{"", "6s"} {
		begin(step{what: doStop, shots: [2]shot{{point: "before-connect", do: "stop", ahead: ahead,
			fault: good, noLookup: true}}})
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// clocks are how far the clocks of some processes are ahead. A slow clock prevents no decision.
var clocks = []string{"-1h", "-20s"}

// addressOf returns an address that no other number has.
func addressOf(n int) string { return fmt.Sprintf("0xabcdef%034x", n) }

func drawContent(rng *rand.Rand, n int) content {
	minor := 1 + rng.Int64N(9_000_000_000)
	c := content{code: "Btc", currency: `{"Crypto":"Btc"}`, address: addressOf(n)}
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
	whats := []string{doCreate, doCreate, doCreate, doCreate, doCreate, doCreate, doCreate, doTwo, doTwo, doTwo,
		doReconcile, doReconcile, doResolve, doRelease, doStop}
	s := step{what: whats[rng.IntN(len(whats))]}
	for n := range s.shots {
		s.shots[n] = drawShot(rng)
		s.shots[n].other = s.shots[n].other && named
		// Without an order id, only the time prevents it from being sent again.
		if s.shots[n].ahead != "" && !named {
			s.shots[n].ahead = "-20s"
		}
	}
	if s.what == doTwo && rng.IntN(100) < 60 {
		s.shots[0].pause, s.shots[1].pause = true, true
		for n := range s.shots {
			if rng.IntN(2) == 0 { // slow enough for the other to come in between
				s.shots[n] = shot{fault: instruction{fault: "slow", commit: true}, noLookup: s.shots[n].noLookup, pause: true}
			}
		}
	}
	// The ledger does not see these, and they have no points.
	if s.what == doReconcile || s.what == doResolve {
		s.shots[0] = shot{random: drawDecision(rng)}
	}
	if s.what == doStop {
		s.shots[0] = shot{point: "before-connect", do: "stop", ahead: pick(rng, []string{"", "6s"}), fault: s.shots[0].fault,
			noLookup: s.shots[0].noLookup}
		s.shots[0].fault.phase = ""
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
		if s.fault.phase == "answer" { // there must be an answer
			s.fault.fault, s.fault.commit = pick(rng, []string{"ok", "500e", "422e", "html"}), false
			s.fault.commit = s.fault.fault == "ok" || s.fault.fault != "422e" && rng.IntN(2) == 0
		}
	case fate < 48:
		s.random = random
	case fate < 50:
		s.refuse = true
	case fate < 56:
		s.point, s.times = pick(rng, failures), 1+rng.IntN(3)
	case fate < 60:
		s.ahead = pick(rng, clocks)
	}
	return s
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
