package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// move moves a row of the list to another place.
func (s *service) move(from, to int) {
	r := s.rows[from]
	s.rows = slices.Insert(slices.Delete(s.rows, from, from+1), to, r)
}

// TestScanAtRandom checks that a scan that counts has seen all rows that were on the list throughout, however
// rows are moved and added.
func TestScanAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	d := newDesk(t)
	complete, moved := 0, 0
	for n := range 400 {
		d.s.rows, d.s.base = nil, n%2
		d.options.FirstPage = []api.PageBase{api.PageBaseAuto, api.PageBase(d.s.base + 1)}[random.IntN(2)]
		d.s.fill(1 + random.IntN(14))
		var there []string
		for _, r := range d.s.rows {
			there = append(there, r["id"].(string))
		}
		changes := random.IntN(4)
		d.s.onList = func(page, _ int) ([]row, int, int) {
			for ; changes > 0 && random.IntN(2) == 0; changes-- {
				moved++
				last := len(d.s.rows) - 1
				switch random.IntN(4) {
				case 0:
					d.s.move(random.IntN(last+1), 0)
				case 1:
					d.s.move(random.IntN(last+1), last)
				case 2:
					d.s.move(random.IntN(last+1), random.IntN(last+1))
				default:
					d.s.fill(1)
				}
			}
			return d.s.cut(page, 3)
		}
		seen := map[string]bool{}
		r := &reading{see: func(w listed) bool { seen[w.ID] = true; return true }}
		err := r.read(t.Context(), d.Sender)
		if errors.As(err, new(*lack)) {
			continue
		}
		ok(t, err)
		complete++
		for _, id := range there {
			if !seen[id] {
				t.Fatalf("scan %d is complete, and has not seen %s of %v", n, id, there)
			}
		}
	}
	if complete < 200 || complete == 400 || moved < 200 {
		t.Errorf("%d scans were complete, and %d rows moved: that shows little", complete, moved)
	}
}

// TestAmountsThatFloat checks that an amount in another unit than it was sent in may differ in each scan, and
// that an amount in the unit that was sent may not.
func TestAmountsThatFloat(t *testing.T) {
	for name, tt := range map[string]struct {
		amount func(scan int) row
		scans  int // 5: they never agree
	}{
		"another unit":           {func(n int) row { return row{"Fiat": row{"USD": 2500 + n}} }, 2},
		"the unit that was sent": {func(n int) row { return row{"Crypto": row{"Btc": 5000 + n}} }, 5},
		"the same in another spelling": {func(n int) row { return row{"Crypto": row{[]string{"BTC", "btc"}[n%2]: 5000}} },
			2},
		"once the unit that was sent": {func(n int) row {
			return []row{{"Crypto": row{"Btc": 5000}}, {"Fiat": row{"USD": 7}}}[min(n, 2)-1]
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.take(body("4711"))
			n := 0
			d.s.onFirst = func() {
				n++
				d.s.rows[0]["amount"] = tt.amount(n)
			}
			_, err := d.send(asked("4711"))
			if n != tt.scans {
				t.Errorf("%d scans, want %d", n, tt.scans)
			}
			d.s.wantCreates(0)
			if tt.scans == 5 {
				wantKind(t, err, ReadFailed, "")
				return
			}
			d.wantState("4711", StateAccepted)
		})
	}
}

