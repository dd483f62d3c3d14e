package payout

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// eachJournal runs a test with each kind of journal.
func eachJournal(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newDesk(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, deskAt(t, pgtest.Shared(t).Database(t))) })
}

// due returns a row of a plan for the same withdrawal as asked.
func due(orderID string) PlanRow {
	return PlanRow{CreateWithdrawal: asked(orderID).request, Note: "note " + orderID}
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
	ok(d.t, writePlan(p, testMoney, rows))
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

// apply takes the same steps as the command without a prompt.
func (s *Sender) apply(ctx context.Context, p *Plan, o ApplyOptions) (Tally, error) {
	x, err := s.Applier(ctx, p, o)
	if err != nil {
		return Tally{}, err
	}
	t, err := x.Tally(ctx)
	if err != nil {
		return t, err
	}
	if err := x.Begin(ctx, t.Before); err != nil {
		return t, err
	}
	if t, err = x.LookUp(ctx); err != nil {
		return t, err
	}
	err = x.Send(ctx, context.Background(), t)
	t, e := x.Tally(context.Background())
	return t, errors.Join(err, e)
}

// begun begins a run and calls LookUp, so that only Send is left.
func (d *desk) begun(p *Plan, o ApplyOptions) (*Applier, Tally) {
	d.t.Helper()
	x, err := d.Applier(d.t.Context(), p, o)
	ok(d.t, err)
	ok(d.t, x.Begin(d.t.Context(), 0))
	tally, err := x.LookUp(d.t.Context())
	ok(d.t, err)
	return x, tally
}

func (d *desk) apply(p *Plan, o ApplyOptions) (Tally, error) {
	return d.Sender.apply(context.Background(), p, o)
}

func (d *desk) mustApply(p *Plan, o ApplyOptions) Tally {
	d.t.Helper()
	t, err := d.apply(p, o)
	ok(d.t, err)
	return t
}

func (t Tally) want(tb testing.TB, want map[State]int) {
	tb.Helper()
	for _, state := range States() {
		if t.States[state] != want[state] {
			tb.Errorf("the orders stand as %v, want %v", t.States, want)
			return
		}
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
		tally.want(t, map[State]int{StateAccepted: 250})
		if tally.Before != 0 || tally.LeftRows() != 0 || len(tally.Accepted) != 1 || tally.Accepted[0] != p.Totals[0] {
			t.Errorf("the tally is %+v", tally)
		}
		var want []string
		for _, r := range rows {
			want = append(want, r.ExternalOrderID)
		}
		if !d.ledger.Journal().Shared() { // several machines begin at different rows
			d.wantArrived(want...)
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
		// Applied again: nothing is left.
		d.mustApply(p, ApplyOptions{Concurrency: 8}).want(t, map[State]int{StateAccepted: 250})
		d.s.wantCreates(250)
	})
}

// TestApplyStops checks that after a run was stopped, the rest is planned, and the next apply sends only the
// rest.
func TestApplyStops(t *testing.T) {
	notLeft := func(d *desk) { d.client = newClient(d.t, "http://127.0.0.1:1") }
	tests := map[string]struct {
		answer  func() (int, string, bool)
		arrange func(d *desk)
		options ApplyOptions
		check   func(t *testing.T, err error)
		want    map[State]int
		then    map[State]int // after an apply with the same options, when the service works again
	}{
		"unknown": {answer: lost, check: func(t *testing.T, err error) { wantKind(t, err, Unknown, "") },
			want: map[State]int{StateAccepted: 1, StateUnknown: 1, StatePlanned: 2}, then: map[State]int{StateAccepted: 4}},
		"key refused": {answer: closedKey, check: func(t *testing.T, err error) { wantCall(t, err, api.Rejected, 401) },
			want: map[State]int{StateAccepted: 1, StatePlanned: 3}, then: map[State]int{StateAccepted: 4}},
		"too many calls": {answer: tooMany, check: func(t *testing.T, err error) { wantCall(t, err, api.Rejected, 429) },
			want: map[State]int{StateAccepted: 1, StatePlanned: 3}, then: map[State]int{StateAccepted: 4}},
		"rejected, which does not stop it": {answer: refusedBy,
			want: map[State]int{StateAccepted: 3, StateRejected: 1}, then: map[State]int{StateAccepted: 3, StateRejected: 1}},
		"rejected, and sent once more": {answer: refusedBy, options: ApplyOptions{RetryRejected: true},
			want: map[State]int{StateAccepted: 3, StateRejected: 1}, then: map[State]int{StateAccepted: 4}},
		"unknown, and it keeps going": {answer: lost, options: ApplyOptions{KeepGoing: true},
			want: map[State]int{StateAccepted: 3, StateUnknown: 1}, then: map[State]int{StateAccepted: 4}},
		"no way to the service": {arrange: notLeft, check: func(t *testing.T, err error) { wantCall(t, err, api.NotSent, 0) },
			want: map[State]int{StatePlanned: 4}, then: map[State]int{StateAccepted: 4}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			p := d.plan(nil, dueTo(4)...)
			if tt.answer != nil {
				d.s.onCreate = on("102", tt.answer)
			}
			well := d.client
			x, tally := d.begun(p, tt.options)
			if tt.arrange != nil {
				tt.arrange(d)
			}
			err := x.Send(t.Context(), t.Context(), tally)
			if tt.check == nil && err != nil || tt.check != nil && err == nil {
				t.Fatalf("it ended with %v", err)
			}
			if tt.check != nil {
				tt.check(t, err)
			}
			if tally, err = x.Tally(t.Context()); err != nil {
				t.Fatal(err)
			}
			tally.want(t, tt.want)
			d.client = well
			d.s.set(func() { d.s.onCreate = nil })
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

// TestApplyStaysUnknown checks that an order that stays unknown keeps the rest from being sent, unless
// KeepGoing is set.
func TestApplyStaysUnknown(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		d.history()
		p := d.plan(nil, dueTo(3)...)
		d.dies(withdrawal{request: due("101").CreateWithdrawal})
		wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Unknown, "")
		d.wantArrived("1")
		d.mustApply(p, ApplyOptions{KeepGoing: true}).want(t, map[State]int{StateAccepted: 2, StateUnknown: 1})
		d.s.wantCreates(3)
		d.wantState("101", StateUnknown)
	})
}

func TestApplyGivesUpAfterFiveUnknown(t *testing.T) {
	tests := map[string]struct {
		well map[string]bool // those that are answered
		want map[State]int
	}{
		"five one after the other": {nil, map[State]int{StateUnknown: 5, StatePlanned: 5}},
		"never five":               {map[string]bool{"105": true, "109": true}, map[State]int{StateUnknown: 8, StateAccepted: 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.onCreate = func(b map[string]any) (int, string, bool) {
				if tt.well[b["external_order_id"].(string)] {
					return 200, "", true
				}
				return vanished()
			}
			tally, err := d.apply(d.plan(nil, dueTo(10)...), ApplyOptions{KeepGoing: true})
			if (err != nil) != (tally.States[StatePlanned] > 0) {
				t.Errorf("it ended with %v", err)
			}
			if why := "5 outcomes in a row were unknown; 5 orders of the run are unknown: the outcome of order 105 is " +
				"unknown"; err != nil && !strings.HasPrefix(err.Error(), why) {
				t.Error(err)
			}
			tally.want(t, tt.want)
		})
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
	tests := map[string]struct {
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
		"a newer batch run": {change: func(p *Plan) { p.Batch = "may" }, arrange: func(d *desk, p *Plan) {
			d.mustApply(d.plan(func(p *Plan) { p.Batch = "may" }, due("9")), ApplyOptions{})
		}, rule: RuleBatchChanged},
		"the same batch run": {change: func(p *Plan) { p.Batch = "may" },
			arrange: func(d *desk, p *Plan) { d.mustApply(p, ApplyOptions{}) }},
		"begun, but the batch has gone on": {change: func(p *Plan) { p.Batch = "may" }, arrange: func(d *desk, p *Plan) {
			d.mustApply(p, ApplyOptions{})
			d.mustApply(d.plan(func(n *Plan) { n.Batch, n.Since = "may", p.Name() }, due("9")), ApplyOptions{})
		}, rule: RuleBatchChanged},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			p := d.plan(tt.change, dueTo(2)...)
			if tt.arrange != nil {
				tt.arrange(d, p)
			}
			before, _, _ := d.s.counts()
			_, err := d.apply(p, ApplyOptions{})
			if tt.rule == "" {
				ok(t, err)
				return
			}
			wantKind(t, err, Refused, tt.rule)
			d.s.wantCreates(before)
		})
	}
}

