package sandbox_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

const (
	twoSteps = "New>Processing=30s,Processing>Completed=2m"
	refunds  = "New>Processing=30s,Processing>Failed=2m"
)

// statuses returns the history of a withdrawal, such as "New 10:00:00, Processing 10:00:30".
func (b box) statuses(id string) string {
	b.t.Helper()
	var all []string
	for _, s := range at(b.t, b.get(getPath+id), "statuses").([]any) {
		when := at(b.t, s, "at").(string)
		all = append(all, at(b.t, s, "status").(string)+" "+strings.TrimPrefix(when, start.Format("2006-01-02T")))
	}
	return strings.Join(all, ", ")
}

// TestPace checks that a withdrawal moves when it is due, and has that time, however late a request looks.
func TestPace(t *testing.T) {
	b := newBox(t, set("withdrawal_pace", twoSteps))
	id := b.create(createPath, btcBody)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{29 * time.Second, "New 10:00:00"}, {time.Second, "New 10:00:00, Processing 10:00:30"},
		{119 * time.Second, "New 10:00:00, Processing 10:00:30"},
		{10 * time.Second, "New 10:00:00, Processing 10:00:30, Completed 10:02:30"},
		{99 * 365 * 24 * time.Hour, "New 10:00:00, Processing 10:00:30, Completed 10:02:30"},
	} {
		*b.now = b.now.Add(step.after)
		equal(t, b.statuses(id), step.want, "at %v", *b.now)
	}
}

// TestPaceAndControlsShareAHistory checks that controls and the clock share one history: the next step counts
// from the last, and the clock does not take a step that a control has ruled out.
func TestPaceAndControlsShareAHistory(t *testing.T) {
	b := newBox(t, set("withdrawal_pace", refunds))
	quick, cancelled, late := b.create(createPath, btcBody), b.create(createPath, btcBody),
		b.create(createPath, btcBody)
	before := b.Balance("Btc")
	*b.now = b.now.Add(10 * time.Second)
	b.post("/sandbox/advance", `{"withdrawal":"`+quick+`","status":"Processing"}`)
	b.post("/sandbox/advance", `{"withdrawal":"`+cancelled+`","status":"Cancelled"}`)
	*b.now = b.now.Add(50 * time.Second)
	b.refused(b.send("POST", "/sandbox/advance", `{"withdrawal":"`+late+`","status":"Cancelled"}`), 422,
		"wrong_status", "Processing")
	b.post("/sandbox/clock", `{"advance_seconds":3600}`)
	for id, want := range map[string]string{
		quick:     "New 10:00:00, Processing 10:00:10, Failed 10:02:10",
		cancelled: "New 10:00:00, Cancelled 10:00:10",
		late:      "New 10:00:00, Processing 10:00:30, Failed 10:02:30",
	} {
		equal(t, b.statuses(id), want, "the history")
	}
	equal(t, b.Balance("Btc")-before, 3*1500, "came back")
}

// TestPaceWhenTheClockGoesBack checks that a clock that is set back undoes nothing, and makes no move twice.
func TestPaceWhenTheClockGoesBack(t *testing.T) {
	b := newBox(t, set("withdrawal_pace", refunds), set("invoice_expiry", "1h"))
	id, invoice := b.create(createPath, btcBody), b.create("/api/invoice", usdInvoice)
	b.AdvanceClock(24 * time.Hour)
	balance := b.Balance("Btc")
	b.AdvanceClock(-48 * time.Hour)
	young := b.create(createPath, btcBody)
	b.AdvanceClock(48 * time.Hour)
	equal(t, b.statuses(id), "New 10:00:00, Processing 10:00:30, Failed 10:02:30", "the history")
	equal(t, b.statuses(young), "New 2026-05-02T10:00:00, Processing 2026-05-02T10:00:30, Failed 2026-05-02T10:02:30",
		"the history of the young one")
	same(t, at(t, b.get("/api/invoice?id="+invoice), "status"), `"Expired"`)
	equal(t, b.Balance("Btc"), balance, "the balance is")
}

// moments returns the times of the statuses that were reached, in the order in which they were.
func moments(b box) (all []string) {
	b.t.Helper()
	for _, d := range b.Deliveries() {
		statuses := at(b.t, decode(b.t, string(d.Body)), "statuses").([]any)
		all = append(all, at(b.t, statuses[len(statuses)-1], "at").(string))
	}
	return all
}

