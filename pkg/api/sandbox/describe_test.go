package sandbox_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.com/till/e2e/described"
	"example.com/till/pkg/api/sandbox"
)

func description(t testing.TB) *described.API {
	t.Helper()
	api, err := described.Load()
	must(t, err)
	return api
}

// TestDescriptionHasEveryRoute compares the description with the routes of the server, and its operations
// with those of the interface.
func TestDescriptionHasEveryRoute(t *testing.T) {
	got := description(t).Operations()
	sameNames(t, "routes", got, sandbox.Routes())
	got = slices.DeleteFunc(got, func(name string) bool { return !strings.Contains(name, " /api/") })
	sameNames(t, "operations of the interface", got, operations)
}

// sameNames compares what is described with what there is, in any order.
func sameNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, name := range got {
		failIf(t, !slices.Contains(want, name), "%s: %s is described, and there is none", what, name)
	}
	for _, name := range want {
		failIf(t, !slices.Contains(got, name), "%s: %s is not described", what, name)
	}
}

// TestEveryAnswerIsDescribed gets every answer that is described, both a success and an error of each
// operation and of each control. The requests that succeed have every field that is described.
func TestEveryAnswerIsDescribed(t *testing.T) {
	api, b := description(t), newBox(t)
	in := newReceiver(t, nil)
	seen := map[string]bool{}
	exchange := func(key, method, path, body string) any {
		t.Helper()
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		if err := api.CheckRequest(method, r.URL, []byte(body)); err != nil {
			t.Error(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		w := b.do(r)
		seen[method+" "+r.URL.Path+" "+described.StatusOf(w.Code)] = true

		r = httptest.NewRequest(method, "http://elsewhere.example"+path, strings.NewReader(body))
		refused := b.do(r)
		seen[method+" "+r.URL.Path+" "+described.StatusOf(refused.Code)] = true
		return b.ok(w)
	}
	get := func(path string) any { t.Helper(); return exchange(b.Key(), "GET", path, "") }
	post := func(path, body string, values ...any) any {
		t.Helper()
		return exchange(b.Key(), "POST", path, fmt.Sprintf(body, values...))
	}

	get("/openapi.json")
	get("/sandbox/health")
	get("/sandbox/state")
	post("/sandbox/fund", `{"amount":{"Crypto":{"Btc":5}}}`)
	invite := at(t, post("/api/invite", `%q`, uuid("shop")), "invite")
	get("/api/invites")
	get(fmt.Sprint("/api/invite?id=", invite))
	shop := post("/sandbox/redeem", `{"invite":%q,"label":"Shop"}`, invite)
	id, key := at(t, shop, "id"), at(t, shop, "api_key").(string)

	const withdrawal = `{"currency":{"Crypto":"Xlr"},"amount":{"Fiat":{"USD":2500}},"address":"G1","memo":"m",` +
		`"external_order_id":"4711","callback":%q}`
	paid := post("/api/merchant_withdrawal/create", withdrawal, in.URL)
	get(fmt.Sprint("/api/merchant_withdrawal?id=", paid))
	const filter = `{"from":"2026-05-03T10:00:00","to":"2026-05-03T10:00:00","currencies":[{"Crypto":"Btc"},` +
		`{"Crypto":"Xlr"},{"Fiat":"Usd"}],"tags":["New"]}`
	post("/api/merchant_withdrawal/list?page=1&page_size=5", filter)
	delivery := at(t, post("/sandbox/advance", `{"withdrawal":%q,"status":"Processing"}`, paid), "delivery", "id")
	get("/sandbox/callbacks")
	post("/sandbox/callbacks/resend", `{"id":%q}`, delivery)

	const invoice = `{"order_id":"A-1","number":17,"title":"Tea","currency":{"Fiat":"Usd"},"items":[{"name":"Tea",` +
		`"amount":"2500"}],"due_date":"2026-05-03T10:00:00","callback_url":"https://shop.example.com"}`
	sold := exchange(key, "POST", "/api/invoice", invoice)
	expired := post("/api/invoice", invoice)
	get(fmt.Sprint("/api/invoice?id=", expired))
	post("/sandbox/pay", `{"invoice":%q}`, sold)
	post("/sandbox/expire", `{"invoice":%q}`, expired)

	theirs := exchange(key, "POST", "/api/merchant_withdrawal/create",
		`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":100}},"address":"account 1"}`)
	get("/api/resellers")
	get("/api/resellers/ids")
	for _, path := range []string{"info", "invite", "stats", "balance", "rebate"} {
		get(fmt.Sprintf("/api/reseller/%s?id=%s", path, id))
	}
	get(fmt.Sprintf("/api/reseller/balance/currency?id=%s&currency=Usd&include_fiat", id))
	get(fmt.Sprintf("/api/reseller/rebate/currency?id=%s&currency=Usd", id))
	get(fmt.Sprintf("/api/reseller/withdraw?id=%s&withdraw=%s", id, theirs))
	post(fmt.Sprintf("/api/reseller/withdraw/list?id=%s&page=1&page_size=5", id), filter)
	get(fmt.Sprintf("/api/reseller/invoice?id=%s&invoice=%s", id, sold))
	get(fmt.Sprintf("/api/reseller/invoice/finished?id=%s&invoice=%s", id, sold))
	post(fmt.Sprintf("/api/reseller/invoice/list?id=%s&page=1&page_size=5", id), `{}`)

	get("/sandbox/requests?on=POST%20/api/invoice&match=title=Tea&match=number=17&since=1")
	post("/sandbox/faults", `{"do":"body","on":"GET /api/invites","rate":0.5,"times":1,"match":{"id":"1"},"seed":7,`+
		`"body":"aGVsbG8="}`)
	get("/sandbox/faults")
	dump := b.send("GET", "/sandbox/dump", "").Body.String()
	get("/sandbox/dump")
	post("/sandbox/faults/clear", `{"id":"1"}`)
	get("/sandbox/settings")
	post("/sandbox/settings", `{"first_page":"0"}`)
	get("/sandbox/clock")
	post("/sandbox/clock", `{"set":"2026-05-04T10:00:00Z"}`)
	post("/sandbox/clock", `{"advance_seconds":60}`)
	exchange(b.Key(), "POST", "/sandbox/restore", dump)
	post("/sandbox/reset", `{"seed":"none"}`)

	for _, status := range []string{"431", "505"} { // of the HTTP server, before it looks for an operation
		for _, name := range api.Operations() {
			seen[name+" "+status] = true
		}
	}
	sameNames(t, "answers seen here", api.Answers(), slices.Sorted(maps.Keys(seen)))
}
