package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
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
	both := RunWait{Statuses: []string{"Done"}, FailOn: []string{"done"}}
	wantKind(t, errorOf(d.WaitRun(t.Context(), "cafe0001", both)), Invalid, "")
	for way, kind := range map[string]Kind{"unknown": Unknown, "being sent": Busy} {
		id := fmt.Sprint(len(way))
		ways[way](d, asked(id))
		d.begins("run "+id, id)
		_, err := d.WaitRun(t.Context(), "run "+id, RunWait{Statuses: both.Statuses})
		wantKind(t, err, kind, "", "1 of 1 order is "+way)
	}
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
