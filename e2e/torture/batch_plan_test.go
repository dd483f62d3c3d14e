//go:build unix

package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// batchPlan is a file of rows and what is done to it. It depends only on the seed of the run and the number
// of the batch.
type batchPlan struct {
	file   []batchRow
	kills  int  // how many are enough
	sure   int  // steps that are done after any number of kills
	share  bool // the journal is shared by several processes, if possible
	retry  bool // rejected rows are sent again at the end
	before int  // rows that are paid by single creates before the run begins
	steps  []batchStep
	ending decisions // while it is settled
}

type batchRow struct {
	orderID string
	content
	callback, note string
}

// batchStep is something that is done to a batch.
type batchStep struct {
	what  string
	shots []applyShot // several shots run at the same moment
	tidy  bool        // unknown rows are settled afterwards
}

const (
	doApply     = "apply"
	doBeside    = "another apply and a create beside it"
	doInterrupt = "apply, with SIGINT"
)

// applyShot is one run of payout apply and what is done to it. Some fields are fractions of the rows that are
// left. They select a row, or how often a point is passed before the program is killed there.
type applyShot struct {
	shot
	part          float64 // the fraction of the rows left at which it is killed
	nth           int     // the same as a count; set when the shot is fired
	concurrency   int
	keepGoing     bool
	retryRejected bool
	duplicates    bool // --allow-duplicate
	rate          string
	faults        []rowFault
	interrupts    int
	several       bool // others apply the plan at the same moment
	meet          *meeting
}

// rowFault is what the ledger does with one of the rows that are left.
type rowFault struct {
	part float64
	instruction
}

func (s applyShot) String() string {
	text := s.shot.String()
	if s.nth > 1 {
		text += fmt.Sprintf(" nth=%d", s.nth)
	}
	if s.interrupts > 0 {
		text += fmt.Sprintf(" SIGINT*%d", s.interrupts)
	}
	return text
}

// drawBatch draws the plan of a batch.
func drawBatch(seed uint64, n int) batchPlan {
	rng := rand.New(rand.NewPCG(seed, 1<<40+uint64(n)))
	chance := func(percent int) bool { return rng.IntN(100) < percent }
	p := batchPlan{kills: 10 + rng.IntN(14), share: n%2 == 1, retry: chance(70)}
	first, rows := beginning{}, 5+rng.IntN(mostRows-4)
	if sure := sureOfBatches(seed); n < len(sure) {
		first, rows = sure[n], enoughRows+rng.IntN(mostRows+1-enoughRows)
	}
	for i := range rows {
		row := batchRow{orderID: fmt.Sprint(int64(7_000_000_000) + int64(100*n+i)), content: drawContent(rng, 100*n+i)}
		if i > 0 && chance(10) {
			row.content = p.file[rng.IntN(i)].content
		}
		if chance(50) {
			row.callback = fmt.Sprintf("https://shop.example/paid/%d", i)
		}
		if chance(30) {
			row.note = fmt.Sprintf("line %d, kept", i)
		}
		p.file = append(p.file, row)
	}
	if chance(15) {
		p.before = 1 + rng.IntN(3)
	}
	p.steps, p.sure, p.share = first.steps, len(first.steps), p.share || first.share
	if p.sure == 0 && chance(10) {
		p.steps = append(p.steps, inRun(rng))
	}
	for range 60 {
		p.steps = append(p.steps, drawBatchStep(rng))
	}
	p.ending = drawDecisions(rng)
	return p
}

// beginning has the first steps of one of the first batches.
type beginning struct {
	steps []batchStep
	share bool // it needs a journal that several processes share
}

// enoughRows leaves some rows even if sixteen are in flight and some were sent before.
const enoughRows = 24

// inRun kills the program while the rows of the run are recorded, before the last one. The rows are recorded
// once, so this step comes first.
func inRun(rng *rand.Rand) batchStep {
	return batchStep{what: doApply,
		shots: []applyShot{{shot: shot{point: "in-run"}, part: 0.7 * rng.Float64(), concurrency: 1}}}
}

// together has three processes that try to claim the same rows.
func together(rng *rand.Rand) batchStep {
	s := batchStep{what: doTwo}
	for range 3 {
		a := applyShot{concurrency: 4, keepGoing: true, part: 0.3 * rng.Float64()}
		a.pause, a.noLookup = true, true
		s.shots = append(s.shots, a)
	}
	s.shots[rng.IntN(3)].point = pick(rng, []string{"after-intent", "before-outcome"})
	return s
}

