package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/described"
	"example.com/till/pkg/api/sandbox"
)

// controls lists all routes outside the interface, each with a harmless body.
var controls = []struct{ method, path, body string }{
	{"GET", "/sandbox/state", ""}, {"POST", "/sandbox/fund", `{"amount":{"Crypto":{"Btc":5}}}`},
	{"POST", "/sandbox/pay", `{"invoice":"x"}`}, {"POST", "/sandbox/expire", `{"invoice":"x"}`},
	{"POST", "/sandbox/advance", `{"withdrawal":"x","status":"Completed"}`}, {"GET", "/sandbox/callbacks", ""},
	{"POST", "/sandbox/callbacks/resend", `{"id":"x"}`}, {"POST", "/sandbox/redeem", `{"invite":"x"}`},
	{"POST", "/sandbox/reset", `{}`}, {"GET", "/sandbox/dump", ""}, {"POST", "/sandbox/restore", `{}`},
	{"GET", "/sandbox/clock", ""}, {"POST", "/sandbox/clock", `{"set":"now"}`}, {"GET", "/sandbox/requests", ""},
	{"GET", "/sandbox/settings", ""}, {"POST", "/sandbox/settings", `{}`}, {"GET", "/sandbox/faults", ""},
	{"POST", "/sandbox/faults", `{"do":"html"}`}, {"POST", "/sandbox/faults/clear", `{}`},
}

// TestControlsAreLocked checks that only the merchant's key opens a control, even if reseller routes need no
// key, and that no web page and no other Host reaches one. Only the state also accepts a reseller's key, and
// names that account; health and the description need none.
func TestControlsAreLocked(t *testing.T) {
	b := newBox(t, set("reseller_auth", "none"))
	id, reseller := b.reseller("Shop")
	before := dumped(t, b)
	mine, theirs := b.get("/sandbox/state"), b.ok(b.sendAs(reseller, "GET", "/sandbox/state", ""))
	if at(t, theirs, "merchant_id") != id || at(t, theirs, "id") != at(t, mine, "id") ||
		at(t, mine, "merchant_id") == id {
		t.Errorf("the merchant gets %v, and reseller %s %v", mine, id, theirs)
	}
	open := []struct{ method, path, body string }{{"GET", "/sandbox/health", ""}, {"GET", "/openapi.json", ""}}
	for _, c := range append(open, controls...) {
		for key, want := range map[string]int{"": 401, "till_sandbox_wrong": 401, reseller: 403} {
			if slices.Contains(open, c) || c.path == "/sandbox/state" && key == reseller {
				want = 200
			}
			equal(t, b.sendAs(key, c.method, c.path, c.body).Code, want, "%s with the key %q", c.path, key)
		}
		b.refused(b.send("DELETE", c.path, c.body), 405, "wrong_method")
		b.refused(b.send(c.method, c.path+"?x=1", c.body), 400, "invalid_query", "x")
		b.refused(b.with(c.method, c.path, c.body, "Host", "evil.example.com"), 403, "wrong_host")
		b.refused(b.with(c.method, c.path, c.body, "Origin", "https://evil.example.com"), 403, "cross_origin")
	}
	after, err := b.Dump()
	failIf(t, err != nil || string(before) != string(after), "one of them did something: %v", err)
}

func (b box) with(method, path, body, header, value string) *httptest.ResponseRecorder {
	r := request(b.Key(), method, path, strings.NewReader(body))
	r.Header.Set(header, value)
	if header == "Host" {
		r.Host = value
	}
	return b.do(r)
}

// TestTimesFollowTheClock checks that every time in an answer follows the sandbox's clock, which goes on ticking, for
// all that share the state. The scripts sandbox_clock_* show the commands.
func TestTimesFollowTheClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	b, other := sharedBox(t, path), sharedBox(t, path)
	same(t, b.post("/sandbox/clock", `{"set":"2031-01-01T02:00:00+02:00"}`),
		`{"now":"2031-01-01T00:00:00Z","offset":"40886h0m0s"}`)
	same(t, b.post("/sandbox/clock", `{"advance_seconds":90}`), `{"now":"2031-01-01T00:01:30Z","offset":"40886h1m30s"}`)
	*b.now, *other.now = start.Add(30*time.Second), start.Add(30*time.Second)
	const when = "2031-01-01T00:02:00"
	paid := b.post("/sandbox/pay", `{"invoice":"`+other.create(invoicePath, usdInvoice)+`"}`)
	same(t, at(t, paid, "created_date"), `"`+when+`"`)
	same(t, at(t, paid, "choosen", "at"), `"`+when+`"`)
	id := other.create(createPath, btcBody)
	b.mustAdvance(id, "Processing")
	equal(t, other.statuses(id), "New "+when+", Processing "+when, "the history")
	again := sharedBox(t, path) // its machine's clock has not ticked
	equal(t, again.Now(), time.Date(2031, 1, 1, 0, 1, 30, 0, time.UTC), "the time after a restart")
	must(t, b.AdvanceClock(-time.Hour))
	equal(t, other.Now(), time.Date(2030, 12, 31, 23, 2, 0, 0, time.UTC), "set back, the time")
	for _, body := range []string{`{}`, `{"set":"now","advance_seconds":1}`, `{"set":"tomorrow"}`, `{"set":"2026-05-03"}`,
		`{"set":"2136-05-03T00:00:00Z"}`, `{"set":"0001-01-01T00:00:01Z"}`, `{"set":"9999-01-01T00:00:00Z"}`,
		`{"advance_seconds":0}`, `{"advance_seconds":-1}`, `{"advance_seconds":9223372036854775807}`} {
		b.refused(b.send("POST", "/sandbox/clock", body), 400, "invalid_body")
	}
	must(t, b.Reset(""))
	same(t, other.get("/sandbox/clock"), `{"now":"2026-05-03T10:00:30Z","offset":"0s"}`)
}

