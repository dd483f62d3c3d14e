package payout

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"example.com/till/internal/journal"
)

// TestApplyAsksAboutWhatIsPaid checks that Apply refuses orders that were paid before, and not by this run,
// unless the caller knows of them. It does so before anything is sent, even if only the service's list has
// them.
func TestApplyAsksAboutWhatIsPaid(t *testing.T) {
	for name, paid := range map[string]func(d *desk){
		"in the journal": func(d *desk) { d.mustSend("101") },
		"on the list":    func(d *desk) { d.s.set(func() { d.s.take(body("101")) }) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.money = testMoney
			paid(d)
			p := d.plan(nil, due("101"), due("102"))
			creates, _, _ := d.s.counts()
			wantKind(t, errorOf(d.Sender.Apply(t.Context(), p, ApplyOptions{})), Refused, RulePaidBefore)
			d.s.wantCreates(creates)
			if runs, err := d.Runs(t.Context()); err != nil || name == "in the journal" && len(runs) > 0 {
				t.Errorf("it was begun: %v, %v", runs, err)
			}
			for _, known := range []int{1, 0} { // the number is recorded when it is given once
				tally, err := d.Sender.Apply(t.Context(), p, ApplyOptions{AlreadyPaid: known})
				if err != nil || tally.States[StateAccepted] != 2 || tally.Before != 1 {
					t.Fatalf("%+v, %v", tally, err)
				}
			}
			d.s.wantCreates(creates + 1)
		})
	}
}

// TestApplyEnds checks that a rejected row is not an error, an unknown one stops Apply, and nothing is sent
// with a context that has ended.
func TestApplyEnds(t *testing.T) {
	d := newDesk(t)
	d.money = testMoney
	p := d.plan(nil, dueTo(2)...)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Sender.Apply(ended, p, ApplyOptions{}); err == nil {
		t.Error("a context that has ended was not noticed")
	}
	d.s.wantCreates(0)
	d.s.set(func() { d.s.onCreate = func(map[string]any) (int, string, bool) { return 422, envelope, false } })
	tally, err := d.Sender.Apply(t.Context(), p, ApplyOptions{})
	if err != nil || tally.States[StateRejected] != 2 {
		t.Errorf("%+v, %v", tally, err)
	}
	d.s.set(func() { d.s.onCreate = func(map[string]any) (int, string, bool) { return 0, "", true } })
	tally, err = d.Sender.Apply(t.Context(), p, ApplyOptions{RetryRejected: true})
	wantKind(t, err, Unknown, "")
	if tally.States[StateUnknown] != 1 || tally.States[StateRejected] != 1 {
		t.Errorf("%+v", tally)
	}
}

// TestApplyChecksDecimals checks that a plan is refused if its decimals have changed, because the person who
// approved it has read other amounts.
func TestApplyChecksDecimals(t *testing.T) {
	d := newDesk(t)
	wantKind(t, errorOf(d.Sender.Apply(t.Context(), d.plan(nil, due("101")), ApplyOptions{})), Refused, RuleDecimals)
	d.s.wantCreates(0)
}

