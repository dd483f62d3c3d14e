package payout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// begins begins a run of orders. Some of the orders may exist already.
func (d *desk) begins(run string, orderIDs ...string) {
	d.t.Helper()
	var rows []PlanRow
	for _, id := range orderIDs {
		rows = append(rows, PlanRow{CreateWithdrawal: asked(id).request})
	}
	ok(d.t, errorOf(d.ledger.BeginRun(d.t.Context(), journal.Run{Name: run, Digest: "sha256:" + run}, recorded(rows))))
}

func (d *desk) status(id, status string) {
	d.s.set(func() {
		for _, r := range d.s.rows {
			if r["id"] == id {
				r["current"] = status
			}
		}
	})
}

// hide keeps withdrawals or orders off the service's list from here on.
func (d *desk) hide(ids ...string) {
	d.s.set(func() {
		d.s.onList = func(page, size int) ([]row, int, int) {
			kept := slices.DeleteFunc(slices.Clone(d.s.rows), func(r row) bool {
				order, _ := r["external_order_id"].(string)
				return slices.Contains(ids, r["id"].(string)) || slices.Contains(ids, order)
			})
			return kept[min((page-1)*size, len(kept)):min(page*size, len(kept))], (len(kept) + size - 1) / size, len(kept)
		}
	})
}

// TestLiveReadsNoMore checks that the list is read no further than to the last order that is sought.
func TestLiveReadsNoMore(t *testing.T) {
	d := newDesk(t)
	d.s.fill(350)
	d.bring(asked("1"), outAccepted(d.takes("1")))
	statuses, err := d.Live(t.Context(), Filter{})
	if _, _, lists := d.s.counts(); err != nil || len(statuses) != 1 || lists > 2 { // one may be requested ahead
		t.Errorf("got %v from %d pages, %v", statuses, lists, err)
	}
}

// TestLookAtARun checks that a wait reads no more of the list than it needs, and that missing withdrawals are no
// error.
func TestLookAtARun(t *testing.T) {
	d := newDesk(t)
	d.s.fill(350)
	d.status("w5", "Done")
	look := func(sought ...string) (statuses map[string]string, pages int, err error) {
		p := RunProgress{Statuses: map[string]string{}, left: map[string]bool{}}
		for _, id := range sought {
			p.Orders, p.left[id] = append(p.Orders, Order{ID: id}), true
		}
		_, _, before := d.s.counts()
		err = d.look(t.Context(), RunWait{}, &p)
		_, _, after := d.s.counts()
		return p.Statuses, after - before, err
	}
	for _, tt := range []struct {
		sought []string
		want   map[string]string
		most   int // pages; one more may be requested ahead
	}{
		{[]string{"w350"}, map[string]string{"w350": "New"}, 2},
		{[]string{"w350", "w160"}, map[string]string{"w350": "New", "w160": "New"}, 3},
		{[]string{"w5", "gone"}, map[string]string{"w5": "Done"}, 4},
		{nil, map[string]string{}, 0},
	} {
		if got, pages, err := look(tt.sought...); err != nil || !maps.Equal(got, tt.want) || pages > tt.most {
			t.Errorf("%v: got %v from %d pages, %v, want %v from at most %d", tt.sought, got, pages, err, tt.want, tt.most)
		}
	}
	d.s.set(func() { d.s.listFail = func() (int, string) { return 503, envelope } })
	_, _, err := look("w5")
	wantCall(t, err, api.Failed, 503)
}

