//go:build unix

package torture

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/till/e2e/pgtest"
	"github.com/jackc/pgx/v5"
)

// batch is a plan and the state of everything that is done to it.
type batch struct {
	*world
	batchPlan
	number  int
	server  *pgtest.Server // nil if the journal is a file
	runName string         // in the journal
	beside  map[string]bool
	earlier map[string]bool // rows that were paid before
	tried   map[int]*attempt
	told    map[int]map[string]instruction
	story   []string
	killed  int
	settled bool // nothing is left to do

	alreadyPaid int // the value of --already-paid

	// stood has the rows of the journal when it was last read; doubt has the orders that were ever unknown.
	stood    map[string]row
	doubt    map[string]bool
	resolved map[string]bool // by a person, since then
}

// batch creates a merchant for a plan. The journal is in a database of the server or, if server is nil, in a
// file.
func (r *run) batch(n int, p batchPlan, server *pgtest.Server) *batch {
	b := &batch{
		world: r.world(1_000_000 + n), batchPlan: p, number: n, server: server,
		beside: map[string]bool{}, earlier: map[string]bool{}, tried: map[int]*attempt{},
		told: map[int]map[string]instruction{}, stood: map[string]row{}, doubt: map[string]bool{},
		resolved: map[string]bool{},
	}
	if server != nil {
		b.journal = server.Database(r.t)
	}
	return b
}

// drop removes the journal's database, because thousands of databases would fill a disk.
func (b *batch) drop() {
	if b.server == nil {
		return
	}
	u, err := url.Parse(b.journal)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.server.Address("till", "", "postgres"))
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)"); err != nil {
		panic(err)
	}
}

// torture does all steps of a batch and then settles it.
func (b *batch) torture() {
	b.steady(true)
	b.plan()
	b.payBefore()
	for i, s := range b.steps {
		if i == b.sure {
			b.steady(false)
		}
		if b.failed() || b.settled || i >= b.sure && (b.killed >= b.kills || b.stopped()) {
			break
		}
		b.do(s)
		if s.tidy && slices.ContainsFunc(slices.Collect(maps.Values(b.stood)),
			func(o row) bool { return o.State == "unknown" || o.State == "sending" }) && !b.failed() {
			b.doReconcile(applyShot{keepGoing: b.number%3 == 0})
			b.doResolve(applyShot{})
		}
	}
	if b.failed() {
		return
	}
	b.steady(false)
	b.settle()
	if b.failed() {
		return
	}
	b.finish()
	b.ask("/forget", nil)
}

func (b *batch) wrong(format string, args ...any) {
	where := "a file"
	if b.server != nil {
		where = "PostgreSQL"
	}
	b.violate("batch %d (%d rows, journal in %s): %s\n  %s", b.number, len(b.file), where, fmt.Sprintf(format, args...),
		strings.Join(b.story, "\n  "))
}

// steady sets whether the list can always be read. Then no step misses its point because a page fails.
func (b *batch) steady(yes bool) { b.ask("/steady", nil, "steady", fmt.Sprint(yes)) }

// plan writes the file and makes a plan of it.
func (b *batch) plan() {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write([]string{"order_id", "currency", "amount", "address", "memo", "callback", "note"})
	for _, r := range b.file {
		w.Write([]string{r.orderID, r.code, r.amount, r.address, r.memo, r.callback, r.note})
	}
	w.Flush()
	if err := os.WriteFile(filepath.Join(b.dir, "staff.csv"), text.Bytes(), 0o600); err != nil {
		panic(err)
	}
	a := b.till(&attempt{}, "payout", "plan", "staff.csv", "--out", "staff.plan", "-o", "json")
	var made struct{ Run string }
	if err := json.Unmarshal(a.stdout.Bytes(), &made); a.exit != 0 || err != nil {
		b.wrong("till %s: exit %d, %v: %s", a.what, a.exit, err, a.stderr.String())
	}
	b.runName = made.Run
}