// TestApplyReadsBack checks that the first row is read back before others are sent.
func TestApplyReadsBack(t *testing.T) {
	drop := func(d *desk) {
		d.s.onCreate = func(map[string]any) (int, string, bool) {
			id := d.s.take(map[string]any{"currency": row{"Crypto": "Btc"}, "amount": row{"Crypto": row{"Btc": 5000}},
				"address": "bc1q101"})
			return 200, strconv.Quote(id), false
		}
	}
	tests := map[string]struct {
		change  func(d *desk)
		kind    Kind
		creates int
	}{
		"order ids dropped":     {drop, Conflict, 1},
		"cannot be read":        {func(d *desk) { d.s.onGet = func(string) (int, string) { return 500, "" } }, Partial, 1},
		"relied on by a person": {func(d *desk) { drop(d); d.options.Lookup = LookupNever }, "", 20},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tt.change(d)
			p := d.plan(nil, dueTo(20)...)
			_, err := d.apply(p, ApplyOptions{Concurrency: 16})
			d.s.wantCreates(tt.creates)
			if tt.creates == 20 {
				ok(t, err)
				return
			}
			wantKind(t, err, tt.kind, "")
			if tt.kind == Conflict { // later runs are refused as long as the service shows no order ids
				wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Refused, RuleList)
				d.s.wantCreates(1)
				d.s.set(func() { // it shows them again
					d.s.onCreate = nil
					d.s.rows[0]["external_order_id"] = "101"
				})
				d.mustApply(p, ApplyOptions{})
				d.s.wantCreates(20)
			}
		})
	}
}

