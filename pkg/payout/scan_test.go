package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

func body(orderID string) map[string]any {
	return map[string]any{"currency": row{"Crypto": "Btc"}, "amount": row{"Crypto": row{"Btc": 5000}},
		"address": "bc1q" + orderID, "external_order_id": orderID}
}

// TestPageBases checks that the list is read to its end, whether its first page has the number 0 or 1, given
// or found out.
func TestPageBases(t *testing.T) {
	for _, base := range []int{0, 1} {
		for _, told := range []api.PageBase{api.PageBaseAuto, api.PageBase(base + 1)} {
			for _, others := range []int{0, 1, 99, 100, 199, 250} {
				for _, place := range []string{"first", "last"} {
					t.Run(fmt.Sprintf("%d/%d/%d/%s", base, told, others, place), func(t *testing.T) {
						d := newDesk(t)
						d.s.base, d.options.FirstPage = base, told
						if place == "last" {
							d.s.take(body("4711"))
						}
						d.s.fill(others)
						if place == "first" {
							d.s.take(body("4711"))
						}
						sent, err := d.send(asked("4711"))
						if err != nil || !sent.Already {
							t.Errorf("got %+v, %v", sent, err)
						}
						d.s.wantCreates(0)
					})
				}
			}
		}
	}
}

// TestIncompleteListFails checks that a list that shows fewer withdrawals than it counts is read again, and
// that the scan finally fails.
func TestIncompleteListFails(t *testing.T) {
	for hidden, wantPauses := range map[int]int{0: 0, 1: 1, 3: 3, 4: 4, 5: 4} {
		d := newDesk(t)
		d.s.fill(5)
		readings := 0
		d.s.onList = func(page, size int) ([]row, int, int) {
			if page != 1 {
				return nil, 1, 5
			}
			readings++
			if readings <= hidden {
				return d.s.rows[1:], 1, 5
			}
			return d.s.rows, 1, 5
		}
		_, err := d.send(asked("4711"))
		if d.pauses != wantPauses {
			t.Errorf("hidden %d times: %d pauses", hidden, d.pauses)
		}
		if hidden == 4 { // one complete scan is not enough
			wantKind(t, err, ReadFailed, "", "no two of them agreed")
			d.s.wantCreates(0)
			continue
		}
		if hidden < 4 {
			if err != nil || readings != hidden+2 {
				t.Errorf("hidden %d times: %v after %d readings", hidden, err, readings)
			}
			d.s.wantCreates(1)
			continue
		}
		wantKind(t, err, Refused, RuleList, "5 withdrawals", "showed 4")
		if readings != 5 {
			t.Errorf("%d readings", readings)
		}
		d.s.wantCreates(0)
		d.wantNothing("4711")
	}
}

// TestLargestTotal checks that a complete scan has seen as many withdrawals as the largest total of any page.
func TestLargestTotal(t *testing.T) {
	for name, totals := range map[string][2]int{"of the first page": {150, 149}, "of the last page": {149, 150}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.fill(150)
			shown := 149
			d.s.onList = func(page, size int) ([]row, int, int) {
				if page == 1 {
					return d.s.rows[:100], 2, totals[0]
				}
				if page > 2 {
					return nil, 2, totals[1]
				}
				return d.s.rows[100:shown], 2, totals[1]
			}
			_, err := d.send(asked("4711"))
			wantKind(t, err, Refused, RuleList, "counts 150 withdrawals, and its list showed 149")
			d.s.wantCreates(0)
			d.s.set(func() { shown = 150 })
			d.mustSend("4711")
			d.s.wantCreates(1)
		})
	}
}

