package payout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// waitsFor returns a desk with a run of three orders: 1 and 2 were accepted as w1 and w2, and 3 was rejected.
func waitsFor(t *testing.T) *desk {
	d := newDesk(t)
	d.mustSend("1")
	d.mustSend("2")
	d.bring(asked("3"), outRejected)
	d.begins("cafe0001", "1", "2", "3")
	return d
}

// TestWaitRun checks that an order that has had one of the statuses is not read any more, and that the wait
// ends when all have.
func TestWaitRun(t *testing.T) {
	d := waitsFor(t)
	var left []int
	p, err := d.WaitRun(t.Context(), "cafe0001",
		RunWait{Statuses: []string{"Done"}, FailOn: []string{"failed"}, Interval: 1, Progress: func(p RunProgress) {
			switch left = append(left, p.Left); len(left) {
			case 1:
				d.status("w1", "done")
			case 2:
				d.status("w1", "Failed")
				d.status("w2", "DONE")
			}
		}})
	if err != nil || !slices.Equal(left, []int{2, 1, 0}) {
		t.Errorf("it ended with %v after %v", err, left)
	}
	if p.Statuses["w1"] != "done" || p.Statuses["w2"] != "DONE" || len(p.Orders) != 2 ||
		p.Tally.States[StateRejected] != 1 {
		t.Errorf("got %+v", p)
	}
}

func TestWaitRunFailsOn(t *testing.T) {
	d := waitsFor(t)
	fail := func(RunProgress) { d.status("w2", "Failed") }
	p, err := d.WaitRun(t.Context(), "cafe0001",
		RunWait{Statuses: []string{"Done"}, FailOn: []string{"FAILED"}, Interval: 1, Progress: fail})
	if e := wantKind(t, err, FailedStatus, ""); !errors.Is(err, FailedStatus) || e.OrderID != "2" || e.ID != "w2" ||
		len(p.Failed) != 1 {
		t.Errorf("got %+v, %+v", e, p)
	}
}

// TestWaitRunRunsOut checks that the error counts the statuses of the orders that are left when the time
// limit passes.
func TestWaitRunRunsOut(t *testing.T) {
	d := waitsFor(t)
	d.status("w2", "Done")
	_, err := d.WaitRun(t.Context(), "cafe0001", RunWait{Statuses: []string{"Done"}, Timeout: time.Second})
	if e := wantKind(t, err, NotYet, ""); e.OrderID != "1" ||
		!strings.HasSuffix(e.Msg, "1 of 2 accepted orders did not become Done within 1s: 1 New") {
		t.Errorf("got %+v", e)
	}
}

// TestWaitRunOutlastsFailures checks that scans that fail are repeated, and reported once. If none succeeds,
// that is the error.
func TestWaitRunOutlastsFailures(t *testing.T) {
	d := waitsFor(t)
	fail := func(statuses ...int) {
		d.s.set(func() {
			d.s.listFail = func() (int, string) {
				if len(statuses) > 1 {
					defer func() { statuses = statuses[1:] }()
				}
				return statuses[0], envelope
			}
		})
	}
	told := 0
	wait := RunWait{Statuses: []string{"Done"}, Interval: 1, Timeout: time.Minute, Trouble: func(error) { told++ }}
	wait.Progress = func(RunProgress) { d.status("w1", "Done"); d.status("w2", "Done"); fail(503, 500, -1) }
	if _, err := d.WaitRun(t.Context(), "cafe0001", wait); err != nil || told != 1 {
		t.Errorf("it ended with %v, and told of %d failures", err, told)
	}
	wait.Interval, wait.Timeout = time.Hour, time.Second
	fail(503)
	wantKind(t, errorOf(d.WaitRun(t.Context(), "cafe0001", wait)), ReadFailed, "")
	fail(401)
	wantCall(t, errorOf(d.WaitRun(t.Context(), "cafe0001", wait)), api.Rejected, 401)
}

// TestWaitRunStops checks that the error of the context is returned unchanged.
func TestWaitRunStops(t *testing.T) {
	d := waitsFor(t)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := d.WaitRun(ctx, "cafe0001",
		RunWait{Statuses: []string{"Done"}, Progress: func(RunProgress) { stop() }}); !errors.Is(err, context.Canceled) ||
		errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
	limited, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := d.WaitRun(limited, "cafe0001", RunWait{Statuses: []string{"Done"}}); !errors.Is(err,
		context.DeadlineExceeded) || errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
}

func TestWaitRunIsRefused(t *testing.T) {
	done := RunWait{Statuses: []string{"Done"}}
	ends := func(out journal.Outcome) func(*desk) { return func(d *desk) { d.bring(asked("4"), out) } }
	for name, test := range map[string]struct {
		run   string
		wait  RunWait
		kind  Kind
		rule  string
		bring func(*desk) // order 4
	}{
		"no status": {run: "cafe0001", kind: Invalid},
		"both": {run: "cafe0001", kind: Invalid,
			wait: RunWait{Statuses: []string{"Done"}, FailOn: []string{"DONE"}}},
		"a negative interval": {run: "cafe0001", kind: Invalid, wait: RunWait{Statuses: []string{"Done"}, Interval: -1}},
		"no such run":         {run: "cafe0009", kind: NotFound, wait: done},
		"none accepted":       {run: "cafe0002", kind: Invalid, wait: done, bring: ends(outRejected)},
		"one unknown":         {run: "cafe0002", kind: Unknown, wait: done, bring: ends(outUnknown)},
		"one in conflict": {run: "cafe0002", kind: Conflict, wait: done, bring: func(d *desk) {
			evidence := journal.Evidence{OrderID: "4", Withdrawal: "w9", Differs: "x", Content: contentOf(asked("4").request)}
			ok(t, errorOf(d.ledger.Settle(t.Context(), evidence)))
		}},
		"one being sent": {run: "cafe0002", kind: Busy, wait: done, bring: func(d *desk) { d.sends(asked("4")) }},
		"another merchant's key": {run: "cafe0001", kind: Refused, rule: RuleKey, wait: done, bring: func(d *desk) {
			d.key = "key2"
			d.s.set(func() {
				for _, r := range d.s.rows {
					r["merchant_id"] = "m2"
				}
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := waitsFor(t)
			if test.bring != nil {
				test.bring(d)
			}
			d.begins("cafe0002", "4")
			test.wait.Timeout = time.Minute // otherwise it would wait forever
			_, _, before := d.s.counts()
			wantKind(t, errorOf(d.WaitRun(t.Context(), test.run, test.wait)), test.kind, test.rule)
			if _, _, lists := d.s.counts(); lists != before {
				t.Error("the list was read")
			}
		})
	}
}