func (b *batch) do(s batchStep) {
	switch s.what {
	case doApply:
		b.applied(b.end(b.apply(s.shots[0])))
	case doTwo:
		b.several(s.shots)
	case doBeside:
		b.doBeside(s.shots[0])
	case doInterrupt:
		b.doInterrupt(s.shots[0])
	case doReconcile:
		b.doReconcile(s.shots[0])
	case doResolve:
		b.doResolve(s.shots[0])
	case doRelease:
		b.ask("/release", nil)
		b.story = append(b.story, "what was late is paid now")
	}
}

// payBefore pays the last rows of the file before the plan is applied. Without --already-paid, apply then
// pays nothing.
func (b *batch) payBefore() {
	if b.before == 0 {
		return
	}
	for _, r := range b.file[len(b.file)-b.before:] {
		b.payAlone(r)
	}
	a := b.till(&attempt{}, "payout", "apply", "staff.plan", "--yes")
	b.noted(a)
	if a.exit != 12 {
		b.wrong("%d of its orders were paid before, and apply ended with %d", b.before, a.exit)
	}
}

func (b *batch) payAlone(r batchRow) {
	b.script(0, nil)
	args := []string{"withdraw", "create", "--currency", r.code, "--amount", r.amount, "--address", r.address, "--yes",
		"--order-id", r.orderID, "--lookup", "never"}
	if r.memo != "" {
		args = append(args, "--memo", r.memo)
	}
	if r.callback != "" {
		args = append(args, "--callback", r.callback)
	}
	a := b.till(&attempt{}, args...)
	b.noted(a)
	if a.exit != 0 {
		b.wrong("a create before it ended with %d", a.exit)
	}
	b.earlier[r.orderID] = true
	b.alreadyPaid = len(b.earlier)
}

// left returns the orders that have yet to be sent.
func (b *batch) left() (ids []string) {
	for _, r := range b.file {
		if o, found := b.stood[r.orderID]; (!found || o.State == "planned") && !b.earlier[r.orderID] {
			ids = append(ids, r.orderID)
		}
	}
	return ids
}

// script gives the ledger the instructions for the rows of an attempt.
func (b *batch) script(attempt int, rows map[string]instruction) {
	text, err := json.Marshal(script{attempt, rows})
	if err != nil {
		panic(err)
	}
	b.ask("/script", nil, "script", string(text))
}

// apply begins to apply the plan; end waits for it.
func (b *batch) apply(s applyShot) *attempt {
	b.mu.Lock()
	b.numbered++
	a := &attempt{n: b.numbered, shot: s.shot, apply: &s, meet: s.meet}
	b.mu.Unlock()
	left := b.left()
	times := len(left)
	switch s.point {
	case "in-run":
		times = (len(b.file) + 6) / 7
	case "after-run", "in-results", "before-rename", "after-rename":
		times = 1
	}
	s.nth = 1 + int(s.part*float64(times))
	told, timeout := map[string]instruction{}, "60s"
	for _, f := range s.faults {
		if len(left) == 0 {
			break
		}
		told[left[int(f.part*float64(len(left)))]] = f.instruction
	}
	if missing := b.missing(); missing != "" && len(left) > 0 {
		told[left[0]] = faultOf(0, missing).instruction
	}
	for _, i := range told {
		if i.fault == "hang" {
			timeout = "300ms"
		}
		if i.phase != "" {
			a.shot.fault.phase = i.phase // for the count of kills
		}
	}
	b.tried[a.n], b.told[a.n] = a, told
	b.script(a.n, told)
	args := []string{"payout", "apply", "staff.plan", "--yes", "--concurrency", fmt.Sprint(s.concurrency),
		"--timeout", timeout}
	flag := func(yes bool, name ...string) {
		if yes {
			args = append(args, name...)
		}
	}
	flag(s.keepGoing, "--keep-going")
	flag(s.retryRejected, "--retry-rejected")
	flag(s.duplicates, "--allow-duplicate")
	flag(s.noLookup, "--lookup", "never")
	flag(s.rate != "", "--rate", s.rate)
	flag(b.alreadyPaid > 0, "--already-paid", fmt.Sprint(b.alreadyPaid))
	b.begin(a, args...)
	return a
}

