package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// TestReconcileAll checks that all unknown orders are settled with two scans, and that a rejected order which is
// listed is unknown then.
func TestReconcileAll(t *testing.T) {
	d := deskInDoubt(t, "11")
	d.bring(asked("13"), outUnknown)
	d.sends(asked("15"))
	d.bring(asked("16"), outRejected)
	for _, id := range []string{"13", "15", "16"} {
		d.takes(id)
	}
	d.status("w2", "Done")
	_, _, before := d.s.counts()
	var got []string
	for _, r := range d.mustReconcile() {
		got = append(got, fmt.Sprint(r.Order.OrderID, " ", r.Order.State, " ", r.Order.ID, " ", r.Listed, " ", r.Status))
	}
	if want := []string{"11 unknown  false ", "13 accepted w2 true Done", "16 unknown  true "}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, _, lists := d.s.counts(); lists-before != 4 {
		t.Errorf("%d pages were read, want 4", lists-before)
	}
	d.wantState("15", StateSending)
}

// TestReconcileOne reconciles one order in each state.
func TestReconcileOne(t *testing.T) {
	for name, tt := range map[string]struct {
		way   string      // of the order; empty: it is accepted as a record of the list
		and   func(r row) // changes that record
		shown bool        // it is on the list
		state State
	}{
		"unknown":                   {way: "unknown", shown: true, state: StateAccepted},
		"unknown, not there":        {way: "unknown", state: StateUnknown},
		"rejected":                  {way: "rejected", shown: true, state: StateAccepted},
		"rejected, not there":       {way: "rejected", state: StateRejected},
		"never left":                {way: "never left", shown: true, state: StateAccepted},
		"accepted":                  {state: StateAccepted},
		"accepted, other address":   {and: func(r row) { r["address"] = "x" }, state: StateConflict},
		"accepted as another":       {and: func(r row) { r.named("11") }, shown: true, state: StateConflict},
		"accepted as a phantom":     {way: "accepted", state: StateUnknown},
		"a phantom, and there":      {way: "accepted", shown: true, state: StateConflict}, // of two, one may be off the records
		"accepted, and twice there": {shown: true, state: StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			d.clock.move(-time.Hour) // so that order 1 is the newest
			if bring := ways[tt.way]; bring != nil {
				bring(d, asked("10"))
			} else {
				d.bring(asked("10"), outAccepted(d.takes("10")))
			}
			if tt.and != nil {
				tt.and(d.s.rows[0])
			}
			if tt.shown {
				d.takes("10")
			}
			if results := d.mustReconcile("10"); len(results) != 1 || results[0].Order.State != tt.state ||
				name == "accepted as a phantom" && results[0].Shown == "" {
				t.Fatalf("got %+v", results)
			}
			d.wantState("10", tt.state)
			d.s.wantCreates(1)
		})
	}
	t.Run("there under another's id", func(t *testing.T) {
		d := deskInDoubt(t, "10")
		d.s.rows[0].named("10")["address"] = "bc1q10"
		d.mustReconcile("10")
		d.wantState("10", StateConflict)
	})
	d := newDesk(t)
	d.sends(asked("10"))
	wantKind(t, errorOf(d.Reconcile(t.Context(), "10")), Busy, "")
}

// TestReconcileCannotRead checks that a scan that fails changes nothing, and that the error is ErrUnknown if
// an order stays unknown.
func TestReconcileCannotRead(t *testing.T) {
	for status, want := range map[int]string{500: "read failed", 401: "rejected", 400: "refused/" + RuleList, 0: "read failed"} {
		d := deskInDoubt(t, "10")
		d.bring(asked("11"), outRejected)
		d.s.take(body("10"))
		d.s.listFail = func() (int, string) { return status, envelope }
		_, err := d.Reconcile(t.Context(), "10", "11")
		if e := wantKind(t, err, Unknown, "", "order 10 stays unknown"); strings.Contains(e.Msg, "11") ||
			!errors.As(err, new(*api.Error)) {
			t.Errorf("%d: %v", status, err)
		}
		d.wantState("10", StateUnknown)
		wantErr(t, errorOf(d.Reconcile(t.Context(), "11")), want)
	}
	d := deskInDoubt(t, "10")
	ctx, cancel := context.WithCancel(t.Context())
	d.s.onPage = cancel
	d.bring(asked("12"), outUnknown)
	wantKind(t, errorOf(d.Reconcile(ctx)), Unknown, "", "2 orders stay unknown")
	d.wantState("10", StateUnknown)
}

