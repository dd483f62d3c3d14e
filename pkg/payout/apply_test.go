package payout

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// eachJournal runs a test with each kind of journal.
func eachJournal(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newDesk(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, deskAt(t, pgtest.Shared(t).Database(t))) })
}

// due returns a row of a plan for the same withdrawal as asked.
func due(orderID string) PlanRow {
	return PlanRow{CreateWithdrawal: asked(orderID).request, Kept: sheet.Kept{Note: "note " + orderID}}
}

func dueTo(n int) (rows []PlanRow) {
	for i := range n {
		rows = append(rows, due(strconv.Itoa(101+i)))
	}
	return rows
}

// plan makes a plan for the desk's account, and opens it.
func (d *desk) plan(change func(p *Plan), rows ...PlanRow) *Plan {
	d.t.Helper()
	p := &Plan{Path: d.t.TempDir() + "/staff.plan", Account: d.Account(), Made: d.clock.Now(),
		Expires: d.clock.Now().Add(72 * time.Hour)}
	if change != nil {
		change(p)
	}
	ok(d.t, writePlan(p, d.money, rows))
	opened, err := OpenPlan(p.Path)
	ok(d.t, err)
	return opened
}

// may makes a plan one of the batch may, made after a run of it.
func may(since string) func(*Plan) {
	return func(p *Plan) { p.Batch, p.Since = "may", since }
}

// applier prepares a plan to be applied.
func (d *desk) applier(p *Plan, o ApplyOptions) *Applier {
	d.t.Helper()
	x, err := d.Applier(d.t.Context(), p, o)
	ok(d.t, err)
	return x
}

// begun begins a run and calls LookUp, so that only Send is left.
func (d *desk) begun(p *Plan, o ApplyOptions) (*Applier, Tally) {
	d.t.Helper()
	x := d.applier(p, o)
	ok(d.t, x.Begin(d.t.Context(), 0))
	tally, err := x.LookUp(d.t.Context())
	ok(d.t, err)
	return x, tally
}

// apply applies a plan, whatever was paid of it before.
func (d *desk) apply(p *Plan, o ApplyOptions) (Tally, error) {
	o.AlreadyPaid = len(p.Rows)
	return d.Sender.Apply(context.Background(), p, o)
}

func (d *desk) mustApply(p *Plan, o ApplyOptions) Tally {
	d.t.Helper()
	t, err := d.apply(p, o)
	ok(d.t, err)
	return t
}

// want checks the numbers of orders by state, such as "2 planned, 1 accepted".
func (t Tally) want(tb testing.TB, want string) {
	tb.Helper()
	var got []string
	for _, state := range States() {
		if n := t.States[state]; n > 0 {
			got = append(got, fmt.Sprint(n, " ", state))
		}
	}
	if got := strings.Join(got, ", "); got != want {
		tb.Errorf("the orders are %s, want %s", got, want)
	}
}

// arrived returns the order ids of the creates in the order of their arrival.
func (d *desk) arrived() (ids []string) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	for _, b := range d.s.bodies {
		ids = append(ids, b["external_order_id"].(string))
	}
	return ids
}

func (d *desk) wantArrived(want ...string) {
	d.t.Helper()
	if got := d.arrived(); !slices.Equal(got, want) {
		d.t.Errorf("creates of %v arrived, want %v", got, want)
	}
}

// on returns a handler that answers the creates of one order in its own way. The others are accepted.
func on(orderID string, answer func() (int, string, bool)) func(map[string]any) (int, string, bool) {
	return func(b map[string]any) (int, string, bool) {
		if b["external_order_id"] == orderID {
			return answer()
		}
		return 200, "", true
	}
}

// during returns a handler that accepts every order, and does something during the create of one.
func during(orderID string, do func()) func(map[string]any) (int, string, bool) {
	return on(orderID, func() (int, string, bool) { do(); return 200, "", true })
}

func lost() (int, string, bool)      { return 0, "", true }
func vanished() (int, string, bool)  { return 0, "", false }
func refusedBy() (int, string, bool) { return 422, envelope, false }
func closedKey() (int, string, bool) { return 401, envelope, false }
func tooMany() (int, string, bool)   { return 429, envelope, false }