// applied checks how attempts that ran at the same moment ended, and all their effects.
func (b *batch) applied(attempts ...*attempt) {
	for _, a := range attempts {
		told := ""
		for _, id := range slices.Sorted(maps.Keys(b.told[a.n])) {
			i := b.told[a.n][id]
			told += fmt.Sprintf(" %s:%s", id, i.name())
			if i.phase != "" {
				told += " killed at " + i.phase
			}
		}
		b.story = append(b.story, fmt.Sprintf("%d: %s [%s%s ] exit %d, err %q", a.n, a.what, a.apply, told, a.exit,
			strings.TrimSpace(a.stderr.String())))
		if a.exit == -1 {
			b.killed++
		}
		b.ask("/over", nil, "n", fmt.Sprint(a.n))
	}
	before := b.stood
	b.look()
	b.settled = len(b.stood) > 0
	for _, o := range b.stood {
		b.settled = b.settled && o.State == "accepted"
	}
	// If one attempt retries a rejected row and its call never leaves, the row is planned for all attempts.
	retried := slices.ContainsFunc(attempts, func(a *attempt) bool { return a.apply.retryRejected })
	for _, a := range attempts {
		b.judge(a, before, len(attempts) > 1, retried)
	}
	b.results(attempts)
}

// rowsOfRun returns the run's rows in the journal: all of them or none.
func (b *batch) rowsOfRun() (list []row, ok bool) {
	list = b.rowsNow()
	if len(list) != 0 && len(list) != len(b.file) {
		b.wrong("the run has %d rows in the journal, and the plan %d", len(list), len(b.file))
		return nil, false
	}
	return list, !b.failed()
}

func (b *batch) rowsNow() []row {
	a := b.till(&attempt{}, "journal", "list", "--run", b.runName, "-o", "jsonl")
	list, err := decodeRows(&a.stdout)
	if a.exit != 0 || err != nil {
		b.wrong("till %s: exit %d, %v: %s", a.what, a.exit, err, a.stderr.String())
		return nil
	}
	return list
}

// look compares the journal with the ledger while no call is in flight.
func (b *batch) look() {
	b.alone()
	b.ask("/quiet", nil)
	list, ok := b.rowsOfRun()
	if !ok {
		return
	}
	now := map[string]row{}
	for n, o := range list {
		r := b.file[n]
		now[o.OrderID] = o
		if o.OrderID != r.orderID || o.pays() != r.pays() {
			b.wrong("row %d of the plan is order %s of %+v, and of the run in the journal %+v", n, r.orderID, r.content, o)
		}
	}
	if len(list) == 0 && len(b.stood) > 0 {
		b.wrong("the run was in the journal, and is gone")
	}
	paid := map[string]payment{}
	for _, p := range b.paid() {
		if q, twice := paid[p.OrderID]; twice {
			b.wrong("order %s was paid twice: %s and %s", p.OrderID, q.ID, p.ID)
		}
		paid[p.OrderID] = p
		if b.beside[p.OrderID] {
			continue
		}
		o, found := now[p.OrderID]
		switch {
		case !found && b.earlier[p.OrderID]: // the run has not begun
		case !found:
			b.wrong("order %s was paid as %s, and the run has no such order", p.OrderID, p.ID)
			continue
		case o.State == "accepted":
			if why := differ(o, p); why != "" {
				b.wrong("order %s: %s", p.OrderID, why)
			}
		case o.State != "unknown" && o.State != "sending":
			b.wrong("order %s was paid as %s, and the journal says that it is %s", p.OrderID, p.ID, o.State)
		}
		r := b.file[slices.IndexFunc(b.file, func(r batchRow) bool { return r.orderID == p.OrderID })]
		if p.pays() != r.pays() || p.Callback != r.callback {
			b.wrong("order %s was paid as %q, callback %q, where the plan says %+v", p.OrderID, p.pays(), p.Callback, r)
		}
	}
	var accepted []string
	for id, o := range now {
		was := b.stood[id]
		if o.State == "accepted" {
			if p, found := paid[id]; !found || p.ID != o.ID {
				b.wrong("order %s is accepted as %s in the journal, and the ledger does not have it", id, o.ID)
			}
			accepted = append(accepted, id)
		}
		if was.State == "accepted" && o.State != "accepted" {
			b.wrong("order %s was accepted, and is %s", id, o.State)
		}
		if (was.State == "unknown" || was.State == "sending") &&
			(o.State == "planned" || o.State == "rejected") && !b.resolved[id] {
			b.wrong("order %s was %s, and is %s without anybody's decision", id, was.State, o.State)
		}
		if o.State == "conflict" {
			b.wrong("order %s is in conflict: %s", id, o.Reason)
		}
		if o.State == "unknown" || o.State == "sending" {
			b.doubt[id] = true
		}
	}
	if len(accepted) > 0 {
		b.ask("/settle", nil, "orders", strings.Join(accepted, ","))
	}
	b.stood, b.resolved = now, map[string]bool{}
}

