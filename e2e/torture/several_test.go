//go:build unix

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"github.com/jackc/pgx/v5"
)

// disasters happen to a run that three processes apply.
var disasters = []string{"one is killed", "sessions end", "fast restart", "one is interrupted", "immediate restart",
	"all sessions end", "two are killed", "immediate restart"}

// A disaster comes when untilIt more rows are paid. At most untilOver are paid until it is over. So there are
// rows left for all disasters, even if the tests notice everything late.
const untilIt, untilOver = 25, 45

// TestSeveralMachines has three processes apply one plan, like three machines that share a journal in
// PostgreSQL. Meanwhile some of them die, their sessions end, and the database restarts. Another apply then
// finishes the run.
func TestSeveralMachines(t *testing.T) {
	r := newRun(t, *seed, 1<<30)
	r.journal = ""
	r.clean, r.patched = built.get(t)
	server, err := pgtest.Start() // its own, because it restarts
	if err != nil {
		pgtest.Shared(t) // skips the test if there is none
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	r.start()
	rng := rand.New(rand.NewPCG(*seed, 1<<42))
	p := batchPlan{retry: true}
	for i := range 600 {
		p.file = append(p.file, batchRow{orderID: fmt.Sprint(9_000_000_000 + int64(i)),
			content: drawContent(rng, 9_000_000+i)})
	}
	b := r.batch(900, p, server)
	b.plan()
	b.steady(true) // its list is long
	began := time.Now()
	for _, what := range disasters {
		b.disaster(what, rng)
		if b.failed() {
			break
		}
	}
	if !b.failed() {
		b.settle()
	}
	if !b.failed() {
		b.finish()
	}
	for _, v := range r.violations {
		t.Error(v)
	}
	t.Logf("seed %d: %d rows, %d kills, %d runs, %d payments in %s", r.seed, len(b.file), r.kills, r.runs, r.payments,
		time.Since(began).Round(time.Second/10))
	t.Logf("exit codes of applies (-1: killed): %s", counts(r.exits))
}

func (b *batch) disaster(what string, rng *rand.Rand) {
	var attempts []*attempt
	before := len(b.paid())
	b.pauseAt(before + untilOver)
	for range 3 {
		s := applyShot{several: true, concurrency: 4, rate: "10/s"}
		s.noLookup = rng.IntN(2) == 0
		attempts = append(attempts, b.apply(s))
	}
	ended := make(chan struct{})
	go func() {
		b.endAll(attempts)
		close(ended)
	}()
	for len(b.paid()) < before+untilIt {
		select {
		case <-ended:
			b.applied(attempts...)
			b.wrong("they have ended before %q", what)
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
	switch what {
	case "one is killed":
		attempts[0].kill()
	case "two are killed":
		attempts[0].kill()
		attempts[2].kill()
	case "one is interrupted":
		attempts[1].interrupt()
	case "sessions end":
		b.endSessions("LIMIT 3")
	case "all sessions end":
		b.endSessions("")
	case "fast restart":
		b.server.Restart(b.t, "fast")
	case "immediate restart":
		b.server.Restart(b.t, "immediate")
	}
	b.story = append(b.story, what)
	// They continue, or stop because of the disaster.
	for at := len(b.paid()) + rng.IntN(20); len(b.paid()) < min(at, before+untilOver); {
		select {
		case <-ended:
			at = 0
		case <-time.After(2 * time.Millisecond):
		}
	}
	for _, a := range attempts {
		a.interrupt()
	}
	for _, a := range attempts {
		a.heardOf()
	}
	b.pauseAt(0)
	<-ended
	b.applied(attempts...)
	b.doReconcile(applyShot{})
	b.doResolve(applyShot{})
}

// pauseAt has the ledger delay all payments of the merchant beyond a number; 0 ends the delay.
func (b *batch) pauseAt(payments int) { b.ask("/pause-at", nil, "payments", fmt.Sprint(payments)) }

func (b *batch) endSessions(limit string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.journal+"&application_name=torture")
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx,
		"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "+
			"pid <> pg_backend_pid() ORDER BY random() "+limit+") AS chosen"); err != nil {
		panic(err)
	}
}
