package payout

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
)

// TestApplyChecksDecimals checks that a plan is refused if its decimals have changed, because the person who
// approved it has read other amounts.
func TestApplyChecksDecimals(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, due("101"))
	was := d.money
	for n, states := range []string{"", "1 accepted"} { // before the run, and after it
		d.money = testMoney
		tally, err := d.apply(p, ApplyOptions{})
		wantKind(t, err, Refused, RuleDecimals)
		tally.want(t, states)
		d.s.wantCreates(n)
		d.money = was
		d.mustApply(p, ApplyOptions{})
	}
	for n, want := range map[int]string{money.Unknown: "no decimals known", 0: "0 decimals", 1: "1 decimal", 2: "2 decimals"} {
		if got := decimalsText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestResultsOfARowThatIsLeft checks that a row that this process has claimed, and whose outcome it cannot
// record, is unknown to the next process.
func TestResultsOfARowThatIsLeft(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, due("101"))
	d.begun(p, ApplyOptions{})
	w := withdrawal{request: due("101").CreateWithdrawal}
	ok(t, errorOf(d.ledger.Claim(t.Context(),
		journal.Claim{Row: journal.Row{OrderID: "101", Content: contentOf(w.request)}, Run: p.Name()})))
	for name, want := range map[string]string{p.Name(): "", p.Digest: "", p.Name()[1:]: "not found"} {
		results, err := collect(d.Results(t.Context(), name))
		wantErr(t, err, want)
		tally, err := d.Tally(t.Context(), name)
		if wantErr(t, err, want); err == nil && (tally.Rows != 1 || results[0].State != StateUnknown) {
			t.Errorf("%s: %+v, %+v", name, results, tally)
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
			if runs, err := d.Runs(t.Context()); err != nil || len(runs) > 0 {
				t.Errorf("it was begun: %v, %v", runs, err)
			}
			d.s.wantCreates(1)
		},
		"refused after it has begun": func(d *desk, p *Plan) {
			d.takes("101")
			wantKind(t, apply(d, p), Refused, RulePaidBefore)
			d.s.wantCreates(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
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
	calls, cancel := context.WithCancel(t.Context())
	x, tally := d.begun(old, ApplyOptions{})
	d.s.onCreate = during("101", func() {
		d.closeOrders()
		cancel() // so that the outcome is tried for a short time only
	})
	wantKind(t, x.Send(t.Context(), calls, tally), Unknown, "", "could not be recorded")
	if o, err := d.ledger.Order(t.Context(), "101"); err != nil || o.State != StateSending {
		t.Fatalf("order 101 is %s, %v", o.State, err)
	}
	other := d.another().Sender
	if _, err := other.Apply(t.Context(), newer, ApplyOptions{AlreadyPaid: 1}); !errors.Is(err, journal.Busy) ||
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