// TestResultsOfARowThatIsLeft checks that a row that this process has claimed, and whose outcome it cannot
// record, is unknown to the next process.
func TestResultsOfARowThatIsLeft(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, due("101"))
	d.begun(p, ApplyOptions{})
	w := withdrawal{request: due("101").CreateWithdrawal}
	ok(t, errorOf(d.ledger.Claim(t.Context(),
		journal.Claim{OrderID: "101", Content: contentOf(w.request), Run: p.Name()})))
	for o, err := range d.Results(t.Context(), p.Name()) {
		if err != nil || o.State != StateUnknown {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// TestProcessThatGoesOn checks that a program which goes on after a plan, however that ended, does not keep
// another process from applying one.
func TestProcessThatGoesOn(t *testing.T) {
	apply := func(d *desk, p *Plan) error { return errorOf(d.Sender.Apply(t.Context(), p, ApplyOptions{})) }
	for name, apply := range map[string]func(d *desk, p *Plan){
		"sent": func(d *desk, p *Plan) { ok(t, apply(d, p)) },
		"sent step by step": func(d *desk, p *Plan) {
			x, tally := d.begun(p, ApplyOptions{})
			ok(t, x.Send(t.Context(), t.Context(), tally))
		},
		"nothing sent, because an order is unknown": func(d *desk, p *Plan) {
			x, tally := d.begun(p, ApplyOptions{})
			tally.States[StateUnknown]++
			wantKind(t, x.Send(t.Context(), t.Context(), tally), Unknown, "")
		},
		"expired": func(d *desk, p *Plan) {
			d.clock.move(100 * time.Hour)
			wantKind(t, apply(d, p), Refused, RulePlanExpired)
		},
		"refused before it has begun": func(d *desk, p *Plan) {
			d.mustSend("101")
			wantKind(t, apply(d, p), Refused, RulePaidBefore)
		},
		"refused after it has begun": func(d *desk, p *Plan) {
			d.s.set(func() { d.s.take(body("101")) })
			wantKind(t, apply(d, p), Refused, RulePaidBefore)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.money = testMoney
			apply(d, d.plan(nil, due("101"), due("102")))
			other := d.another().Sender
			ok(t, errorOf(other.Applier(t.Context(), d.plan(nil, due("9")), ApplyOptions{})))
		})
	}
}

// TestUnrecordedOutcomeKeepsOthersOut checks that a program which goes on, although it could not record the
// outcome of an order, keeps another process from paying what replaces the order in a newer plan of the
// batch.
func TestUnrecordedOutcomeKeepsOthersOut(t *testing.T) {
	d := usedDesk(t)
	old := d.plan(may(""), dueTo(2)...)
	newer := d.plan(may(old.Name()), due("9"))
	db, err := sql.Open("sqlite", d.place)
	ok(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	statement := func(text string) {
		if _, err := db.Exec(text); err != nil {
			t.Error(err)
		}
	}
	calls, cancel := context.WithCancel(t.Context())
	defer cancel()
	x, tally := d.begun(old, ApplyOptions{Note: func(string) { statement("ROLLBACK") }})
	d.s.set(func() {
		d.s.onCreate = func(map[string]any) (int, string, bool) {
			statement("BEGIN IMMEDIATE")
			cancel() // so that the outcome is tried for a short time only
			return 200, "", true
		}
	})
	if err := x.Send(t.Context(), calls, tally); err == nil {
		t.Fatal("the outcome was recorded")
	}
	d.s.set(func() { d.s.onCreate = nil })
	if o, err := d.ledger.Order(t.Context(), "101"); err != nil || o.State != StateSending {
		t.Fatalf("order 101 is %s, %v", o.State, err)
	}
	other := d.another().Sender
	if _, err := other.apply(t.Context(), newer, ApplyOptions{}); !errors.Is(err, journal.Busy) ||
		journal.AsError(err).Run != old.Name() {
		t.Errorf("the newer plan: %v", err)
	}
	d.wantArrived("1", "101")
}

// TestPreparedPlans checks that a program can prepare two plans and send one after the other: no other
// process comes between the two, unless it asks after both are sent.
func TestPreparedPlans(t *testing.T) {
	d := newDesk(t)
	first, tally := d.begun(d.plan(nil, due("101")), ApplyOptions{})
	second, all := d.begun(d.plan(nil, due("102")), ApplyOptions{})
	ok(t, first.Send(t.Context(), t.Context(), tally))
	other := d.another().Sender
	applies := func() (*Applier, error) { return other.Applier(t.Context(), d.plan(nil, due("9")), ApplyOptions{}) }
	if _, err := applies(); !errors.Is(err, journal.Busy) {
		t.Errorf("while the second plan is prepared: %v", err)
	}
	ok(t, second.Send(t.Context(), t.Context(), all))
	x, err := applies()
	ok(t, err)
	if err := second.Send(t.Context(), t.Context(), all); !errors.Is(err, journal.Busy) {
		t.Errorf("while another process applies: %v", err)
	}
	ok(t, x.Begin(t.Context(), 0))
}
