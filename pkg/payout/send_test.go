package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
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

// TestSendRefusesDuplicates has other orders with the same content, see TestClaimRefusesDuplicates of the journal.
func TestSendRefusesDuplicates(t *testing.T) {
	for way, kind := range map[string]Kind{"unknown": Unknown, "accepted": Refused, "being sent": Busy} {
		d, same, w := usedDesk(t), asked("10"), asked("20")
		ways[way](d, same)
		w.request.Address, w.window, w.newOrderID = same.request.Address, 10*time.Minute, true
		wantKind(t, errorOf(d.send(w)), kind, RuleDuplicate, "10", "--allow-duplicate")
		d.wantNothing("20")
		w.allowDuplicate = true
		d.mustSendAs(w)
		d.s.wantCreates(2)
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

// TestJournalIsLostBeforeTheCall checks that a withdrawal is not sent if a file of the journal is removed
// after it was recorded, because the next process would not find the record.
func TestJournalIsLostBeforeTheCall(t *testing.T) {
	for _, file := range []string{"", "-wal", "-shm", ".lock"} {
		d := usedDesk(t)
		d.now = func() time.Time { // called right before the call
			os.Remove(d.place + file)
			return d.clock.Now()
		}
		wantKind(t, errorOf(d.send(asked("4711"))), JournalBroken, "", "order 4711 was not sent")
		d.s.wantCreates(1)
	}
}

// TestOutcomeIsTriedAgain checks that an outcome that cannot be recorded at once is tried again, so that the
// order does not become unknown. In a run, the next row is claimed in the same commit.
func TestOutcomeIsTriedAgain(t *testing.T) {
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
		if _, err := d.apply(d.plan(nil, dueTo(20)...), ApplyOptions{}); err != nil { // the next row could not be claimed
			wantKind(t, err, JournalBroken, "")
		}
		if o := d.wantState("102", StateAccepted); o.ID == "" || pauses != 3 {
			t.Errorf("it was accepted as %s after %d pauses", o.ID, pauses)
		}
	})
}

// TestSuspendedProcessDoesNotSend checks that a process that was suspended between its record and the first
// byte does not send.
func TestSuspendedProcessDoesNotSend(t *testing.T) {
	d := usedDesk(t)
	late := 5 * time.Second
	d.now = func() time.Time { return d.clock.Now().Add(late) }
	d.mustSend("4711")
	late += time.Millisecond
	err := errorOf(d.send(asked("4712")))
	if wantCall(t, err, api.NotSent, 0); !strings.Contains(err.Error(), "passed since it was recorded") {
		t.Error(err)
	}
	d.wantState("4712", StatePlanned)
	d.s.wantCreates(2)
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
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.s.onList = func(int, int) ([]row, int, int) { return nil, 1, 7 }
	d.pause = func(ctx context.Context, pause time.Duration) error { cancel(); return new(Sender).rest(ctx, pause) }
	if _, err := d.Send(ctx, t.Context(), asked("4711")); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("during the look-up: %v", err)
	}
	d.s.wantCreates(0)
	d.wantNothing("4711")

	d = usedDesk(t)
	ctx, cancel = context.WithCancel(t.Context())
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
	ctx, cancel = context.WithCancel(t.Context()) // of the call itself
	d.s.answer(func() (int, string, bool) { cancel(); return 0, "", true })
	wantKind(t, errorOf(d.Send(ctx, ctx, asked("4712"))), Unknown, "")
}