func TestDumpKeepsEverythingButTheIdentity(t *testing.T) {
	b := callbackBox(t, sandbox.WithSeed("demo"), set("callback_backoff", "1h"))
	b.mustAdvance(b.withCallback(newReceiver(t, failing(1)).URL), "Processing", "Completed")
	id, key := b.reseller("Shop")
	b.ok(b.sendAs(key, "POST", invoicePath, strings.Replace(usdInvoice, "{", `{"number":0,`, 1)))
	b.create(createPath, `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":100100000000000}},"address":"a",`+
		`"memo":"m"}`)
	must(t, b.AdvanceClock(time.Hour))
	text := dumped(t, b)
	failIf(t, strings.Contains(string(text), key), "it shows a key")
	copy := fileBox(t, filepath.Join(t.TempDir(), "box.db"), sandbox.WithSeedJSON(text))
	failIf(t, copy.Identity() == b.Identity(), "two states have one identity")
	equal(t, strings.ReplaceAll(copy.everythingIn(id), copy.Identity(), "X"),
		strings.ReplaceAll(b.everythingIn(id), b.Identity(), "X"), "the copy has")
	copy.ok(copy.sendAs(key, "POST", listPath, everything))
	equal(t, string(dumped(t, copy)), string(text), "the dump of it")
}

func TestRestoreRefuses(t *testing.T) {
	b := callbackBox(t, sandbox.WithSeed("demo"), set("callback_backoff", "1h"))
	b.create(createPath, `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":100100000000000}},"address":"a",`+
		`"memo":"m"}`)
	b.mustAdvance(b.withCallback("http://127.0.0.1:9/"), "Processing")
	b.fault(sandbox.Fault{Do: "html", Times: 2})
	b.send("GET", "/api/invites", "")
	b.send("GET", "/api/invites", "")
	text := dumped(t, b)
	old := b.Identity()
	for _, c := range []struct {
		list, key, value string
	}{
		{"", "format", `"till-sandbox/2"`}, {"", "merchant_id", `"m"`}, {"", "more", "1"},
		{"", "clock_ahead_seconds", "9223372036854775807"}, {"", "invites", "[null]"},
		{"balances", "account", `"` + uuid("x") + `"`}, {"balances", "code", `"btc"`}, {"balances", "code", `"USD"`},
		{"balances", "book", `"other"`}, {"balances", "delta", "-1"}, {"balances", "delta", "1.5"},
		{"invites", "id", `"x"`}, {"invites", "label", `" "`}, {"invites", "created", `"0001-01-01T00:00:00Z"`},
		{"resellers", "invite", `"` + uuid("x") + `"`}, {"resellers", "key", `"00"`},
		{"resellers", "key", `"` + strings.Repeat("0", 64) + `"`},
		{"invoices", "account", `"x"`}, {"invoices", "total", "1"},
		{"invoices", "phase", "3"}, {"invoices", "currency", `"x"`}, {"invoices", "failed_at", `"x"`},
		{"invoices", "rebate", "-1"}, {"invoices", "paid", `{"code":"x","minor":1}`},
		{"invoices", "paid", `{"code":"Usd","minor":0}`},
		{"withdrawals", "statuses", "[]"}, {"withdrawals", "statuses", `[{"status":"","at":"2026-01-01T00:00:00Z"}]`},
		{"withdrawals", "debit", "0"}, {"withdrawals", "order_id", `" "`}, {"withdrawals", "id", `""`},
		{"withdrawals", "created", `"x"`}, {"swaps", "from", `"x"`}, {"swaps", "taken", "0"},
		{"invoices", "callback", `"javascript:alert(1)"`},
		{"deliveries", "id", `"x"`}, {"deliveries", "state", `"losing"`}, {"deliveries", "due", `"x"`},
		{"deliveries", "body", `"{"`}, {"deliveries", "withdrawal", `"` + uuid("x") + `"`},
		{"faults", "id", `"x"`}, {"faults", "id", `"0"`}, {"faults", "do", `"x"`}, {"faults", "on", `"x"`},
		{"faults", "rate", "2"}, {"faults", "fired", `"3"`}, {"", "faults", "[null]"},
	} {
		d := decode(t, string(text)).(map[string]any)
		target := d
		if c.list != "" {
			target = d[c.list].([]any)[0].(map[string]any)
		}
		target[c.key] = json.RawMessage(c.value)
		broken, err := json.Marshal(d)
		must(t, err)
		w := b.send("POST", "/sandbox/restore", string(broken))
		failIf(t, w.Code != 400, "%s.%s = %s: %d %s", c.list, c.key, c.value, w.Code, w.Body)
		failIf(t, second(sandbox.New(sandbox.WithSeedJSON(broken))) == nil,
			"%s.%s = %s is a seed", c.list, c.key, c.value)
	}
	b.refused(b.send("POST", "/sandbox/restore", string(text)+"{}"), 400, "invalid_body")
	twice := strings.Replace(string(text), `"invites": [`,
		`"invites": [`+fmt.Sprintf(`{"id":%q,"label":"l","created":"2026-01-01T00:00:00Z"},`,
			at(t, decode(t, string(text)), "invites", 0, "id")), 1)
	b.refused(b.send("POST", "/sandbox/restore", twice), 400, "invalid_body", "invites[1]")
	failIf(t, b.Identity() != old, "a part of it was taken")
}