// alone waits until the database has noticed that the processes which used it have ended.
func (b *batch) alone() {
	if b.server == nil {
		return
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.journal+"&application_name=torture")
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	for began := time.Now(); time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		others := 0
		if err := conn.QueryRow(ctx,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "+
				"pg_backend_pid()").Scan(&others); err != nil {
			panic(err)
		}
		if others == 0 {
			return
		}
	}
	b.wrong("sessions of dead processes stay in the database")
}

var anID = regexp.MustCompile(`[0-9a-f]{8}-0000-4000-8000-[0-9a-f]{12}`)

// nothingSent are the exit codes that say that nothing was sent.
var nothingSent = []int{1, 10, 11, 12, 13, 14, 30, 40, 41}

// judge compares the exit code of an attempt and the state of each of its rows with the attempt's
// instructions and effects. retried says that it, or one of several at the same moment, may send rejected
// rows.
func (b *batch) judge(a *attempt, before map[string]row, several, retried bool) {
	if b.failed() { // its rows were not read
		return
	}
	for _, id := range anID.FindAllString(a.stdout.String(), -1) {
		found := false
		for _, o := range b.stood {
			found = found || o.State == "accepted" && o.ID == id
		}
		if !found {
			b.wrong("attempt %d printed %s, and the journal does not have it as accepted", a.n, id)
		}
	}
	var all []created
	b.ask("/creates", &all)
	asked := map[string]string{} // the fault of each order that it sent
	for _, c := range all {
		if c.Attempt != a.n {
			continue
		}
		if _, twice := asked[c.OrderID]; twice {
			b.wrong("attempt %d sent order %s twice", a.n, c.OrderID)
		}
		asked[c.OrderID] = c.Fault
		if was := before[c.OrderID].State; was != "" && was != "planned" && (was != "rejected" || !retried) {
			b.wrong("attempt %d sent order %s, which was %s", a.n, c.OrderID, was)
		}
	}
	paid := 0
	for _, p := range b.paid() {
		if p.Attempt != a.n || b.beside[p.OrderID] {
			continue
		}
		paid++
		for id, o := range before {
			if was := before[p.OrderID]; o.State == "unknown" && was.State != "unknown" && id != p.OrderID &&
				o.pays() == b.stood[p.OrderID].pays() && b.stood[id].State == "unknown" && !a.apply.duplicates {
				b.wrong("attempt %d paid order %s, which is the same as order %s, which was unknown", a.n, p.OrderID, id)
			}
		}
	}
	if !slices.Contains([]int{-1, 0, 13, 14, 20, 30, 31, 32, 40, 41, 50, 60}, a.exit) ||
		a.exit == 14 && !several && !slices.Contains(severances, a.shot.point) {
		b.wrong("attempt %d ended with %d", a.n, a.exit)
	}
	if slices.Contains(nothingSent, a.exit) && paid > 0 {
		b.wrong("attempt %d ended with %d, and %d of its rows were paid", a.n, a.exit, paid)
	}
	if a.exit == -1 {
		return
	}
	states := map[string]int{}
	for _, o := range b.stood {
		states[o.State]++
	}
	if several {
		if a.exit == 0 && states["accepted"] != len(b.file) {
			b.wrong("attempt %d ended well, and the journal has %s", a.n, counts(states))
		}
		return
	}
	b.judgeRows(a, before, asked)
	b.judgeExit(a, states, asked)
}

