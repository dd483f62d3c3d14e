package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

func TestSendAndSendAgain(t *testing.T) {
	d, w := newDesk(t), asked("4711")
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
	if o := sent.Order; o.Content != contentOf(w.request) || o.Callback != w.request.Callback || o.Key != "key1" {
		t.Errorf("recorded is %+v", o)
	}
	for range 2 {
		sent, err = d.send(w)
		if err != nil || !sent.Already || sent.Order.ID != "w1" ||
			sent.Note != "order 4711 was accepted before, as w1: nothing was sent" {
			t.Fatalf("again: %+v, %v", sent, err)
		}
	}
	w.request.Memo = "root"
	wantKind(t, errorOf(d.send(w)), Refused, RuleOrderID, "leaf")
	d.s.wantCreates(1)
}

// TestRepeatedOrderIDIsNotPaidTwice repeats an order id in each state of its order.
func TestRepeatedOrderIDIsNotPaidTwice(t *testing.T) {
	const reused = "refused/" + RuleOrderID
	for name, wants := range map[string][2]string{ // with the same content, and with another amount
		"new":                           {"sent", "sent"},
		"accepted":                      {"already", reused},
		"unknown":                       {"unknown", reused},
		"died":                          {"unknown", reused},
		"rejected":                      {"sent", "sent"},
		"never left":                    {"sent", "sent"},
		"being sent":                    {"busy", reused},
		"conflict":                      {"conflict", reused},
		"not sent":                      {"sent", reused},
		"rejected after an unknown one": {"unknown", reused},
	} {
		for more, want := range wants {
			t.Run(fmt.Sprint(name, "+", more), func(t *testing.T) {
				d, w := usedDesk(t), asked("4711")
				ways[name](d, w)
				w.request.Amount.Minor += int64(more)
				before, _ := d.ledger.Order(t.Context(), "4711")
				sent, err := d.send(w)
				if want == "sent" || want == "already" {
					if err != nil || sent.Order.ID == "" || sent.Already != (want == "already") {
						t.Errorf("got %+v, %v", sent, err)
					}
					d.s.wantCreates(map[string]int{"already": 1, "sent": 2}[want])
					return
				}
				d.s.wantCreates(1)
				wantErr(t, err, want)
				if want == "unknown" {
					wantErr(t, err, want, "till withdraw reconcile 4711")
				}
				if after, _ := d.ledger.Order(t.Context(), "4711"); name != "died" && after.Changed != before.Changed ||
					after.Content != before.Content {
					t.Errorf("%+v has become %+v", before, after)
				}
			})
		}
	}
}

// TestAnswerDecidesTheState checks that the answer decides the state of the order, which is kept with it, and
// that only an order that is certainly not at the service is sent again. See TestEndingOf.
func TestAnswerDecidesTheState(t *testing.T) {
	for _, tt := range []struct {
		status int
		answer string
		state  State
	}{
		{422, envelope, StateRejected}, {401, envelope, StatePlanned}, {400, "no", StateUnknown},
		{200, `""`, StateUnknown}, {0, "", StateUnknown},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			d := usedDesk(t)
			d.s.answer(func() (int, string, bool) { return tt.status, tt.answer, false })
			sent, err := d.send(asked("4711"))
			d.s.wantCreates(2)
			if unknown := wantUnknown(t, err, tt.state); !unknown {
				wantCall(t, err, api.Rejected, tt.status)
			} else if !errors.As(err, new(*api.Error)) {
				t.Error("what the call said is lost")
			}
			o := d.wantState("4711", tt.state)
			if sent.Order.State != tt.state || o.ID != "" {
				t.Errorf("sent is %+v, recorded %+v", sent.Order, o)
			}
			events, err := d.ledger.Journal().Story(t.Context(), o)
			ok(t, err)
			if last := events[len(events)-1]; last.HTTPStatus != int64(tt.status) || tt.answer == envelope &&
				(last.Code != 2004 || !strings.Contains(last.Reason, "no_funds")) || last.Reason == "" {
				t.Errorf("the story ends in %+v", last)
			}
			d.s.answer(nil)
			if _, err = d.send(asked("4711")); wantUnknown(t, err, tt.state) {
				d.s.wantCreates(2)
				return
			}
			ok(t, err)
			d.s.wantCreates(3)
		})
	}
}

// wantUnknown checks that an error says that an order is unknown, if it is.
func wantUnknown(t *testing.T, err error, state State) bool {
	t.Helper()
	if state == StateUnknown {
		wantKind(t, err, Unknown, "")
	}
	return state == StateUnknown
}