// TestRecordsThatCannotBeRead checks that a record that cannot be read is matched by the fields that can. If
// it may belong to the order, the order stays undecided.
func TestRecordsThatCannotBeRead(t *testing.T) {
	const first = "record 1 of page 1: "
	for name, tt := range map[string]struct {
		change    func(r row) // changes a record of order 4711
		found     State
		undecided string // the record that the message names and, if it has the same content, what to do about it
	}{
		"its amount":                   {func(r row) { r["amount"] = 7 }, StateAccepted, ""},
		"its amount, at another one":   {func(r row) { r["amount"], r["address"] = 7, "bc1qother" }, StateConflict, ""},
		"its currency":                 {func(r row) { r["currency"] = "Btc" }, StateAccepted, ""},
		"one of two order ids":         {func(r row) { r["external_id"] = "x" }, StateAccepted, ""},
		"both order ids":               {func(r row) { r["external_id"], r["external_order_id"] = "x", 7 }, "", "withdrawal w2: |--paid-as w2"},
		"the only order id":            {func(r row) { r.named("")["external_order_id"] = 7 }, "", "withdrawal w2: "},
		"its id":                       {func(r row) { delete(r, "id") }, "", first},
		"another's id":                 {func(r row) { delete(r.named("5"), "id") }, StatePlanned, ""},
		"its id and its order id":      {func(r row) { delete(r.named(""), "id"); r["external_order_id"] = 7 }, "", first},
		"its order id in another case": {func(r row) { r.named("")["External_Order_Id"] = "4711" }, "", "withdrawal w2"},
		"no order id at all":           {func(r row) { r.named("")["amount"] = 7 }, "", "withdrawal w2"},
	} {
		t.Run(name, func(t *testing.T) {
			prepare := func(out journal.Outcome) *desk {
				d := usedDesk(t)
				d.bring(asked("4711"), out)
				d.begins("cafe0001", "4711")
				d.takes("4711")
				tt.change(d.s.rows[0])
				return d
			}
			undecided, alike, _ := strings.Cut(tt.undecided, "|")
			d := prepare(outNotLeft)
			sent, err := d.send(asked("4711"))
			switch tt.found {
			case "":
				wantKind(t, err, Refused, RuleList, undecided)
			case StateConflict:
				wantKind(t, err, Conflict, "")
			case StateAccepted, StatePlanned:
				if err != nil || sent.Already != (tt.found == StateAccepted) {
					t.Errorf("got %+v, %v", sent, err)
				}
			}
			if tt.found == StatePlanned {
				d.s.wantCreates(2)
				return
			}
			d.s.wantCreates(1)
			// An unknown order stays unknown, by itself and in its run. No message says that it was not sent.
			for _, reconcile := range []func(d *desk) error{
				func(d *desk) error { return errorOf(d.Reconcile(t.Context(), "4711")) },
				func(d *desk) error { return errorOf(d.ReconcileRun(t.Context(), "cafe0001")) },
			} {
				d := prepare(outUnknown)
				err := reconcile(d)
				if tt.found != "" {
					ok(t, err)
					d.wantState("4711", tt.found)
					continue
				}
				wantKind(t, err, Unknown, "", undecided, alike)
				d.options.SettleAfter = 0
				wantKind(t, d.Check(t.Context(), notSent("4711")), Refused, RuleList)
				d.wantState("4711", StateUnknown)
				if alike != "" { // also if it was accepted for another order, and if rows move while the list is read
					readings := 0
					d.s.onList = func(page, size int) ([]row, int, int) {
						readings += max(0, 2-page)
						items, pages, total := d.s.cut(page, size)
						return slices.Repeat(items, 1+readings%2), pages, total
					}
					c, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
					ok(t, cmp.Or(err, d.Accept(t.Context(), c, "x")))
					wantKind(t, d.Check(t.Context(), notSent("4711")), Refused, RuleList, alike, "--although-different")
					ok(t, d.Check(t.Context(), Decision{OrderIDs: []string{"4711"}, Reason: "x", AlthoughDifferent: true}))
				}
			}
		})
	}
}

// TestPageIsRefusedInTheMiddle checks that a page that is refused after others were shown makes the scan
// incomplete, and does not end the lookup.
func TestPageIsRefusedInTheMiddle(t *testing.T) {
	for refusals, want := range map[int]string{1: "", 3: "", 4: "read failed"} {
		d := newDesk(t)
		d.s.fill(350)
		page, refused := 0, 0
		d.s.onPage = func() { page++ }
		d.s.listFail = func() (int, string) {
			if page == 3 {
				if refused++; refused <= refusals {
					d.s.rows = d.s.rows[:150]
					return 404, envelope
				}
			}
			return -1, ""
		}
		d.pause = func(context.Context, time.Duration) error { // before the next scan
			d.pauses++
			d.s.set(func() { page, d.s.rows = 0, nil; d.s.fill(350) })
			return nil
		}
		wantErr(t, errorOf(d.send(asked("4711"))), want)
		if want == "" && d.pauses != refusals {
			t.Errorf("%d pauses after %d refusals", d.pauses, refusals)
		}
		d.s.wantCreates(map[string]int{"": 1}[want])
	}
}

// TestLookupTimeout checks that a lookup that takes too long ends, and says how far it came.
func TestLookupTimeout(t *testing.T) {
	d := newDesk(t)
	d.options.LookupTimeout = 2 * time.Second
	d.s.fill(350)
	release, pages := make(chan struct{}), 0
	d.s.onPage = func() {
		if pages++; pages == 3 {
			<-release
		}
	}
	_, err := d.send(asked("4711"))
	close(release)
	wantKind(t, err, ReadFailed, "",
		"within 2s (lookup_timeout): it had shown 200 withdrawals then, of 350 that it counts")
	d.s.wantCreates(0)
	d.wantNothing("4711")
}

// TestLookupTimeoutOfSince checks that the reading that finds out how the service understands a time ends too.
func TestLookupTimeoutOfSince(t *testing.T) {
	d := newDesk(t)
	d.options.Since, d.options.SinceTime = "since", d.clock.Now()
	d.options.LookupTimeout = 200 * time.Millisecond
	release := make(chan struct{})
	late := time.AfterFunc(20*time.Second, func() { close(release) }) // without a limit, it is read after all
	d.s.onPage = func() { <-release }
	_, err := d.send(asked("4711"))
	if late.Stop() {
		close(release)
	}
	wantKind(t, err, ReadFailed, "", "within 200ms (lookup_timeout)")
	d.s.wantCreates(0)
}