// TestJumpInOrderAndOnce checks that a jump makes all due moves once and in order of time, over all records
// and their chains, before anything else, whichever request looks.
func TestJumpInOrderAndOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	var moved atomic.Int64 // what is posted looks at the clock too
	clock := func() time.Time { return start.Add(time.Duration(moved.Load())) }
	opts := append(settings("withdrawal_pace="+refunds+"; invoice_expiry=100s"), sandbox.WithClock(clock))
	one, two := sharedBox(t, path, opts...), sharedBox(t, path, opts...)
	tick := func(by time.Duration) { moved.Add(int64(by)) }
	in := newReceiver(t, nil)
	const each = 20
	for i := range each {
		one.withCallback(in.URL)
		two.create("/api/invoice", usdInvoice)
		tick(time.Duration(i%3) * 7 * time.Second)
	}
	failIf(t, one.Balance("Btc") == 1_000_000_00000000, "nothing was withdrawn")
	tick(time.Hour)
	var wg sync.WaitGroup
	for _, b := range []box{one, two, one, two} {
		wg.Go(func() { b.Identity() })
	}
	wg.Wait()
	all := moments(one)
	failIf(t, len(all) != 2*each || !slices.IsSorted(all), "%d moves: %v", len(all), all)
	equal(t, two.Balance("Btc"), 1_000_000_00000000, "the balance")
	again := sharedBox(t, path, opts...)
	equal(t, again.everythingIn(), one.everythingIn(), "after a restart")
	equal(t, len(moments(again)), len(all), "moves after a restart")
}

// TestRestoredStateMovesOnTime checks that a state that begins with due moves, or begins again while moves
// are due, is correct at once and after a restart.
func TestRestoredStateMovesOnTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	old := newBox(t)
	id := old.create(createPath, btcBody)
	b := fileBox(t, path, set("withdrawal_pace", twoSteps))
	b.create(createPath, btcBody)
	*b.now = b.now.Add(time.Hour)
	must(t, b.Restore(dumped(t, old)))
	want := "New 10:00:00, Processing 10:00:30, Completed 10:02:30"
	equal(t, b.statuses(id), want, "the history")
	b.Close()
	again := fileBox(t, path)
	equal(t, again.statuses(id), want, "after a restart")
	equal(t, again.withdrawals(), "1", "withdrawals")
}

// TestPaceOfRefundThatDoesNotFit checks that a refund that does not fit into the balance waits until it does.
func TestPaceOfRefundThatDoesNotFit(t *testing.T) {
	b := newBox(t, sandbox.WithSeed("none"), set("withdrawal_pace", refunds))
	const most = 1<<63 - 1
	b.Fund("Btc", 2000)
	id := b.create(createPath, btcBody) // 1500
	other := b.create("/api/invoice", usdInvoice)
	b.Fund("Btc", most-500)
	b.AdvanceClock(time.Hour)
	equal(t, b.statuses(id), "New 10:00:00, Processing 10:00:30", "the history")
	equal(t, b.Balance("Btc"), most, "the balance")
	b.get("/api/invoice?id=" + other) // other records go on
	b.create(createPath, btcBody)
	equal(t, b.statuses(id), "New 10:00:00, Processing 10:00:30, Failed 10:02:30", "the history")
	equal(t, b.Balance("Btc"), most, "the balance")
}

// TestServeKeepsTime checks that Serve makes the moves without requests.
func TestServeKeepsTime(t *testing.T) {
	s, err := sandbox.New(settings("withdrawal_pace=New>Processing=1s,Processing>Completed=1s")...)
	must(t, err)
	b, in := box{s, t, nil}, newReceiver(t, nil)
	_, stop := b.serve()
	b.withCallback(in.URL)
	eventually(t, "it has moved twice", func() bool { return in.told(t) == "Processing Completed" })
	must(t, stop())
	must(t, s.Close())
}

// history returns every delivery of a box: its status, the times of its attempts and its state.
func history(b box) string {
	var all []string
	for _, d := range b.Deliveries() {
		line := []string{d.Status}
		for _, a := range d.Attempts {
			line = append(line, a.At.Sub(start).String())
		}
		all = append(all, strings.Join(append(line, d.State), " "))
	}
	return strings.Join(all, "; ")
}

// TestFrozenClockMovesStepByStep checks that one long move does what many short ones do: the steps, the
// callbacks and their retries each at its own time.
func TestFrozenClockMovesStepByStep(t *testing.T) {
	receiver := newReceiver(t, failing(100))
	const pace = "New>Processing=1h,Processing>Completed=1h"
	for name, c := range map[string]struct {
		backoff, do, want string
	}{
		"retries": {backoff: "30m",
			want: "Processing 1h0m0s 1h30m0s 2h30m0s failed; Completed 2h30m0s 3h0m0s pending"},
		"fractions of a second": {backoff: "1500ms",
			want: "Processing 1h0m0s 1h0m1.5s 1h0m4.5s failed; Completed 2h0m0s 2h0m1.5s 2h0m4.5s failed"},
		"delayed": {backoff: "1h", do: "delay-callback=90m",
			want: "Processing 2h30m0s pending; Completed pending"},
		"lost": {backoff: "1h", do: "lose-callback", want: "Processing lost; Completed 2h0m0s 3h0m0s pending"},
	} {
		for _, by := range []time.Duration{3 * time.Hour, time.Hour, 20 * time.Minute} {
			t.Run(name+" by "+by.String(), func(t *testing.T) {
				b := frozenBox(t, set("callback_backoff", c.backoff), set("callback_attempts", "3"),
					set("withdrawal_pace", pace))
				if c.do != "" {
					b.fault(sandbox.Fault{Do: c.do, Times: 1})
				}
				b.withCallback(receiver.URL)
				for range 3 * time.Hour / by {
					must(t, b.AdvanceClock(by))
				}
				equal(t, history(b), c.want, "the deliveries")
				equal(t, b.Now().Sub(start), 3*time.Hour, "the clock has moved by")
			})
		}
	}
}