// TestReconcileRun checks that a run of any size is reconciled with two scans, and that every order of it is
// compared with the list.
func TestReconcileRun(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		accepted := func(id string) { d.bring(asked(id), outAccepted(d.s.take(body(id)))) }
		accepted("10") // as on the list
		accepted("11") // w2: with another address on the list
		d.s.rows[0]["address"] = "elsewhere"
		accepted("12") // w3: not on the list
		d.bring(asked("13"), outUnknown)
		d.s.take(body("13")) // w4
		d.dies(asked("14"))  // not on the list
		d.bring(asked("15"), outRejected)
		d.s.take(body("15")) // w5
		d.bring(asked("16"), outRejected)
		d.s.take(body("17")) // w6: not sent with this journal
		accepted("18")       // w7: shown in another unit
		d.s.rows[0]["amount"] = row{"Fiat": row{"USD": 7}}
		d.sends(asked("19"))
		d.bring(asked("20"), outUnknown) // not in the run
		d.s.take(body("20"))
		d.clock.move(time.Hour)
		d.mustSend("1")
		d.hide("w3")
		d.begins("cafe0001", "19", "18", "17", "16", "15", "14", "13", "12", "11", "10", "9")
		_, _, before := d.s.counts()
		got, err := d.ReconcileRun(t.Context(), "cafe0001")
		ok(t, err)
		if _, _, lists := d.s.counts(); lists-before != 4 {
			t.Errorf("%d pages were read, want 4", lists-before)
		}
		wantResults(t, got, "17 accepted true", "15 accepted true", "14 unknown false", "13 accepted true",
			"12 accepted false", "11 conflict true")
		if got.Held != 10 || got.Sending != 1 || got.Uncompared != 1 || !strings.HasPrefix(got.Note, "order 18: ") {
			t.Errorf("got %+v", got)
		}
		for id, state := range map[string]State{"9": StatePlanned, "10": StateAccepted, "16": StateRejected,
			"18": StateAccepted, "19": StateSending, "20": StateUnknown} {
			d.wantState(id, state)
		}
		d.s.wantCreates(1)

		again, err := d.ReconcileRun(t.Context(), "cafe0001")
		ok(t, err)
		wantResults(t, again, "14 unknown false", "12 accepted false", "11 conflict true")

		// Without a run, the unknown orders of all runs are reconciled.
		d.bring(asked("21"), outUnknown)
		d.takes("21")
		d.begins("cafe0002", "21", "14")
		all, err := d.ReconcileRun(t.Context(), "")
		ok(t, err)
		wantResults(t, all, "14 unknown false", "21 accepted true")
		d.wantState("20", StateUnknown)
	})
}

func wantResults(t *testing.T, s Settled, want ...string) {
	t.Helper()
	var got []string
	for _, r := range s.Results {
		got = append(got, fmt.Sprint(r.Order.OrderID, " ", r.Order.State, " ", r.Listed))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// strange gives the desk a key that another account has used.
func (d *desk) strange() {
	d.t.Helper()
	d.key = "key2"
	ok(d.t, d.account(Account{Address: d.s.URL, Name: "other"}).NoteKey(d.t.Context(), d.key, journal.KeyChecked))
}

// TestOrderSentDuringTheScanIsLeftOut checks that a scan says nothing about an order that was sent during it,
// even during the last one, however that ended, whatever the clock of this machine says.
func TestOrderSentDuringTheScanIsLeftOut(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		d.history()
		d.begins("cafe0001", "10", "11", "12", "13")
		d.bring(asked("11"), outUnknown)
		d.bring(asked("13"), outUnknown) // and found by another process
		pages := 0
		d.s.set(func() {
			d.s.onFirst = func() {
				if pages++; pages <= 2 {
					d.clock.move(time.Second)
					d.bring(asked([]string{"10", "12"}[pages-1]), []journal.Outcome{outUnknown, outAccepted("w99")}[pages-1])
				}
				if pages == 2 {
					d.settles(journal.Evidence{OrderID: "13", Withdrawal: "w98", Content: contentOf(asked("13").request)})
				}
			}
		})
		got, err := d.ReconcileRun(t.Context(), "cafe0001")
		if wantResults(t, got, "11 unknown false"); err != nil || got.Sending != 3 || got.Held != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestReconcileRunOfNothing(t *testing.T) {
	d := usedDesk(t)
	d.begins("cafe0001")
	d.begins("cafe0002", "1")
	_, _, before := d.s.counts()
	for _, run := range []string{"", "cafe0001"} {
		if got, err := d.ReconcileRun(t.Context(), run); err != nil || len(got.Results)+got.Held > 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if _, _, lists := d.s.counts(); lists != before {
		t.Error("the list was read for nothing")
	}
	d.strange()
	wantKind(t, errorOf(d.ReconcileRun(t.Context(), "")), Refused, RuleAccount)
}

// TestReconcileRunThatFails checks that a list that cannot be read changes nothing, and that the error says
// which orders stay unknown.
func TestReconcileRunThatFails(t *testing.T) {
	d := deskInDoubt(t, "10")
	d.begins("cafe0001", "1", "10")
	d.begins("cafe0002", "1")
	d.s.set(func() { d.s.listFail = func() (int, string) { return 503, envelope } })
	wantKind(t, errorOf(d.ReconcileRun(t.Context(), "cafe0001")), Unknown, "", "order 10 stays unknown")
	wantCall(t, errorOf(d.ReconcileRun(t.Context(), "cafe0002")), api.Failed, 503)
	d.wantState("10", StateUnknown)
}
