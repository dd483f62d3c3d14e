package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

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