// TestNewestIsHidden checks that a complete scan has seen the withdrawal that was accepted last.
func TestNewestIsHidden(t *testing.T) {
	hide := func(d *desk, id string) {
		d.s.onList = func(page, size int) ([]row, int, int) {
			kept := slices.DeleteFunc(slices.Clone(d.s.rows), func(r row) bool { return r["id"] == id })
			return kept, 1, len(kept)
		}
	}
	d := newDesk(t)
	d.s.fill(3)
	d.mustSend("1")
	d.clock.move(time.Hour)
	newest := d.mustSend("2").Order.ID
	d.bring(asked("4711"), outNotLeft)
	hide(d, newest)
	wantKind(t, errorOf(d.send(asked("4711"))), Refused, RuleList, newest)
	d.s.wantCreates(2)
	d.wantState("4711", StatePlanned)

	// It need not be on a list that does not go back to it.
	for _, tt := range []struct {
		since time.Duration
		sends bool
	}{{-time.Minute, false}, {0, true}, {time.Minute, true}} {
		d := newDesk(t)
		d.s.fill(1)
		newest := d.mustSend("1").Order.ID
		hide(d, newest)
		d.bring(asked("4711"), outNotLeft)
		d.options.SinceTime = d.clock.Now().Add(tt.since)
		d.options.Since = "since"
		d.s.set(func() { d.s.from = nil })
		_, err := d.send(asked("4711"))
		if tt.sends && err != nil {
			t.Errorf("since %s: %v", tt.since, err)
		}
		if !tt.sends {
			wantKind(t, err, Refused, RuleList)
		}
		if !slices.Contains(d.s.from, "since") {
			t.Errorf("the list was asked from %q", d.s.from)
		}
	}
	// A hidden older withdrawal is not noticed if the totals are consistent. That is not promised.
}

// TestNewestIsOfAnotherMerchant checks that a list proves nothing if it shows the last withdrawal as another
// merchant's.
func TestNewestIsOfAnotherMerchant(t *testing.T) {
	d := newDesk(t)
	d.options.Lookup = LookupAlways
	d.history()
	d.s.set(func() { d.s.rows[0]["merchant_id"] = "m2" })
	wantKind(t, errorOf(d.send(asked("2"))), Conflict, "", `"m2"`)
	d.s.wantCreates(1)
}

// TestNewestIsDoubted checks that the list must have the withdrawal before the newest one, if only a person
// has said that the newest was accepted and that is in question. An empty list would otherwise say that it
// was never sent.
func TestNewestIsDoubted(t *testing.T) {
	d := newDesk(t)
	before := d.mustSend("1").Order.ID
	d.clock.move(time.Hour)
	d.bring(asked("10"), outUnknown)
	d.s.set(func() {
		d.s.take(body("10"))
		delete(d.s.rows[0], "external_id")
		delete(d.s.rows[0], "external_order_id")
	})
	d.clock.move(time.Hour)
	paid := Decision{OrderIDs: []string{"10"}, PaidAs: "w2"}
	ok(t, d.Check(t.Context(), paid))
	d.mustResolve(paid)
	correction := Decision{OrderIDs: []string{"10"}, Reason: "another one was meant"}
	ok(t, d.Check(t.Context(), correction))
	d.s.set(func() { d.s.onList = func(page, size int) ([]row, int, int) { return nil, 0, 0 } })
	e := wantKind(t, d.Check(t.Context(), correction), Refused, RuleList)
	if !strings.Contains(e.Msg, before) {
		t.Error(e)
	}
	d.wantState("10", StateAccepted)
}

// TestRowsShift checks that no row is missed or counted twice if new rows push others to the next page during
// a scan.
func TestRowsShift(t *testing.T) {
	d := newDesk(t)
	d.s.take(body("4711"))
	d.s.fill(350)
	n := 0
	d.s.onPage = func() {
		if n++; n > 1 {
			d.s.fill(3)
		}
	}
	sent, err := d.send(asked("4711"))
	if err != nil || sent.Order.ID != "w1" {
		t.Errorf("got %+v, %v", sent, err)
	}
	d.s.wantCreates(0)
	if d.pauses != 0 {
		t.Errorf("%d readings did not count", d.pauses)
	}
	d.wantState("4711", StateAccepted)
}

// TestShownTwice checks that a record that is shown twice, far apart, is one record, and that two records of
// one order id, or a record that changes, are a conflict.
func TestShownTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		second func(r row)
		state  State
	}{
		"the same":            {func(r row) {}, StateAccepted},
		"with another status": {func(r row) { r["current"] = "Done" }, StateAccepted},
		"with another amount": {func(r row) { r["amount"] = row{"Crypto": row{"Btc": 5001}} }, StateConflict},
		"with another id":     {func(r row) { r["id"] = "w0" }, StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.fill(3000)
			d.s.take(body("4711"))
			second := row{}
			for k, v := range d.s.rows[0] {
				second[k] = v
			}
			tt.second(second)
			d.s.rows = append(d.s.rows, second)
			if second["id"] == d.s.rows[0]["id"] { // the service counts it once, as when rows move
				d.s.onList = func(page, size int) ([]row, int, int) {
					items, pages, total := d.s.cut(page, size)
					return items, pages, total - 1
				}
			}
			d.send(asked("4711"))
			d.wantState("4711", tt.state)
			d.s.wantCreates(0)
		})
	}
}

