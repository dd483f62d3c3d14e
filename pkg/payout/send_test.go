package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

func TestSendAndSendAgain(t *testing.T) {
	d := newDesk(t)
	w := asked("4711")
	w.request.Memo, w.request.Callback = "leaf", "http://shop.test/done"
	sent, err := d.send(w)
	if err != nil || sent.Already || sent.Note != "" || sent.Order.ID != "w1" || sent.Order.State != StateAccepted {
		t.Fatalf("got %+v, %v", sent, err)
	}
	body := d.s.bodies[0]
	if body["external_order_id"] != "4711" || body["memo"] != "leaf" || body["address"] != "bc1q4711" ||
		asText(body["amount"]) != `{"Crypto":{"Btc":5000}}` {
		t.Errorf("sent was %v", body)
	}
	if sent.Order.Currency != w.request.Currency || sent.Order.Amount != w.request.Amount ||
		sent.Order.Address != w.request.Address || sent.Order.Memo != w.request.Memo ||
		sent.Order.Callback != w.request.Callback || sent.Order.Key != "key1" {
		t.Errorf("recorded is %+v", sent.Order)
	}
	for range 2 {
		sent, err = d.send(w)
		if err != nil || !sent.Already || sent.Order.ID != "w1" ||
			sent.Note != "order 4711 was accepted before, as w1: nothing was sent" {
			t.Fatalf("again: %+v, %v", sent, err)
		}
	}
	w.request.Callback = "http://shop.test/other"
	if sent, err = d.send(w); err != nil || !sent.Already || !strings.Contains(sent.Note, "http://shop.test/done") {
		t.Errorf("with another callback: %+v, %v", sent, err)
	}
	w.request.Memo = "root"
	wantKind(t, errorOf(d.send(w)), Refused, RuleOrderID, "leaf")
	d.s.wantCreates(1)
}

// TestRepeatedOrderIDIsNotPaidTwice repeats an order id in each state of its order.
func TestRepeatedOrderIDIsNotPaidTwice(t *testing.T) {
	type want struct {
		sends  int
		kind   Kind // of the error, if failed is set
		failed bool
		rule   string
	}
	none := want{}
	for name, tt := range map[string]struct {
		bring       func(d *desk, w withdrawal)
		same, other want
	}{
		"new": {func(d *desk, w withdrawal) {}, want{sends: 1}, want{sends: 1}},
		"accepted": {func(d *desk, w withdrawal) { d.bring(w, outAccepted("w9")) }, none,
			want{failed: true, kind: Refused, rule: RuleOrderID}},
		"unknown": {func(d *desk, w withdrawal) { d.bring(w, outUnknown) }, want{failed: true, kind: Unknown},
			want{failed: true, kind: Refused, rule: RuleOrderID}},
		"died": {func(d *desk, w withdrawal) { d.dies(w) }, want{failed: true, kind: Unknown},
			want{failed: true, kind: Refused, rule: RuleOrderID}},
		"rejected":   {func(d *desk, w withdrawal) { d.bring(w, outRejected) }, want{sends: 1}, want{sends: 1}},
		"never left": {func(d *desk, w withdrawal) { d.bring(w, outNotLeft) }, want{sends: 1}, want{sends: 1}},
		"being sent": {func(d *desk, w withdrawal) {
			if _, err := d.open().Claim(d.t.Context(),
				journal.Claim{OrderID: w.request.ExternalOrderID, Content: contentOf(w.request)}); err != nil {
				d.t.Fatal(err)
			}
		}, want{failed: true, kind: Busy}, want{failed: true, kind: Refused, rule: RuleOrderID}},
		"conflict": {func(d *desk, w withdrawal) {
			d.bring(w, outUnknown)
			ok(d.t, errorOf(d.ledger.Settle(d.t.Context(),
				journal.Evidence{OrderID: w.request.ExternalOrderID, Withdrawal: "w9", Content: contentOf(w.request),
					Differs: "its amount is another"})))
		}, want{failed: true, kind: Conflict}, want{failed: true, kind: Refused, rule: RuleOrderID}},
		"said not to have been sent": {func(d *desk, w withdrawal) {
			d.bring(w, outUnknown)
			ok(d.t, errorOf(d.ledger.Decide(d.t.Context(),
				journal.Decision{OrderID: w.request.ExternalOrderID, NotSent: true, Reason: "x"})))
		}, want{sends: 1}, want{failed: true, kind: Refused, rule: RuleOrderID}},
		"rejected after an unknown one": {func(d *desk, w withdrawal) {
			d.bring(w, outUnknown)
			ok(d.t, errorOf(d.ledger.Decide(d.t.Context(),
				journal.Decision{OrderID: w.request.ExternalOrderID, NotSent: true, Reason: "x"})))
			d.bring(w, outRejected)
		}, want{failed: true, kind: Unknown}, want{failed: true, kind: Refused, rule: RuleOrderID}},
	} {
		for what, want := range map[string]want{"same": tt.same, "other": tt.other} {
			t.Run(name+"/"+what, func(t *testing.T) {
				d := usedDesk(t)
				w := asked("4711")
				tt.bring(d, w)
				if what == "other" {
					w.request.Amount.Minor++
				}
				before, _ := d.ledger.Order(t.Context(), "4711")
				sent, err := d.send(w)
				d.s.wantCreates(1 + want.sends)
				if !want.failed {
					if err != nil || sent.Order.ID == "" || sent.Already != (want.sends == 0) {
						t.Errorf("got %+v, %v", sent, err)
					}
					return
				}
				e := wantKind(t, err, want.kind, want.rule)
				if want.kind == Unknown && !strings.Contains(e.Hint.String(), "till withdraw reconcile 4711") {
					t.Errorf("the hint is %q", e.Hint.String())
				}
				if after, _ := d.ledger.Order(t.Context(), "4711"); name != "died" && after.Changed != before.Changed ||
					after.Content != before.Content {
					t.Errorf("%+v has become %+v", before, after)
				}
			})
		}
	}
}