// TestReconcileGoesBack checks that reconciling reads the list with no filter but the period, and with a
// period only if it includes the orders.
func TestReconcileGoesBack(t *testing.T) {
	for _, tt := range []struct {
		since time.Duration // between Since and the order
		from  string
	}{{-time.Minute, "since"}, {time.Minute, ""}} {
		d := deskInDoubt(t, "10")
		d.options.Since, d.options.SinceTime = "since", d.clock.Now().Add(tt.since)
		d.s.from = nil
		d.mustReconcile()
		want := []string{"", "since", "since"} // what is on the first page must be on the list since then
		if tt.from == "" {
			want = []string{"", ""}
		}
		if !slices.Equal(d.s.from, want) {
			t.Errorf("the list was asked from %q, want %q", d.s.from, want)
		}
	}
}

func TestResolveNotSent(t *testing.T) {
	not := notSent("10")
	t.Run("too early", func(t *testing.T) {
		d := usedDesk(t)
		d.clock.move(-time.Hour)
		d.bring(asked("10"), outUnknown)
		d.clock.move(time.Hour)
		d.bring(asked("11"), outNotLeft)
		d.clock.move(time.Hour)
		d.dies(asked("11")) // the time counts from the last attempt
		d.clock.move(15*time.Minute - time.Second)
		wantKind(t, d.Check(t.Context(), notSent("10", "11")), Refused, RuleDecision, "11", "settle_after")
		d.clock.move(time.Second)
		ok(t, d.Check(t.Context(), notSent("10", "11")))
		d.clock.move(-4 * time.Hour) // a clock that was set back
		wantKind(t, d.Check(t.Context(), not), Refused, RuleDecision)
		d = deskInDoubt(t, "10")
		d.onPage(1, func() { d.clock.move(15 * time.Minute) }) // a request that arrives then is not on the list
		wantKind(t, d.Check(t.Context(), not), Refused, RuleDecision)
		ok(t, d.Check(t.Context(), not))
	})
	t.Run("listed, and hidden once", func(t *testing.T) {
		d := deskInDoubt(t, "9")
		d.bring(asked("10"), outUnknown)
		d.clock.move(time.Hour)
		d.hide(d.takes("10"))
		d.onPage(2, func() { d.s.onList = nil })
		wantKind(t, d.Check(t.Context(), notSent("9", "10")), Refused, RuleDecision, "w2")
		d.wantState("9", StateUnknown)
		d.wantState("10", StateAccepted)
	})
	t.Run("the list cannot be read", func(t *testing.T) {
		d := deskInDoubt(t, "10")
		d.clock.move(time.Hour)
		d.s.listFail = func() (int, string) { return 500, "" }
		wantCall(t, d.Check(t.Context(), not), api.Failed, 500)
		d.s.listFail = nil
		d.s.onList = func(int, int) ([]row, int, int) { return nil, 1, 7 }
		wantKind(t, d.Check(t.Context(), not), Refused, RuleList)
		d.s.onList = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Check(ctx, not); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
			t.Errorf("given up: %v", err)
		}
		d.wantState("10", StateUnknown)
	})
}

// TestOnlyUnsettledOrdersCanBeDecided has orders about which a person can or cannot decide.
func TestOnlyUnsettledOrdersCanBeDecided(t *testing.T) {
	for way, want := range map[string]string{"accepted": "refused/" + RuleDecision, "rejected": "refused/" + RuleDecision,
		"never left": "refused/" + RuleDecision, "being sent": "busy"} {
		d := usedDesk(t)
		ways[way](d, asked("10"))
		d.clock.move(time.Hour)
		wantErr(t, d.Check(t.Context(), notSent("10")), want, "10")
		wantErr(t, d.Check(t.Context(), paidAs("10", "w1")), want, "10")
	}
	d := usedDesk(t) // an accepted order cannot be decided not sent, even if it is in conflict now
	id := d.mustSend("10").Order.ID
	d.s.set(func() { d.s.rows[0]["address"] = "x" })
	d.mustReconcile("10")
	d.wantState("10", StateConflict)
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleDecision, id)
	for _, wrong := range []Decision{notSent(), {OrderIDs: []string{"10"}}, {OrderIDs: []string{"1", "10"}, PaidAs: id},
		{OrderIDs: []string{"10"}, PaidAs: id, Reason: " ", AlthoughDifferent: true}, {PaidAs: id}} {
		wantKind(t, d.Check(t.Context(), wrong), Invalid, "")
	}
}

