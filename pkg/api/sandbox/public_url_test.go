package sandbox_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestPublicURL checks that links that leave the sandbox begin with the address of its proxy, and that its Host and its
// origin are accepted.
func TestPublicURL(t *testing.T) {
	for public, want := range map[string]string{
		"":                              "http://sandbox.localhost",
		"https://shop.example":          "https://shop.example",
		"https://shop.example/sandbox/": "https://shop.example/sandbox",
		"http://shop.example:8080/a/b":  "http://shop.example:8080/a/b",
	} {
		b := newBox(t, sandbox.WithPublicURL(public))
		id := uuid("i")
		same(t, at(t, b.post("/api/invite", `"`+id+`"`), "url"), `"`+want+"/invite/"+id+`"`)
		same(t, at(t, b.get("/openapi.json"), "servers", 0, "url"), `"`+want+`"`)
	}
	direct := httptest.NewRequest("GET", "https://sandbox.localhost/openapi.json", nil) // a test's own TLS server
	w := httptest.NewRecorder()
	plain := newBox(t)
	plain.ServeHTTP(w, direct)
	same(t, at(t, plain.ok(w), "servers", 0, "url"), `"https://sandbox.localhost"`)
	b := newBox(t, sandbox.WithPublicURL("https://shop.example/sandbox"))
	pay := func(host, origin, site string) int {
		page := "/invoice/" + b.create(invoicePath, usdInvoice) + "/pay"
		r := httptest.NewRequest("POST", page, nil)
		r.Host = host
		r.Header.Set("Origin", origin)
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		host, origin, site string
		want               int
	}{
		{"127.0.0.1:8080", "https://shop.example", "", 303}, // a proxy that names the sandbox
		{"shop.example", "https://shop.example", "", 303},   // one that passes the Host on
		{"Shop.Example", "https://shop.example", "same-origin", 303},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", "", 303},
		{"127.0.0.1:8080", "http://shop.example", "", 403},
		{"127.0.0.1:8080", "https://evil.example", "", 403},
		{"127.0.0.1:8080", "https://shop.example", "cross-site", 403},
		{"evil.example", "https://shop.example", "", 403},
		{"shop.example:8443", "https://shop.example", "", 403},
	} {
		if got := pay(c.host, c.origin, c.site); got != c.want {
			t.Errorf("Host %s, Origin %s, Sec-Fetch-Site %q: %d, want %d", c.host, c.origin, c.site, got, c.want)
		}
	}
}

func TestWrongPublicURL(t *testing.T) {
	for _, public := range []string{"shop.example", "/sandbox", "ftp://shop.example", "https://", "https:///sandbox",
		"https://user@shop.example", "https://shop.example/?a=1", "https://shop.example/#a", "https://shop.example:x"} {
		if _, err := sandbox.New(sandbox.WithPublicURL(public)); err == nil || !strings.Contains(err.Error(), "public URL") {
			t.Errorf("%s: %v", public, err)
		}
	}
}