// TestAnswerDecidesTheState checks that the answer decides the state of the order, and that the error has the
// right kind.
func TestAnswerDecidesTheState(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		answer  string
		state   State
		outcome api.Outcome
		unknown bool
	}{
		"rejected":  {422, envelope, StateRejected, api.Rejected, false},
		"400":       {400, envelope, StateRejected, api.Rejected, false},
		"404":       {404, envelope, StateRejected, api.Rejected, false},
		"the key":   {401, envelope, StatePlanned, api.Rejected, false},
		"forbidden": {403, envelope, StatePlanned, api.Rejected, false},
		"rate":      {429, envelope, StatePlanned, api.Rejected, false},
		"bare 400":  {400, "no", StateUnknown, api.Unknown, true},
		"409":       {409, envelope, StateUnknown, api.Unknown, true},
		"500":       {500, envelope, StateUnknown, api.Unknown, true},
		"HTML":      {200, "<p>", StateUnknown, api.Unknown, true},
		"no id":     {200, `""`, StateUnknown, api.Unknown, true},
		"no answer": {0, "", StateUnknown, api.Unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			d.s.onCreate = func(map[string]any) (int, string, bool) { return tt.status, tt.answer, false }
			sent, err := d.send(asked("4711"))
			d.s.wantCreates(2)
			if tt.unknown {
				wantKind(t, err, Unknown, "")
				if !errors.As(err, new(*api.Error)) {
					t.Error("what the call said is lost")
				}
			} else {
				wantCall(t, err, tt.outcome, tt.status)
			}
			o := d.wantState("4711", tt.state)
			if sent.Order.State != tt.state || o.ID != "" {
				t.Errorf("sent is %+v, recorded %+v", sent.Order, o)
			}
			events, err := d.ledger.Journal().Story(t.Context(), o)
			ok(t, err)
			last := events[len(events)-1]
			if last.HTTPStatus != int64(tt.status) || tt.answer == envelope &&
				(last.Code != 2004 || !strings.Contains(last.Reason, "no_funds")) || last.Reason == "" {
				t.Errorf("the story ends in %+v", last)
			}
			// Again: only orders that are certainly not at the service are sent.
			d.s.set(func() { d.s.onCreate = nil })
			_, err = d.send(asked("4711"))
			if tt.unknown {
				wantKind(t, err, Unknown, "")
				d.s.wantCreates(2)
			} else {
				d.s.wantCreates(3)
				ok(t, err)
			}
		})
	}
}

// TestAnswerWithAnothersID checks that an id in an answer proves nothing about this order if the journal has
// it for another order.
func TestAnswerWithAnothersID(t *testing.T) {
	d := usedDesk(t)
	d.s.onCreate = func(map[string]any) (int, string, bool) { return 200, `"w1"`, false }
	wantKind(t, errorOf(d.send(asked("4711"))), Unknown, "", "w1")
	d.wantState("4711", StateUnknown)
	d.wantState("1", StateAccepted)
}

func TestInvalidRequestIsNotRecorded(t *testing.T) {
	d := newDesk(t)
	for name, change := range map[string]func(r *api.CreateWithdrawal){
		"no order id":  func(r *api.CreateWithdrawal) { r.ExternalOrderID = "" },
		"leading zero": func(r *api.CreateWithdrawal) { r.ExternalOrderID = "07" },
		"no amount":    func(r *api.CreateWithdrawal) { r.Amount.Minor = 0 },
		"no address":   func(r *api.CreateWithdrawal) { r.Address = "" },
	} {
		w := asked("4711")
		change(&w.request)
		if _, err := d.send(w); !errors.As(err, new(*api.InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.s.wantCreates(0)
	for o := range d.ledger.Orders(t.Context(), Filter{}) {
		t.Errorf("recorded was %+v", o)
	}
}

func TestSendRefusesDuplicates(t *testing.T) {
	same := func(orderID string) withdrawal {
		w := asked(orderID)
		w.request.Address, w.window = "bc1qsame", 10*time.Minute
		return w
	}
	made := func(orderID string) withdrawal {
		w := same(orderID)
		w.newOrderID = true
		return w
	}
	for name, tt := range map[string]struct {
		bring  func(d *desk)
		w      withdrawal
		failed bool
		kind   Kind
	}{
		"unknown":        {func(d *desk) { d.bring(same("10"), outUnknown) }, same("20"), true, Unknown},
		"unknown, made":  {func(d *desk) { d.bring(same("10"), outUnknown) }, made("20"), true, Unknown},
		"unknown, died":  {func(d *desk) { d.dies(same("10")) }, same("20"), true, Unknown},
		"accepted":       {func(d *desk) { d.bring(same("10"), outAccepted("w9")) }, same("20"), false, ""},
		"accepted, made": {func(d *desk) { d.bring(same("10"), outAccepted("w9")) }, made("20"), true, Refused},
		"accepted, made, long ago": {func(d *desk) { d.bring(same("10"), outAccepted("w9")); d.clock.move(10 * time.Minute) },
			made("20"), false, ""},
		"accepted, made, just": {func(d *desk) {
			d.bring(same("10"), outAccepted("w9"))
			d.clock.move(10*time.Minute - time.Second)
		}, made("20"), true, Refused},
		"accepted in the future": {func(d *desk) {
			d.clock.move(time.Hour)
			d.bring(same("10"), outAccepted("w9"))
			d.clock.move(-time.Hour)
		}, made("20"), true, Refused},
		"rejected, made":   {func(d *desk) { d.bring(same("10"), outRejected) }, made("20"), false, ""},
		"being sent":       {func(d *desk) { d.sends(same("10")) }, same("20"), false, ""},
		"being sent, made": {func(d *desk) { d.sends(same("10")) }, made("20"), true, Busy},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			tt.bring(d)
			_, err := d.send(tt.w)
			if !tt.failed {
				ok(t, err)
				d.s.wantCreates(2)
				return
			}
			e := wantKind(t, err, tt.kind, RuleDuplicate)
			if !strings.Contains(e.Msg, "10") || !strings.Contains(e.Hint.String(), "--allow-duplicate") {
				t.Errorf("%q, %q", e.Msg, e.Hint.String())
			}
			d.s.wantCreates(1)
			d.wantNothing("20")
			w := tt.w
			w.allowDuplicate = true
			if _, err := d.send(w); err != nil {
				t.Errorf("though it is meant: %v", err)
			}
			d.s.wantCreates(2)
		})
	}
}

// sends lets another living process send an order.
func (d *desk) sends(w withdrawal) {
	d.t.Helper()
	other := d.open()
	ok(d.t, other.Enter(context.Background()))
	ok(d.t, errorOf(other.Claim(context.Background(),
		journal.Claim{OrderID: w.request.ExternalOrderID, Content: contentOf(w.request)})))
}

// TestOutcomeCannotBeRecorded checks that the message has the id and the order is in doubt if the outcome
// cannot be recorded.
func TestOutcomeCannotBeRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		answer string
		says   string
	}{"accepted": {200, `"w77"`, "w77"}, "rejected": {422, envelope, "no_funds"},
		"no answer": {0, "", "closed without an answer"}} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			d.s.onCreate = func(map[string]any) (int, string, bool) {
				d.ledger.Journal().Close()
				return tt.status, tt.answer, false
			}
			sent, err := d.send(asked("4711"))
			e := wantKind(t, err, Unknown, "")
			if !strings.Contains(e.Msg, tt.says) || !strings.Contains(e.Msg, "4711") ||
				!strings.Contains(e.Hint.String(), "till withdraw reconcile 4711") {
				t.Errorf("%q, %q", e.Msg, e.Hint.String())
			}
			if name == "accepted" && sent.Order.ID != "w77" {
				t.Errorf("sent is %+v", sent)
			}
			d.Ledger = &Ledger{d.open()}
			wantKind(t, errorOf(d.send(asked("4711"))), Unknown, "")
			d.wantState("4711", StateUnknown)
			d.s.wantCreates(2)
		})
	}
}

