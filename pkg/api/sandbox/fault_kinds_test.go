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

// TestStaleList checks that each list hides what is younger than the fault says by the sandbox's clock, in its total
// too, and that reads by id do not. Of two ages the longer counts, and of two ends the earlier.
func TestStaleList(t *testing.T) {
	b := newBox(t)
	reseller, key := b.reseller("Shop")
	trade := func() string { // an invoice of the reseller, which is paid, a withdrawal of a part, and one of the merchant
		t.Helper()
		must(t, b.PayInvoice(b.ok(b.sendAs(key, "POST", invoicePath, invoiceBody(""))).(string)))
		b.ok(b.sendAs(key, "POST", createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":50}},"address":"a"}`))
		return b.create(createPath, btcBody)
	}
	totals := func(filter, want string) {
		t.Helper()
		for _, path := range []string{listPath, "/api/reseller/withdraw/list?id=" + reseller,
			"/api/reseller/invoice/list?id=" + reseller} {
			list := b.post(path, filter)
			same(t, at(t, list, "total"), want)
			equal(t, fmt.Sprint(len(at(t, list, "page_content").([]any))), want, "%s shows", path)
		}
	}
	b.fault(sandbox.Fault{Do: "stale-list=1m"})
	trade()
	*b.now = b.now.Add(30 * time.Second)
	last := trade()
	*b.now = b.now.Add(30 * time.Second)
	totals(everything, "1") // 60 and 30 seconds old
	b.get(getPath + last)
	must(t, b.AdvanceClock(29*time.Second))
	totals(everything, "1")
	must(t, b.AdvanceClock(time.Second))
	totals(everything, "2")
	totals(`{"currencies":[],"tags":[],"to":"2026-05-03T09:00:00Z"}`, "0")
	b.counted("stale-list=1m:12/12") // creates and reads by id are not struck
	b.fault(sandbox.Fault{Do: "stale-list=1h"})
	b.fault(sandbox.Fault{Do: "status=503", Times: 1, On: "POST " + listPath})
	b.refused(b.send("POST", listPath, everything), 503, "fault") // the next faults are asked too
	totals(everything, "0")
}

// TestBodyFault checks that the answer of a dump has exactly the bytes of the fault too, and that the caller can change
// its fault afterwards. The script faults has the rest.
func TestBodyFault(t *testing.T) {
	b, body, match := newBox(t), []byte("{\"error\":\xff\x00"), map[string]string{"address": "bc1q"}
	want := string(body)
	f := b.fault(sandbox.Fault{Do: "body", On: createOp, Body: body, Match: match})
	listed, err := b.Faults()
	must(t, err)
	body[0], listed[0].Body[0] = 'y', 'z'
	match["address"], f.Match["address"], listed[0].Match["address"] = "x", "y", "z"
	for _, b := range []box{b, newBox(t, sandbox.WithSeedJSON(dumped(t, b)))} {
		w := b.send("POST", createPath, btcBody)
		failIf(t, w.Code != 200 || w.Body.String() != want, "%d %q, want %q", w.Code, w.Body, want)
	}
}