func TestApplySendsEachRowOnce(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		rows := dueTo(250)
		p := d.plan(nil, rows...)
		var seen []int
		tally := d.mustApply(p, ApplyOptions{Concurrency: 1, Progress: func(now Tally) {
			if now.States[StateAccepted] != now.Ended {
				t.Errorf("%d orders are accepted after %d calls", now.States[StateAccepted], now.Ended)
			}
			seen = append(seen, now.Ended)
		}})
		tally.want(t, "250 accepted")
		if tally.Before != 0 || tally.LeftRows() != 0 || len(tally.Accepted) != 1 || tally.Accepted[0] != p.Totals[0] {
			t.Errorf("the tally is %+v", tally)
		}
		got := d.arrived()
		if d.ledger.Journal().Shared() { // several machines begin at different rows
			slices.Sort(got)
		}
		for i, r := range rows {
			if got[i] != r.ExternalOrderID {
				t.Fatalf("creates of %v arrived", got)
			}
		}
		if !slices.IsSorted(seen) || len(seen) == 0 || seen[len(seen)-1] != 250 {
			t.Errorf("progress was told %v", seen)
		}
		if _, gets, lists := d.s.counts(); gets != 1 || lists != 4 {
			t.Errorf("%d were read back, and the list was asked %d times", gets, lists)
		}
		o := d.wantState("101", StateAccepted)
		if o.Note != "note 101" || !o.SentBy(p.Name()) || o.Content != contentOf(rows[0].CreateWithdrawal) {
			t.Errorf("the order is %+v", o)
		}
		d.mustApply(p, ApplyOptions{Concurrency: 8}).want(t, "250 accepted") // nothing is left
		d.s.wantCreates(250)
	})
}

// TestApplyStops checks that after a run was stopped, the rest is planned, and the next apply sends only the
// rest.
func TestApplyStops(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  func() (int, string, bool) // to order 102; nil: the service cannot be reached
		options ApplyOptions
		err     string
		want    string
		then    string // after an apply with the same options, when the service works again
	}{
		"unknown":        {answer: lost, err: "unknown", want: "2 planned, 1 accepted, 1 unknown", then: "4 accepted"},
		"key refused":    {answer: closedKey, err: "rejected", want: "3 planned, 1 accepted", then: "4 accepted"},
		"too many calls": {answer: tooMany, err: "rejected", want: "3 planned, 1 accepted", then: "4 accepted"},
		"rejected, which does not stop it": {answer: refusedBy, want: "3 accepted, 1 rejected",
			then: "3 accepted, 1 rejected"},
		"rejected, and sent once more": {answer: refusedBy, options: ApplyOptions{RetryRejected: true},
			want: "3 accepted, 1 rejected", then: "4 accepted"},
		"unknown, and it keeps going": {answer: lost, options: ApplyOptions{KeepGoing: true},
			want: "3 accepted, 1 unknown", then: "4 accepted"},
		"no way to the service": {err: "not sent", want: "4 planned", then: "4 accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			p := d.plan(nil, dueTo(4)...)
			x, tally := d.begun(p, tt.options)
			well := d.client
			if d.s.onCreate = on("102", tt.answer); tt.answer == nil {
				d.client = newClient(d.t, "http://127.0.0.1:1")
			}
			wantErr(t, x.Send(t.Context(), t.Context(), tally), tt.err)
			tally, err := x.Tally(t.Context())
			ok(t, err)
			tally.want(t, tt.want)
			d.client = well
			d.s.answer(nil)
			d.mustApply(p, tt.options).want(t, tt.then)
			paid := map[any]int{}
			for _, r := range d.s.rows {
				if paid[r["external_order_id"]]++; paid[r["external_order_id"]] > 1 {
					t.Errorf("order %v was paid twice", r["external_order_id"])
				}
			}
		})
	}
}

func TestApplyGivesUpAfterFiveUnknown(t *testing.T) {
	for want, well := range map[string][]any{"5 planned, 5 unknown": nil, "2 accepted, 8 unknown": {"105", "109"}} {
		d := newDesk(t)
		d.s.onCreate = func(b map[string]any) (int, string, bool) {
			if slices.Contains(well, b["external_order_id"]) {
				return 200, "", true
			}
			return vanished()
		}
		tally, err := d.apply(d.plan(nil, dueTo(10)...), ApplyOptions{KeepGoing: true})
		if well == nil {
			wantErr(t, err, "unknown",
				"5 outcomes in a row were unknown; 5 orders of the run are unknown: the outcome of order 105 is unknown")
		} else {
			ok(t, err)
		}
		tally.want(t, want)
	}
}