// TestJournalIsLostBeforeTheCall checks that a withdrawal is not sent if a file of the journal is removed
// after it was recorded, because the next process would not find the record.
func TestJournalIsLostBeforeTheCall(t *testing.T) {
	for _, file := range []string{"", "-wal", "-shm", ".lock"} {
		d := usedDesk(t)
		d.now = func() time.Time { // called right before the call
			os.Remove(d.place + file)
			return d.clock.Now()
		}
		_, err := d.send(asked("4711"))
		d.s.wantCreates(1)
		if !errors.Is(err, journal.Lost) || !errors.Is(err, JournalBroken) ||
			!strings.HasPrefix(err.Error(), "order 4711 was not sent") {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// closeOrders keeps orders from being changed until the returned function is called.
func (d *desk) closeOrders() (open func()) {
	begin, end := "CREATE TRIGGER closed BEFORE UPDATE ON orders BEGIN SELECT RAISE(ABORT, 'closed'); END", "DROP TRIGGER closed"
	if d.ledger.Journal().Shared() {
		begin = `CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''closed''; END';
			CREATE TRIGGER closed BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION closed()`
		end = "DROP TRIGGER closed ON orders"
	}
	d.sql(begin)
	return func() { d.sql(end) }
}

// TestOutcomeIsTriedAgain checks that an outcome that cannot be recorded at once is tried again, so that the
// order does not become unknown. This holds for a single order and for a run, which claims the next row in
// the same commit.
func TestOutcomeIsTriedAgain(t *testing.T) {
	for name, send := range map[string]func(d *desk) error{
		"by itself": func(d *desk) error { _, err := d.send(asked("102")); return err },
		"in a run": func(d *desk) error {
			_, err := d.apply(d.plan(nil, dueTo(20)...), ApplyOptions{})
			if errors.Is(err, journal.Broken) { // the next row could not be claimed
				err = nil
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachJournal(t, func(t *testing.T, d *desk) {
				d.history()
				var open func()
				d.s.onCreate = during("102", func() { open = d.closeOrders() })
				pauses := 0
				d.pause = func(context.Context, time.Duration) error {
					if pauses++; pauses == 3 {
						open()
					}
					return nil
				}
				ok(t, send(d))
				if o := d.wantState("102", StateAccepted); o.ID == "" || pauses != 3 {
					t.Errorf("it was accepted as %s after %d pauses", o.ID, pauses)
				}
			})
		})
	}
}

// TestSuspendedProcessDoesNotSend checks that a process that was suspended between its record and the first
// byte does not send.
func TestSuspendedProcessDoesNotSend(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) { // the clock of a server says nothing about this process
		d.history()
		sent := 1
		for i, tt := range []struct {
			late  time.Duration
			sends bool
		}{{5 * time.Second, true}, {5*time.Second + time.Millisecond, false}, {time.Hour, false}} {
			d.now = func() time.Time { return d.clock.Now().Add(tt.late) }
			id := fmt.Sprint(4711 + i)
			_, err := d.send(asked(id))
			if tt.sends {
				sent++
			}
			d.s.wantCreates(sent)
			if tt.sends {
				ok(t, err)
				continue
			}
			if e := wantCall(t, err, api.NotSent, 0); !strings.Contains(e.Error(), "passed since it was recorded") {
				t.Error(err)
			}
			d.wantState(id, StatePlanned)
		}
	})
}

// TestElapsed checks that elapsed uses the clock that has advanced more: one stops while the machine sleeps,
// and the other can be set back.
func TestElapsed(t *testing.T) {
	since := time.Now()
	asleep := since
	// In a time with a monotonic clock, the seconds of the wall clock are above 30 bits of nanoseconds.
	*(*uint64)(unsafe.Pointer(&asleep)) += 6 << 30
	if asleep.Sub(since) != 0 || asleep.Round(0).Sub(since.Round(0)) != 6*time.Second {
		t.Fatal("the test does not know how a time is kept")
	}
	back := since.Add(6 * time.Second)
	*(*uint64)(unsafe.Pointer(&back)) -= 100 << 30
	for name, now := range map[string]time.Time{"asleep": asleep, "set back": back, "both": since.Add(6 * time.Second)} {
		b := &Sender{now: func() time.Time { return now }}
		if got := b.elapsed(since); got != 6*time.Second {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestInterruptionPreventsNewCalls checks that an interruption prevents new calls, and that Send waits for
// the answer to a call in flight.
func TestInterruptionPreventsNewCalls(t *testing.T) {
	for name, when := range map[string]func(d *desk, cancel func()){
		"before Send":        func(d *desk, cancel func()) { d.history(); cancel() },
		"during the look-up": func(d *desk, cancel func()) { d.s.onPage = cancel },
		"in a pause of the look-up": func(d *desk, cancel func()) {
			d.s.onList = func(int, int) ([]row, int, int) { return nil, 1, 7 }
			d.pause = func(ctx context.Context, pause time.Duration) error { cancel(); return new(Sender).rest(ctx, pause) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ctx, cancel := context.WithCancel(t.Context())
			when(d, cancel)
			creates, _, _ := d.s.counts()
			if _, err := d.Send(ctx, t.Context(), asked("4711")); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
				t.Errorf("got %v", err)
			}
			d.s.wantCreates(creates)
			d.wantNothing("4711")
		})
	}
	t.Run("between the record and the call", func(t *testing.T) {
		d := usedDesk(t)
		ctx, cancel := context.WithCancel(t.Context())
		d.now = func() time.Time { cancel(); return d.clock.Now() } // called right before the call
		_, err := d.Send(ctx, t.Context(), asked("4711"))
		if e := wantCall(t, err, api.NotSent, 0); !errors.Is(e.Err, context.Canceled) {
			t.Error(err)
		}
		d.s.wantCreates(1)
		if o := d.wantState("4711", StatePlanned); o.Reason != "not sent: it was stopped before it left" {
			t.Errorf("the reason is %q", o.Reason)
		}
	})
	t.Run("during the call", func(t *testing.T) {
		d := usedDesk(t)
		ctx, cancel := context.WithCancel(t.Context())
		d.s.onCreate = func(map[string]any) (int, string, bool) { cancel(); return 200, "", true }
		_, before, _ := d.s.counts()
		sent, err := d.Send(ctx, t.Context(), asked("4711"))
		if err != nil || sent.Order.ID != "w2" {
			t.Errorf("got %+v, %v", sent, err)
		}
		if _, gets, _ := d.s.counts(); gets != before || sent.Note != "" {
			t.Errorf("it was read back all the same: %d reads, %q", gets-before, sent.Note)
		}
		d.wantState("4711", StateAccepted)
	})
	t.Run("twice during the call", func(t *testing.T) {
		d := usedDesk(t)
		calls, cancel := context.WithCancel(t.Context())
		d.s.onCreate = func(map[string]any) (int, string, bool) { cancel(); return 0, "", true }
		wantKind(t, errorOf(d.Send(calls, calls, asked("4711"))), Unknown, "")
		d.wantState("4711", StateUnknown)
		d.s.wantCreates(2)
	})
}

func TestReadBackNoticesDroppedOrderIDs(t *testing.T) {
	record := func(change func(r row)) func(d *desk) {
		return func(d *desk) {
			d.s.onGet = func(id string) (int, string) {
				r := row{}
				for k, v := range d.s.rows[0] {
					r[k] = v
				}
				change(r)
				return 200, asText(r)
			}
		}
	}
	for name, tt := range map[string]struct {
		set     func(d *desk)
		dropped bool
		note    string
	}{
		"kept":               {func(d *desk) {}, false, ""},
		"as a text only":     {record(func(r row) { delete(r, "external_id") }), false, ""},
		"as a number only":   {record(func(r row) { delete(r, "external_order_id") }), false, ""},
		"dropped":            {record(func(r row) { delete(r, "external_id"); delete(r, "external_order_id") }), true, ""},
		"another":            {record(func(r row) { r["external_id"], r["external_order_id"] = 5, "5" }), true, ""},
		"rounded":            {record(func(r row) { r["external_id"] = 4712 }), true, ""},
		"with a zero before": {record(func(r row) { r["external_order_id"] = "04711" }), false, ""},
		"cannot be read": {func(d *desk) { d.s.onGet = func(string) (int, string) { return 500, "" } }, false,
			"could not be read back"},
		"of another": {record(func(r row) { r["id"] = "w9"; r["external_order_id"] = "5" }), false,
			"could not be read back"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tt.set(d)
			sent, err := d.send(asked("4711"))
			if sent.Order.ID != "w1" || sent.Order.State != StateAccepted || !strings.Contains(sent.Note, tt.note) ||
				(tt.note == "") != (sent.Note == "") {
				t.Errorf("sent is %+v", sent)
			}
			d.wantState("4711", StateAccepted)
			want := 1
			if tt.dropped { // a copy of the service's data may be a moment behind
				want = mostReadBacks
			}
			if _, gets, _ := d.s.counts(); gets != want {
				t.Errorf("it was read %d times", gets)
			}
			if !tt.dropped {
				ok(t, err)
				return
			}
			wantKind(t, err, Conflict, "")
			for _, w := range []withdrawal{asked("5000"), {request: asked("5001").request, newOrderID: true}} {
				wantKind(t, errorOf(d.send(w)), Refused, RuleList, "--lookup never")
			}
			d.s.wantCreates(1)
			if again, err := d.send(asked("4711")); err != nil || again.Order.ID != "w1" {
				t.Errorf("what is there is not said: %+v, %v", again, err)
			}
			d.options.Lookup = LookupNever
			d.mustSend("5000")
			d.s.wantCreates(2)
		})
	}
}

func TestLookupNever(t *testing.T) {
	d := newDesk(t)
	d.options.Lookup = LookupNever
	d.s.take(map[string]any{"external_order_id": "4711"})
	d.s.onGet = func(string) (int, string) { return 500, "" }
	if sent, err := d.send(asked("4711")); err != nil || sent.Note != "" {
		t.Errorf("got %+v, %v", sent, err)
	}
	if creates, gets, lists := d.s.counts(); creates != 1 || gets != 0 || lists != 0 {
		t.Errorf("%d creates, %d gets, %d lists", creates, gets, lists)
	}
}

// TestWhenItIsLookedUp checks that the list is read if the journal alone cannot decide, and not otherwise.
func TestWhenItIsLookedUp(t *testing.T) {
	made := asked("4711")
	made.newOrderID = true
	for name, tt := range map[string]struct {
		bring func(d *desk)
		w     withdrawal
		looks bool
	}{
		"nothing accepted":         {func(d *desk) {}, asked("4711"), true},
		"nothing accepted, made":   {func(d *desk) {}, made, true},
		"something accepted":       {(*desk).history, asked("4711"), false},
		"sent before, never left":  {func(d *desk) { d.history(); d.bring(asked("4711"), outNotLeft) }, asked("4711"), true},
		"sent before, rejected":    {func(d *desk) { d.history(); d.bring(asked("4711"), outRejected) }, asked("4711"), true},
		"another was, and unknown": {func(d *desk) { d.history(); d.bring(asked("10"), outUnknown) }, asked("4711"), false},
		"something rejected only":  {func(d *desk) { d.bring(asked("10"), outRejected) }, asked("4711"), true},
		"restored":                 {func(d *desk) { d.history(); d.restored() }, asked("4711"), true},
		"always":                   {func(d *desk) { d.history(); d.options.Lookup = LookupAlways }, asked("4711"), true},
		"found on the list before": {func(d *desk) {
			d.history()
			listed := d.s.take(body("10"))
			ok(d.t, errorOf(d.ledger.Settle(d.t.Context(),
				journal.Evidence{OrderID: "10", Withdrawal: listed, Content: contentOf(asked("10").request)})))
		}, asked("4711"), true},
		"found there and different": {func(d *desk) {
			d.history()
			listed := d.s.take(body("10"))
			ok(d.t, errorOf(d.ledger.Settle(d.t.Context(),
				journal.Evidence{OrderID: "10", Withdrawal: listed, Differs: "its amount differs",
					Content: contentOf(asked("10").request)})))
		}, asked("4711"), true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tt.bring(d)
			d.s.fill(3)
			_, _, before := d.s.counts()
			creates, _, _ := d.s.counts()
			d.mustSendAs(tt.w)
			if _, _, lists := d.s.counts(); (lists > before) != tt.looks {
				t.Errorf("the list was asked %d times", lists-before)
			}
			d.s.wantCreates(creates + 1)
		})
	}
}

// TestNewOrderIDWithANewJournal checks that a withdrawal with a new order id is not sent if the journal knows
// nothing and the list has the same content from within the window, in whatever zone its time is.
func TestNewOrderIDWithANewJournal(t *testing.T) {
	const window = 10 * time.Minute
	for name, tt := range map[string]struct {
		ago   time.Duration
		dated bool
		sends bool
	}{
		"without a date":  {},
		"in the window":   {ago: window / 2, dated: true},
		"in another zone": {ago: window + 25*time.Hour, dated: true},
		"long ago":        {ago: window + 27*time.Hour, dated: true, sends: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			listed := body("4711")
			listed["external_order_id"] = "10"
			d.s.take(listed)
			if tt.dated {
				at := d.clock.Now().Add(-tt.ago).UTC().Format("2006-01-02T15:04:05")
				d.s.rows[0]["statuses"] = []any{row{"status": "New", "at": at}}
			}
			made := asked("4711")
			made.newOrderID, made.window = true, window
			_, err := d.send(made)
			if tt.sends {
				ok(t, err)
				d.s.wantCreates(1)
				return
			}
			wantKind(t, err, Refused, RuleDuplicate)
			d.s.wantCreates(0)
		})
	}
}