// TestEndlessListFails checks that a reading of a list that never ends fails, and that one whose pages are
// all the same ends.
func TestEndlessListFails(t *testing.T) {
	for name, fresh := range map[string]bool{"the same rows": false, "new rows": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.fill(2)
			d.s.onList = func(page, size int) ([]row, int, int) {
				rows := d.s.rows
				if fresh {
					d.s.rows = nil
					d.s.fill(2)
					rows = d.s.rows
				}
				return rows, 1, 2
			}
			_, err := d.send(asked("4711"))
			if !fresh {
				ok(t, err)
				d.s.wantCreates(1)
				return
			}
			wantKind(t, err, Refused, RuleList, "has not ended")
			d.s.wantCreates(0)
			if _, _, lists := d.s.counts(); lists > 5*(manyPages+20) {
				t.Errorf("%d pages were read", lists)
			}
		})
	}
}

// TestTwoReadingsAgree checks that reconciling needs two scans that agree.
func TestTwoReadingsAgree(t *testing.T) {
	for name, tt := range map[string]struct {
		shown    string // in each scan: the order is shown (y), not shown (n), shown with another amount (x), or the scan does not count (-)
		readings int
		found    bool
		failed   bool
	}{
		"both":                  {"yy", 2, true, false},
		"neither":               {"nn", 2, false, false},
		"comes":                 {"nyy", 3, true, false},
		"goes":                  {"ynn", 3, true, false}, // it was shown once
		"changes":               {"yxyy", 4, true, false},
		"one does not count":    {"y-y", 3, true, false},
		"flickers":              {"nynyn", 5, false, true},
		"flickers, then agrees": {"nynyy", 5, true, false},
		"hardly counts":         {"---n-", 5, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskInDoubt(t, "4711")
			d.s.fill(2)
			all := slices.Clone(d.s.rows)
			d.s.take(body("4711"))
			with := d.s.rows
			other := row{}
			for k, v := range with[0] {
				other[k] = v
			}
			other["amount"] = row{"Crypto": row{"Btc": 4999}}
			n := 0
			d.s.onList = func(page, _ int) ([]row, int, int) {
				if page > 1 {
					return nil, 1, 0
				}
				n++
				kind := tt.shown[min(n, len(tt.shown))-1]
				switch kind {
				case 'y':
					return with, 1, len(with)
				case 'x':
					return append([]row{other}, all...), 1, len(with)
				case '-':
					return all, 1, 99
				}
				return all, 1, len(all)
			}
			results, err := d.Reconcile(t.Context(), "4711")
			if n != tt.readings {
				t.Errorf("%d readings, want %d", n, tt.readings)
			}
			if want := strings.Count(tt.shown[:len(tt.shown)-1], "-"); d.pauses != want {
				t.Errorf("%d pauses, want %d", d.pauses, want)
			}
			if tt.failed {
				wantKind(t, err, Unknown, "", "order 4711 stays unknown")
				d.wantState("4711", StateUnknown)
				return
			}
			if err != nil || len(results) != 1 || results[0].Listed != tt.found {
				t.Fatalf("got %+v, %v", results, err)
			}
			want := StateUnknown
			if tt.found {
				want = StateAccepted
			}
			d.wantState("4711", want)
			d.s.wantCreates(1)
		})
	}
}