// sureOfBatches returns the beginnings of the first batches of every run, so that nothing depends on chance.
// They have each point, each phase and each fault. Some steps end a run and some leave rows, so a batch
// begins with a step that leaves some. A step that may end the run follows.
func sureOfBatches(seed uint64) (all []beginning) {
	rng := rand.New(rand.NewPCG(seed, 1<<41))
	var leaving, ending []batchStep
	for _, point := range slices.Concat(batchPoints, severances, failures) {
		// Sixteen rows may be recorded in one transaction, so some points are passed only once.
		a := applyShot{shot: shot{point: point, noLookup: true}, concurrency: 16}
		if rng.IntN(2) == 0 {
			a.concurrency, a.part = 1, 0.1
		}
		if slices.Contains(failures, point) {
			a.times = 3
		}
		s := batchStep{what: doApply, shots: []applyShot{a}}
		switch point {
		case "in-run":
		case "in-results", "before-rename", "after-rename":
			ending = append(ending, s)
		default:
			leaving = append(leaving, s)
		}
	}
	for _, phase := range []string{"read", "commit", "answer"} {
		f := everyRow(0.2, instruction{fault: "ok", commit: true, phase: phase})
		// With more concurrency, fifteen others would go on until the ledger's kill arrives.
		leaving = append(leaving, batchStep{what: doApply, shots: []applyShot{{faults: f, concurrency: 1}}})
	}
	// Whatever is sent then is killed.
	severed := applyShot{shot: shot{point: "sever-before", noLookup: true}, concurrency: 1}
	severed.faults = everyRow(0, instruction{fault: "ok", commit: true, phase: "commit"})
	leaving = append(leaving, batchStep{what: doApply, shots: []applyShot{severed}})
	for _, part := range []float64{0, 0.5} { // two signals, or one; with a kill, or without
		leaving = append(leaving, batchStep{what: doInterrupt, shots: []applyShot{{part: part, concurrency: 1}}})
		ending = append(ending, batchStep{what: doBeside, shots: []applyShot{{part: part, concurrency: 16}}})
	}
	var different []string
	for n, name := range faults {
		switch {
		case slices.Index(faults, name) < n:
		case slices.Contains(refusals, name):
			leaving = append(leaving, batchStep{what: doApply,
				shots: []applyShot{{faults: everyRow(0.2, faultOf(0, name).instruction), concurrency: 1}}})
		default:
			different = append(different, name)
		}
	}
	for part := range slices.Chunk(different, 4) { // five unknown rows in a row would stop it
		s := applyShot{keepGoing: true, duplicates: true, concurrency: 1}
		for i, name := range part {
			s.faults = append(s.faults, faultOf(0.2*float64(i), name))
		}
		ending = append(ending, batchStep{what: doApply, shots: []applyShot{s}})
	}
	rng.Shuffle(len(leaving), func(i, j int) { leaving[i], leaving[j] = leaving[j], leaving[i] })
	rng.Shuffle(len(ending), func(i, j int) { ending[i], ending[j] = ending[j], ending[i] })
	for i := range max(len(leaving), len(ending)) {
		b := beginning{}
		if i < 3 {
			b.steps = append(b.steps, inRun(rng))
		}
		if i < len(leaving) {
			b.steps = append(b.steps, leaving[i])
		}
		if i < len(ending) {
			b.steps = append(b.steps, ending[i])
		}
		all = append(all, b)
	}
	for range 3 {
		all = append(all, beginning{share: true, steps: []batchStep{together(rng)}})
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, b := range all {
		for i := range b.steps { // so that each step has something to do
			b.steps[i].tidy = true
		}
	}
	return all
}

// refusals are the faults that end a run at once.
var refusals = []string{"401e", "403e", "429e"}

// severances are points at which the connection to the journal breaks and the program is not killed.
var severances = []string{"sever-before", "sever-after"}

// failures are points at which the record of an outcome fails, three times in a row: the disk is full, the
// disk breaks, or the connection to the journal breaks before or after the database has committed.
var failures = []string{"outcome-full", "outcome-error", "outcome-before", "outcome-after"}

func faultOf(part float64, name string) rowFault {
	f := rowFault{part: part}
	f.fault, f.commit = strings.CutSuffix(name, "+c")
	return f
}

// mostRows is the maximum number of rows of a batch.
const mostRows = 60

// everyRow gives the same instruction for each of the rows left, from a fraction of them on. Processes that
// share a journal begin with different rows, so any of these may come first.
func everyRow(from float64, i instruction) (all []rowFault) {
	for n := range mostRows {
		if part := float64(n) / mostRows; part >= from {
			all = append(all, rowFault{part, i})
		}
	}
	return all
}

func drawBatchStep(rng *rand.Rand) batchStep {
	what := pick(rng, []string{doApply, doApply, doApply, doApply, doApply, doApply, doApply, doApply, doTwo, doTwo,
		doBeside, doInterrupt, doReconcile, doReconcile, doResolve, doResolve, doResolve, doRelease})
	s := batchStep{what: what, tidy: rng.IntN(100) < 50}
	for range 3 {
		s.shots = append(s.shots, drawApply(rng))
	}
	switch {
	case what == doReconcile || what == doResolve:
		s.shots[0].random = drawDecision(rng)
	case what == doTwo && rng.IntN(100) < 40:
		return together(rng)
	}
	return s
}

func drawApply(rng *rand.Rand) (s applyShot) {
	chance := func(percent int) bool { return rng.IntN(100) < percent }
	s.concurrency = pick(rng, []int{1, 16})
	s.keepGoing, s.retryRejected, s.duplicates, s.noLookup = chance(50), chance(40), chance(20), chance(40)
	if chance(15) {
		s.rate = pick(rng, []string{"200/s", "1000/s"})
	}
	s.part = rng.Float64() * rng.Float64() * rng.Float64() // early, so that much is left for the next
	random := max(rng.Float64(), 0.01)
	several := func(n int) {
		for range n {
			s.faults = append(s.faults, faultOf(rng.Float64(), pick(rng, faults)))
		}
	}
	switch fate := rng.IntN(100); {
	case fate < 50:
		s.point = pick(rng, batchPoints)
		several(rng.IntN(2))
	case fate < 54:
		s.point = pick(rng, slices.Concat(severances, failures))
		s.times = 1 + rng.IntN(3)
	case fate < 70:
		f := rowFault{s.part, instruction{fault: "ok", commit: true, phase: pick(rng, []string{"read", "commit", "answer"})}}
		if chance(30) {
			f.instruction = instruction{fault: pick(rng, []string{"500e", "422e", "html"}), phase: f.phase}
		}
		s.faults = append(s.faults, f)
	case fate < 80:
		s.random = random
		several(rng.IntN(2))
	case fate < 84:
		s.random, s.interrupts = random, 1+rng.IntN(2)
	case fate < 86:
		s.refuse = true
	case fate < 96:
		several(1 + rng.IntN(3))
	default:
		several(5 + rng.IntN(10))
	}
	return s
}
