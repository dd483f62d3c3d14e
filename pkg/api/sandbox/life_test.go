package sandbox_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
		{29 * time.Second, "New 10:00:00"},
		{time.Second, "New 10:00:00, Processing 10:00:30"},
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

// TestInvoiceExpiry checks that a waiting invoice expires, to the second, unless it was paid before.
func TestInvoiceExpiry(t *testing.T) {
	b := newBox(t, set("invoice_expiry", "15m"))
	waits, paid := b.create("/api/invoice", usdInvoice), b.create("/api/invoice", usdInvoice)
	must(t, b.PayInvoice(paid))
	for _, c := range []struct {
		after       time.Duration
		waits, paid string
	}{{15*time.Minute - time.Second, `"Awaiting"`, `"Paid"`}, {time.Second, `"Expired"`, `"Paid"`}} {
		*b.now = b.now.Add(c.after)
		same(t, at(t, b.get("/api/invoice?id="+waits), "status"), c.waits)
		same(t, at(t, b.get("/api/invoice?id="+paid), "status"), c.paid)
	}
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
	opts := settings("withdrawal_pace=" + refunds + "; invoice_expiry=100s")
	one, two := sharedBox(t, path, opts...), sharedBox(t, path, opts...)
	tick := func(by time.Duration) { *one.now, *two.now = one.now.Add(by), two.now.Add(by) }
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
	*again.now = *one.now
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
