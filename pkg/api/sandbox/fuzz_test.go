package sandbox_test

import (
	"strings"
	"testing"
)

// Whatever comes, the answer is a 200 with JSON or an envelope with a 4xx.
func sound(t *testing.T, b box, method, path, body string) {
	w := b.send(method, path, body)
	if w.Code == 200 {
		decode(t, w.Body.String())
		return
	}
	if _, problem := envelope(w); problem != "" || w.Code < 400 || w.Code >= 500 {
		t.Fatalf("%s %s %q: %s: %d %s", method, path, body, problem, w.Code, w.Body)
	}
}

func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		btcBody, usdInvoice, everything, `{}`, `null`, `""`, `"` + uuid("x") + `"`, `[[[`, "\xff", `{"a":1,"a":2}`,
		`{"currency":{"Crypto":"Xlr"},"amount":{"Fiat":{"USD":1}},"address":"a","memo":"m","external_order_id":"9","callback":"http://a.example"}`,
		`{"from":"2026-05-03T10:00:00","to":"2026-05-04T10:00:00Z","currencies":[{"Fiat":"Usd"}],"tags":["New"]}`,
		`{"currency":{"Fiat":"Jpy"},"amount":{"Fiat":{"KWD":9223372036854775807}},"address":"a"}`,
	} {
		f.Add(seed)
	}
	b := newBox(f)
	id, key := b.reseller("fuzz")
	f.Fuzz(func(t *testing.T, body string) {
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
	for _, seed := range []string{"", "id=" + id, "id=" + id + "&currency=Btc&include_fiat", "page=1&page_size=2", "%zz", "a;b", "id=" + id + "&withdraw=" + id, "&&=&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == '#' || r > '~' }) {
			t.Skip("not a request line")
		}
		for _, op := range operations {
			method, path, _ := strings.Cut(op, " ")
			sound(t, b, method, path+"?"+query, everything)
		}
	})
}