// TestNewOrderIDAfterALoss checks that a withdrawal that cannot be looked up, because its order id is new, is
// not sent while the journal may lack it, unless a person says that it was not sent.
func TestNewOrderIDAfterALoss(t *testing.T) {
	for _, lookup := range []Lookup{LookupAuto, LookupAlways, LookupNever} {
		d := usedDesk(t)
		d.restored()
		d.options.Lookup = lookup
		made := asked("4711")
		made.newOrderID = true
		creates, _, _ := d.s.counts()
		wantKind(t, errorOf(d.send(made)), Refused, RuleDuplicate, "may lack records")
		d.s.wantCreates(creates)
		made.allowDuplicate = true
		if _, err := d.send(made); err != nil {
			t.Errorf("%v: %v", lookup, err)
		}
		d.s.wantCreates(creates + 1)
	}
}

// TestLostRecordsAreLookedUp checks that a journal that has lost records looks every order up, in the whole
// list, whatever the options say.
func TestLostRecordsAreLookedUp(t *testing.T) {
	for name, limit := range map[string]func(o *Options, d *desk){
		"never": func(o *Options, _ *desk) { o.Lookup = LookupNever },
		"since": func(o *Options, d *desk) { o.Since, o.SinceTime = "since", d.clock.Now() },
	} {
		for _, single := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, single=%t", name, single), func(t *testing.T) {
				d := usedDesk(t)
				r := due("101").CreateWithdrawal
				d.s.set(func() {
					d.s.take(map[string]any{"currency": row{"Crypto": "Btc"}, "amount": row{"Crypto": row{"Btc": r.Amount.Minor}},
						"address": r.Address, "external_order_id": r.ExternalOrderID})
				})
				d.restored()
				limit(&d.options, d)
				before, _, _ := d.s.counts()
				if single {
					if sent, err := d.send(withdrawal{request: r}); err != nil || sent.Order.ID != "w2" {
						t.Errorf("got %+v, %v", sent, err)
					}
				} else if tally, err := d.apply(d.plan(nil, due("101")),
					ApplyOptions{AlreadyPaid: 1}); err != nil || tally.Found != 1 {
					t.Errorf("got %+v, %v", tally, err)
				}
				d.s.wantCreates(before)
				d.s.set(func() {
					for _, from := range d.s.from {
						if from != "" {
							t.Errorf("the list was read from %q", from)
						}
					}
				})
			})
		}
	}
}