// TestResolvePaidAs compares withdrawals with the order that they are decided for, see TestDiffers.
func TestResolvePaidAs(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r row)
		want   string // the error; empty: it is accepted
	}{
		"without order id": {func(r row) { r.named("") }, ""},
		"of another order": {func(r row) { r.named("5") }, "refused/" + RuleDecision},
		"fields disagree":  {func(r row) { r["external_id"] = 5 }, "refused/" + RuleDecision},
		"another unit":     {func(r row) { r["amount"] = row{"Fiat": row{"USD": 1}} }, ""},
		"another address":  {func(r row) { r["address"] = "x" }, "refused/" + RuleDecision},
		"no id nor unit":   {func(r row) { r.named("")["amount"] = row{"Fiat": row{"USD": 1}} }, "refused/" + RuleDecision},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskInDoubt(t, "10")
			d.takes("10")
			tt.change(d.s.rows[0])
			decision := paidAs("10", "w2")
			err := d.Check(t.Context(), decision)
			if wantErr(t, err, tt.want); err == nil {
				d.mustResolve(decision)
				if sent := d.mustSend("10"); sent.Order.ID != "w2" {
					t.Errorf("got %+v", sent)
				}
			}
			d.s.wantCreates(1)
		})
	}
	d := deskInDoubt(t, "10")
	d.s.onGet = func(string) (int, string) { d.s.rows[0]["id"] = "w7"; return 200, asText(d.s.rows[0]) }
	wantKind(t, d.Check(t.Context(), paidAs("10", "w2")), ReadFailed, "")
	// The id must be written as the service does, because the list is searched for it.
	wantKind(t, d.Check(t.Context(), paidAs("10", "W7")), Refused, RuleDecision, "--paid-as w7")
	d.s.onGet = nil
	wantCall(t, d.Check(t.Context(), paidAs("10", "w2")), api.Rejected, 404)
}

// TestResolvePaidAsHeld checks that a withdrawal cannot be decided for one order if the journal has it for
// another, even if its record has no order id.
func TestResolvePaidAsHeld(t *testing.T) {
	d, w := usedDesk(t), asked("10")
	w.request.Address = "bc1q1"
	d.bring(w, outUnknown)
	d.s.set(func() { d.s.rows[0].named("") })
	d.clock.move(time.Second)
	d.mustSend("2")
	d.mustReconcile("10") // w1 is another order
	ok(t, d.Check(t.Context(), paidAs("10", "w1")))
	wantKind(t, errorOf(d.Resolve(t.Context(), paidAs("10", "w1"))), Refused, RuleDecision, "till journal show 1")
	d.wantState("10", StateUnknown)
}

// TestResolveSeveral checks that decisions that were recorded before a changed order was reached are kept.
func TestResolveSeveral(t *testing.T) {
	d := usedDesk(t)
	for _, id := range []string{"10", "11", "12"} {
		d.bring(asked(id), outUnknown)
	}
	d.clock.move(time.Hour)
	decision := notSent("10", "11", "12")
	ok(t, d.Check(t.Context(), decision))
	d.settles(journal.Evidence{OrderID: "11", Withdrawal: "w9", Content: contentOf(asked("11").request)})
	orders, err := d.Resolve(t.Context(), decision)
	if e := wantKind(t, err, Refused, RuleDecision); !strings.Contains(e.Msg, "11") || len(orders) != 1 ||
		orders[0].OrderID != "10" {
		t.Errorf("got %+v, %v", orders, err)
	}
	d.wantState("10", StatePlanned)
	d.wantState("11", StateAccepted)
	d.wantState("12", StateUnknown)
}