func frozenBox(t testing.TB, opts ...sandbox.Option) box {
	t.Helper()
	s, err := sandbox.New(append([]sandbox.Option{sandbox.WithFrozenClock(start)}, opts...)...)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return box{s, t, new(time.Time)}
}

// TestFrozenClockAndResend checks that a person need not wait for the clock, and that the later retries still
// do.
func TestFrozenClockAndResend(t *testing.T) {
	receiver := newReceiver(t, failing(100))
	b := frozenBox(t, set("callback_backoff", "10s"))
	b.mustAdvance(b.withCallback(receiver.URL), "Processing")
	must(t, second(b.Resend(b.Deliveries()[0].ID)))
	equal(t, history(b), "Processing 0s 0s pending", "the deliveries")
	must(t, b.AdvanceClock(20*time.Second))
	equal(t, history(b), "Processing 0s 0s 20s pending", "the deliveries")
}

// TestSeededIDs checks that two runs get the same ids, in every format and whatever was refused before, and that no id
// of a dump comes again when the dump is the seed. The script sandbox_repeatable compares whole runs.
func TestSeededIDs(t *testing.T) {
	for _, format := range []string{"uuid", "text", "digits"} {
		dumps := map[string]bool{}
		for _, refused := range []string{`{}`, strings.Replace(btcBody, "1500", "9000000000000000000", 1)} {
			b := frozenBox(t, sandbox.WithSeededIDs(), set("id_format", format), sandbox.WithSeedJSON([]byte(
				`{"resellers":[{"label":"A"},{"label":"B"}],"invoices":[{"total":"1.00 Usd"}],`+
					`"withdrawals":[{"amount":"0.1 Btc","address":"a"}]}`)))
			failIf(t, b.send("POST", createPath, refused).Code == 200, "%s is accepted", refused)
			b.create(createPath, btcBody)
			b.reseller("Shop")
			dumps[string(dumped(t, b))] = true
		}
		equal(t, len(dumps), 1, "%s: different states of two runs", format)
	}
	b, other := frozenBox(t, sandbox.WithSeededIDs()), frozenBox(t, sandbox.WithSeededIDs())
	failIf(t, b.Identity() == other.Identity(), "two states have one identity")
	first := b.create(createPath, btcBody)
	must(t, b.Restore(dumped(t, b)))
	failIf(t, b.create(createPath, btcBody) == first, "the id %s came again", first)
	must(t, b.Reset(""))
	equal(t, b.create(createPath, btcBody), first, "after a reset the first id is")
	says(t, second(sandbox.New(sandbox.WithSeededIDs(), sandbox.WithState(t.TempDir()+"/box.db"))), "in memory")
}

// TestFrozenClockHasFourDigits checks that a clock does not begin where its times could not be written.
func TestFrozenClockHasFourDigits(t *testing.T) {
	for year, ok := range map[int]bool{999: false, 1000: true, 9000: true, 9001: false} {
		err := second(sandbox.New(sandbox.WithFrozenClock(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC))))
		failIf(t, (err == nil) != ok, "year %d: %v", year, err)
	}
}

// TestReceiverMovesFrozenClock checks that a receiver can move the clock before it answers, also while another move
// waits for it: both moves count, and none waits for that answer.
func TestReceiverMovesFrozenClock(t *testing.T) {
	var b box
	receiver := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {
		if err := b.AdvanceClock(time.Hour); err != nil {
			t.Error(err)
		}
	})
	b = frozenBox(t, set("withdrawal_pace", "Processing>Completed=1h"))
	b.mustAdvance(b.withCallback(receiver.URL), "Processing")
	eventually(t, "both have moved the clock", func() bool {
		return history(b) == "Processing 0s delivered; Completed 1h0m0s delivered"
	})
	b.withCallback(receiver.URL)
	b.set(map[string]string{"withdrawal_pace": "New>Processing=1h"})
	must(t, b.AdvanceClock(2*time.Hour))
	equal(t, b.Now().Sub(start), 5*time.Hour, "the clock has moved by")
	must(t, b.SetClock(start.Add(10*time.Minute)))
	equal(t, b.Now().Sub(start), 10*time.Minute, "set back, the clock has moved by")
}

// TestResetEndsRests checks that a callback of a new state is posted at once, although the callback of the
// former state with the same ids waits for its next attempt.
func TestResetEndsRests(t *testing.T) {
	receiver := newReceiver(t, failing(100))
	b := callbackBox(t, sandbox.WithSeededIDs(), set("callback_backoff", "1h"))
	first := b.withCallback(receiver.URL)
	b.mustAdvance(first, "Processing")
	must(t, b.Reset(""))
	second := b.withCallback(receiver.URL)
	b.mustAdvance(second, "Processing")
	equal(t, second, first, "the id")
	equal(t, history(b), "Processing 0s pending", "the deliveries")
}
