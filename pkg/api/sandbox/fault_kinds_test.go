package sandbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestDeliverTwice checks that a request that is refused is not made again, and that the answer is the first result.
// The script faults has the rest.
func TestDeliverTwice(t *testing.T) {
	numbered := strings.Replace(btcBody, "{", `{"external_order_id":"4711",`, 1)
	b := newBox(t, sandbox.WithFault(sandbox.Fault{On: createOp, Do: "deliver-twice"}))
	id := b.create(createPath, numbered)
	same(t, at(t, b.post(listPath, everything), "page_content", 1, "id"), fmt.Sprintf("%q", id)) // the newest comes first
	b.set(map[string]string{"duplicate_order_ids": "reject"})
	b.refused(b.send("POST", createPath, numbered), 422, "duplicate_order_id")
	equal(t, b.withdrawals(), "2", "withdrawals")
}

// TestStaleList checks that each list hides what is younger than the fault says by the sandbox's clock, in
// its total too, and that reads by id do not.
func TestStaleList(t *testing.T) {
	b := newBox(t)
	reseller, key := b.reseller("Shop")
	invoice := `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"100"}]}`
	// trade makes an invoice of the reseller, which is paid, and a withdrawal of a part.
	trade := func() {
		t.Helper()
		id := b.ok(b.sendAs(key, "POST", invoicePath, invoice)).(string)
		must(t, b.PayInvoice(id))
		b.ok(b.sendAs(key, "POST", createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":50}},`+
			`"address":"a"}`))
	}
	lists := []string{listPath, "/api/reseller/withdraw/list?id=" + reseller, "/api/reseller/invoice/list?id=" +
		reseller}
	totals := func(want string) {
		t.Helper()
		for _, path := range lists {
			list := b.post(path, everything)
			same(t, at(t, list, "total"), want)
			got := len(at(t, list, "page_content").([]any))
			failIf(t, fmt.Sprint(got) != want, "%s shows %d, want %s", path, got, want)
		}
	}
	b.fault(sandbox.Fault{Do: "stale-list=1m"})
	var last string
	for range 2 { // one at the beginning, one 30 seconds later
		last = b.create(createPath, btcBody)
		trade()
		*b.now = b.now.Add(30 * time.Second)
	}
	totals("1") // 60 and 30 seconds old
	b.get(getPath + last)
	must(t, b.AdvanceClock(29*time.Second))
	totals("1")
	must(t, b.AdvanceClock(time.Second))
	totals("2")
	b.counted("stale-list=1m:9/9") // creates and reads by id are not struck
	must(t, second(b.ClearFaults()))
	trade()
	same(t, at(t, b.post(lists[1], everything), "total"), "3")
}

// TestStaleListCombines checks that faults after a stale list are asked too, and that the longest age counts.
func TestStaleListCombines(t *testing.T) {
	b := newBox(t)
	for _, f := range []sandbox.Fault{{Do: "stale-list=1h"}, {Do: "stale-list=1m"}, {Do: "status=503", Times: 1}} {
		b.fault(f)
	}
	b.refused(b.send("POST", listPath, everything), 503, "fault")
	b.create(createPath, btcBody)
	*b.now = b.now.Add(2 * time.Minute)
	same(t, at(t, b.post(listPath, everything), "total"), "0")
	must(t, b.AdvanceClock(time.Hour))
	same(t, at(t, b.post(listPath, everything), "total"), "1")
	// A filter's own end counts if it is earlier than that of the fault.
	same(t, at(t, b.post(listPath, `{"currencies":[],"tags":[],"to":"2026-05-03T09:00:00Z"}`), "total"), "0")
}

// TestBodyFault checks that the answer of a dump has exactly the bytes of the fault too, and that the caller can change
// its slices afterwards. The script faults has the rest.
func TestBodyFault(t *testing.T) {
	b, body := newBox(t), []byte("{\"error\":\xff\x00")
	want := string(body)
	b.fault(sandbox.Fault{Do: "body", On: createOp, Body: body})
	listed, err := b.Faults()
	must(t, err)
	body[0], listed[0].Body[0] = 'y', 'z'
	for _, b := range []box{b, newBox(t, sandbox.WithSeedJSON(dumped(t, b)))} {
		w := b.send("POST", createPath, btcBody)
		failIf(t, w.Code != 200 || w.Body.String() != want, "%d %q, want %q", w.Code, w.Body, want)
	}
}