// TestResolveShownMeanwhile checks that an order cannot be decided not sent if another process's scan shows
// it while a person is asked, and that it can still be decided paid.
func TestResolveShownMeanwhile(t *testing.T) {
	for want, decision := range map[string]Decision{"": paidAs("10", "w2"), "refused/" + RuleDecision: notSent("10")} {
		d := deskInDoubt(t, "10")
		if want == "" {
			d.takes("10")
		}
		d.clock.move(time.Hour)
		ok(t, d.Check(t.Context(), decision))
		ok(t, d.ledger.Show(t.Context(), map[string]string{"10": "w2"}))
		wantErr(t, errorOf(d.Resolve(t.Context(), decision)), want)
		if want == "" {
			d.wantState("10", StateAccepted)
		} else {
			d.wantState("10", StateUnknown)
		}
	}
}

func TestRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Nanosecond: "1s", 59 * time.Second: "59s", 59*time.Second + 1: "60s", time.Minute + 1: "2m",
		15*time.Minute - time.Millisecond: "15m",
		15 * time.Minute:                  "15m", 120 * time.Minute: "120m", 3*time.Hour - time.Second: "3h0m",
	} {
		if got := roundedUp(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestConflictThatAgreesNow checks that an order stays in conflict until a person settles it, and that the
// reason says if the list agrees with the order by now.
func TestConflictThatAgreesNow(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.bring(asked("11"), outUnknown)
	paid := d.takes("10")
	d.takes("11")
	for _, address := range []string{"x", "bc1q10"} {
		d.s.set(func() { d.s.rows[0]["address"], d.s.rows[1]["address"] = "x", address })
		results := d.mustReconcile("10", "11")
		if results[0].Order.State != StateConflict || results[0].Agrees != (address != "x") || results[1].Agrees {
			t.Fatalf("got %+v", results)
		}
	}
	found, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
	if err != nil || len(found.Differences) != 2 {
		t.Fatalf("got %+v, %v", found, err)
	}
	for _, f := range found.Differences {
		agrees := strings.Contains(f.Why, "was in conflict because its address is") &&
			strings.Contains(f.Why, "this record agrees with the order now") &&
			strings.Contains(f.Why, "till withdraw resolve 10 --paid-as "+paid)
		if agrees != (f.Order.OrderID == "10") {
			t.Errorf("order %s: %q", f.Order.OrderID, f.Why)
		}
	}
	ok(t, d.Check(t.Context(), paidAs("10", paid)))
}

// TestResolveNotSentWhereClocksDiffer checks that the decision that an order was not sent is refused if this
// machine's clock and the service's differ, because it is then not known how long ago the order was sent. A person
// is told if the service's answers have no date.
func TestResolveNotSentWhereClocksDiffer(t *testing.T) {
	for ahead, rule := range map[time.Duration]string{ // of this machine's clock
		16 * time.Minute: RuleClock, -2 * time.Minute: RuleClock, -time.Minute: RuleDecision, 0: RuleDecision} {
		d := deskInDoubt(t, "10")
		d.s.set(func() { d.s.now = func() time.Time { return d.clock.Now().Add(-ahead) } })
		d.clock.move(max(ahead, 0)) // only a clock that is ahead makes the order look old
		wantKind(t, d.Check(t.Context(), notSent("10")), Refused, rule)
		d.wantState("10", StateUnknown)
		d.clock.move(15 * time.Minute)
		for undated, now := range map[bool]func() time.Time{false: d.clock.Now, true: func() time.Time { return time.Time{} }} {
			d.s.set(func() { d.s.now = now })
			if c, err := d.Sender.Check(t.Context(), notSent("10")); err != nil || c.Undated != undated {
				t.Errorf("got %+v, %v, want %v", c, err, undated)
			}
		}
	}
}

// TestResolveNotSentIfTheClockWasAhead checks that a person can say that this machine's clock was ahead when the order
// was sent, but only if it was by the service's clock too.
func TestResolveNotSentIfTheClockWasAhead(t *testing.T) {
	for i, want := range []string{"refused/decision", "", "refused/decision"} {
		d := deskInDoubt(t, "10")
		d.clock.move([]time.Duration{-time.Minute, -time.Hour, -time.Hour}[i])
		now := d.clock.Now().Add(time.Duration(i/2) * time.Hour)
		d.s.set(func() { d.s.now = func() time.Time { return now } })
		decision := notSent("10")
		if want == "" {
			wantKind(t, d.Check(t.Context(), decision), Refused, RuleDecision, "--although-clock")
		}
		decision.AlthoughClock = true
		wantErr(t, d.Check(t.Context(), decision), want)
	}
}

// TestResolveNotSentWhereOneAnswerHasAnotherTime checks that one answer with a different time is enough to
// refuse a decision, because it is not known which one is right.
func TestResolveNotSentWhereOneAnswerHasAnotherTime(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.clock.move(time.Hour)
	n, other := 0, 1
	d.s.set(func() {
		d.s.now = func() time.Time {
			if n++; n == other {
				return d.clock.Now().Add(2 * time.Minute)
			}
			return d.clock.Now()
		}
	})
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleClock)
	d.s.set(func() { n, other = 0, n }) // the last one
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleClock)
	d.s.set(func() { other = 0 })
	ok(t, d.Check(t.Context(), notSent("10")))
}

