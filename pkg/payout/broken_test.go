package payout

import (
	"errors"
	"testing"

	"example.com/till/internal/journal"
)

// TestFailedLookUpForgetsNothing checks that what Preview found still counts if LookUp fails while it
// records, and is called again.
func TestFailedLookUpForgetsNothing(t *testing.T) {
	d := usedDesk(t)
	d.takes("101")
	x := d.applier(d.plan(nil, dueTo(2)...), ApplyOptions{})
	wantKind(t, x.Send(t.Context(), t.Context(), Tally{}), Invalid, "") // it has not begun
	ok(t, errorOf(x.Preview(t.Context())))
	ok(t, x.Begin(t.Context(), 1))
	d.hide("101")
	mends := d.closeOrders()
	if _, err := x.LookUp(t.Context()); !errors.Is(err, journal.Broken) {
		t.Fatal(err)
	}
	mends()
	if tally, err := x.LookUp(t.Context()); err != nil || tally.Before != 1 {
		t.Errorf("%+v, %v", tally.States, err)
	}
}

// TestRowsThatCannotBeRead checks that nothing is sent if the rows of a run cannot be read.
func TestRowsThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, due("101"))
	d.begun(p, ApplyOptions{})
	d.sql(`ALTER TABLE run_rows RENAME TO lost`)
	if _, err := d.apply(p, ApplyOptions{}); !errors.Is(err, journal.Broken) {
		t.Error(err)
	}
	d.wantArrived()
}

// TestPreviewOfADifference checks that Preview counts an order that the list shows with other content as a
// conflict.
func TestPreviewOfADifference(t *testing.T) {
	d := usedDesk(t)
	d.s.set(func() {
		other := body("101")
		other["address"] = "bc1qelsewhere"
		d.s.take(other)
	})
	x := d.applier(d.plan(nil, dueTo(2)...), ApplyOptions{})
	if tally, err := x.Preview(t.Context()); err != nil || tally.Conflict != "101" || tally.Before != 0 {
		t.Errorf("%+v, %v", tally, err)
	}
}

// TestPhantomThatCannotBeRecorded checks that a withdrawal which the service denies is reported as unknown,
// also if the journal cannot be written.
func TestPhantomThatCannotBeRecorded(t *testing.T) {
	d := newDesk(t)
	d.s.onCreate = func(map[string]any) (int, string, bool) { return 200, `"w1"`, false }
	w := asked("4711")
	w.accepted = func(Order) { d.closeOrders() }
	wantKind(t, errorOf(d.send(w)), Unknown, "")
}