// TestDiffers compares records with what was sent.
func TestDiffers(t *testing.T) {
	sent := Content{Currency: api.CryptoCurrency("Btc"), Amount: api.FiatAmount("USD", 2500),
		Address: "bc1qA", Memo: "leaf"}
	for name, tt := range map[string]struct {
		change  func(r row)
		differs string
		other   bool // a field cannot be compared
	}{
		"nothing":              {func(r row) {}, "", false},
		"currency":             {func(r row) { r["currency"] = row{"Crypto": "Ltc"} }, "currency", false},
		"kind of currency":     {func(r row) { r["currency"] = row{"Fiat": "Btc"} }, "currency", false},
		"case of the currency": {func(r row) { r["currency"] = row{"Crypto": "BTC"} }, "", false},
		"amount": {func(r row) { r["amount"] = row{"Fiat": row{"USD": 2501}} },
			"its amount is 25.01 USD, and not 25.00 USD", false},
		"case of the unit":    {func(r row) { r["amount"] = row{"Fiat": row{"Usd": 2500}} }, "", false},
		"both":                {func(r row) { r["amount"] = row{"Fiat": row{"Usd": 25}} }, "amount", false},
		"unit":                {func(r row) { r["amount"] = row{"Crypto": row{"Btc": 7}} }, "", true},
		"kind of unit":        {func(r row) { r["amount"] = row{"Crypto": row{"USD": 7}} }, "", true},
		"address":             {func(r row) { r["address"] = "bc1qB" }, "address", false},
		"case of the address": {func(r row) { r["address"] = "bc1qa" }, "address", false},
		"memo":                {func(r row) { r["memo"] = "root" }, "memo", false},
		"the same memo":       {func(r row) { r["memo"] = "leaf" }, "", false},
		"an empty memo":       {func(r row) { r["memo"] = "" }, "memo", false},
		"a null memo":         {func(r row) { r["memo"] = nil }, "", false},
		"a number for a memo": {func(r row) { r["memo"] = 7 }, "memo", false},
		"fields disagree":     {func(r row) { r["external_id"] = 5 }, "external_id is 5", false},
		"text only":           {func(r row) { delete(r, "external_id") }, "", false},
		"number as a text":    {func(r row) { r["external_id"] = "5" }, "", true},
		"number only":         {func(r row) { delete(r, "external_order_id") }, "", false},
		"status":              {func(r row) { r["current"] = "Failed" }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := row{"id": "w1", "merchant_id": "m1", "currency": row{"Crypto": "Btc"},
				"amount": row{"Fiat": row{"USD": 2500}}, "address": "bc1qA",
				"external_id": 4711, "external_order_id": "4711", "current": "New", "statuses": []any{},
				"is_testnet": false, "callback": ""}
			tt.change(r)
			d := newDesk(t)
			d.s.rows = []row{r}
			found, err := d.ask(t.Context(),
				map[string]journal.Record{"4711": {Order: Order{OrderID: "4711", Content: sent}}}, "")
			got := found.records["4711"]
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			why := new(Sender).differs(sent, got[0])
			if (why == "") != (tt.differs == "") || !strings.Contains(why, tt.differs) {
				t.Errorf("it differs in %q", why)
			}
			if why := new(Sender).uncompared(sent, got[0]); (why != "") != tt.other {
				t.Errorf("not compared: %q", why)
			}
		})
	}
	number := record{numbers: []int64{4711}, currency: api.CryptoCurrency("Btc"),
		amount: api.FiatAmount("USD", 2500), address: "bc1qA"}
	memo := "7"
	number.memo = &memo
	sent.Memo = "7"
	if why := new(Sender).differs(sent, number); why != "" {
		t.Error(why)
	}
}

// TestFieldsDisagree checks that a record whose two fields disagree is found by either order id.
func TestFieldsDisagree(t *testing.T) {
	for _, orderID := range []string{"4711", "5"} {
		d := newDesk(t)
		d.s.take(body("4711"))
		d.s.rows[0]["external_id"] = 5
		wantKind(t, errorOf(d.send(asked(orderID))), Conflict, "", `external_id is 5 and its external_order_id "4711"`)
		d.s.wantCreates(0)
	}
}