func TestApplyDuplicates(t *testing.T) {
	d := usedDesk(t)
	d.bring(withdrawal{request: due("101").CreateWithdrawal}, outUnknown)
	same := func(orderID string) PlanRow {
		r := due("101")
		r.ExternalOrderID = orderID
		return r
	}
	twins := d.plan(nil, due("5"), func() PlanRow { r := due("5"); r.ExternalOrderID = "6"; return r }())
	d.mustApply(twins, ApplyOptions{}).want(t, map[State]int{StateAccepted: 2}) // only the order id decides
	p := d.plan(nil, same("7"), due("8"))
	wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Unknown, RuleDuplicate)
	var notes []string
	d.mustApply(p, ApplyOptions{KeepGoing: true, Note: func(text string) { notes = append(notes, text) }}).want(t,
		map[State]int{StateAccepted: 1, StatePlanned: 1})
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "order 7 was not sent: order 101 has the same content") {
		t.Errorf("it notes %q", notes)
	}
	d.mustApply(p, ApplyOptions{AllowDuplicate: true}).want(t, map[State]int{StateAccepted: 2})
}

// TestApplyTellsWhatItCannotRecord checks that an id that a run could not record is reported at once, because
// it is nowhere else.
func TestApplyTellsWhatItCannotRecord(t *testing.T) {
	d := newDesk(t)
	p := d.plan(nil, dueTo(3)...)
	d.s.onCreate = on("102", func() (int, string, bool) {
		d.ledger.Journal().Close()
		return 200, `"w77"`, true
	})
	var notes []string
	if _, err := d.apply(p, ApplyOptions{Note: func(text string) { notes = append(notes, text) }}); err == nil {
		t.Error("it says that it is done")
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "order 102") || !strings.Contains(notes[0], "w77") {
		t.Errorf("it notes %q", notes)
	}
	d.wantArrived("101", "102")
	d.Ledger = &Ledger{d.open()}
	ok(t, d.ledger.Reap(t.Context()))
	d.wantState("102", StateUnknown)
}