// restored makes the journal one that may have lost records.
func (d *desk) restored() { d.sql("UPDATE till_journal SET restored = restored + 1") }

// TestListedOrderIsNotSentAgain checks that an order that is on the list is not sent again by a journal that
// has lost it, or counts it as rejected.
func TestListedOrderIsNotSentAgain(t *testing.T) {
	rejected := func(minor int64) func(d *desk, w withdrawal) {
		return func(d *desk, w withdrawal) { w.request.Amount.Minor = minor; d.bring(w, outRejected) }
	}
	for name, tt := range map[string]struct {
		bring func(d *desk, w withdrawal)
		list  func(s *service) // changes what it shows
		minor int64            // that is asked for
		kind  Kind             // of the error; empty: it is there already
		rule  string
		says  string
		state State
	}{
		"with the same content": {minor: 5000, says: "order 4711 was on the service's list already, as w1", state: StateAccepted},
		"with another amount":   {minor: 4999, kind: Conflict, says: "5000", state: StateConflict},
		"in another unit": {minor: 5000, list: func(s *service) { s.rows[0]["amount"] = row{"Fiat": row{"USD": 333}} },
			says: "the service shows the amount as 3.33 USD", state: StateAccepted},
		"listed twice": {minor: 5000, list: func(s *service) { s.take(body("4711")) }, kind: Conflict, says: "w1, w2",
			state: StateConflict},
		"though it was rejected here": {bring: rejected(5000), minor: 5000, state: StateAccepted},
		"as it was sent, and something else is asked for now": {bring: rejected(5000), minor: 5001, kind: Refused,
			rule: RuleOrderID, state: StateAccepted},
		"as it is asked for now, and something else was sent": {bring: rejected(5001), minor: 5000, kind: Conflict,
			state: StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newDesk(t), asked("4711")
			if tt.bring != nil {
				tt.bring(d, w)
			}
			d.s.take(body("4711"))
			if tt.list != nil {
				tt.list(d.s)
			}
			w.request.Amount.Minor = tt.minor
			for again := range 2 {
				sent, err := d.send(w)
				if tt.kind != "" {
					wantKind(t, err, tt.kind, tt.rule, tt.says)
				} else if err != nil || !sent.Already || sent.Order.ID != "w1" || again == 0 && !strings.Contains(sent.Note, tt.says) {
					t.Fatalf("got %+v, %v", sent, err)
				}
				d.wantState("4711", tt.state)
				if tt.bring != nil {
					break
				}
			}
			d.s.wantCreates(0)
		})
	}
}