// TestSettleAfterByTheServersClock checks that machines that share a journal use the server's clock: a
// machine whose clock is ahead, like the service's, cannot decide early.
func TestSettleAfterByTheServersClock(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	d.clock.move(time.Since(d.clock.Now()))
	d.history()
	d.bring(asked("10"), outUnknown)
	d.clock.move(time.Hour)
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleDecision)
	d.options.SettleAfter = 0
	ok(t, d.Check(t.Context(), notSent("10")))
}

// TestUnrecordedOrdersAreMissing checks that an order that the service has, and that the journal does not
// have as accepted or in conflict, counts as missing in the journal: a planned one would be sent again.
func TestUnrecordedOrdersAreMissing(t *testing.T) {
	record := &api.Withdrawal{ID: "w1"}
	for _, state := range States() {
		want := state != StateAccepted && state != StateConflict
		if got := (Difference{What: different, Order: &Order{State: state}, Record: record}).Missing(); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
	if !(Difference{What: onlyThere, Record: record}).Missing() ||
		(Difference{What: onlyHere, Order: &Order{State: StateAccepted}}).Missing() {
		t.Error("what only one of the two has is taken for the other")
	}
}

// TestShownInAReadingThatSettlesNothing checks that the journal keeps that the service has shown an order,
// even if the scan that showed it settles nothing.
func TestShownInAReadingThatSettlesNothing(t *testing.T) {
	for name, read := range map[string]func(d *desk) error{
		"one that fails the second time": func(d *desk) error {
			d.onPage(2, func() { d.s.listFail = func() (int, string) { return 500, "" } })
			return errorOf(d.Reconcile(t.Context(), "10"))
		},
		"one that is interrupted": func(d *desk) error {
			ctx, stop := context.WithCancel(t.Context())
			d.onPage(2, stop)
			return errorOf(d.Reconcile(ctx, "10"))
		},
		"one for another order": func(d *desk) error {
			d.options.Lookup = LookupAlways
			d.send(asked("12"))
			return errors.New("which is sent")
		},
		"a check": func(d *desk) error {
			found, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
			if err == nil && len(found.Differences) == 1 {
				err = errors.New(found.Differences[0].Why)
			}
			return err
		},
	} {
		for way, was := range map[string]State{"unknown": StateUnknown, "rejected": StateRejected, "never left": StatePlanned} {
			t.Run(name+", "+way, func(t *testing.T) {
				d := usedDesk(t)
				ways[way](d, asked("10"))
				ways[way](d, asked("11"))
				d.takes("10")
				if err := read(d); err == nil {
					t.Fatal("the reading settled the order")
				}
				if o := d.wantState("10", StateUnknown); o.Shown == "" {
					t.Error("it is forgotten that the service has shown it")
				}
				if o := d.wantState("11", was); o.Shown != "" {
					t.Errorf("the service has never shown it, and the journal says as %s", o.Shown)
				}
				creates, _, _ := d.s.counts()
				d.s.set(func() { d.s.rows, d.s.onPage, d.s.listFail = nil, nil, nil })
				d.clock.move(time.Hour)
				wantKind(t, errorOf(d.send(asked("10"))), Unknown, "")
				d.s.wantCreates(creates)
				wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleDecision)
			})
		}
	}
}

