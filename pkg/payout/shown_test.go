package payout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// These tests check that nothing which a reading of the list has shown is forgotten, whatever the caller does
// next. In all of them, the list later hides what it has shown.

// rejectsAndTakes makes an order that the service has rejected, and that is on its list all the same.
func (d *desk) rejectsAndTakes(orderID string) (id string) {
	d.bring(asked(orderID), outRejected)
	return d.takes(orderID)
}

// takes puts a withdrawal on the list.
func (d *desk) takes(orderID string) (id string) {
	d.s.set(func() {
		d.s.take(body(orderID))
		id = d.s.rows[0]["id"].(string)
	})
	return id
}

func (d *desk) decides(it Decision) {
	ok(d.t, d.Check(d.t.Context(), it))
	d.mustResolve(it)
}

// onPage calls do when the n-th page of the list is asked for.
func (d *desk) onPage(n int, do func()) {
	pages := 0
	d.s.set(func() {
		d.s.onPage = func() {
			if pages++; pages == n {
				do()
			}
		}
	})
}

// TestListConfirmsAPerson checks that the service has said it, once the list shows what a person has decided.
func TestListConfirmsAPerson(t *testing.T) {
	for name, read := range map[string]func(*desk) error{
		"the order":   func(d *desk) error { return errorOf(d.Reconcile(context.Background(), "10")) },
		"its run":     func(d *desk) error { return errorOf(d.ReconcileRun(context.Background(), "cafe0001")) },
		"another one": func(d *desk) error { return errorOf(d.Reconcile(context.Background(), "11")) },
		"all unknown": func(d *desk) error { return errorOf(d.Reconcile(context.Background())) },
	} {
		about := name == "the order" || name == "its run"
		t.Run(name, func(t *testing.T) {
			d := deskInDoubt(t, "10")
			d.bring(asked("11"), outUnknown)
			d.begins("cafe0001", "10")
			id := d.takes("10")
			d.decides(paidAs("10", id))
			ok(t, read(d))
			if o := d.wantState("10", StateAccepted); o.Shown != id || about && o.Resolved != nil {
				t.Errorf("it was shown as %q, and decided: %v", o.Shown, o.Resolved)
			}
			d.hide(id)
			d.clock.move(time.Hour)
			wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleDecision)
		})
	}
}

func TestDecidedDuringTheScan(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.begins("cafe0001", "10")
	id := d.takes("10")
	d.decides(paidAs("10", id))
	other := d.open()
	d.onPage(3, func() {
		ok(t, errorOf(other.Decide(context.Background(), journal.Decision{OrderID: "10", NotSent: true, Reason: "x"})))
	})
	ok(t, errorOf(d.ReconcileRun(t.Context(), "cafe0001")))
	if o := d.wantState("10", StateAccepted); o.Shown != id {
		t.Errorf("it was shown as %q", o.Shown)
	}
}

// TestUnaskedRow checks that nothing is sent if LookUp's reading has made a row unknown that it did not ask
// about.
func TestUnaskedRow(t *testing.T) {
	d := usedDesk(t)
	d.rejectsAndTakes("102")
	x, tally := d.begun(d.plan(nil, dueTo(2)...), ApplyOptions{})
	if tally.States[StateUnknown] != 1 || tally.Unknown != "102" {
		t.Errorf("got %+v", tally)
	}
	wantKind(t, x.Send(t.Context(), t.Context(), tally), Unknown, "")
	d.wantArrived("1")
	d.options.Lookup = LookupNever // which asks about 102 alone
	d.bring(asked("103"), outNotLeft)
	d.takes("103")
	d.hide("w2")
	if _, tally = d.begun(d.plan(nil, due("102"), due("103")), ApplyOptions{}); tally.States[StateUnknown] != 2 {
		t.Errorf("got %+v", tally)
	}
}

// TestBecomesUnknownDuringReconcileRun checks that a row which the list shows although it was rejected again
// during the scan is in the result, and that the journal keeps that it was shown.
func TestBecomesUnknownDuringReconcileRun(t *testing.T) {
	d := usedDesk(t)
	d.begins("cafe0001", "10")
	id := d.rejectsAndTakes("10")
	d.onPage(2, func() {
		d.clock.move(time.Second)
		d.bring(asked("10"), outRejected)
	})
	settled, err := d.ReconcileRun(t.Context(), "cafe0001")
	ok(t, err)
	if o := d.wantState("10", StateUnknown); o.Shown != id {
		t.Errorf("it was shown as %q", o.Shown)
	}
	if wantResults(t, settled, "10 unknown true"); settled.Sending != 0 {
		t.Errorf("got %+v", settled)
	}
}

// TestFirstSentDuringAReading checks that the reading after it counts.
func TestFirstSentDuringAReading(t *testing.T) {
	d := deskInDoubt(t, "11")
	d.onPage(1, func() {
		d.bring(asked("101"), outRejected)
		d.s.take(body("101"))
	})
	d.mustReconcile("11")
	d.wantState("101", StateUnknown)
}

func TestComparedAsTheScanHasLeftIt(t *testing.T) {
	d := usedDesk(t)
	d.rejectsAndTakes("16")
	compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
	d.wantState("16", StateUnknown)
	if found := compared.Differences; err != nil || len(found) != 1 || found[0].Order.State != StateUnknown ||
		!strings.Contains(found[0].Why, "order 16 is unknown in the journal") {
		t.Errorf("got %+v, %v", found, err)
	}
}

// TestPaidAsAnotherThanShown checks that a person has to insist on another withdrawal than the service has
// shown.
func TestPaidAsAnotherThanShown(t *testing.T) {
	d := deskInDoubt(t, "10")
	first := d.takes("10")
	ok(t, d.ledger.Show(t.Context(), map[string]string{"10": first}))
	paid := paidAs("10", d.takes("10"))
	wantKind(t, d.Check(t.Context(), paid), Refused, RuleDecision, first)
	paid.AlthoughDifferent = true
	ok(t, d.Check(t.Context(), paid))
}

// TestNotRecordedThatItWasShown checks that a failure of the journal is reported although the reading failed
// too.
func TestNotRecordedThatItWasShown(t *testing.T) {
	d := usedDesk(t)
	d.rejectsAndTakes("10")
	d.bring(asked("11"), outUnknown)
	d.onPage(2, func() {
		d.ledger.Journal().Close()
		d.s.listFail = func() (int, string) { return 0, "" }
	})
	_, err := d.Reconcile(t.Context(), "11")
	if !errors.Is(err, journal.Broken) || !strings.Contains(err.Error(), "list withdrawals") {
		t.Error(err)
	}
}
