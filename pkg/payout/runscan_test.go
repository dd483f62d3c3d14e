package payout

import (
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// TestRunReadingKeepsWhatSaysSomething checks that no record is kept for an order that is on the list as it
// was sent, and that the whole record is kept for any other.
func TestRunReadingKeepsWhatSaysSomething(t *testing.T) {
	amount := api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 5}
	order := journal.Order{OrderID: "4711", State: journal.Accepted, Withdrawal: "w1", Content: journal.Content{Currency: "crypto:Btc", Unit: "crypto:Btc", Minor: 5, Address: "a", Memo: "7"}}
	memo := func(text string) *string { return &text }
	as := record{id: "w1", orderIDs: []string{"4711"}, currency: testBtc, amount: amount, address: "a", memo: memo("7"), status: "New"}
	with := func(change func(*record)) record {
		r := as
		change(&r)
		return r
	}
	for what, test := range map[string]struct {
		state journal.State
		r     record
		plain bool
	}{
		"as it was sent":          {journal.Accepted, as, true},
		"without a memo shown":    {journal.Accepted, with(func(r *record) { r.memo = nil }), true},
		"in another spelling":     {journal.Accepted, with(func(r *record) { r.currency.Code, r.amount.Code = "BTC", "btc" }), true},
		"with another memo":       {journal.Accepted, with(func(r *record) { r.memo = memo("8") }), false},
		"with another address":    {journal.Accepted, with(func(r *record) { r.address = "b" }), false},
		"of another amount":       {journal.Accepted, with(func(r *record) { r.amount.Minor = 6 }), false},
		"in another unit":         {journal.Accepted, with(func(r *record) { r.amount.Kind, r.amount.Code = api.Fiat, "USD" }), false},
		"of another kind":         {journal.Accepted, with(func(r *record) { r.currency.Kind = api.Fiat }), false},
		"in another currency":     {journal.Accepted, with(func(r *record) { r.currency.Code = "Ltc" }), false},
		"as another withdrawal":   {journal.Accepted, with(func(r *record) { r.id = "w2" }), false},
		"of which much is unread": {journal.Accepted, with(func(r *record) { r.unread = []string{"amount"} }), false},
		"under two order ids":     {journal.Accepted, with(func(r *record) { r.orderIDs = []string{"4711", "4712"} }), false},
		"though it was rejected":  {journal.Rejected, as, false},
		"though it is unknown":    {journal.Unknown, as, false},
	} {
		o := order
		o.State = test.state
		sought := runSought{soughtOf(o)}
		r := sought.emptyScan()
		sought.keep(r, "4711", test.r)
		sought.keep(r, "4711", test.r) // the list may show it twice
		if got := len(r.others) == 0; got != test.plain || r.asSent[0] != test.plain {
			t.Errorf("%s: kept is %+v", what, r.others)
		}
		records, known := sought.records(r, o)
		if !known || len(records) != 1 {
			t.Fatalf("%s: %+v", what, records)
		}
		if want, got := new(Sender).evidence("4711", o.Content, []record{test.r}), new(Sender).evidence("4711", o.Content, records); got != want {
			t.Errorf("%s: found %+v, want %+v", what, got, want)
		}
	}
}

func TestRunReadingOfTwoRecords(t *testing.T) {
	order := journal.Order{OrderID: "4711", State: journal.Accepted, Withdrawal: "w1", Content: journal.Content{Currency: "crypto:Btc", Unit: "crypto:Btc", Minor: 5, Address: "a"}}
	one := record{id: "w1", orderIDs: []string{"4711"}, currency: testBtc, amount: amountOf(order.Content), address: "a"}
	two := one
	two.id = "w2"
	sought := runSought{soughtOf(journal.Order{OrderID: "9"}), soughtOf(order), soughtOf(journal.Order{OrderID: "10"})}
	sought.sort()
	first, second := sought.emptyScan(), sought.emptyScan()
	sought.keep(first, "4711", two)
	sought.keep(first, "4711", one)
	sought.keep(second, "4711", two)
	if first.agrees(second, unitUnknown) || second.agrees(first, unitUnknown) || !first.agrees(first, unitUnknown) {
		t.Error("a reading with one record agrees with one that has two")
	}
	records, _ := sought.records(first, order)
	if f := new(Sender).evidence("4711", order.Content, records); !strings.Contains(f.Differs, "2 records bear this order id: w1, w2") {
		t.Errorf("%+v", f)
	}
	for _, id := range []string{"", "04711", "+4711", "4712", "x", "9223372036854775808"} {
		if _, found := sought.place(id); found {
			t.Errorf("%q is sought", id)
		}
	}
	// A scan says nothing about an order that has changed since.
	later := order
	later.Withdrawal = "w2"
	if _, known := sought.records(first, later); known {
		t.Error("an order that has changed meanwhile is taken for the one that it was")
	}
	if _, known := sought.records(first, journal.Order{OrderID: "12"}); known {
		t.Error("an order that was not sought is known")
	}
	// Nor does it say anything about one that was accepted only since.
	planned := runSought{soughtOf(journal.Order{OrderID: "4711", State: journal.Planned})}
	if _, known := planned.records(planned.emptyScan(), order); known {
		t.Error("an order that was accepted meanwhile is taken for one that is not listed")
	}
	later = order
	later.State = journal.Conflict
	if records, known := sought.records(first, later); !known || len(records) != 2 {
		t.Errorf("%+v", records)
	}
}

