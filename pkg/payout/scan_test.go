package payout

import (
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

// TestIncompleteListFails checks that a list that shows fewer withdrawals than it counts is read again, and
// that the scan finally fails.
func TestIncompleteListFails(t *testing.T) {
	for _, tt := range []struct {
		hidden, readings, pauses int // how often it hides one, and how often it is read
		want, says               string
	}{{0, 2, 0, "", ""}, {3, 5, 3, "", ""},
		{4, 5, 4, "read failed", "no two of them agreed"}, // one complete scan is not enough
		{5, 5, 4, "refused/" + RuleList, "5 withdrawals, and its list showed 4"}} {
		d := newDesk(t)
		d.s.fill(5)
		readings := 0
		d.s.onList = func(page, size int) ([]row, int, int) {
			if page != 1 || size < 100 {
				return nil, 1, 5
			}
			if readings++; readings <= tt.hidden {
				return d.s.rows[1:], 1, 5
			}
			return d.s.rows, 1, 5
		}
		wantErr(t, errorOf(d.send(asked("4711"))), tt.want, tt.says)
		if d.pauses != tt.pauses || readings != tt.readings {
			t.Errorf("hidden %d times: %d pauses, %d readings", tt.hidden, d.pauses, readings)
		}
		if tt.want != "" {
			d.s.wantCreates(0)
			d.wantNothing("4711")
		}
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

// TestNewestIsHidden checks that a complete scan has seen the withdrawal that was accepted last, unless the list
// does not go back to it. (A hidden older one is not noticed if the totals are consistent.)
func TestNewestIsHidden(t *testing.T) {
	for since, want := range map[time.Duration]string{-time.Hour: "refused/" + RuleList, -time.Minute: "refused/" + RuleList,
		0: "", time.Minute: ""} {
		d := newDesk(t)
		d.s.fill(1)
		newest := d.mustSend("1").Order.ID
		d.hide(newest)
		d.bring(asked("4711"), outNotLeft)
		if since != -time.Hour { // otherwise it is read to its beginning
			d.options.Since, d.options.SinceTime = "since", d.clock.Now().Add(since)
		}
		_, err := d.send(asked("4711"))
		if wantErr(t, err, want); want != "" {
			wantErr(t, err, want, newest)
			d.s.wantCreates(1)
			d.wantState("4711", StatePlanned)
		}
		if slices.Contains(d.s.from, "since") != (since != -time.Hour) {
			t.Errorf("the list was asked from %q", d.s.from)
		}
	}
}

// TestRecordOfAnotherMerchant checks that a record of another merchant settles no order and calls none missing, and
// that the list proves nothing if the newest withdrawal is such a record.
func TestRecordOfAnotherMerchant(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.begins("cafe0001", "10")
	d.takes("10")
	d.s.set(func() { d.s.rows[0]["merchant_id"], d.s.rows[0]["address"] = "m2", "x" })
	for name, err := range map[string]error{
		"reconcile": errorOf(d.Reconcile(t.Context(), "10")), "the run": errorOf(d.ReconcileRun(t.Context(), "cafe0001")),
		"apply": errorOf(d.apply(d.plan(nil, due("10")), ApplyOptions{})), "not sent": d.Check(t.Context(), notSent("10"))} {
		if !strings.Contains(fmt.Sprint(err), `as withdrawal w2 of the merchant "m2", and this account is the merchant "m1"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantKind(t, d.Check(t.Context(), paidAs("10", "w2")), Refused, RuleDecision,
		`its address is "x", and not "bc1q10"; it belongs to the merchant "m2", and this account is "m1"`)
	d.wantState("10", StateUnknown)
	d.s.wantCreates(1)
	d.takes("10")
	d.mustReconcile("10")
	d.wantState("10", StateAccepted)
	d.s.set(func() { d.s.rows[0]["merchant_id"] = "m2" }) // of the newest, which the list must show
	d.bring(asked("11"), outNotLeft)
	wantKind(t, errorOf(d.send(asked("11"))), Conflict, "", `as withdrawal w3 of the merchant "m2"`)
	d.s.wantCreates(1)
}

// TestOrderIDsIn32Bits checks that what 32 bits leave of an order id may be the order, if it pays the same.
func TestOrderIDsIn32Bits(t *testing.T) {
	for address, want := range map[string]string{"bc1q4294967306": "unknown", "elsewhere": ""} {
		d := deskInDoubt(t, "4294967306")
		d.takes("10")
		d.s.set(func() { d.s.rows[0]["address"] = address })
		wantErr(t, errorOf(d.Reconcile(t.Context(), "4294967306")), want)
		d.wantState("4294967306", StateUnknown)
	}
}

// TestNewestIsDoubted checks that the list must have the withdrawal before the newest one, if only a person
// has said that the newest was accepted and that is in question. An empty list would otherwise say that it
// was never sent.
func TestNewestIsDoubted(t *testing.T) {
	d := newDesk(t)
	before := d.mustSend("1").Order.ID
	d.clock.move(time.Hour)
	d.bring(asked("10"), outUnknown)
	d.takes("10")
	d.s.rows[0].named("")
	d.clock.move(time.Hour)
	d.decides(paidAs("10", "w2"))
	ok(t, d.Check(t.Context(), notSent("10")))
	d.s.set(func() { d.s.onList = func(page, size int) ([]row, int, int) { return nil, 0, 0 } })
	wantKind(t, d.Check(t.Context(), notSent("10")), Refused, RuleList, before)
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
	if sent := d.mustSend("4711"); sent.Order.ID != "w1" || d.pauses != 0 {
		t.Errorf("got %+v, and %d readings did not count", sent, d.pauses)
	}
	d.s.wantCreates(0)
	d.wantState("4711", StateAccepted)
}

// TestShownTwice checks that a record that is shown twice, far apart, is one record, and that two records of
// one order id, or a record that changes, are a conflict.
func TestShownTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		second row // what differs in it
		state  State
	}{
		"the same":            {row{}, StateAccepted},
		"with another status": {row{"current": "Done"}, StateAccepted},
		"with another amount": {row{"amount": row{"Crypto": row{"Btc": 5001}}}, StateConflict},
		"with another id":     {row{"id": "w0"}, StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			for _, place := range []int{0, 3001} {
				d := newDesk(t)
				d.s.fill(3000)
				d.s.take(body("4711"))
				second, id := maps.Clone(d.s.rows[0]), d.s.rows[0]["id"]
				maps.Copy(second, tt.second)
				d.s.rows = slices.Insert(d.s.rows, place, second)
				if second["id"] == id { // the service counts it once, as when rows move
					d.s.onList = func(page, size int) ([]row, int, int) {
						items, pages, total := d.s.cut(page, size)
						return items, pages, total - 1
					}
				}
				d.send(asked("4711"))
				d.wantState("4711", tt.state)
				d.s.wantCreates(0)
			}
		})
	}
}

// TestEndlessListFails checks that a reading of a list that never ends fails, and that one whose pages are
// all the same ends.
func TestEndlessListFails(t *testing.T) {
	for want, fresh := range map[string]bool{"": false, "refused/" + RuleList: true} {
		d := newDesk(t)
		d.s.fill(2)
		d.s.onList = func(page, size int) ([]row, int, int) {
			if fresh {
				d.s.rows = nil
				d.s.fill(2)
			}
			return d.s.rows, 1, 2
		}
		_, err := d.send(asked("4711"))
		if wantErr(t, err, want); fresh {
			wantErr(t, err, want, "has not ended")
			d.s.wantCreates(0)
		}
		if _, _, lists := d.s.counts(); lists > 5*(manyPages+20) {
			t.Errorf("%d pages were read", lists)
		}
	}
}

// TestTwoReadingsAgree checks that reconciling needs two scans that agree, and that a record that any scan has shown
// counts, even if no later scan shows it again.
func TestTwoReadingsAgree(t *testing.T) {
	for name, tt := range map[string]struct {
		// In each scan, the order is shown (y), not shown (n), shown with another amount (x), or as another
		// withdrawal (2), or the scan does not count, and does not show it (-) or does (i).
		shown    string
		readings int
		state    State // empty: it fails
	}{
		"both":                  {"yy", 2, StateAccepted},
		"neither":               {"nn", 2, StateUnknown},
		"comes":                 {"nyy", 3, StateAccepted},
		"goes":                  {"ynn", 3, StateAccepted}, // it was shown once
		"changes":               {"yxyy", 4, StateAccepted},
		"one does not count":    {"y-y", 3, StateAccepted},
		"flickers":              {"nynyn", 5, ""},
		"flickers, then agrees": {"nynyy", 5, StateAccepted},
		"hardly counts":         {"---n-", 5, ""},
		"in between":            {"nynn", 4, StateAccepted},
		"in one that does not":  {"inn", 3, StateAccepted},
		"as two withdrawals":    {"y22", 3, StateConflict},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskInDoubt(t, "4711")
			d.s.fill(2)
			all := slices.Clone(d.s.rows)
			d.s.take(body("4711"))
			with, other := d.s.rows, maps.Clone(d.s.rows[0])
			other["amount"] = row{"Crypto": row{"Btc": 4999}}
			n := 0
			d.s.onList = func(page, size int) ([]row, int, int) {
				if page > 1 || size < 100 {
					return nil, 1, 0
				}
				n++
				switch tt.shown[min(n, len(tt.shown))-1] {
				case 'y':
					return with, 1, len(with)
				case 'x':
					return append([]row{other}, all...), 1, len(with)
				case '2':
					other["amount"], other["id"] = with[0]["amount"], "w0"
					return append([]row{other}, all...), 1, len(with)
				case 'i':
					return with, 1, 99
				case '-':
					return all, 1, 99
				}
				return all, 1, len(all)
			}
			results, err := d.Reconcile(t.Context(), "4711")
			lacks := strings.ReplaceAll(tt.shown[:len(tt.shown)-1], "i", "-")
			if want := strings.Count(lacks, "-"); n != tt.readings || d.pauses != want {
				t.Errorf("%d readings, want %d; %d pauses, want %d", n, tt.readings, d.pauses, want)
			}
			if tt.state == "" {
				wantKind(t, err, Unknown, "", "order 4711 stays unknown")
				d.wantState("4711", StateUnknown)
				return
			}
			if err != nil || len(results) != 1 || results[0].Listed != (tt.state != StateUnknown) {
				t.Fatalf("got %+v, %v", results, err)
			}
			d.wantState("4711", tt.state)
			d.s.wantCreates(1)
		})
	}
}

// TestDiffers compares records with what was sent.
func TestDiffers(t *testing.T) {
	const bech32 = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
	sent := Content{Currency: api.CryptoCurrency("Btc"), Amount: api.FiatAmount("USD", 2500), Address: bech32, Memo: "leaf"}
	for name, tt := range map[string]struct {
		change  row // nil: the field is not there
		differs string
		other   bool // a field cannot be compared
	}{
		"nothing":              {row{}, "", false},
		"currency":             {row{"currency": row{"Crypto": "Ltc"}}, "currency", false},
		"kind of currency":     {row{"currency": row{"Fiat": "Btc"}}, "currency", false},
		"case of the currency": {row{"currency": row{"Crypto": "BTC"}}, "", false},
		"amount":               {row{"amount": row{"Fiat": row{"USD": 2501}}}, "its amount is 25.01 USD, and not 25.00 USD", false},
		"case of the unit":     {row{"amount": row{"Fiat": row{"Usd": 2500}}}, "", false},
		"both":                 {row{"amount": row{"Fiat": row{"Usd": 25}}}, "amount", false},
		"unit":                 {row{"amount": row{"Crypto": row{"Btc": 7}}}, "", true},
		"kind of unit":         {row{"amount": row{"Crypto": row{"USD": 7}}}, "", true},
		"address":              {row{"address": "bc1qB"}, "address", false},
		"case of the address":  {row{"address": strings.ToUpper(bech32)}, "", false},
		"memo":                 {row{"memo": "root"}, "memo", false},
		"the same memo":        {row{"memo": "leaf"}, "", false},
		"an empty memo":        {row{"memo": ""}, "memo", false},
		"a number for a memo":  {row{"memo": 7}, "memo", false},
		"fields disagree":      {row{"external_id": 5}, "external_id is 5", false},
		"text only":            {row{"external_id": nil}, "", false},
		"number as a text":     {row{"external_id": "5"}, "", true},
		"number only":          {row{"external_order_id": nil}, "", false},
		"status":               {row{"current": "Failed"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.take(body("4711"))
			r := d.s.rows[0]
			r["amount"], r["address"] = row{"Fiat": row{"USD": 2500}}, bech32
			maps.Copy(r, tt.change)
			maps.DeleteFunc(r, func(_ string, value any) bool { return value == nil })
			found, err := d.ask(t.Context(), d.newQuestion(journal.Record{Order: Order{OrderID: "4711", Content: sent}}))
			got := found.records["4711"]
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			why := differs(Order{Content: sent}, got[0])
			if (why == "") != (tt.differs == "") || !strings.Contains(why, tt.differs) {
				t.Errorf("it differs in %q", why)
			}
			if why := new(Sender).uncompared(sent, got[0]); (why != "") != tt.other {
				t.Errorf("not compared: %q", why)
			}
		})
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

// heap returns the size of the heap after a garbage collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManySought checks that a row that is sought takes little memory beside that of the plan.
func TestManySought(t *testing.T) {
	q, rows := newDesk(t).newQuestion(), dueTo(50_000)
	before := heap()
	for i := range rows {
		w := &rows[i].CreateWithdrawal
		q.addRow(journal.Record{Order: Order{OrderID: w.ExternalOrderID, State: StatePlanned, Content: contentOf(*w)}}, w, true)
	}
	if took := (int(heap()) - int(before)) / len(rows); took > 128 {
		t.Errorf("it takes %d bytes", took)
	}
	runtime.KeepAlive(q)
	runtime.KeepAlive(rows)
}

// TestLongList checks that a long list takes no more memory than a short one, however many of its records are
// sought.
func TestLongList(t *testing.T) {
	const pages, size = 150, api.DefaultPageSize
	d := newDesk(t)
	d.s.fill(pages * size)
	q := d.newQuestion()
	for n := range pages {
		q.add(journal.Record{Order: Order{OrderID: fmt.Sprint(900000 + n*size + 7)}})
	}
	before := heap()
	found, err := d.ask(t.Context(), q)
	if err != nil || len(found.records) != pages {
		t.Fatalf("found %d, %v", len(found.records), err)
	}
	if after := heap(); after > before+2<<20 { // the withdrawals are some 15 MB
		t.Errorf("%d KB are held", (after-before)>>10)
	}
	runtime.KeepAlive(found)
}

// TestSmallPages checks that a service that refuses or cuts large pages is asked for smaller ones, and that one
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
	for rows, largest := range map[int]int{3: 1, 60: 50, 151: 60, 251: 20} { // others are cut, and leave gaps
		d := newDesk(t)
		d.s.fill(rows)
		d.options.FirstPage, d.s.strict, d.s.ends = api.PageBaseAuto, true, rows > 200
		d.s.onList = func(page, size int) ([]row, int, int) {
			items, pages, total := d.s.cut(page, size)
			return items[:min(len(items), largest)], pages, total
		}
		if err := (&reading{see: func(listed) bool { return true }}).read(t.Context(), d.Sender); err != nil {
			t.Errorf("%d of %d: %v", largest, rows, err)
		}
	}
}

// TestTotalIsWrong checks that a total, or a count of pages, that is too small proves nothing: the pages are
// read to the end.
func TestTotalIsWrong(t *testing.T) {
	for n := range 40 { // two bases, given or not, five totals, and all pages counted or one
		base, allPages, total := n%2, n/4%2 == 0, n/8
		told := []api.PageBase{api.PageBaseAuto, api.PageBase(base + 1)}[n/2%2]
		d := newDesk(t)
		d.s.base, d.options.FirstPage, d.s.strict = base, told, total > 2
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
		if sent, err := d.send(asked("4711")); err != nil || !sent.Already {
			t.Errorf("base %d (%d given), total %d: got %+v, %v", base, told, total, sent, err)
		}
		d.s.wantCreates(0)
		d.bring(asked("4712"), outUnknown)
		d.s.set(func() { d.s.take(body("4712")); d.s.rows = append(slices.Clone(d.s.rows[1:]), d.s.rows[0]) })
		d.mustReconcile("4712")
		d.wantState("4712", StateAccepted)
	}
}

// TestMissingPage checks that a scan that has not seen a page does not count, whatever totals the service
// reports.
func TestMissingPage(t *testing.T) {
	d := newDesk(t)
	d.s.fill(30)
	d.s.onList = func(page, size int) ([]row, int, int) { // it reports fewer pages after the first one, and refuses the last
		items, pages, _ := d.s.cut(page, 10)
		if page == 2 {
			d.s.listFail = func() (int, string) { d.s.listFail = nil; return 400, envelope }
			pages--
		}
		return items, pages, 10
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
					if r = maps.Clone(r); id == "" || r["id"] == id {
						r.named("")
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
	wantKind(t, errorOf(d.send(asked("10"))), Refused, RuleList, "journal check --accept")
	d.s.wantCreates(1)
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