// TestListCannotBeRead checks that nothing is sent or recorded if the list is needed and cannot be read.
func TestListCannotBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		answer  string
		outcome api.Outcome
	}{"cannot be read": {500, "", api.Failed}, "key refused": {401, envelope, api.Rejected},
		"rate limited": {429, envelope, api.Rejected}, "rejected": {400, envelope, api.Rejected},
		"no list": {200, "[]", api.Failed}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.listFail = func() (int, string) { return tt.status, tt.answer }
			if _, err := d.send(asked("4711")); tt.status == 400 {
				wantKind(t, err, Refused, RuleList)
			} else {
				wantCall(t, err, tt.outcome, tt.status)
			}
			d.s.wantCreates(0)
			d.wantNothing("4711")
		})
	}
}

// TestOneOfTwoProcessesSends checks that only one of two processes sends, if both send the same order id at
// the same moment.
func TestOneOfTwoProcessesSends(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		const n = 8
		errs := make(chan error, n)
		for range n {
			b := d.another().Sender
			go func() {
				_, err := b.Send(context.Background(), asked("4711").request)
				errs <- err
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				wantKind(t, err, Busy, "")
			}
		}
		d.s.wantCreates(1)
		d.wantState("4711", StateAccepted)
	})
}

// TestUnderWay checks that UnderWay counts calls that have left and are not recorded yet, and that OnAccepted
// gets the id before anything is read back.
func TestUnderWay(t *testing.T) {
	d := newDesk(t)
	var seen []int
	look := func() { seen = append(seen, d.UnderWay()) }
	d.s.onPage = look
	d.s.onCreate = func(map[string]any) (int, string, bool) { look(); return 200, "", true }
	d.s.onGet = func(string) (int, string) { look(); return -1, "" }
	w, told := asked("4711"), ""
	w.accepted = func(o Order) {
		look()
		_, gets, _ := d.s.counts()
		told = fmt.Sprintf("%s before %d reads", o.ID, gets)
	}
	d.mustSendAs(w)
	if !slices.Equal(seen, []int{0, 0, 0, 0, 1, 0, 0}) || told != "w1 before 0 reads" || d.UnderWay() != 0 {
		t.Errorf("under way were %v, and the order was told as %q", seen, told)
	}
	for name, answer := range map[string]func() (int, string, bool){
		"rejected": func() (int, string, bool) { return 422, envelope, false },
		"unknown":  func() (int, string, bool) { return 0, "", true },
	} {
		d.s.set(func() { d.s.onCreate = func(map[string]any) (int, string, bool) { return answer() } })
		w := asked("1" + fmt.Sprint(len(name)))
		w.accepted = func(Order) { t.Errorf("%s: it is told as accepted", name) }
		if _, err := d.send(w); err == nil || d.UnderWay() != 0 {
			t.Errorf("%s: %v, %d under way", name, err, d.UnderWay())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.now = func() time.Time { cancel(); return d.clock.Now() } // called right before the call
	if _, err := d.Send(ctx, t.Context(), asked("4712")); err == nil || d.UnderWay() != 0 {
		t.Errorf("kept back: %v, %d under way", err, d.UnderWay())
	}
}

// TestInterruptedReadBack checks that an interruption while the withdrawal is read back still reports that it
// was accepted.
func TestInterruptedReadBack(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.s.onGet = func(string) (int, string) { cancel(); return 0, "" }
	sent, err := d.Send(ctx, t.Context(), asked("4711"))
	if err != nil || sent.Order.ID != "w1" || !strings.Contains(sent.Note, "was accepted as w1") ||
		strings.Contains(sent.Note, "could not") {
		t.Errorf("got %+v, %v", sent, err)
	}
}

// TestAnotherCallback checks that another callback does not make another order, and that a note says which
// callback it keeps, even if the order is unknown.
func TestAnotherCallback(t *testing.T) {
	for name, tt := range map[string]struct {
		outcome journal.Outcome
		kind    Kind
	}{"accepted": {outAccepted("w9"), ""}, "unknown": {outUnknown, Unknown}} {
		d := usedDesk(t)
		w := asked("4711")
		w.request.Callback = "https://shop.test/a"
		d.bring(w, tt.outcome)
		for _, callback := range []string{"https://shop.test/a", "https://shop.test/b"} {
			w.request.Callback = callback
			sent, err := d.send(w)
			if tt.kind != "" {
				wantKind(t, err, tt.kind, "")
			} else if err != nil {
				t.Error(err)
			}
			if warned := strings.Contains(sent.Note,
				`stays "https://shop.test/a"`); warned != (callback == "https://shop.test/b") {
				t.Errorf("%s, %s: %q", name, callback, sent.Note)
			}
		}
	}
}

// Another order id for an order that may have been paid would pay twice.
func TestOtherContentOfUnknownOrderIsNoReasonForAnotherOrderID(t *testing.T) {
	d := newDesk(t)
	changed := asked("101")
	changed.request.Amount.Minor++
	d.bring(changed, outUnknown)
	_, sending := d.send(asked("101"))
	_, applying := d.apply(d.plan(nil, dueTo(1)...), ApplyOptions{})
	for name, err := range map[string]error{"send": sending, "apply": applying} {
		e := wantKind(t, err, Refused, RuleOrderID)
		if want := []string{"withdraw", "reconcile", "101"}; !slices.Equal(e.Hint.Command, want) ||
			strings.Contains(e.Hint.Text, "another order id") {
			t.Errorf("%s: the hint is %q, and not to run %q", name, e.Hint, want)
		}
	}
}

// TestRecordedWithOtherContent has a call that was rejected. Before that could be recorded, another process
// has sent the order with other content, and it was accepted. That is not the outcome of this call.
func TestRecordedWithOtherContent(t *testing.T) {
	d := newDesk(t)
	ok(t, d.ledger.Enter(t.Context()))
	ticket, err := d.ledger.Claim(t.Context(), d.claim(asked("9001")))
	ok(t, err)
	now := journal.Record{Order: ticket.Order()}
	now.State, now.ID, now.Amount.Minor = StateAccepted, "w2", 5001
	rejected := &api.Error{Outcome: api.Rejected, Status: 400}
	if o, err := d.recorded(ticket, call{err: rejected}, now, nil); err != rejected || o.ID != "" {
		t.Errorf("the order has the id %q and the error %v", o.ID, err)
	}
	now.Amount.Minor = ticket.Order().Amount.Minor
	if o, err := d.recorded(ticket, call{err: rejected}, now, nil); err != nil || o.ID != "w2" {
		t.Errorf("with the same content, the order has the id %q and the error %v", o.ID, err)
	}
	now.State = StateConflict
	if _, err := d.recorded(ticket, call{id: "w2"}, now, nil); !errors.Is(err, Conflict) {
		t.Errorf("the order is in conflict, and the error is %v", err)
	}
}

// TestPhantom checks that a withdrawal whose id the service gives, and which it does not have, is unknown;
// that nothing sends it again; and that it can be sent once a person has said that it was not.
func TestPhantom(t *testing.T) {
	for name, late := range map[string]bool{"never there": false, "there later": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.onCreate = func(map[string]any) (int, string, bool) { return 200, `"w1"`, false }
			wantKind(t, errorOf(d.send(asked("4711"))), Unknown, "")
			d.wantState("4711", StateUnknown)
			wantKind(t, errorOf(d.send(asked("4711"))), Unknown, "")
			d.s.wantCreates(1)
			d.s.set(func() { d.s.onCreate = nil })
			d.clock.move(time.Hour)
			if late {
				d.s.set(func() { d.s.take(body("4711")) })
				results, err := d.Reconcile(t.Context(), "4711")
				if err != nil || results[0].Order.State != StateAccepted || results[0].Order.ID != "w1" {
					t.Errorf("got %+v, %v", results, err)
				}
				return
			}
			notSent := Decision{OrderIDs: []string{"4711"}, Reason: "the provider has nothing"}
			ok(t, d.Check(t.Context(), notSent))
			d.mustResolve(notSent)
			if sent, err := d.send(asked("4711")); err != nil || sent.Order.State != StateAccepted {
				t.Errorf("got %+v, %v", sent, err)
			}
			d.s.wantCreates(2)
		})
	}
}