// TestOneMorePage checks that a list with one more page after each, which the service counts, has an end.
func TestOneMorePage(t *testing.T) {
	d := newDesk(t)
	d.mostPages = 300
	d.s.onList = func(page, size int) ([]row, int, int) {
		if page > 400 {
			t.Fatal("the list has no end")
		}
		d.s.rows = nil
		d.s.fill(2)
		return d.s.rows, page + 1, 2 * (page + 1)
	}
	_, err := d.send(asked("4711"))
	wantKind(t, err, ReadFailed, "", "has not ended after 300 pages with 600 withdrawals", "--lookup-since")
	d.s.wantCreates(0)
}

// TestSinceTheFirstAttempt checks that the list is read back to the first of several attempts of an order.
func TestSinceTheFirstAttempt(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.takes("10")
	d.hasDecided(journal.Decision{OrderID: "10", NotSent: true, Reason: "x"})
	d.hidesOld()
	d.bring(asked("10"), outUnknown)
	if results := d.mustReconcile("10"); len(results) != 1 || !results[0].Listed {
		t.Errorf("got %+v", results)
	}
	if from := fmt.Sprint(d.s.from[len(d.s.from)-2:]); from != "[ ]" {
		t.Errorf("the list was read from %s", from)
	}
}

// TestFilterIsProven checks that a time that the service takes for another one, or refuses, hides no payment: the list
// is read whole then, and that a person has accepted that there is none does not count.
func TestFilterIsProven(t *testing.T) {
	for _, refused := range []bool{false, true} {
		d := newDesk(t)
		ok(t, d.Accept(t.Context(), Comparison{NoList: errors.New("no list"), whole: true}, "x"))
		d.hidesOld()
		d.s.listFail = func() (int, string) {
			return map[bool]int{false: -1, true: 400}[refused && d.s.from[len(d.s.from)-1] != ""], envelope
		}
		d.takes("4711")
		d.send(asked("4711"))
		d.wantState("4711", StateAccepted)
		d.s.wantCreates(0)
		statuses, err := d.Live(t.Context(), Filter{})
		compared, failed := d.Compare(t.Context(), api.WithdrawalFilter{From: "since"}, Filter{})
		if err = errors.Join(err, failed); err != nil || len(statuses) != 1 || !compared.Clean() {
			t.Errorf("got %v, %+v, %v", statuses, compared, err)
		}
	}
}

// TestStartIsChecked checks which withdrawals a list from noon on must show, and when it is read whole.
func TestStartIsChecked(t *testing.T) {
	for at, want := range map[string]string{"2026-03-04T11:59:59Z": "since [w2]", "2026-03-04T12:00:00Z": "since [w2 w2]",
		"2026-03-04 12:00:01": "since [w2 w2]", "4 March": " [w2 w1]"} {
		d := newDesk(t)
		d.options.Since, d.options.SinceTime = "since", d.clock.Now()
		d.s.fill(2)
		d.s.rows[0]["statuses"] = []any{row{"status": "New", "at": at}}
		d.s.rows[1]["statuses"] = []any{row{"status": "New", "at": "2026-03-04T11:00:00Z"}}
		from, _, must, err := d.checkedStart(t.Context(), "since")
		if got := fmt.Sprint(from, " ", must); got != want || err != nil {
			t.Errorf("%s: from %s, want %s, %v", at, got, want, err)
		}
	}
}

// TestAcceptedIsSought checks that a record that a person has accepted as unknown to the journal is found when
// its order is sent, however old it is, and that the order is refused if the list has lost it.
func TestAcceptedIsSought(t *testing.T) {
	for _, gone := range []bool{false, true} {
		d := usedDesk(t)
		d.takes("4711")
		d.s.set(func() { d.s.rows[0]["id"] = "w\x00\x01" })
		compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
		ok(t, err)
		ok(t, d.Accept(t.Context(), compared, "it belongs to the old shop"))
		if compared, err = d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{}); err != nil || !compared.Clean() {
			t.Errorf("after it was accepted: %+v, %v", compared, err)
		}
		d.hidesOld()
		creates, want := d.s.creates, ""
		if gone {
			want = "refused/" + RuleOrderID
			d.s.set(func() { d.s.rows = d.s.rows[1:] })
			d.options.Lookup = LookupNever
		}
		wantErr(t, errorOf(d.send(asked("4711"))), want)
		wantErr(t, errorOf(d.apply(d.plan(nil, due("4711")), ApplyOptions{})), want)
		if d.s.wantCreates(creates); slices.Contains(d.s.from, "since") {
			t.Error("only a part of the list was read")
		}
	}
}

// TestUnreadableInOneReading checks that a record that one reading shows without an order id that can be read
// closes nothing, and that one which every other reading shows so leaves the order undecided.
func TestUnreadableInOneReading(t *testing.T) {
	for unreadable, want := range map[string]string{"1": "", "2": "", "124": "refused/" + RuleList} {
		d := newDesk(t)
		d.s.fill(1)
		n := 0
		d.s.onFirst = func() {
			if n++; strings.Contains(unreadable, fmt.Sprint(n)) {
				d.s.rows[0]["external_order_id"], d.s.rows[0]["external_id"] = 7, "x"
			} else {
				d.s.rows[0].named("900000")
			}
		}
		wantErr(t, errorOf(d.send(asked("4711"))), want)
		if want != "" {
			d.s.wantCreates(0)
		}
	}
}
