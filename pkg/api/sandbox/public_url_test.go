package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestPublicURL checks that links that leave the sandbox begin with the address of its proxy.
func TestPublicURL(t *testing.T) {
	for public, want := range map[string]string{
		"":                              "http://sandbox.localhost",
		"https://shop.example/sandbox/": "https://shop.example/sandbox",
		"http://shop.example:8080/a/b":  "http://shop.example:8080/a/b",
	} {
		b := newBox(t, sandbox.WithPublicURL(public))
		id := uuid("i")
		same(t, at(t, b.post("/api/invite", `"`+id+`"`), "url"), `"`+want+"/invite/"+id+`"`)
		same(t, at(t, b.get("/openapi.json"), "servers", 0, "url"), `"`+want+`"`)
	}
	b := newBox(t) // a test's own TLS server
	w := b.do(httptest.NewRequest("GET", "https://sandbox.localhost/openapi.json", nil))
	same(t, at(t, b.ok(w), "servers", 0, "url"), `"https://sandbox.localhost"`)
}

// TestProxy checks that the Host and the origin of a proxy are accepted. It may leave the port out of the Host.
func TestProxy(t *testing.T) {
	const shop, v6 = "https://shop.example/pre", "http://[2001:db8::1]:8080"
	for _, c := range []struct {
		public, host, origin, site string
		want                       int
	}{
		{shop, "127.0.0.1:8080", "https://shop.example", "", 303}, {shop, "shop.example", "https://shop.example", "", 303},
		{shop, "127.0.0.1:8080", "http://127.0.0.1:8080", "", 303}, {shop, "127.0.0.1:8080", "http://shop.example", "", 403},
		{shop, "127.0.0.1:8080", "https://shop.example", "cross-site", 403},
		{shop, "evil.example", "https://shop.example", "", 403}, {shop, "a.shop.example", "https://shop.example", "", 403},
		{shop, "shop.example.evil", "", "", 403}, {shop, "SHOP.example:8443", "https://shop.example:443", "", 303},
		{"https://shop.example:8443/pre", "shop.example", "https://shop.example:8443", "", 303},
		{"https://shop.example:8443/pre", "shop.example:443", "", "", 303}, {v6, "[2001:db8::1]", "", "", 303},
		{v6, "[2001:DB8::1]:80", "http://[2001:db8::1]:8080", "", 303},
	} {
		b := newBox(t, sandbox.WithPublicURL(c.public))
		r := httptest.NewRequest("POST", "/invoice/"+b.create(invoicePath, usdInvoice)+"/pay", nil)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", c.site)
		equal(t, b.do(r).Code, c.want, "%+v", c)
	}
}

// TestHead checks that what needs no key answers a HEAD, over a connection, and that nothing else does.
func TestHead(t *testing.T) {
	server := httptest.NewServer(newBox(t).Server)
	defer server.Close()
	for path, want := range map[string]int{"/sandbox/health": 200, "/openapi.json": 200, "/sandbox/state": 405,
		"/sandbox/requests": 405} {
		answer, err := http.Head(server.URL + path)
		must(t, err)
		answer.Body.Close()
		failIf(t, answer.StatusCode != want || answer.ContentLength <= 0,
			"HEAD %s: %d with %d bytes", path, answer.StatusCode, answer.ContentLength)
	}
	answer, err := http.Post(server.URL+"/sandbox/health", "", nil)
	must(t, err)
	answer.Body.Close()
	if got := answer.Header.Get("Allow"); answer.StatusCode != 405 || got != "GET, HEAD" {
		t.Errorf("a POST is answered with %d and Allow: %s", answer.StatusCode, got)
	}
}

func TestWrongPublicURL(t *testing.T) {
	for _, public := range []string{"shop.example", "/sandbox", "ftp://shop.example", "https://", "https:///sandbox",
		"https://user@shop.example", "https://shop.example/?a=1", "https://shop.example/#a", "https://shop.example:x"} {
		says(t, second(sandbox.New(sandbox.WithPublicURL(public))), "public URL")
	}
}

// TestPageOrigin checks that a link from any site opens a page. Other requests from another site, and its
// forms, are refused.
func TestPageOrigin(t *testing.T) {
	b := newBox(t)
	page := "/invoice/" + b.create(invoicePath, shopInvoice("https://shop.example/"))
	const navigate, document = "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"
	for _, test := range []struct {
		headers      []string
		shown, takes bool
	}{
		{nil, true, true},
		{[]string{"Origin: http://localhost:80"}, true, true},
		{[]string{"Sec-Fetch-Site: same-origin", navigate, document, "Origin: http://localhost:80"}, true, true},
		{[]string{"Sec-Fetch-Site: none", navigate, document}, true, true},
		{[]string{"Sec-Fetch-Site: cross-site", navigate, document}, true, false},
		{[]string{"Sec-Fetch-Site: same-site", navigate, document}, true, false},
		{[]string{"Sec-Fetch-Site: cross-site", navigate, document, "Origin: null"}, true, false},
		{[]string{"Sec-Fetch-Site: cross-site", navigate, "Sec-Fetch-Dest: iframe"}, false, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, false, false},
		{[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false, false},
		{[]string{"Sec-Fetch-Site: cross-site"}, false, false},
		{[]string{"Origin: https://shop.example"}, false, false},
		{[]string{"Origin: http://localhost:81"}, false, false},
		{[]string{"Origin: null"}, false, false},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			want := 403
			if test.shown {
				want = 200
			}
			if w := b.visit(method, page, test.headers...); w.Code != want {
				t.Errorf("%s with %q: %d, want %d", method, test.headers, w.Code, want)
			}
		}
		id := b.create(invoicePath, shopInvoice("https://shop.example/"))
		w, status := b.visit("POST", "/invoice/"+id+"/pay", test.headers...), `"Paid"`
		if test.takes {
			b.leads(w, "https://shop.example/")
		} else {
			b.shows(w, 403, "<h1>Refused</h1>")
			status = `"Awaiting"`
		}
		same(t, at(t, b.get(invoicePath+"?id="+id), "status"), status)
	}
	// The interface cannot be visited like a page.
	b.refused(b.visit("GET", "/api/invoice", "Sec-Fetch-Site: cross-site", navigate, document), 403, "cross_origin")

	r := httptest.NewRequest("GET", "http://shop.example"+page, nil)
	w := b.do(r)
	b.shows(w, 403, "<h1>Refused</h1>", "shop.example")
	b.hides(w, "Order")
}