// TestPaidBefore checks that orders that were accepted before, and not by this run, are counted separately,
// with the time when they were sent.
func TestPaidBefore(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		first := d.mustSend("101").Order.Sent // sent by itself
		d.clock.move(time.Hour)
		other := d.plan(nil, due("102"), due("103"))
		d.mustApply(other, ApplyOptions{})
		last := slices.MaxFunc([]time.Time{d.wantState("102", StateAccepted).Sent,
			d.wantState("103", StateAccepted).Sent}, time.Time.Compare)
		d.clock.move(time.Hour)
		d.s.set(func() { // sent by another machine
			d.s.take(body("104"))
			d.s.rows[0]["statuses"] = []any{row{"status": "New", "at": "2026-01-31T09:00:00"},
				row{"status": "Done", "at": "2026-02-01T09:00:00"}}
			d.s.take(body("105"))
			d.s.rows[0]["statuses"] = []any{row{"status": "New", "at": "2025-12-31T09:00:00"}}
			d.s.rows[0]["amount"] = row{"Fiat": row{"USD": 333}}
		})
		p := d.plan(nil, dueTo(6)...)
		var notes []string
		x := d.applier(p, ApplyOptions{Note: func(text string) { notes = append(notes, text) }})
		tally, err := x.Tally(t.Context())
		if err != nil || tally.Before != 3 || !tally.First.Equal(first) || !tally.Last.Equal(last) || tally.LeftRows() != 3 {
			t.Errorf("before it looked: %+v, %v", tally, err)
		}
		ok(t, x.Begin(t.Context(), 3))
		tally, err = x.LookUp(t.Context())
		if err != nil || tally.Before != 5 || tally.Found != 2 || !tally.Last.Equal(last) ||
			tally.LeftRows() != 1 || x.Approved() != 3 {
			t.Errorf("after it looked: %+v, %v", tally, err)
		}
		if tally.DatedFirst != "2025-12-31T09:00:00" || tally.DatedLast != "2026-01-31T09:00:00" {
			t.Errorf("the list dates them %q to %q", tally.DatedFirst, tally.DatedLast)
		}
		if o := d.wantState("104", StateAccepted); o.Reason != "found on the service's list, dated 2026-01-31T09:00:00" {
			t.Error(o.Reason)
		}
		if len(notes) != 1 || !strings.Contains(notes[0], "order 105: the service shows the amount as 3.33 USD") {
			t.Errorf("it was noted: %q", notes)
		}
		ok(t, x.Begin(t.Context(), 5))
		ok(t, x.Send(t.Context(), t.Context(), tally))
		d.s.wantCreates(4)
		// The run records the number, and does not count its own rows.
		if x, err = d.Applier(t.Context(), p, ApplyOptions{}); err != nil || x.Approved() != 5 {
			t.Fatalf("approved are %d, %v", x.Approved(), err)
		}
		if tally, err := x.Tally(t.Context()); err != nil || tally.Before != 5 || tally.Found != 2 ||
			tally.States[StateAccepted] != 6 {
			t.Errorf("in the end: %+v, %v", tally, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(p *Plan)
		arrange func(d *desk, p *Plan)
		rule    string
	}{
		"another account": {change: func(p *Plan) { p.Account.Name = "other" }, rule: RuleAccount},
		"another address": {change: func(p *Plan) { p.Account.Address += "/v2" }, rule: RuleAccount},
		"expired":         {arrange: func(d *desk, p *Plan) { d.clock.move(72 * time.Hour) }, rule: RulePlanExpired},
		"begun, expired": {arrange: func(d *desk, p *Plan) {
			d.mustApply(p, ApplyOptions{})
			d.clock.move(100 * time.Hour)
		}},
		"other content": {arrange: func(d *desk, p *Plan) {
			w := asked("101")
			w.request.Amount.Minor++
			d.bring(w, outAccepted("w9"))
		}, rule: RuleOrderID},
		"rows that are no longer those of the file": {arrange: func(d *desk, p *Plan) { p.Rows[1].Amount.Minor++ }, rule: RulePlanChanged},
		"a newer batch run": {change: may(""), rule: RuleBatchChanged,
			arrange: func(d *desk, p *Plan) { d.mustApply(d.plan(may(""), due("9")), ApplyOptions{}) }},
		"the same batch run": {change: may(""), arrange: func(d *desk, p *Plan) { d.mustApply(p, ApplyOptions{}) }},
		"begun, but the batch has gone on": {change: may(""), rule: RuleBatchChanged, arrange: func(d *desk, p *Plan) {
			d.mustApply(p, ApplyOptions{})
			d.mustApply(d.plan(func(q *Plan) { may(p.Name())(q); q.Gone = 2 }, due("9")), ApplyOptions{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			p := d.plan(tt.change, dueTo(2)...)
			if tt.arrange != nil {
				tt.arrange(d, p)
			}
			before, _, _ := d.s.counts()
			if _, err := d.apply(p, ApplyOptions{}); tt.rule != "" {
				wantKind(t, err, Refused, tt.rule)
				if tt.rule != RuleOrderID { // a dry run is refused too
					wantKind(t, errorOf(d.Applier(t.Context(), p, ApplyOptions{DryRun: true})), Refused, tt.rule)
				}
				d.s.wantCreates(before)
			} else {
				ok(t, err)
			}
		})
	}
}

// TestApplyReadsBack checks that the first row is read back before others are sent.
func TestApplyReadsBack(t *testing.T) {
	drop := func(d *desk) {
		d.s.onCreate = func(b map[string]any) (int, string, bool) {
			id := d.s.take(b)
			d.s.rows[0].named("")
			return 200, strconv.Quote(id), false
		}
	}
	for err, tt := range map[string]struct {
		change  func(d *desk)
		creates int
		gets    int
		says    string
	}{
		"conflict": {drop, 1, mostReadBacks, ""},
		"partial":  {func(d *desk) { d.s.onGet = func(string) (int, string) { return 500, "" } }, 1, 1, ""},
		"unknown": {func(d *desk) { d.s.answer(func() (int, string, bool) { return 200, `"w9"`, false }) }, 1, mostReadBacks,
			"do not send it again: till payout reconcile"},
		"": {func(d *desk) { drop(d); d.options.Lookup = LookupNever }, 20, 0, ""}, // a person relies on it
	} {
		t.Run(err, func(t *testing.T) {
			d := newDesk(t)
			tt.change(d)
			p := d.plan(nil, dueTo(20)...)
			wantErr(t, errorOf(d.apply(p, ApplyOptions{Concurrency: 16})), err, tt.says)
			if creates, gets, lists := d.s.counts(); creates != tt.creates || gets != tt.gets || err == "" && lists > 0 {
				t.Errorf("%d creates and %d gets, want %d and %d; %d readings", creates, gets, tt.creates, tt.gets, lists)
			}
			if err == "conflict" { // later runs are refused as long as the service shows no order ids
				wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Refused, RuleList)
				d.s.wantCreates(1)
				d.s.answer(nil)
				d.s.set(func() { d.s.rows[0].named("101") })
				d.mustApply(p, ApplyOptions{})
				d.s.wantCreates(20)
			}
		})
	}
}

func TestApplyDuplicates(t *testing.T) {
	d := usedDesk(t)
	d.bring(withdrawal{request: due("101").CreateWithdrawal}, outUnknown)
	same := func(orderID, as string) PlanRow {
		r := due(as)
		r.ExternalOrderID = orderID
		return r
	}
	d.mustApply(d.plan(nil, due("5"), same("6", "5")), ApplyOptions{}).want(t, "2 accepted") // only the order id decides
	p := d.plan(nil, same("7", "101"), due("8"))
	wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Unknown, RuleDuplicate)
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	dry := ApplyOptions{DryRun: true, Note: note}
	wantKind(t, errorOf(collect(d.applier(p, dry).Due(t.Context()))), Unknown, RuleDuplicate)
	dry.KeepGoing = true
	if due, err := collect(d.applier(p, dry).Due(t.Context())); err != nil || len(due) != 1 || due[0].ExternalOrderID != "8" {
		t.Errorf("due are %+v, %v", due, err)
	}
	d.mustApply(p, ApplyOptions{KeepGoing: true, Note: note}).want(t, "1 planned, 1 accepted")
	if len(notes) != 2 || notes[0] != notes[1] || !strings.HasPrefix(notes[0], "order 7 was not sent: order 101 has the same content") {
		t.Errorf("it notes %q", notes)
	}
	d.mustApply(p, ApplyOptions{AllowDuplicate: true}).want(t, "2 accepted")
}

// TestMachinesShareARun checks that each row is sent by one of three machines that share a run, although one
// of them stops.
func TestMachinesShareARun(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	p := d.plan(nil, dueTo(300)...)
	var machines sync.WaitGroup
	for n := range 3 {
		b := d.another().Sender
		ctx, stop := context.WithCancel(t.Context())
		o := ApplyOptions{Concurrency: 4, KeepGoing: true}
		if n == 0 {
			o.Progress = func(t Tally) {
				if t.States[StateAccepted] >= 10 {
					stop()
				}
			}
		}
		machines.Go(func() {
			defer stop()
			if tally, err := b.Apply(ctx, p, o); n == 0 {
				b.ledger.Journal().Close()
			} else if err != nil || tally.States[StateAccepted] != 300 {
				t.Errorf("one ended with %+v, %v", tally, err)
			}
		})
	}
	machines.Wait()
	got := d.arrived()
	slices.Sort(got)
	if len(got) != 300 || len(slices.Compact(got)) != 300 {
		t.Errorf("%d creates arrived, of %d orders", len(got), len(slices.Compact(got)))
	}
}

// TestProgressHoldsNothingUp checks that a terminal that takes no output delays nothing: every row is sent
// before it continues.
func TestProgressHoldsNothingUp(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, dueTo(20)...)
	all := make(chan bool)
	calls := 0
	d.s.onCreate = func(map[string]any) (int, string, bool) {
		if calls++; calls == 20 {
			close(all)
		}
		return 200, "", true
	}
	d.mustApply(p, ApplyOptions{Progress: func(Tally) {
		select {
		case <-all:
		case <-time.After(time.Minute): // otherwise it would wait forever
			t.Error("the rows wait for the terminal")
		}
	}}).want(t, "20 accepted")
}

