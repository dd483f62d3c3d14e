package payout

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJSONRoundTrips checks that the types of the package can be written as JSON and read again without a
// change.
func TestJSONRoundTrips(t *testing.T) {
	d := newDesk(t)
	d.history()
	w := asked("4711")
	w.request.Memo, w.request.Callback = "leaf", "https://shop.test/done"
	d.bring(w, outUnknown)
	order, events, err := d.History(t.Context(), "4711")
	if err != nil || len(events) == 0 || len(order.Attempts) != 1 {
		t.Fatalf("%+v, %v, %v", order, events, err)
	}
	plan := d.plan(nil, due("101"))
	d.mustApply(plan, ApplyOptions{})
	runs, err := d.Runs(t.Context())
	ok(t, err)
	again(t, order)
	again(t, events)
	again(t, runs)
	again(t, d.Account())
	again(t, Limits{AllowAddresses: []string{"a"}})
	again(t, Detail{Line: 3, Field: "amount", Message: "it is wrong"})
	if text, _ := json.Marshal(order); !strings.Contains(string(text),
		`"order_id":"4711","state":"unknown","id":"","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":5000}}`) {
		t.Errorf("%s", text)
	}
}

func again[V any](t *testing.T, value V) {
	t.Helper()
	text, err := json.Marshal(value)
	ok(t, err)
	var got V
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if diff := cmp.Diff(value, got); diff != "" {
		t.Errorf("%s", diff)
	}
}

// TestExport checks that Export returns the orders of every account, each with its history.
func TestExport(t *testing.T) {
	s := newService(t)
	sender, j := newSender(t, s, Options{})
	other, err := New(newClient(t, s.URL), j, "kiosk", Options{AnyKey: true})
	ok(t, err)
	for orderID, by := range map[string]*Sender{"1": sender, "2": other} {
		ok(t, errorOf(by.Send(t.Context(), asked(orderID).request)))
	}
	got := map[string]string{}
	for e, err := range j.Export(t.Context()) {
		ok(t, err)
		if len(e.Events) < 2 || e.Events[0].What != "sending" {
			t.Errorf("order %s: %+v", e.Order.OrderID, e.Events)
		}
		got[e.Order.OrderID] = e.Account.Name
	}
	if diff := cmp.Diff(map[string]string{"1": "acme", "2": "kiosk"}, got); diff != "" {
		t.Error(diff)
	}
	accounts, err := j.Accounts(t.Context())
	if err != nil || len(accounts) != 2 {
		t.Errorf("%v, %v", accounts, err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	ok(t, j.Copy(t.Context(), copied))
	second, err := OpenExistingJournal(t.Context(), copied)
	ok(t, err)
	defer second.Close()
	if o, err := second.Ledger(sender.Account()).Order(t.Context(), "1"); err != nil || o.State != StateAccepted {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOrdersAreFiltered(t *testing.T) {
	d := newDesk(t)
	d.history()
	d.bring(asked("10"), outUnknown)
	ltc := asked("11")
	ltc.request.Currency.Code, ltc.request.Amount.Code = "Ltc", "Ltc"
	d.bring(ltc, outRejected)
	for name, c := range map[string]struct {
		filter Filter
		want   string
	}{
		"all":      {Filter{}, "1 10 11"},
		"states":   {Filter{States: []State{StateUnknown, StateRejected}}, "10 11"},
		"currency": {Filter{Currency: ltc.request.Currency}, "11"},
		"address":  {Filter{Address: "bc1q10"}, "10"},
		"order id": {Filter{OrderID: "1"}, "1"},
		"runs":     {Filter{Runs: true}, ""},
	} {
		var got []string
		for o, err := range d.Orders(t.Context(), c.filter) {
			ok(t, err)
			got = append(got, o.OrderID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