// lost reports whether an attempt may not have heard or recorded the outcomes of its calls.
func (a *attempt) lost() bool {
	return a.apply.interrupts > 1 || slices.Contains(severances, a.shot.point) ||
		strings.Contains(a.what, "--timeout 300ms")
}

// claimsUnheard reports whether an attempt may have claimed a row without learning it. An outcome and the
// next claim are one commit.
func (a *attempt) claimsUnheard() bool {
	return slices.Contains(severances, a.shot.point) || a.shot.point == "outcome-error" || a.shot.point == "outcome-after"
}

// judgeRows judges the rows of an attempt that ended by itself and ran alone.
func (b *batch) judgeRows(a *attempt, before map[string]row, asked map[string]string) {
	for id, o := range b.stood {
		was := before[id].State
		fault, sent := asked[id]
		want := []string{"unknown"}
		switch fault {
		case "":
			want = []string{was, "accepted"} // found on the list
			if was == "" {
				want[0] = "planned"
			}
			if was == "sending" || a.claimsUnheard() && (was == "" || was == "planned" || was == "rejected") {
				want = append(want, "unknown", "sending")
			}
		case "ok+c", "slow+c", "wait+c":
			want[0] = "accepted"
		case "400e", "422e":
			want[0] = "rejected"
			if b.doubt[id] {
				want[0] = "unknown"
			}
		case "401e", "403e", "429e":
			want[0] = "planned"
		}
		if sent && a.lost() {
			want = append(want, "unknown", "sending")
		}
		// Its call never left.
		if a.shot.refuse && was == "planned" || (a.shot.refuse || fault == "") && was == "rejected" && a.apply.retryRejected {
			want = append(want, "planned")
		}
		if !slices.Contains(want, o.State) {
			b.wrong("attempt %d: order %s was %q, the ledger did %q with it, and it is %s (%s), not %s", a.n, id, was, fault,
				o.State, o.Reason, strings.Join(want, " or "))
		}
	}
}

func (b *batch) judgeExit(a *attempt, states map[string]int, asked map[string]string) {
	accepted, unknown := states["accepted"], states["unknown"]+states["sending"]
	did := func(faults ...string) bool {
		for _, f := range asked {
			if slices.Contains(faults, f) {
				return true
			}
		}
		return false
	}
	severed := slices.Contains(severances, a.shot.point)
	good := false
	switch a.exit {
	case 0:
		good = accepted == len(b.file)
	case 13:
		good = b.server != nil && unknown > 0
	case 14:
		good = severed
	case 20:
		good = unknown > 0
	case 30:
		good = states["rejected"] == len(b.file)
	case 31:
		good = did("401e", "403e")
	case 32:
		good = did("429e")
	case 40:
		good = a.shot.refuse && accepted+states["rejected"] < len(b.file)
	case 41:
		good = true // any read may fail
	case 50:
		good = (accepted > 0 || states["rejected"] > 0) && accepted < len(b.file)
	case 60:
		good = a.apply.interrupts > 0
	}
	if unknown > 0 && a.exit != 20 && !(a.exit == 60 && len(asked) == 0) {
		good = false
	}
	if !good {
		b.wrong("attempt %d ended with %d, and the journal has %s", a.n, a.exit, counts(states))
	}
}