// TestSentMeanwhile checks that an order of the run that another process sends by itself stops the run if it
// becomes unknown, unless KeepGoing is set, and is not sent again if it is rejected, unless RetryRejected is.
func TestSentMeanwhile(t *testing.T) {
	for want, tt := range map[string]struct {
		out     journal.Outcome
		options ApplyOptions
		err     string
	}{
		"2 planned, 3 accepted, 1 unknown": {out: outUnknown, err: "unknown"},
		"5 accepted, 1 unknown":            {out: outUnknown, options: ApplyOptions{KeepGoing: true}},
		"5 accepted, 1 rejected":           {out: outRejected},
		"6 accepted":                       {out: outRejected, options: ApplyOptions{RetryRejected: true}},
	} {
		d := newDesk(t)
		p, other := d.plan(nil, dueTo(6)...), d.another()
		d.s.onCreate = during("102", func() { other.bring(asked("104"), tt.out) })
		tally, err := d.apply(p, tt.options)
		wantErr(t, err, tt.err)
		tally.want(t, want)
	}
}

// claims claims a row of a plan as another machine does.
func (p *Plan) claims(t *testing.T, other *journal.Ledger, orderID string) journal.Ticket {
	taken, err := other.Claim(t.Context(), journal.Claim{Row: due(orderID).row(), Key: "key1", Run: p.Name(), SameContent: true})
	ok(t, err)
	return taken
}