// TestMachinesShareARun checks that each row is sent by one of three machines that share a run, even if one
// of them stops.
func TestMachinesShareARun(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("one dies: %v", dies), func(t *testing.T) {
			d := deskAt(t, pgtest.Shared(t).Database(t))
			p := d.plan(nil, dueTo(300)...)
			type end struct {
				tally Tally
				err   error
			}
			ends := make(chan end)
			for n := range 3 {
				b := d.another().Sender
				ctx, stop := context.WithCancel(t.Context())
				o := ApplyOptions{Concurrency: 4, KeepGoing: true}
				if dies && n == 0 {
					o.Progress = func(t Tally) {
						if t.States[StateAccepted] >= 10 {
							stop()
						}
					}
				}
				go func() {
					defer stop()
					tally, err := b.apply(ctx, p, o)
					if dies && n == 0 {
						b.ledger.Journal().Close()
						tally, err = Tally{}, nil
					}
					ends <- end{tally, err}
				}()
			}
			for range 3 {
				if e := <-ends; e.err != nil || e.tally.Rows > 0 && e.tally.States[StateAccepted] != 300 {
					t.Errorf("one ended with %+v, %v", e.tally, e.err)
				}
			}
			got := d.arrived()
			slices.Sort(got)
			if len(got) != 300 || len(slices.Compact(got)) != 300 {
				t.Errorf("%d creates arrived, of %d orders", len(got), len(slices.Compact(got)))
			}
		})
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
	}}).want(t, map[State]int{StateAccepted: 20})
}

// TestSentMeanwhile checks that an order of the run that another process sends by itself stops the run if it
// becomes unknown, unless KeepGoing is set, and is not sent again if it is rejected, unless RetryRejected is.
func TestSentMeanwhile(t *testing.T) {
	for name, tt := range map[string]struct {
		out     journal.Outcome
		options ApplyOptions
		kind    Kind
		want    map[State]int
	}{
		"unknown": {out: outUnknown, kind: Unknown,
			want: map[State]int{StateAccepted: 3, StateUnknown: 1, StatePlanned: 2}},
		"unknown, and it keeps going": {out: outUnknown, options: ApplyOptions{KeepGoing: true},
			want: map[State]int{StateAccepted: 5, StateUnknown: 1}},
		"rejected": {out: outRejected, want: map[State]int{StateAccepted: 5, StateRejected: 1}},
		"rejected, and sent once more": {out: outRejected, options: ApplyOptions{RetryRejected: true},
			want: map[State]int{StateAccepted: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			p, other := d.plan(nil, dueTo(6)...), d.another()
			d.s.onCreate = during("102", func() { other.bring(asked("104"), tt.out) })
			tally, err := d.apply(p, tt.options)
			if tt.kind != "" {
				wantKind(t, err, tt.kind, "")
			} else {
				ok(t, err)
			}
			tally.want(t, tt.want)
		})
	}
}

// TestUnknownOfAnotherMachine checks that the run also stops if a row that another machine was sending
// becomes unknown.
func TestUnknownOfAnotherMachine(t *testing.T) {
	for _, keepGoing := range []bool{false, true} {
		d := deskAt(t, pgtest.Shared(t).Database(t))
		d.options.Lookup = LookupNever // so that the first row is not sent alone
		p := d.plan(nil, dueTo(6)...)
		x, tally := d.begun(p, ApplyOptions{KeepGoing: keepGoing})
		other := d.open()
		taken, err := other.Claim(t.Context(),
			journal.Claim{OrderID: "104", Content: contentOf(due("104").CreateWithdrawal), Key: "key1",
				Run: p.Name(), SameContent: true})
		ok(t, err)
		calls := 0
		d.s.onCreate = func(map[string]any) (int, string, bool) {
			if calls++; calls == 5 { // of the other orders
				if _, err := other.Finish(context.Background(), taken, outUnknown); err != nil {
					t.Error(err)
				}
			}
			return 200, "", true
		}
		err = x.Send(t.Context(), t.Context(), tally)
		if keepGoing && err != nil {
			t.Error(err)
		}
		if !keepGoing {
			wantKind(t, err, Unknown, "")
		}
		d.s.wantCreates(5)
	}
}