// results checks the results file, which is complete or missing.
func (b *batch) results(attempts []*attempt) {
	text, err := os.ReadFile(filepath.Join(b.dir, "staff.plan.results.csv"))
	said := len(attempts) == 1 && attempts[0].exit != -1 && strings.Contains(attempts[0].stderr.String(), "results in ")
	if os.IsNotExist(err) && !said {
		return
	}
	if err != nil {
		b.wrong("the results file: %v", err)
		return
	}
	if b.failed() { // its rows were not read
		return
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) != len(b.file)+1 || strings.Join(lines[0], ",") != "order_id,reference,note,state,id,currency,amount,address,reason" ||
		text[len(text)-1] != '\n' {
		b.wrong("the results file is not whole: %v\n%s", err, text)
		return
	}
	for n, line := range lines[1:] {
		o := b.stood[b.file[n].orderID]
		if line[0] != b.file[n].orderID || line[3] == "accepted" && line[4] != o.ID ||
			said && (strings.Replace(line[3], "sending", "unknown", 1) != o.State || line[4] != o.ID) {
			b.wrong("line %d of the results file is %q, and the journal has %+v", n+2, line, o)
		}
	}
}

// several applies the plan several times at the same moment. With a journal in a file, all but one are
// refused.
func (b *batch) several(shots []applyShot) {
	if b.server == nil {
		shots = shots[:2]
	}
	var attempts []*attempt
	together := b.meeting(len(shots))
	for _, s := range shots {
		s.several, s.interrupts, s.refuse = true, 0, false
		if s.pause {
			s.meet = together
		}
		attempts = append(attempts, b.apply(s))
	}
	b.endAll(attempts)
	b.applied(attempts...)
}

func (b *batch) endAll(attempts []*attempt) {
	ended := make(chan bool)
	for _, a := range attempts {
		go func() {
			b.end(a)
			ended <- true
		}()
	}
	for range attempts {
		<-ended
	}
}

// waiting applies the plan with a row that waits for its answer. When the row waits, it returns the attempt
// and a function that ends it. It returns nil if no row is left or if the attempt ends before.
func (b *batch) waiting(s applyShot) (a *attempt, end func()) {
	left := b.left()
	if len(left) == 0 {
		return nil, nil
	}
	s.shot, s.rate, s.interrupts, s.several, s.faults = shot{noLookup: s.noLookup}, "", 0, false,
		[]rowFault{faultOf(0, "wait+c")}
	if s.concurrency == 1 { // any row may come first
		s.faults = everyRow(0, s.faults[0].instruction)
	}
	a = b.apply(s)
	ended := make(chan struct{})
	go func() {
		b.end(a)
		close(ended)
	}()
	end = func() {
		b.ask("/over", nil, "n", fmt.Sprint(a.n))
		<-ended
		b.applied(a)
	}
	for {
		select {
		case <-ended: // an unknown order stopped it
			end()
			return nil, nil
		case <-time.After(2 * time.Millisecond):
		}
		var all []created
		b.ask("/creates", &all)
		for _, c := range all {
			if c.Attempt == a.n && c.Fault == "wait+c" {
				return a, end
			}
		}
	}
}

// doBeside runs a second apply and a separate create while the plan is applied. A journal in a file refuses
// the second apply.
func (b *batch) doBeside(s applyShot) {
	a, end := b.waiting(s)
	if a == nil {
		return
	}
	if b.server == nil {
		other := b.till(&attempt{}, "payout", "apply", "staff.plan", "--yes")
		b.noted(other)
		if other.exit != 13 {
			b.wrong("a second apply ended with %d", other.exit)
		}
	}
	id := fmt.Sprint(int64(8_000_000_000) + int64(100*b.number+len(b.beside)))
	b.beside[id] = true
	single := b.end(b.create(id, content{code: "Btc", amount: "0.1", address: addressOf(b.number)},
		shot{fault: instruction{fault: "ok", commit: true}}, nil))
	b.noted(single)
	if printed := strings.TrimSpace(single.stdout.String()); single.exit != 0 && single.exit != 41 ||
		single.exit == 0 && printed == "" {
		b.wrong("a create beside it ended with %d and printed %q", single.exit, printed)
	}
	if s.part < 0.1 {
		a.kill()
	}
	end()
}