// TestUnknownOfAnotherMachine checks that the run also stops if a row that another machine was sending
// becomes unknown.
func TestUnknownOfAnotherMachine(t *testing.T) {
	for want, keepGoing := range map[string]bool{"unknown": false, "": true} {
		d := deskAt(t, pgtest.Shared(t).Database(t))
		d.options.Lookup = LookupNever // so that the first row is not sent alone
		p := d.plan(nil, dueTo(6)...)
		x, tally := d.begun(p, ApplyOptions{KeepGoing: keepGoing})
		other := d.open()
		taken, calls := p.claims(t, other, "104"), 0
		d.s.onCreate = func(map[string]any) (int, string, bool) {
			if calls++; calls == 5 { // of the other orders
				ok(t, errorOf(other.Finish(context.Background(), taken, outUnknown)))
			}
			return 200, "", true
		}
		wantErr(t, x.Send(t.Context(), t.Context(), tally), want)
		d.s.wantCreates(5)
	}
}

// TestSendAfterLookUp checks that Send refuses a run whose orders were not looked up, or not with success, and that it
// reads what another machine has sent since.
func TestSendAfterLookUp(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	p := d.plan(nil, dueTo(4)...)
	x := d.applier(p, ApplyOptions{})
	ok(t, x.Begin(t.Context(), 0))
	wantKind(t, x.Send(t.Context(), t.Context(), Tally{}), Invalid, "", "call Begin and LookUp first")
	ok(t, errorOf(x.LookUp(t.Context())))
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := x.LookUp(ended); err == nil {
		t.Fatal("a look-up that has ended has succeeded")
	}
	wantKind(t, x.Send(t.Context(), t.Context(), Tally{}), Invalid, "", "call Begin and LookUp first")
	ok(t, errorOf(x.LookUp(t.Context())))
	other := d.open()
	for _, r := range p.Rows {
		ok(t, errorOf(other.Finish(t.Context(), p.claims(t, other, r.ExternalOrderID), outAccepted("w"+r.ExternalOrderID))))
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // otherwise it would try to claim the rows for ever
	defer stop()
	tally, err := x.Tally(ctx)
	ok(t, err)
	ok(t, x.Send(ctx, t.Context(), tally))
	d.s.wantCreates(0)
}

// TestRowsComeBack checks that a row that another machine claimed first, and did not send, is sent by the
// machine that lost it.
func TestRowsComeBack(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	p, other := d.plan(nil, dueTo(20)...), d.open()
	var taken journal.Ticket
	calls := 0
	d.s.onCreate = func(body map[string]any) (int, string, bool) {
		switch calls++; calls {
		case 1: // the next row, unless this is the last one: the start is random
			id, _ := strconv.Atoi(body["external_order_id"].(string))
			taken = p.claims(t, other, strconv.Itoa(101+(id-101+1)%20))
		case 3:
			ok(t, errorOf(other.Finish(context.Background(), taken, outNotLeft)))
		}
		return 200, "", true
	}
	d.mustApply(p, ApplyOptions{}).want(t, "20 accepted")
	d.s.wantCreates(20)
}

// TestPreviewIsNotForgotten checks that an order which only Preview has found on the list is not sent, and that
// it is not kept in memory after LookUp has recorded it.
func TestPreviewIsNotForgotten(t *testing.T) {
	for _, way := range []string{"rejected", "new"} {
		d := usedDesk(t)
		ways[way](d, asked("101"))
		d.takes("101")
		x := d.applier(d.plan(nil, dueTo(2)...), ApplyOptions{RetryRejected: true})
		tally, err := x.Preview(t.Context())
		if err != nil || tally.Before != 1 || len(x.found.records) != 1 {
			t.Fatal(tally.Before, err, x.found.records)
		}
		ok(t, x.Begin(t.Context(), 1))
		d.hide("101")
		tally, err = x.LookUp(t.Context())
		if err != nil || tally.Before != 1 || len(x.found.records) != 0 {
			t.Fatal(tally.Before, err, x.found.records)
		}
		ok(t, x.Send(t.Context(), t.Context(), tally))
		d.wantState("101", StateAccepted)
		d.wantState("102", StateAccepted)
		d.s.wantCreates(2) // one of them by history
	}
}

// TestOnePlanOfABatchInOneProcess checks that a program which has prepared two plans of a batch cannot send
// the older one while, or after, the newer one is sent, nor the newer one while the older one is sent.
func TestOnePlanOfABatchInOneProcess(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		old := d.plan(may(""), dueTo(3)...)
		older, left := d.begun(old, ApplyOptions{})
		newer, all := d.begun(d.plan(may(old.Name()), due("9")), ApplyOptions{})
		tried := 0
		d.s.answer(func() (int, string, bool) {
			tried++
			wantKind(t, older.Send(t.Context(), t.Context(), left), Refused, RuleBatchChanged)
			return 200, "", true
		})
		ok(t, newer.Send(t.Context(), t.Context(), all))
		wantKind(t, older.Send(t.Context(), t.Context(), left), Refused, RuleBatchChanged)
		d.s.wantCreates(1)
		third := d.plan(may(newer.plan.Name()), due("9"), due("10"), due("11"))
		x, rows := d.begun(third, ApplyOptions{})
		fourth := d.plan(may(third.Name()), due("9"), due("12"))
		y := d.applier(fourth, ApplyOptions{})
		d.s.answer(func() (int, string, bool) {
			tried++
			_, preparing := d.Applier(t.Context(), fourth, ApplyOptions{})
			for _, err := range []error{preparing, y.Send(t.Context(), t.Context(), Tally{})} {
				if !errors.Is(err, journal.Busy) || journal.AsError(err).Run != third.Name() {
					t.Error(err)
				}
			}
			return 200, "", true
		})
		if err := x.Send(t.Context(), t.Context(), rows); err != nil || tried != 3 {
			t.Fatal(err, tried)
		}
		d.s.answer(nil)
		ok(t, y.Begin(t.Context(), 0)) // 10 and 11 are paid, and may be what 12 corrects
		wantKind(t, y.Send(t.Context(), t.Context(), Tally{}), Refused, RuleBatchChanged, "order 1")
		for _, next := range []string{"make a new plan", "withdraw resolve 10"} {
			wantKind(t, errorOf(d.Applier(t.Context(), fourth, ApplyOptions{DryRun: true})), Refused, RuleBatchChanged, next)
			d.settles(journal.Evidence{OrderID: "10", Withdrawal: "w0", Content: contentOf(asked("10").request)}) // a conflict
		}
	})
}

