package sandbox_test

import (
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// sound checks that the answer is a 200 or a 4xx, with JSON in the form that is described.
func sound(t *testing.T, b box, method, path, body string) {
	w := b.send(method, path, body)
	decode(t, w.Body.String())
	failIf(t, w.Code != 200 && (w.Code < 400 || w.Code >= 500), "%s %s %q: %d %s", method, path, body, w.Code, w.Body)
}

func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		btcBody, usdInvoice, everything, `{}`, `null`, `""`, `"` + uuid("x") + `"`, `[[[`, "\xff", `{"a":1,"a":2}`,
		`{"currency":{"Crypto":"Xlr"},"amount":{"Fiat":{"USD":1}},"address":"a","memo":"m","external_order_id":"9",` +
			`"callback":"http://a.example"}`,
		`{"from":"2026-05-03T10:00:00","to":"2026-05-04T10:00:00Z","currencies":[{"Fiat":"Usd"}],"tags":["New"]}`,
		`{"currency":{"Fiat":"Jpy"},"amount":{"Fiat":{"KWD":9223372036854775807}},"address":"a"}`,
	} {
		f.Add(seed)
	}
	b := newBox(f)
	id, key := b.reseller("fuzz")
	f.Fuzz(func(t *testing.T, body string) {
		b := b
		b.t = t
		for _, op := range operations {
			if path, post := strings.CutPrefix(op, "POST "); post {
				if strings.HasSuffix(path, "/list") && strings.Contains(path, "reseller") {
					path += "?id=" + id
				}
				sound(t, b, "POST", path, body)
			}
		}
		b.sendAs(key, "POST", createPath, body)
		sound(t, b, "POST", listPath, everything)
	})
}

func FuzzQueries(f *testing.F) {
	b := newBox(f)
	id, _ := b.reseller("fuzz")
	for _, seed := range []string{"", "id=" + id, "id=" + id + "&currency=Btc&include_fiat", "page=1&page_size=2",
		"%zz", "a;b", "id=" + id + "&withdraw=" + id, "&&=&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == '#' || r > '~' }) {
			t.Skip("not a request line")
		}
		b := b
		b.t = t
		for _, op := range operations {
			method, path, _ := strings.Cut(op, " ")
			sound(t, b, method, path+"?"+query, everything)
		}
	})
}

// FuzzRestore checks that an accepted seed is sound. A sandbox that begins with it answers everything, and
// its own dump is accepted again and is the same.
func FuzzRestore(f *testing.F) {
	small := newBox(f, sandbox.WithSeed("none"))
	_, _, key := small.paidReseller()
	small.ok(small.sendAs(key, "POST", createPath, strings.Replace(btcBody, "1500", "5", 1))) // this needs swaps
	f.Add(dumped(f, small))
	f.Add([]byte(shopSeed))
	f.Add([]byte(`{"balances":["1 Usd"],"invites":[{"id":"00000000-0000-4000-8000-000000000001"}],` +
		`"resellers":[{"label":"x","invite":"00000000-0000-4000-8000-000000000001"}],` +
		`"invoices":[{"account":"x","total":"9223372036854775807 Jpy","paid_at":"2026-05-03T10:00:00.5+05:30"}],` +
		`"withdrawals":[{"account":"x","amount":"1.00 Kwd","currency":"Jpy","address":"a"}]}`))
	f.Add([]byte(`{"format":"till-sandbox/1","merchant_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7",` +
		`"clock_ahead_seconds":60,` +
		`"balances":[{"account":"7c9e6679-7425-40de-944b-e07fc1f90ae7","book":"balance","code":"Btc","delta":5}],` +
		`"withdrawals":[{"id":"00000000-0000-4000-8000-000000000001",` +
		`"account":"7c9e6679-7425-40de-944b-e07fc1f90ae7","currency":"Btc",` +
		`"amount":{"code":"Btc","minor":5},"debit":5,"address":"a","statuses":[{"status":"New",` +
		`"at":"2026-05-03T10:00:00Z"}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := sandbox.New(sandbox.WithSeedJSON(text), sandbox.WithKey("till_sandbox_test"),
			set("zero_amounts", "show"))
		if err != nil {
			return
		}
		b := box{s, t, nil}
		first := b.ok(b.send("GET", "/sandbox/dump", ""))
		var resellers []string
		for _, id := range b.get("/api/resellers/ids").([]any) {
			resellers = append(resellers, id.(string))
		}
		b.everythingIn(resellers...)
		for _, w := range at(t, first, "withdrawals").([]any) {
			s.AdvanceWithdrawal(at(t, w, "id").(string), "Cancelled")
		}
		for _, v := range at(t, first, "invoices").([]any) {
			s.PayInvoice(at(t, v, "id").(string))
		}
		again := dumped(t, s)
		if err := s.Restore(again); err != nil {
			t.Fatalf("its own dump is refused: %v\n%s", err, again)
		}
		if twice, err := s.Dump(); err != nil || string(twice) != string(again) {
			t.Fatalf("%v\n%s\n%s", err, again, twice)
		}
	})
}