// TestMethodErrors checks the kind of each refusal of a method of Server, so that a test can tell "not found"
// from "in the wrong status".
func TestMethodErrors(t *testing.T) {
	b := newBox(t)
	paid, withdrawal, none := b.create("/api/invoice", usdInvoice), b.create(createPath, btcBody), uuid("none")
	must(t, b.PayInvoice(paid))
	invite := at(t, b.post("/api/invite", `"`+uuid("i")+`"`), "invite").(string)
	redeem := func(invite, label string) error { _, _, err := b.RedeemInvite(invite, label); return err }
	must(t, redeem(invite, ""))
	for i, c := range []struct {
		err  error
		want sandbox.ErrorKind
	}{
		{b.PayInvoice(none), sandbox.NotFound}, {b.PayInvoice(paid), sandbox.WrongStatus},
		{b.ExpireInvoice("x"), sandbox.NotFound}, {b.ExpireInvoice(paid), sandbox.WrongStatus},
		{b.AdvanceWithdrawal(none, "Processing"), sandbox.NotFound},
		{b.AdvanceWithdrawal(withdrawal, "Completed"), sandbox.WrongStatus}, {redeem("x", ""), sandbox.InvalidQuery},
		{redeem(invite, "\x00"), sandbox.InvalidQuery}, {redeem(none, ""), sandbox.NotFound},
		{redeem(invite, ""), sandbox.InviteUsed}, {b.Fund("Doge", 1), sandbox.UnknownCurrency},
		{b.Fund("Btc", 0), sandbox.InvalidAmount}, {b.Fund("Btc", math.MaxInt64), sandbox.AmountTooLarge},
		{second(b.Server.Balance("Doge")), sandbox.UnknownCurrency}, {second(b.Server.Balance("")), sandbox.UnknownCurrency},
		{second(b.Resend(none)), sandbox.NotFound}, {second(b.ClearFaults("77")), sandbox.NotFound},
		{b.SetClock(start.AddDate(200, 0, 0)), sandbox.InvalidBody},
		{b.AdvanceClock(200 * 365 * 24 * time.Hour), sandbox.InvalidBody}, {b.Restore([]byte(`[]`)), sandbox.InvalidBody},
		{b.Set(map[string]string{"first_page": "2"}), sandbox.InvalidBody},
		{second(sandbox.New(sandbox.WithSeedJSON([]byte(`{`)))), sandbox.InvalidBody},
	} {
		got, ok := errors.AsType[*sandbox.Error](c.err)
		failIf(t, !ok || got.Kind != c.want || got.Message == "", "%d: got %#v, want an *Error of kind %s", i, c.err, c.want)
	}
}

func second[T any](_ T, err error) error { return err }

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
		r := request(key, method, path, strings.NewReader(body))
		if err := api.CheckRequest(method, r.URL, []byte(body)); err != nil {
			t.Error(err)
		}
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