func TestSendRefusesDuplicates(t *testing.T) {
	same := func(orderID string, made bool) withdrawal {
		w := asked(orderID)
		w.request.Address, w.window, w.newOrderID = "bc1qsame", 10*time.Minute, made
		return w
	}
	for name, tt := range map[string]struct {
		way   string        // of another order with the same content
		made  bool          // the order id
		later time.Duration // than the other order
		kind  Kind          // of the error
	}{
		"unknown":                  {way: "unknown", kind: Unknown},
		"unknown, made":            {way: "unknown", made: true, kind: Unknown},
		"unknown, died":            {way: "died", kind: Unknown},
		"accepted":                 {way: "accepted"},
		"accepted, made":           {way: "accepted", made: true, kind: Refused},
		"accepted, made, long ago": {way: "accepted", made: true, later: 10 * time.Minute},
		"accepted, made, just":     {way: "accepted", made: true, later: 10*time.Minute - time.Second, kind: Refused},
		"accepted in the future":   {way: "accepted", made: true, later: -time.Hour, kind: Refused},
		"rejected, made":           {way: "rejected", made: true},
		"being sent":               {way: "being sent"},
		"being sent, made":         {way: "being sent", made: true, kind: Busy},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := usedDesk(t), same("20", tt.made)
			ways[tt.way](d, same("10", false))
			d.clock.move(tt.later)
			_, err := d.send(w)
			if tt.kind == "" {
				ok(t, err)
				d.s.wantCreates(2)
				return
			}
			wantKind(t, err, tt.kind, RuleDuplicate, "10", "--allow-duplicate")
			d.s.wantCreates(1)
			d.wantNothing("20")
			w.allowDuplicate = true
			d.mustSendAs(w)
			d.s.wantCreates(2)
		})
	}
}