// TestReplacedRow checks that a row which a corrected plan lacks keeps that from being sent once the list has
// shown it, and that nothing else sends it.
func TestReplacedRow(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		old, _ := d.begun(d.plan(may(""), due("9"), due("10"), due("11")), ApplyOptions{})
		x := d.applier(d.plan(may(old.plan.Name()), due("9"), due("12")), ApplyOptions{})
		ok(t, x.Begin(t.Context(), 0))
		wantKind(t, errorOf(d.send(asked("11"))), Refused, RuleBatchChanged, "order 11 is of a batch")
		d.mustApply(d.plan(nil, due("9")), ApplyOptions{})
		rest := d.plan(nil, due("11"))
		wantKind(t, errorOf(d.apply(rest, ApplyOptions{})), Refused, RuleBatchChanged, "order 11 is of a batch")
		d.takes("10") // from another machine
		wantKind(t, errorOf(x.LookUp(t.Context())), Refused, RuleBatchChanged, "withdraw reconcile 10")
		d.mustReconcile("10")
		wantKind(t, x.Send(t.Context(), t.Context(), Tally{}), Refused, RuleBatchChanged, "make a new plan")
		next := may(x.plan.Name())
		d.mustApply(d.plan(func(p *Plan) { next(p); p.Gone = 1 }, due("9"), due("12")), ApplyOptions{})
		d.wantArrived("9", "12")
	})
}

// TestRefusedKeyBeatsTooManyCalls checks that a refused key is reported rather than too many calls, whichever
// comes first.
func TestRefusedKeyBeatsTooManyCalls(t *testing.T) {
	call := func(status int) error { return &api.Error{Status: status, Outcome: api.Rejected} }
	for want, errs := range map[int][]error{400: {call(400), call(500)}, 429: {&Error{Kind: Unknown}, call(429), call(400)},
		401: {call(429), call(401)}, 403: {call(403), call(429)}} {
		s := &sending{end: func() {}}
		for _, err := range errs {
			s.stop(err)
		}
		if got := (*api.Error)(nil); !errors.As(s.why, &got) || got.Status != want {
			t.Errorf("of %v it was %v, want %d", errs, s.why, want)
		}
	}
}