// TestEarlierReading checks that a scan counts before an earlier one. What only the earlier one has shown is added.
func TestEarlierReading(t *testing.T) {
	order := journal.Order{OrderID: "4711", State: journal.Accepted, Withdrawal: "w1", Content: journal.Content{Currency: "crypto:Btc", Unit: "crypto:Btc", Minor: 5, Address: "a"}}
	sought := runSought{soughtOf(order)}
	sent := record{id: "w1", orderIDs: []string{"4711"}, currency: testBtc, amount: amountOf(order.Content), address: "a"}
	changed, second := sent, sent
	changed.address, second.id = "b", "w2"
	secondChanged := second
	secondChanged.address = "b"
	for name, c := range map[string]struct {
		later, earlier []record
		asSent         bool
		others         []record
	}{
		"only earlier":                      {nil, []record{sent}, true, nil},
		"only earlier, changed":             {nil, []record{changed}, false, []record{changed}},
		"the same in both":                  {[]record{sent}, []record{sent}, true, nil},
		"changed since":                     {[]record{changed}, []record{sent}, false, []record{changed}},
		"changed back":                      {[]record{sent}, []record{changed}, true, nil},
		"changed, in both":                  {[]record{changed}, []record{changed}, false, []record{changed}},
		"another one earlier":               {[]record{sent}, []record{second}, true, []record{second}},
		"another one since":                 {[]record{second}, []record{second}, false, []record{second}},
		"another one, changed since":        {[]record{secondChanged}, []record{second}, false, []record{secondChanged}},
		"two earlier, one of them since":    {[]record{second}, []record{sent, second}, false, []record{second}},
		"two earlier, the sent one changed": {[]record{changed}, []record{sent, second}, false, []record{changed, second}},
	} {
		later, earlier := sought.emptyScan(), sought.emptyScan()
		for _, w := range c.later {
			sought.keep(later, "4711", w)
		}
		for _, w := range c.earlier {
			sought.keep(earlier, "4711", w)
		}
		later.add(sought, earlier)
		others := slices.EqualFunc(later.others["4711"], c.others, func(a, b record) bool { return a.id == b.id && a.address == b.address })
		if later.asSent[0] != c.asSent || !others {
			t.Errorf("%s: as it was sent: %v, others: %+v", name, later.asSent[0], later.others)
		}
	}
}

func unitUnknown(string) (api.Currency, bool) { return api.Currency{}, false }

// TestRunReadingOfAnAddressInAnotherCase checks that an accepted order counts as listed as it was sent, even
// if its address comes back in another case.
func TestRunReadingOfAnAddressInAnotherCase(t *testing.T) {
	o := journal.Order{OrderID: "4711", State: journal.Accepted, Withdrawal: "w1", Content: journal.Content{Currency: "crypto:Eth", Unit: "crypto:Eth", Minor: 5, Address: "0x" + strings.Repeat("aB", 20)}}
	w := record{id: "w1", orderIDs: []string{"4711"}, currency: currencyOf(o.Currency), amount: amountOf(o.Content), address: "0x" + strings.Repeat("ab", 20)}
	if !soughtOf(o).has(w) {
		t.Error("it is another record")
	}
	if w.address = "0x" + strings.Repeat("ac", 20); soughtOf(o).has(w) {
		t.Error("another address is taken for it")
	}
}

// TestReadingsAgreeBothWays checks that two scans agree if each shows what the other does, in either order.
func TestReadingsAgreeBothWays(t *testing.T) {
	one := record{id: "w1", orderIDs: []string{"1"}}
	two := record{id: "w2", orderIDs: []string{"1"}}
	fewer, more := scanResult{"1": {one}}, scanResult{"1": {one, two}}
	unit := func(string) (api.Currency, bool) { return api.Currency{}, false }
	if agree(fewer, more, unit) || agree(more, fewer, unit) || !agree(more, scanResult{"1": {two, one}}, unit) {
		t.Error("a second record for one order id is overlooked")
	}
	small := record{id: "w1", orderIDs: []string{"1"}, address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}
	capitals := small
	capitals.address = strings.ToUpper(small.address)
	if !agree(scanResult{"1": {small}}, scanResult{"1": {capitals}}, unit) {
		t.Error("the spelling of an address matters")
	}
}