// TestLongList checks that a long list takes no more memory than a short one, however many of its records are
// sought.
func TestLongList(t *testing.T) {
	const pages, size = 150, api.DefaultPageSize
	d := newDesk(t)
	d.s.fill(pages * size)
	sought := map[string]journal.Record{}
	for n := range pages {
		sought[fmt.Sprint(900000+n*size+7)] = journal.Record{}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	found, err := d.ask(t.Context(), sought, "")
	if err != nil || len(found.records) != pages {
		t.Fatalf("found %d, %v", len(found.records), err)
	}
	if after := heap(); after > before+2<<20 { // the withdrawals are some 15 MB
		t.Errorf("%d KB are held", (after-before)>>10)
	}
	runtime.KeepAlive(found)
}

// TestReadingWithoutJournal checks that an error of the journal is not reported as an error of the list.
func TestReadingWithoutJournal(t *testing.T) {
	d := newDesk(t)
	d.ledger.Journal().Close()
	seek := map[string]journal.Record{"4711": {}}
	_, err := d.ask(t.Context(), seek, "")
	if !errors.Is(err, journal.Broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d = newDesk(t)
	if _, err := d.ask(ctx, seek, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestSmallPages checks that a service that refuses large pages is asked for smaller ones, and that a service
// which refuses all sizes is not asked forever.
func TestSmallPages(t *testing.T) {
	for largest, want := range map[int]int{50: 3, 10: 11, 5: 0} {
		d := newDesk(t)
		d.s.fill(101)
		d.s.maxSize, d.options.FirstPage = largest, api.PageBaseAuto
		seen := 0
		r := &reading{see: func(listed) bool { seen++; return true }}
		err := r.read(t.Context(), d.Sender)
		if _, _, lists := d.s.counts(); want == 0 {
			if !rejects(err) || lists > 8 { // each size may be tried with two numbers of the first page
				t.Errorf("at most %d: %v after %d requests", largest, err, lists)
			}
		} else if err != nil || lists < want || seen < 101 {
			t.Errorf("at most %d: %d, %v after %d requests", largest, seen, err, lists)
		}
	}
}

// TestTotalIsWrong checks that a total, or a count of pages, that is too small proves nothing: the pages are
// read to the end.
func TestTotalIsWrong(t *testing.T) {
	for _, base := range []int{0, 1} {
		for _, told := range []api.PageBase{api.PageBaseAuto, api.PageBase(base + 1)} {
			for total := range 5 {
				for _, allPages := range []bool{true, false} {
					d := newDesk(t)
					d.s.base, d.options.FirstPage = base, told
					d.s.fill(20)
					d.s.take(body("4711"))
					d.s.fill(35)
					d.s.onList = func(page, _ int) ([]row, int, int) {
						items, pages, _ := d.s.cut(page, 10)
						if !allPages {
							pages = 1
						}
						return items, pages, []int{0, 1, len(items), 5, 9}[total]
					}
					sent, err := d.send(asked("4711"))
					if err != nil || !sent.Already {
						t.Errorf("base %d (%d given), total %d: got %+v, %v", base, told, total, sent, err)
					}
					d.s.wantCreates(0)
					d.bring(asked("4712"), outUnknown)
					d.s.set(func() { d.s.take(body("4712")); d.s.rows = append(slices.Clone(d.s.rows[1:]), d.s.rows[0]) })
					d.mustReconcile("4712")
					d.wantState("4712", StateAccepted)
				}
			}
		}
	}
}

// TestMissingPage checks that a scan that has not seen a page does not count, whatever totals the service
// reports.
func TestMissingPage(t *testing.T) {
	d := newDesk(t)
	d.s.fill(30)
	refuse := 0
	d.s.onList = func(page, size int) ([]row, int, int) {
		items, pages, _ := d.s.cut(page, 10)
		if page == 2 { // it reports fewer pages, and then refuses the last one
			pages, refuse = 2, 1
		}
		return items, pages, 10
	}
	d.s.listFail = func() (int, string) {
		if refuse == 1 {
			refuse = 0
			return 400, envelope
		}
		return -1, ""
	}
	wantKind(t, errorOf(d.send(asked("4711"))), ReadFailed, "", "refused a page of its list after 20 withdrawals")
	d.s.wantCreates(0)
}

// TestListDropsOrderIDs checks that a service that keeps order ids, but does not list them, cannot settle an
// order.
func TestListDropsOrderIDs(t *testing.T) {
	drop := func(d *desk, id string) {
		d.s.set(func() {
			d.s.onList = func(page, size int) ([]row, int, int) {
				items, pages, total := d.s.cut(page, size)
				var shown []row
				for _, r := range items {
					r = maps.Clone(r)
					if id == "" || r["id"] == id {
						delete(r, "external_id")
						delete(r, "external_order_id")
					}
					shown = append(shown, r)
				}
				return shown, pages, total
			}
		})
	}
	d := usedDesk(t)
	d.bring(asked("10"), outNotLeft)
	drop(d, "")
	wantKind(t, errorOf(d.send(asked("10"))), Refused, RuleList, "--lookup never")
	d.s.wantCreates(1)
	d.mustReconcile("10") // nothing about it is in doubt
	d.bring(asked("11"), outUnknown)
	_, err := d.Reconcile(t.Context(), "11") // unknown takes precedence, and the message says why
	wantKind(t, err, Unknown, "", "with its order id 1", "till journal check --accept REASON")
	wantKind(t, d.Check(t.Context(), notSent("11")), Refused, RuleList)
	d.wantState("11", StateUnknown)

	// A person may have said which withdrawal an order is, because the service does not say it.
	d = newDesk(t)
	d.history()
	d.clock.move(time.Hour)
	d.bring(asked("12"), outUnknown)
	nameless := d.s.take(body("12"))
	d.hasDecided(journal.Decision{OrderID: "12", PaidAs: nameless})
	drop(d, nameless)
	d.bring(asked("10"), outNotLeft)
	d.mustSend("10")
}