// TestUnknownBeatsWhatStoppedTheRun checks that the error of a run says that an order may have been paid,
// whatever else has stopped it, and also if its outcome cannot be recorded. Then its id is reported at once,
// because it is nowhere else.
func TestUnknownBeatsWhatStoppedTheRun(t *testing.T) {
	for says, answer := range map[string]func(d *desk) (int, string, bool){
		"unknown": func(*desk) (int, string, bool) { return lost() },
		"w77":     func(d *desk) (int, string, bool) { d.ledger.Journal().Close(); return 200, `"w77"`, true },
	} {
		t.Run(says, func(t *testing.T) {
			d := newDesk(t)
			d.options.Lookup = LookupNever // so that the first row is not sent alone
			sending := func() (n int) {
				for _, err := range d.Orders(t.Context(), Filter{States: []State{StateSending}}) {
					n++
					ok(t, err)
				}
				return n
			}
			calls, notes := 0, ""
			d.s.answer(func() (int, string, bool) {
				if calls++; calls == 1 {
					for d.s.arrived.Load() < 2 { // until the other one is under way too
						runtime.Gosched()
					}
					return closedKey()
				}
				for sending() > 1 { // until the refusal is recorded
				}
				return answer(d)
			})
			_, err := d.apply(d.plan(nil, dueTo(2)...),
				ApplyOptions{Concurrency: 2, Note: func(text string) { notes += text + "\n" }})
			wantKind(t, err, Unknown, "", "401", says)
			if says == "w77" && (strings.Count(notes, "\n") != 1 || !strings.Contains(notes, "w77")) {
				t.Errorf("it notes %q", notes)
			}
			d.s.wantCreates(2)
		})
	}
}

// TestInterruptionIsNoReason checks that the error about an unknown outcome does not say that the run was
// interrupted.
func TestInterruptionIsNoReason(t *testing.T) {
	s := &sending{Applier: &Applier{plan: &Plan{Digest: digestKind + "cafe0001"}}, tally: newTally(),
		doubt: errors.New("order 1 is unknown"), why: context.Canceled}
	if got := s.inDoubt().Error(); got != "order 1 is unknown" {
		t.Error(got)
	}
}

// TestRateThatDoesNotFitTheDeadline checks that a run whose rows have to wait longer than its context lasts
// says that it did not send them.
func TestRateThatDoesNotFitTheDeadline(t *testing.T) {
	d := newDesk(t)
	x, _ := d.begun(d.plan(nil, dueTo(3)...), ApplyOptions{Rate: 0.001})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := x.Send(ctx, t.Context(), Tally{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	d.s.wantCreates(1)
}

// TestNextRow checks which outcomes let a row that waits be claimed together with them.
func TestNextRow(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		err  error
		ctx  context.Context
		rate float64
		want bool
	}{
		"accepted":           {nil, t.Context(), 0, true},
		"rejected":           {&api.Error{Status: 422, Outcome: api.Rejected}, t.Context(), 0, true},
		"unknown":            {&api.Error{Outcome: api.Unknown}, t.Context(), 0, false},
		"never left":         {&api.Error{Outcome: api.NotSent}, t.Context(), 0, false},
		"the key":            {&api.Error{Status: 401, Outcome: api.Rejected}, t.Context(), 0, false},
		"before its time":    {nil, t.Context(), 1, false},
		"after an interrupt": {nil, ended, 0, false},
	} {
		s := &sending{Applier: &Applier{options: ApplyOptions{Rate: tt.rate}}, ctx: tt.ctx}
		more := make(chan dueRow, 1)
		more <- dueRow{PlanRow: new(due("2"))}
		if _, found := s.next(call{err: tt.err}, more); found != tt.want {
			t.Errorf("%s: a row is claimed: %v", name, found)
		}
	}
}

// TestDoubtIsLookedForBackToItsAttempt checks that an order in doubt is looked for back to its attempt, even
// if another row of the run is unknown.
func TestDoubtIsLookedForBackToItsAttempt(t *testing.T) {
	d := deskInDoubt(t, "101")
	d.hasDecided(journal.Decision{OrderID: "101", NotSent: true, Reason: "the provider said so"})
	d.hidesOld()
	d.takes("101") // it arrived after all
	d.bring(asked("102"), outUnknown)
	tally, err := d.apply(d.plan(nil, due("101"), due("102")), ApplyOptions{KeepGoing: true})
	ok(t, err)
	tally.want(t, "1 accepted, 1 unknown")
	d.s.wantCreates(1)
}

// hidesOld has the list read since an hour ago if that is far enough, and nothing shown then.
func (d *desk) hidesOld() {
	d.clock.move(time.Hour)
	d.options.Since, d.options.SinceTime = "since", d.clock.Now()
	d.clock.move(time.Hour)
	d.s.onList = func(page, size int) ([]row, int, int) {
		if d.s.from[len(d.s.from)-1] == "since" {
			return nil, 0, 0
		}
		return d.s.cut(page, size)
	}
}

// TestDryRunSendsNothing checks that a plan that is applied as a dry run by mistake is not sent, and leaves no trace.
func TestDryRunSendsNothing(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, dueTo(2)...)
	a := d.applier(p, ApplyOptions{DryRun: true})
	if err := errors.Join(a.Begin(t.Context(), 0), a.Send(t.Context(), t.Context(), Tally{})); strings.Count(fmt.Sprint(err), "DryRun") != 2 {
		t.Errorf("got %v", err)
	}
	rows := 0
	for _, err := range a.Due(t.Context()) {
		ok(t, err)
		rows++
	}
	living, err := d.ledger.Journal().Appliers(t.Context())
	if rows != 2 || err != nil || len(living) > 0 {
		t.Errorf("%d rows are due, and %v apply a plan, %v", rows, living, err)
	}
	ok(t, d.open().Alone(t.Context(), "cafe0001", true))
	if _, err := d.Applier(t.Context(), p, ApplyOptions{DryRun: true}); !errors.Is(err, Busy) ||
		!strings.Contains(err.Error(), "cafe0001") || !strings.Contains(err.Error(), "ann on till1") {
		t.Errorf("while another process applies a plan: %v", err)
	}
	d.s.wantCreates(0)
}