// TestSendWithoutLookUp checks that Send reads what another machine has sent since Begin, also if LookUp was
// left out.
func TestSendWithoutLookUp(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	p := d.plan(nil, dueTo(4)...)
	x := d.applier(p, ApplyOptions{})
	ok(t, x.Begin(t.Context(), 0))
	other := d.open()
	for _, r := range p.Rows {
		taken, err := other.Claim(t.Context(),
			journal.Claim{OrderID: r.ExternalOrderID, Content: contentOf(r.CreateWithdrawal),
				Callback: r.Callback, Note: r.Note, Key: "key1", Run: p.Name(), SameContent: true})
		if err == nil {
			_, err = other.Finish(t.Context(), taken,
				journal.Outcome{Ending: order.WasAccepted, Withdrawal: "w" + r.ExternalOrderID, Status: 200})
		}
		ok(t, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // otherwise it would try to claim the rows for ever
	defer stop()
	tally, err := x.Tally(ctx)
	if err == nil {
		err = x.Send(ctx, t.Context(), tally)
	}
	ok(t, err)
	d.s.wantCreates(0)
}

// TestRowsComeBack checks that a row that another machine claimed first, and did not send, is sent by the
// machine that lost it.
func TestRowsComeBack(t *testing.T) {
	d := deskAt(t, pgtest.Shared(t).Database(t))
	p := d.plan(nil, dueTo(20)...)
	other := d.open()
	var taken journal.Ticket
	calls := 0
	d.s.onCreate = func(body map[string]any) (int, string, bool) {
		switch calls++; calls {
		case 1: // the next row, unless this is the last one: the start is random
			id, _ := strconv.Atoi(body["external_order_id"].(string))
			r := due(strconv.Itoa(101 + (id-101+1)%20))
			var err error
			taken, err = other.Claim(context.Background(),
				journal.Claim{OrderID: r.ExternalOrderID, Content: contentOf(r.CreateWithdrawal), Callback: r.Callback,
					Note: r.Note, Key: "key1", Run: p.Name(), SameContent: true})
			ok(t, err)
		case 3:
			if _, err := other.Finish(context.Background(), taken,
				journal.Outcome{Ending: order.SaidNothing, Reason: "it was stopped"}); err != nil {
				t.Error(err)
			}
		}
		return 200, "", true
	}
	d.mustApply(p, ApplyOptions{}).want(t, map[State]int{StateAccepted: 20})
	if got := d.arrived(); len(got) != 20 {
		t.Errorf("%d creates arrived", len(got))
	}
}

// TestPreviewIsNotForgotten checks that an order which only Preview has found on the list is not sent.
func TestPreviewIsNotForgotten(t *testing.T) {
	for name, arrange := range map[string]func(d *desk){
		"rejected before": func(d *desk) { d.bring(asked("101"), outRejected) },
		"new":             func(*desk) {},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			arrange(d)
			d.s.set(func() { d.s.take(body("101")) })
			x := d.applier(d.plan(nil, dueTo(2)...), ApplyOptions{RetryRejected: true})
			tally, err := x.Preview(t.Context())
			if err != nil || tally.Before != 1 {
				t.Fatal(tally.Before, err)
			}
			ok(t, x.Begin(t.Context(), 1))
			d.hide("101")
			tally, err = x.LookUp(t.Context())
			if err != nil || tally.Before != 1 {
				t.Fatal(tally.Before, err)
			}
			ok(t, x.Send(t.Context(), t.Context(), tally))
			d.wantState("101", StateAccepted)
			d.wantState("102", StateAccepted)
			d.s.wantCreates(2) // one of them by history
		})
	}
}

// TestOnePlanOfABatchInOneProcess checks that a program which has prepared two plans of a batch cannot send
// the older one while, or after, the newer one is sent, nor the newer one while the older one is sent.
func TestOnePlanOfABatchInOneProcess(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		old := d.plan(may(""), dueTo(3)...)
		older, left := d.begun(old, ApplyOptions{})
		newer, all := d.begun(d.plan(may(old.Name()), due("9")), ApplyOptions{})
		busy := func(name, with string, err error) {
			if !errors.Is(err, journal.Busy) || journal.AsError(err).Run != with {
				t.Errorf("%s: %v", name, err)
			}
		}
		tried := 0
		d.s.set(func() {
			d.s.onCreate = func(map[string]any) (int, string, bool) {
				tried++
				wantKind(t, older.Send(t.Context(), t.Context(), left), Refused, RuleBatchChanged)
				return 200, "", true
			}
		})
		if err := newer.Send(t.Context(), t.Context(), all); err != nil || tried != 1 {
			t.Fatal(err, tried)
		}
		wantKind(t, older.Send(t.Context(), t.Context(), left), Refused, RuleBatchChanged)
		d.s.wantCreates(1)
		d.s.set(func() { d.s.onCreate = nil })
		third := d.plan(may(newer.plan.Name()), due("10"), due("11"))
		x, rows := d.begun(third, ApplyOptions{})
		fourth := d.plan(may(third.Name()), due("12"))
		y := d.applier(fourth, ApplyOptions{})
		d.s.set(func() {
			d.s.onCreate = func(map[string]any) (int, string, bool) {
				tried++
				_, err := d.Applier(t.Context(), fourth, ApplyOptions{})
				busy("a plan that is prepared meanwhile", third.Name(), err)
				busy("a plan that was prepared before", third.Name(), y.Send(t.Context(), t.Context(), Tally{}))
				return 200, "", true
			}
		})
		if err := x.Send(t.Context(), t.Context(), rows); err != nil || tried != 3 {
			t.Fatal(err, tried)
		}
		d.s.set(func() { d.s.onCreate = nil })
		d.mustApply(fourth, ApplyOptions{}) // once the others are sent, it can be
	})
}