// doInterrupt sends one or two SIGINT while a row waits for its answer.
func (b *batch) doInterrupt(s applyShot) {
	a, end := b.waiting(s)
	if a == nil {
		return
	}
	a.apply.interrupts = 1
	a.interrupt()
	if !a.heardOf() {
		b.wrong("it was interrupted while a row waited for its answer, and does not say so: %q", a.stderr.String())
	}
	if s.part < 0.1 { // it never gets the answer
		a.apply.interrupts = 2
		a.interrupt()
		<-a.done
	}
	end()
	if a.exit != 60 && a.exit != 20 && a.exit != 0 {
		b.wrong("it was interrupted, and ended with %d", a.exit)
	}
}

// heardOf waits until an attempt says that it was interrupted. It returns false if the attempt ends without
// saying so.
func (a *attempt) heardOf() bool {
	for {
		if strings.Contains(a.stderr.String(), "another signal stops the wait") {
			return true
		}
		select {
		case <-a.done:
			return strings.Contains(a.stderr.String(), "another signal stops the wait")
		case <-time.After(time.Millisecond):
		}
	}
}

func (b *batch) doReconcile(s applyShot) {
	args := []string{"withdraw", "reconcile"}
	if s.keepGoing {
		args = []string{"payout", "reconcile", b.runName}
	}
	a := b.till(&attempt{shot: shot{random: s.random}}, args...)
	b.noted(a)
	none := a.exit == 10 && s.keepGoing && len(b.stood) == 0 // there is no such run
	if a.exit != 0 && a.exit != -1 && a.exit != 20 && a.exit != 41 && !none {
		b.wrong("reconcile ended with %d", a.exit)
	}
	b.look()
}

func (b *batch) noted(a *attempt) {
	if a.exit == -1 {
		b.killed++
	}
	b.story = append(b.story, fmt.Sprintf("%s [%s ] exit %d, err %q", a.what, a.shot, a.exit,
		strings.TrimSpace(a.stderr.String())))
}

// doResolve decides as a person who has asked the provider and got a true answer.
func (b *batch) doResolve(s applyShot) {
	b.ask("/quiet", nil)
	done := map[string]bool{} // or on its way
	for _, p := range slices.Concat(b.paid(), b.held()) {
		done[p.OrderID] = true
	}
	args := []string{"withdraw", "resolve", "--not-sent", "--reason", "the provider says so", "--yes"}
	var ids []string
	for id, o := range b.stood {
		if (o.State == "unknown" || o.State == "sending") && !done[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		b.resolved[id] = true
	}
	a := b.till(&attempt{shot: shot{random: s.random}}, append(args, ids...)...)
	for tries := 0; a.exit == 41 && tries < 10; tries++ {
		a = b.till(&attempt{}, append(args, ids...)...)
	}
	b.noted(a)
	if a.exit != 0 && a.exit != -1 && a.exit != 41 {
		b.wrong("resolve ended with %d", a.exit)
	}
	b.look()
}

// settle brings the batch to its end without further faults.
func (b *batch) settle() {
	for range 30 {
		if b.failed() {
			return
		}
		b.ask("/release", nil)
		b.look()
		b.doReconcile(applyShot{shot: shot{random: b.ending.next()}})
		b.doResolve(applyShot{shot: shot{random: b.ending.next()}})
		a := b.end(b.apply(applyShot{concurrency: 16, retryRejected: b.retry}))
		b.applied(a)
		states := map[string]int{}
		for _, o := range b.stood {
			states[o.State]++
		}
		switch {
		case a.exit == 0:
			return
		case (a.exit == 30 || a.exit == 50) && !b.retry && states["accepted"]+states["rejected"] == len(b.file):
			return
		}
	}
	b.wrong("it cannot be settled")
}