// TestRunStopsAt checks that a run sends what its plan says or nothing, if an order of it is paid with another
// content, is to get another content during the run, or its account is renamed.
func TestRunStopsAt(t *testing.T) {
	for want, tt := range map[string]struct {
		arrange func(d *desk)
		sent    []string
	}{
		"conflict": {arrange: func(d *desk) { d.takes("102"); d.s.rows[0]["address"] = "elsewhere" }},
		"": {sent: []string{"101", "102", "103"}, arrange: func(d *desk) {
			changed, other := asked("103"), d.another()
			changed.request.Amount.Minor = 1
			d.bring(asked("103"), outRejected) // before the run, which has not planned it
			d.s.onCreate = during("102", func() {
				if err := errorOf(other.ledger.Claim(t.Context(), other.claim(changed))); !errors.Is(err, journal.Exists) {
					t.Error(err)
				}
			})
		}},
		"refused/" + RuleAccount: {arrange: func(d *desk) { // with the running sender's own journal, as if by another process
			d.onPage(3, func() {
				ok(t, d.ledger.Journal().Rename(t.Context(), d.ledger.Account(), Account{Address: d.s.URL, Name: "renamed"}))
			})
		}},
	} {
		d := newDesk(t)
		p := d.plan(nil, dueTo(3)...)
		tt.arrange(d)
		if want == "conflict" { // which Preview counts
			if tally, err := d.applier(p, ApplyOptions{}).Preview(t.Context()); tally.Conflict != "102" || tally.Before != 0 {
				t.Errorf("%+v, %v", tally, err)
			}
		}
		wantErr(t, errorOf(d.apply(p, ApplyOptions{RetryRejected: true})), want)
		d.wantArrived(tt.sent...)
		if want == "conflict" { // which is from before then
			wantErr(t, errorOf(d.apply(p, ApplyOptions{KeepGoing: true})), want)
			d.wantArrived()
		}
	}
}

// TestRowIsNoOtherWithdrawal checks that a row that a run is to send is not sent with other content beside it.
func TestRowIsNoOtherWithdrawal(t *testing.T) {
	d, other := newDesk(t), asked("101")
	p := d.plan(nil, due("101"))
	x, tally := d.begun(p, ApplyOptions{})
	other.request.Amount.Minor++
	for range 2 {
		wantKind(t, errorOf(d.send(other)), Refused, RuleOrderID, "may still pay it as it was", "payout status "+p.Name())
		if err := errorOf(d.ledger.Claim(t.Context(), d.claim(other))); !errors.Is(err, journal.Exists) {
			t.Error(err)
		}
		d.bring(asked("101"), outNotLeft) // a single attempt leaves it to its run
	}
	ok(t, x.Send(t.Context(), t.Context(), tally))
	d.wantArrived("101")
}

// TestUnknownBeforeTheFirstRow checks that nothing is sent if an order of the run has become unknown after
// LookUp.
func TestUnknownBeforeTheFirstRow(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		x, tally := d.begun(d.plan(nil, dueTo(5)...), ApplyOptions{})
		d.bring(asked("101"), outUnknown) // where PostgreSQL seldom begins
		wantKind(t, errorOf(collect(x.Due(t.Context()))), Unknown, "")
		wantKind(t, x.Send(t.Context(), t.Context(), tally), Unknown, "")
		d.s.wantCreates(0)
	})
}