// TestBearsOnly checks which records have the order id that was sent, and no other.
func TestBearsOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		number int64
		text   string
		want   bool
	}{
		"kept":               {4711, "4711", true},
		"as a text only":     {0, "4711", true},
		"as a number only":   {4711, "", true},
		"with a zero before": {4711, "04711", true},
		"dropped":            {0, "", false},
		"another":            {5, "5", false},
		"rounded":            {4712, "4711", false},
		"changed":            {4711, "A4711", false},
	} {
		w := listed{Withdrawal: api.Withdrawal{ExternalID: tt.number, ExternalOrderID: tt.text}}
		if got := w.record().bearsOnly("4711"); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
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

// TestNewOrderIDAfterAFind checks the same of a journal that lacked an order which the list has: there may be more.
func TestNewOrderIDAfterAFind(t *testing.T) {
	d, made := newDesk(t), asked("4711")
	d.takes("9")
	ok(t, errorOf(d.send(asked("9"))))
	d.s.take(body("4711"))
	d.s.rows[0].named("10")
	made.newOrderID, made.window = true, 10*time.Minute
	wantKind(t, errorOf(d.send(made)), Refused, RuleDuplicate, "the journal lacks what the service has")
	d.s.wantCreates(0)
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
// counts it as rejected, and that the list is compared with what was sent, and not with what is asked for now.
func TestListedOrderIsNotSentAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		sent, asked int64 // amounts; the list has 5000
		want        string
		state       State
	}{
		"as it was sent":                  {5000, 5000, "", StateAccepted},
		"and something else is asked for": {5000, 5001, "refused/" + RuleOrderID, StateAccepted},
		"and something else was sent":     {5001, 5000, "conflict", StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newDesk(t), asked("4711")
			w.request.Amount.Minor = tt.sent
			d.bring(w, outRejected)
			d.takes("4711")
			w.request.Amount.Minor = tt.asked
			sent, err := d.send(w)
			if wantErr(t, err, tt.want); err == nil && (!sent.Already ||
				!strings.HasPrefix(sent.Note, "order 4711 was on the service's list already, as w1 with the status \"New\"")) {
				t.Errorf("got %+v", sent)
			}
			d.wantState("4711", tt.state)
			d.s.wantCreates(0)
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

// Another order id for an order that may have been paid would pay twice.
func TestOtherContentOfUnknownOrderIsNoReasonForAnotherOrderID(t *testing.T) {
	d := newDesk(t)
	changed := asked("101")
	changed.request.Amount, changed.request.Memo = api.FiatAmount("USD", 2500), "leaf"
	d.bring(changed, outUnknown)
	_, sending := d.send(asked("101"))
	_, applying := d.apply(d.plan(nil, dueTo(1)...), ApplyOptions{})
	for name, err := range map[string]error{"send": sending, "apply": applying} {
		e := wantKind(t, err, Refused, RuleOrderID, "25.00 USD, withdrawn in Btc, to bc1q101, memo leaf")
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

// TestReadBack checks what a Send tells whose withdrawal is then read as another one, not at all because of an
// interruption, as another merchant's, or never again because the order has come into conflict meanwhile.
func TestReadBack(t *testing.T) {
	var interrupt func()
	for says, answer := range map[string]func(d *desk) (int, string){
		`could not be read back: the answer is about withdrawal "w9"`: func(d *desk) (int, string) {
			other := maps.Clone(d.s.rows[0].named(""))
			other["id"] = "w9"
			return 200, asText(other)
		},
		"was accepted as w2; the interruption kept": func(*desk) (int, string) { interrupt(); return 0, "" },
		`conflict: "m2"`: func(d *desk) (int, string) { d.s.rows[0]["merchant_id"] = "m2"; return -1, "" },
		"conflict: w9": func(d *desk) (int, string) {
			d.settles(journal.Evidence{OrderID: "2", Withdrawal: "w9", Content: contentOf(asked("2").request)})
			return 404, envelope
		},
	} {
		d := usedDesk(t)
		ctx, stop := context.WithCancel(t.Context())
		interrupt = stop
		d.s.onGet = func(string) (int, string) { return answer(d) }
		sent, err := d.Send(ctx, t.Context(), asked("2"))
		if text, conflict := strings.CutPrefix(says, "conflict: "); conflict {
			wantKind(t, err, Conflict, "", text)
		} else if err != nil || sent.Order.ID != "w2" || !strings.Contains(sent.Note, says) {
			t.Errorf("got %+v, %v, want %q", sent, err, says)
		}
	}
}

// TestSenderLimits checks that a Sender sends nothing that its limits forbid, alone or in a plan.
func TestSenderLimits(t *testing.T) {
	d := newDesk(t)
	btc := func(minor int64) []api.Amount { return []api.Amount{api.CryptoAmount("btc", minor)} }
	for rule, limits := range map[string]Limits{money.RuleLimit: {MaxPerWithdrawal: btc(4999)},
		money.RuleAllowList: {AllowAddresses: []string{"bc1qX"}}} {
		d.options.Limits = limits
		wantKind(t, errorOf(d.apply(d.plan(nil, due("1"), due("2")), ApplyOptions{})), Refused, rule)
		wantKind(t, errorOf(d.send(asked("1"))), Refused, rule)
	}
	d.options.Limits = Limits{MaxPerRun: btc(9999)}
	wantKind(t, errorOf(d.apply(d.plan(nil, due("1"), due("2")), ApplyOptions{})), Refused, money.RuleLimit)
	d.mustSend("1")
	d.s.wantCreates(1)
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
		_, _, err := d.Existing(t.Context(), asked("12").request) // before a person is asked
		wantKind(t, err, Refused, money.RuleLimit)

		perDay(15_000)
		d.options.Lookup = LookupAlways
		d.onPage(1, func() { // another process sends while this one looks at the list
			ok(t, errorOf(d.open().Claim(context.Background(),
				journal.Claim{Row: journal.Row{OrderID: "10", Content: contentOf(asked("10").request)}, Key: d.key})))
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

type panicking struct{ next http.RoundTripper }

func (p panicking) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/create") {
		panic("no map")
	}
	return p.next.RoundTrip(r)
}

// TestPanicInMiddleware checks that an order is unknown, and not being sent for ever, if a middleware panics.
func TestPanicInMiddleware(t *testing.T) {
	d := newDesk(t)
	var err error
	d.client, err = api.New(d.client.BaseURL(), api.WithAPIKey("key"),
		api.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return panicking{next} }))
	ok(t, err)
	wantKind(t, errorOf(d.send(asked("10"))), Unknown, "", "the call panicked: no map")
	d.wantState("10", StateUnknown)
}