// TestPaidAsAlthoughDifferent checks that a person can settle every conflict by accepting a withdrawal that
// differs, and that both contents are recorded.
func TestPaidAsAlthoughDifferent(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.s.set(func() {
		d.s.take(body("10"))
		d.s.rows[0]["address"], d.s.rows[0]["amount"] = "elsewhere", row{"Crypto": row{"Btc": 7}}
	})
	d.mustReconcile("10")
	decision := Decision{OrderIDs: []string{"10"}, PaidAs: "w2", Reason: "the payee agreed"}
	wantKind(t, d.Check(t.Context(), decision), Refused, RuleDecision, "--although-different")
	decision.AlthoughDifferent = true
	ok(t, d.Check(t.Context(), decision))
	o := d.mustResolve(decision)[0]
	if why := o.Resolved.Reason; o.State != StateAccepted || o.ID != "w2" || !strings.HasPrefix(why, "the payee agreed") ||
		!strings.Contains(why, "to bc1q10") || !strings.Contains(why, "to elsewhere") {
		t.Errorf("got %+v, and the record says %q", o, why)
	}
	d.money = registryOf([]Currency{{Code: "Btc", Decimals: 8}})
	d.mustReconcile("10") // nothing is new
	d.wantState("10", StateAccepted)
	d.s.set(func() { d.s.rows[0]["amount"] = row{"Crypto": row{"Btc": 8}} })
	d.mustReconcile("10")
	d.wantState("10", StateConflict)
	decision.PaidAs = "w1" // it belongs to another order
	wantKind(t, d.Check(t.Context(), decision), Refused, RuleDecision)
}

// TestShownAndGone checks that an order becomes unknown if the service has taken it off its list and does not have it
// any more, and that a person can say nothing else than that it was paid.
func TestShownAndGone(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.bring(asked("11"), outUnknown)
	ok(t, d.ledger.Show(t.Context(), map[string]string{"11": "w9"}))
	id, other := d.takes("10"), d.takes("11")
	d.mustReconcile("10", "11")
	d.wantState("10", StateAccepted)
	d.wantState("11", StateConflict)
	d.s.set(func() { d.s.rows = d.s.rows[2:] })
	d.mustReconcile("10")
	d.wantState("10", StateUnknown)
	d.clock.move(time.Hour)
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleDecision, id)
	for _, paid := range []Decision{paidAs("10", id), paidAs("11", other), paidAs("11", "w9")} {
		wantKind(t, d.Check(t.Context(), paid), Refused, RuleDecision, "no such withdrawal any more", "--although-different")
		paid.AlthoughDifferent = true
		d.decides(paid)
		d.wantState(paid.OrderIDs[0], StateAccepted)
	}
}

// TestPaidTwice checks that a decision about an order with two records holds until there is a third.
func TestPaidTwice(t *testing.T) {
	d := deskInDoubt(t, "10")
	for range 2 {
		decision := paidAs("10", d.takes("10"))
		decision.AlthoughDifferent = true
		d.takes("10")
		d.mustReconcile("10")
		d.wantState("10", StateConflict)
		for range 2 { // a person may say it again
			ok(t, d.Check(t.Context(), decision))
			d.mustResolve(decision)
		}
		d.mustReconcile("10")
		d.wantState("10", StateAccepted)
	}
}

// TestResolveAboutAnEarlierAttempt checks that a decision is refused if another person has decided and sent
// the order again meanwhile.
func TestResolveAboutAnEarlierAttempt(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.clock.move(time.Hour)
	hers := Decision{OrderIDs: []string{"10"}, Reason: "ann has asked"}
	ok(t, d.Check(t.Context(), hers))
	d.decides(notSent("10"))
	wantKind(t, errorOf(d.Resolve(t.Context(), hers)), Refused, RuleDecision)
	if o := d.wantState("10", StatePlanned); o.Resolved.Reason != "x" {
		t.Errorf("it was decided: %+v", o.Resolved)
	}
	d.s.answer(lost)
	wantKind(t, errorOf(d.send(asked("10"))), Unknown, "")
	// It is unknown, as it was when the decision was checked.
	wantKind(t, errorOf(d.Resolve(t.Context(), hers)), Refused, RuleDecision)
	d.wantState("10", StateUnknown)
}