// TestRefusedKeyBeatsTooManyCalls checks that a refused key is reported rather than too many calls, whichever
// comes first.
func TestRefusedKeyBeatsTooManyCalls(t *testing.T) {
	call := func(status int) error { return &api.Error{Status: status, Outcome: api.Rejected} }
	for _, errs := range [][]error{{call(429), call(401)}, {call(401), call(429)},
		{&Error{Kind: Unknown}, call(429), call(403)}} {
		s := &sending{end: func() {}}
		for _, err := range errs {
			s.stop(err)
		}
		if got := (*api.Error)(nil); !errors.As(s.why, &got) || got.Status == 429 {
			t.Errorf("of %v it was %v", errs, s.why)
		}
	}
}

// TestUnknownBeatsWhatStoppedTheRun checks that the error of a run says that an order may have been paid,
// whatever else has stopped it, and also if its outcome cannot be recorded.
func TestUnknownBeatsWhatStoppedTheRun(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(d *desk) (int, string, bool)
		says   string
	}{
		"no answer": {func(*desk) (int, string, bool) { return lost() }, "unknown"},
		"not recorded": {func(d *desk) (int, string, bool) {
			d.ledger.Journal().Close()
			return 200, `"w77"`, true
		}, "w77"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.options.Lookup = LookupNever // so that the first row is not sent alone
			sending := func() (n int) {
				for _, err := range d.Orders(t.Context(), Filter{States: []State{StateSending}}) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
				return n
			}
			calls := 0
			d.s.onCreate = func(map[string]any) (int, string, bool) {
				if calls++; calls == 1 {
					for d.s.arrived.Load() < 2 { // until the other one is under way too
						runtime.Gosched()
					}
					return closedKey()
				}
				for sending() > 1 { // until the refusal is recorded
				}
				return tt.answer(d)
			}
			_, err := d.apply(d.plan(nil, dueTo(2)...), ApplyOptions{Concurrency: 2})
			wantKind(t, err, Unknown, "", "401", tt.says)
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
		more <- dueRow{PlanRow: due("2")}
		if _, found := s.next(call{err: tt.err}, more); found != tt.want {
			t.Errorf("%s: a row is claimed: %v", name, found)
		}
	}
}

// TestDoubtIsLookedForBackToItsAttempt checks that an order in doubt is looked for back to its attempt, even
// if another row of the run is unknown.
func TestDoubtIsLookedForBackToItsAttempt(t *testing.T) {
	d := usedDesk(t)
	d.bring(withdrawal{request: due("101").CreateWithdrawal}, outUnknown)
	d.hasDecided(journal.Decision{OrderID: "101", NotSent: true, Reason: "the provider said so"})
	d.clock.move(time.Hour)
	d.s.set(func() { d.s.take(body("101")) }) // it arrived after all
	d.options.Since, d.options.SinceTime = "since", d.clock.Now()
	d.clock.move(time.Hour)
	d.bring(withdrawal{request: due("102").CreateWithdrawal}, outUnknown)
	d.s.onList = func(page, size int) ([]row, int, int) {
		if d.s.from[len(d.s.from)-1] == "since" {
			return nil, 0, 0
		}
		return d.s.rows, 1, len(d.s.rows)
	}
	tally, err := d.apply(d.plan(nil, due("101"), due("102")), ApplyOptions{KeepGoing: true})
	ok(t, err)
	tally.want(t, map[State]int{StateAccepted: 1, StateUnknown: 1})
	d.s.wantCreates(1)
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
	d.s.wantCreates(0)
}
