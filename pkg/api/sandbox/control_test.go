package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// controls lists all routes outside the interface, each with a harmless body.
var controls = []struct{ method, path, body string }{
	{"GET", "/sandbox/state", ""},
	{"POST", "/sandbox/fund", `{"amount":{"Crypto":{"Btc":5}}}`},
	{"POST", "/sandbox/pay", `{"invoice":"x"}`},
	{"POST", "/sandbox/expire", `{"invoice":"x"}`},
	{"POST", "/sandbox/advance", `{"withdrawal":"x","status":"Completed"}`},
	{"GET", "/sandbox/callbacks", ""},
	{"POST", "/sandbox/callbacks/resend", `{"id":"x"}`},
	{"POST", "/sandbox/redeem", `{"invite":"x"}`},
	{"POST", "/sandbox/reset", `{}`},
	{"GET", "/sandbox/dump", ""},
	{"POST", "/sandbox/restore", `{}`},
	{"GET", "/sandbox/clock", ""},
	{"POST", "/sandbox/clock", `{"set":"now"}`},
	{"GET", "/sandbox/requests", ""},
	{"GET", "/sandbox/settings", ""},
	{"POST", "/sandbox/settings", `{}`},
	{"GET", "/sandbox/faults", ""},
	{"POST", "/sandbox/faults", `{"do":"html"}`},
	{"POST", "/sandbox/faults/clear", `{}`},
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
	r := httptest.NewRequest(method, "http://sandbox.localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+b.Key())
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

// TestDumpKeepsEverythingButTheIdentity checks that a dump keeps everything except the identity.
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

// TestRestoreRefuses checks that an invalid dump changes nothing.
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
		{"invoices", "account", `"x"`}, {"invoices", "total", "1"}, {"invoices", "items", "[]"},
		{"invoices", "phase", "3"}, {"invoices", "currency", `"x"`}, {"invoices", "failed_at", `"x"`},
		{"invoices", "rebate", "-1"}, {"invoices", "paid", `{"code":"x","minor":1}`},
		{"invoices", "paid", `{"code":"Usd","minor":0}`},
		{"withdrawals", "statuses", "[]"}, {"withdrawals", "statuses", `[{"status":"","at":"2026-01-01T00:00:00Z"}]`},
		{"withdrawals", "debit", "0"}, {"withdrawals", "order_id", `" "`}, {"withdrawals", "id", `""`},
		{"withdrawals", "created", `"x"`},
		{"swaps", "from", `"x"`}, {"swaps", "taken", "0"},
		{"invoices", "callback", `"javascript:alert(1)"`},
		{"deliveries", "id", `"x"`}, {"deliveries", "state", `"losing"`}, {"deliveries", "url", `""`},
		{"deliveries", "due", `"2026-05-03T10:00:00+01:00"`}, {"deliveries", "body", `"{"`},
		{"deliveries", "attempts", `[{"at":"2026-05-03T10:00:00+01:00","status":500}]`},
		{"deliveries", "status", `"a b"`}, {"deliveries", "withdrawal", `"` + uuid("x") + `"`},
		{"faults", "id", `"x"`}, {"faults", "id", `"0"`}, {"faults", "do", `"x"`}, {"faults", "on", `""`},
		{"faults", "rate", "0"}, {"faults", "rate", "2"}, {"faults", "seed", "0"}, {"faults", "fired", "3"},
		{"faults", "fired", "-1"}, {"faults", "seen", "1"}, {"faults", "times", "1"}, {"", "faults", "[null]"},
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
	twice := strings.Replace(string(text), `"invites": [`,
		`"invites": [`+fmt.Sprintf(`{"id":%q,"label":"l","created":"2026-01-01T00:00:00Z"},`,
			at(t, decode(t, string(text)), "invites", 0, "id")), 1)
	b.refused(b.send("POST", "/sandbox/restore", twice), 400, "invalid_body", "invites[1]")
	failIf(t, b.Identity() != old, "a part of it was taken")
}