// TestOutcomeCannotBeRecorded checks that the message has the id and the order is in doubt if the outcome
// cannot be recorded.
func TestOutcomeCannotBeRecorded(t *testing.T) {
	for says, answer := range map[string]func() (int, string, bool){"no_funds": refusedBy, "closed without an answer": vanished,
		"w77": func() (int, string, bool) { return 200, `"w77"`, false }} {
		t.Run(says, func(t *testing.T) {
			d := usedDesk(t)
			d.s.answer(func() (int, string, bool) { d.ledger.Journal().Close(); return answer() })
			sent, err := d.send(asked("4711"))
			wantKind(t, err, Unknown, "", says, "4711", "till withdraw reconcile 4711")
			if says == "w77" && sent.Order.ID != says {
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
		"by itself": func(d *desk) error { return errorOf(d.send(asked("102"))) },
		"in a run":  func(d *desk) error { return errorOf(d.apply(d.plan(nil, dueTo(20)...), ApplyOptions{})) },
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
				if err := send(d); !errors.Is(err, journal.Broken) { // then the next row could not be claimed
					ok(t, err)
				}
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
		late := 5 * time.Second
		d.now = func() time.Time { return d.clock.Now().Add(late) }
		d.mustSend("4711")
		for _, late = range []time.Duration{5*time.Second + time.Millisecond, time.Hour} {
			err := wantCall(t, errorOf(d.send(asked("4712"))), api.NotSent, 0)
			if !strings.Contains(err.Error(), "passed since it was recorded") {
				t.Error(err)
			}
			d.wantState("4712", StatePlanned)
		}
		d.s.wantCreates(2)
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
	d := usedDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.now = func() time.Time { cancel(); return d.clock.Now() } // called right before the call
	_, err := d.Send(ctx, t.Context(), asked("4711"))
	if e := wantCall(t, err, api.NotSent, 0); !errors.Is(e.Err, context.Canceled) {
		t.Error(err)
	}
	d.s.wantCreates(1)
	if o := d.wantState("4711", StatePlanned); o.Reason != "not sent: it was stopped before it left" || d.UnderWay() != 0 {
		t.Errorf("the reason is %q, and %d are under way", o.Reason, d.UnderWay())
	}

	d = usedDesk(t)
	ctx, cancel = context.WithCancel(t.Context())
	d.s.answer(func() (int, string, bool) { cancel(); return 200, "", true })
	_, before, _ := d.s.counts()
	sent, err := d.Send(ctx, t.Context(), asked("4711"))
	if _, gets, _ := d.s.counts(); err != nil || sent.Order.ID != "w2" || gets != before || sent.Note != "" {
		t.Errorf("got %+v, %v; it was read back %d times all the same", sent, err, gets-before)
	}
	d.wantState("4711", StateAccepted)

	ctx, cancel = context.WithCancel(t.Context()) // of the call itself
	d.s.answer(func() (int, string, bool) { cancel(); return 0, "", true })
	wantKind(t, errorOf(d.Send(ctx, ctx, asked("4712"))), Unknown, "")
	d.wantState("4712", StateUnknown)
	d.s.wantCreates(3)
}

func TestReadBackNoticesDroppedOrderIDs(t *testing.T) {
	const unread = "could not be read back"
	record := func(change func(r row)) func(d *desk) (int, string) {
		return func(d *desk) (int, string) {
			r := maps.Clone(d.s.rows[0])
			change(r)
			return 200, asText(r)
		}
	}
	for name, tt := range map[string]struct {
		answer  func(d *desk) (int, string)
		dropped bool
		note    string
	}{
		"kept":               {record(func(row) {}), false, ""},
		"as a text only":     {record(func(r row) { delete(r, "external_id") }), false, ""},
		"as a number only":   {record(func(r row) { delete(r, "external_order_id") }), false, ""},
		"dropped":            {record(func(r row) { r.named("") }), true, ""},
		"another":            {record(func(r row) { r.named("5") }), true, ""},
		"rounded":            {record(func(r row) { r["external_id"] = 4712 }), true, ""},
		"with a zero before": {record(func(r row) { r["external_order_id"] = "04711" }), false, ""},
		"cannot be read":     {func(*desk) (int, string) { return 500, "" }, false, unread},
		"of another":         {record(func(r row) { r["id"], r["external_order_id"] = "w9", "5" }), false, unread},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.onGet = func(string) (int, string) { return tt.answer(d) }
			sent, err := d.send(asked("4711"))
			if sent.Order.ID != "w1" || sent.Order.State != StateAccepted || !strings.Contains(sent.Note, tt.note) ||
				(tt.note == "") != (sent.Note == "") {
				t.Errorf("sent is %+v", sent)
			}
			d.wantState("4711", StateAccepted)
			_, gets, _ := d.s.counts()
			if !tt.dropped {
				if err != nil || gets != 1 {
					t.Errorf("%v after %d reads", err, gets)
				}
				return
			}
			if gets != mostReadBacks { // a copy of the service's data may be a moment behind
				t.Errorf("it was read %d times", gets)
			}
			wantKind(t, err, Conflict, "")
			for _, w := range []withdrawal{asked("5000"), {request: asked("5001").request, newOrderID: true}} {
				wantKind(t, errorOf(d.send(w)), Refused, RuleList, "--lookup never")
			}
			if again := d.mustSend("4711"); again.Order.ID != "w1" {
				t.Errorf("what is there is not said: %+v", again)
			}
			d.s.wantCreates(1)
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
	found := func(differs string) func(d *desk) {
		return func(d *desk) {
			d.settles(journal.Evidence{OrderID: "10", Withdrawal: d.s.take(body("10")), Differs: differs,
				Content: contentOf(asked("10").request)})
		}
	}
	way := func(name, orderID string) func(d *desk) { return func(d *desk) { ways[name](d, asked(orderID)) } }
	for name, tt := range map[string]struct {
		bring      func(d *desk)
		used, made bool // the journal, and the order id
		looks      bool
	}{
		"nothing accepted":          {looks: true},
		"nothing accepted, made":    {made: true, looks: true},
		"something accepted":        {used: true},
		"sent before, never left":   {bring: way("never left", "4711"), used: true, looks: true},
		"sent before, rejected":     {bring: way("rejected", "4711"), used: true, looks: true},
		"another was, and unknown":  {bring: way("unknown", "10"), used: true},
		"something rejected only":   {bring: way("rejected", "10"), looks: true},
		"restored":                  {bring: (*desk).restored, used: true, looks: true},
		"always":                    {bring: func(d *desk) { d.options.Lookup = LookupAlways }, used: true, looks: true},
		"found on the list before":  {bring: found(""), used: true, looks: true},
		"found there and different": {bring: found("its amount differs"), used: true, looks: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newDesk(t), asked("4711")
			if w.newOrderID = tt.made; tt.used {
				d.history()
			}
			if tt.bring != nil {
				tt.bring(d)
			}
			d.s.fill(3)
			creates, _, before := d.s.counts()
			d.mustSendAs(w)
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
	for ago, sends := range map[time.Duration]bool{-1: false, window / 2: false, window + 25*time.Hour: false, window + 27*time.Hour: true} {
		t.Run(ago.String(), func(t *testing.T) {
			d, made := newDesk(t), asked("4711")
			d.s.take(body("4711"))
			d.s.rows[0].named("10")
			if ago >= 0 { // otherwise it has no date
				at := d.clock.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05")
				d.s.rows[0]["statuses"] = []any{row{"status": "New", "at": at}}
			}
			made.newOrderID, made.window = true, window
			if _, err := d.send(made); sends {
				ok(t, err)
				d.s.wantCreates(1)
			} else {
				wantKind(t, err, Refused, RuleDuplicate)
				d.s.wantCreates(0)
			}
		})
	}
}

// TestNewOrderIDAfterALoss checks that a withdrawal that cannot be looked up, because its order id is new, is
// not sent while the journal may lack it, unless a person says that it was not sent.
func TestNewOrderIDAfterALoss(t *testing.T) {
	for _, lookup := range []Lookup{LookupAuto, LookupAlways, LookupNever} {
		d, made := usedDesk(t), asked("4711")
		d.restored()
		d.options.Lookup, made.newOrderID = lookup, true
		wantKind(t, errorOf(d.send(made)), Refused, RuleDuplicate, "may lack records")
		d.s.wantCreates(1)
		made.allowDuplicate = true
		d.mustSendAs(made)
		d.s.wantCreates(2)
	}
}

// restored makes the journal one that may have lost records.
func (d *desk) restored() { d.sql("UPDATE till_journal SET restored = restored + 1") }

// TestListedOrderIsNotSentAgain checks that an order that is on the list is not sent again by a journal that
// has lost it, or counts it as rejected.
func TestListedOrderIsNotSentAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		rejected int64            // the amount over which the journal has it; 0: it does not have it
		list     func(s *service) // changes what it shows
		minor    int64            // that is asked for
		want     string           // the error; empty: it is there already
		says     string
		state    State
	}{
		"with the same content": {minor: 5000, says: "order 4711 was on the service's list already, as w1", state: StateAccepted},
		"with another amount":   {minor: 4999, want: "conflict", says: "5000", state: StateConflict},
		"in another unit": {minor: 5000, list: func(s *service) { s.rows[0]["amount"] = row{"Fiat": row{"USD": 333}} },
			says: "the service shows the amount as 3.33 USD", state: StateAccepted},
		"listed twice": {minor: 5000, list: func(s *service) { s.take(body("4711")) }, want: "conflict", says: "w1, w2",
			state: StateConflict},
		"though it was rejected here": {rejected: 5000, minor: 5000, state: StateAccepted},
		"as it was sent, and something else is asked for now": {rejected: 5000, minor: 5001, want: "refused/" + RuleOrderID,
			state: StateAccepted},
		"as it is asked for now, and something else was sent": {rejected: 5001, minor: 5000, want: "conflict",
			state: StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newDesk(t), asked("4711")
			if w.request.Amount.Minor = tt.rejected; tt.rejected != 0 {
				d.bring(w, outRejected)
			}
			if d.s.take(body("4711")); tt.list != nil {
				tt.list(d.s)
			}
			w.request.Amount.Minor = tt.minor
			for again := range 2 {
				sent, err := d.send(w)
				wantErr(t, err, tt.want, tt.says)
				if err == nil && (!sent.Already || sent.Order.ID != "w1" || again == 0 && !strings.Contains(sent.Note, tt.says)) {
					t.Fatalf("got %+v", sent)
				}
				if d.wantState("4711", tt.state); tt.rejected != 0 {
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
	for orderID, answer := range map[string]func() (int, string, bool){"2": refusedBy, "3": lost} {
		d.s.answer(answer)
		w := asked(orderID)
		w.accepted = func(Order) { t.Errorf("order %s is told as accepted", orderID) }
		if _, err := d.send(w); err == nil || d.UnderWay() != 0 {
			t.Errorf("%v, %d under way", err, d.UnderWay())
		}
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
	d := newDesk(t)
	d.s.answer(func() (int, string, bool) { return 200, `"w1"`, false })
	for range 2 {
		wantKind(t, errorOf(d.send(asked("4711"))), Unknown, "")
		d.wantState("4711", StateUnknown)
	}
	d.s.wantCreates(1)
	d.s.answer(nil)
	d.clock.move(time.Hour)
	d.decides(notSent("4711"))
	d.mustSend("4711")
	d.s.wantCreates(2)
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

// TestReadBackShowsAnotherMerchant checks that a person learns when the service has taken an order for
// another merchant, and that a plan stops there.
func TestReadBackShowsAnotherMerchant(t *testing.T) {
	d := usedDesk(t)
	d.s.onGet = func(id string) (int, string) {
		i := slices.IndexFunc(d.s.rows, func(r row) bool { return r["id"] == id })
		r := maps.Clone(d.s.rows[i])
		r["merchant_id"] = "m2"
		return 200, asText(r)
	}
	wantKind(t, errorOf(d.send(asked("2"))), Conflict, "", `"m2"`)
	wantKind(t, errorOf(d.apply(d.plan(nil, dueTo(3)...), ApplyOptions{Concurrency: 3})), Conflict, "", `"m2"`)
	d.s.wantCreates(3) // with that of history
}

// TestSenderLimits checks that a Sender sends nothing that its limits forbid, alone, again or in a plan.
func TestSenderLimits(t *testing.T) {
	btc := func(minor int64) []api.Amount { return []api.Amount{api.CryptoAmount("btc", minor)} }
	const limit, list = "refused/" + money.RuleLimit, "refused/" + money.RuleAllowList
	for name, tt := range map[string]struct {
		limits       Limits
		plan, single string // the errors for two rows of 5000, and for one
	}{
		"above one withdrawal": {Limits{MaxPerWithdrawal: btc(4999)}, limit, limit},
		"above a run":          {Limits{MaxPerRun: btc(9999)}, limit, ""},
		"another address":      {Limits{AllowAddresses: []string{"bc1qX"}}, list, list},
		"within": {Limits{MaxPerWithdrawal: btc(5000), MaxPerRun: btc(10000),
			AllowAddresses: []string{"bc1q1", "bc1q2"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.options.Limits = tt.limits
			wantErr(t, errorOf(d.apply(d.plan(nil, due("1"), due("2")), ApplyOptions{})), tt.plan)
			if tt.plan != "" {
				d.s.wantCreates(0)
				d.bring(asked("1"), outRejected)
			}
			wantErr(t, errorOf(d.send(asked("1"))), tt.single)
		})
	}
}

// TestSenderBudgets checks that a Sender stops at what is left of a day, also if others have sent since it
// looked.
func TestSenderBudgets(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		d.options.TimeZone = time.UTC
		perDay := func(minor int64) { d.options.Limits = Limits{MaxPerDay: []api.Amount{api.CryptoAmount("btc", minor)}} }
		perDay(12_000)
		x, tally := d.begun(d.plan(nil, dueTo(2)...), ApplyOptions{})
		d.mustSend("9")
		wantKind(t, x.Send(t.Context(), t.Context(), tally), Refused, money.RuleLimit,
			"5000 minor Btc is more than is left of max_per_day (12000 minor Btc): 2000 minor Btc until 20")
		tally, err := x.Tally(t.Context())
		ok(t, err)
		tally.want(t, "1 planned, 1 accepted")
		_, _, err = d.Existing(t.Context(), asked("12").request) // before a person is asked
		wantKind(t, err, Refused, money.RuleLimit)

		perDay(15_000)
		d.options.Lookup = LookupAlways
		d.onPage(1, func() { // another process sends while this one looks at the list
			ok(t, errorOf(d.open().Claim(context.Background(),
				journal.Claim{OrderID: "10", Content: contentOf(asked("10").request), Key: d.key})))
		})
		wantKind(t, errorOf(d.send(asked("11"))), Refused, money.RuleLimit)
		d.wantNothing("11")
		d.s.wantCreates(2)
	})
}

// TestLostRecordsAreLookedUp checks that a journal that has lost records looks every order up, in the whole
// list, whatever the options say.
func TestLostRecordsAreLookedUp(t *testing.T) {
	for _, never := range []bool{true, false} {
		for _, single := range []bool{true, false} {
			d := usedDesk(t)
			d.takes("101")
			d.restored()
			if d.options.Lookup = LookupNever; !never {
				d.options.Lookup, d.options.Since, d.options.SinceTime = LookupAuto, "since", d.clock.Now()
			}
			d.s.from = nil
			if single {
				d.mustSend("101")
			} else {
				d.mustApply(d.plan(nil, due("101")), ApplyOptions{AlreadyPaid: 1}).want(t, "1 accepted")
			}
			d.s.wantCreates(1)
			if len(d.s.from) < 2 || strings.Join(d.s.from, "") != "" {
				t.Errorf("the list was read from %q", d.s.from)
			}
		}
	}
}