// TestConflictDuringTheReadBack checks that a Send whose order has come into conflict meanwhile does not
// succeed.
func TestConflictDuringTheReadBack(t *testing.T) {
	d := newDesk(t)
	d.s.onGet = func(string) (int, string) {
		if _, err := d.ledger.Settle(context.Background(),
			journal.Evidence{OrderID: "1", Withdrawal: "w9", Content: contentOf(asked("1").request)}); err != nil {
			t.Error(err)
		}
		return 404, envelope
	}
	wantKind(t, errorOf(d.send(asked("1"))), Conflict, "")
}

// TestReadBackOnceBehind checks that one reading without the order id, or without the withdrawal, closes
// nothing.
func TestReadBackOnceBehind(t *testing.T) {
	for name, answer := range map[string]func(d *desk) (int, string){
		"without its order id": func(d *desk) (int, string) {
			r := maps.Clone(d.s.rows[0])
			delete(r, "external_id")
			delete(r, "external_order_id")
			return 200, asText(r)
		},
		"not there": func(*desk) (int, string) { return 404, envelope },
	} {
		d := newDesk(t)
		gets := 0
		d.s.onGet = func(string) (int, string) {
			if gets++; gets == 1 {
				return answer(d)
			}
			return -1, ""
		}
		if sent, err := d.send(asked("1")); err != nil || sent.Note != "" {
			t.Errorf("%s: %+v, %v", name, sent, err)
		}
		if _, err := d.send(asked("2")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadBackShowsAnotherMerchant checks that a person learns when the service has taken an order for
// another merchant, and that a plan stops there.
func TestReadBackShowsAnotherMerchant(t *testing.T) {
	d := usedDesk(t)
	d.s.onGet = func(id string) (int, string) {
		for _, r := range d.s.rows {
			if r["id"] == id {
				r = maps.Clone(r)
				r["merchant_id"] = "m2"
				return 200, asText(r)
			}
		}
		return 404, envelope
	}
	_, single := d.send(asked("2"))
	_, plan := d.apply(d.plan(nil, dueTo(3)...), ApplyOptions{Concurrency: 3})
	for _, err := range []error{single, plan} {
		wantKind(t, err, Conflict, "", `"m2"`)
	}
	d.s.wantCreates(3) // with that of history
}

// TestSenderLimits checks that a Sender sends nothing that its limits forbid, alone or in a plan.
func TestSenderLimits(t *testing.T) {
	btc := func(minor int64) []api.Amount { return []api.Amount{{Kind: api.Crypto, Code: "btc", Minor: minor}} }
	for name, tt := range map[string]struct {
		limits Limits
		rule   string // of two rows of 5000 in a plan
		single string // of one of them
	}{
		"above one withdrawal": {Limits{MaxPerWithdrawal: btc(4999)}, money.RuleLimit, money.RuleLimit},
		"above a run":          {Limits{MaxPerRun: btc(9999)}, money.RuleLimit, ""},
		"another address":      {Limits{AllowAddresses: []string{"bc1qX"}}, money.RuleAllowList, money.RuleAllowList},
		"within": {Limits{MaxPerWithdrawal: btc(5000), MaxPerRun: btc(10000),
			AllowAddresses: []string{"bc1q1", "bc1q2"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := func(err error, rule string) {
				t.Helper()
				if rule == "" && err != nil {
					t.Error(err)
				} else if rule != "" {
					wantKind(t, err, Refused, rule)
				}
			}
			d := newDesk(t)
			d.options.Limits = tt.limits
			_, err := d.apply(d.plan(nil, due("1"), due("2")), ApplyOptions{})
			want(err, tt.rule)
			if tt.rule != "" {
				d.s.wantCreates(0)
			}
			_, err = d.send(asked("1"))
			want(err, tt.single)
		})
	}
}

// TestSenderBudgets checks that a Sender stops at what is left of a day, also if others have sent since it
// looked.
func TestSenderBudgets(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		perDay := func(minor int64) Limits {
			return Limits{MaxPerDay: []api.Amount{{Kind: api.Crypto, Code: "btc", Minor: minor}}}
		}
		d.options.TimeZone = time.UTC
		d.options.Limits = perDay(12_000)
		p := d.plan(nil, dueTo(2)...)
		x, tally := d.begun(p, ApplyOptions{})
		d.mustSend("9")
		err := x.Send(t.Context(), t.Context(), tally)
		wantKind(t, err, Refused, money.RuleLimit,
			"5000 minor Btc is more than is left of max_per_day (12000 minor Btc): 2000 minor Btc until 20")
		tally, err = x.Tally(t.Context())
		ok(t, err)
		tally.want(t, map[State]int{StateAccepted: 1, StatePlanned: 1})
		_, _, err = d.Existing(t.Context(), asked("12").request) // before a person is asked
		wantKind(t, err, Refused, money.RuleLimit)
		d.options.Limits = perDay(15_000)
		d.mustApply(p, ApplyOptions{}).want(t, map[State]int{StateAccepted: 2})

		d.options.Limits = perDay(20_000)
		d.options.Lookup = LookupAlways
		d.s.set(func() {
			d.s.onFirst = sync.OnceFunc(func() { // another process sends while this one looks at the list
				if _, err := d.open().Claim(context.Background(), journal.Claim{OrderID: "10",
					Content: contentOf(asked("10").request), Key: d.key}); err != nil {
					t.Error(err)
				}
			})
		})
		wantKind(t, errorOf(d.send(asked("11"))), Refused, money.RuleLimit)
		d.wantNothing("11")
		d.s.wantCreates(3)
	})
}
