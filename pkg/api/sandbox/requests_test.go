package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/till/pkg/api/sandbox"
)

var operations = sandbox.Operations()

// TestEveryOperation checks what is checked first of every operation: its method, the key and the query.
func TestEveryOperation(t *testing.T) {
	b, open := newBox(t), newBox(t, set("reseller_auth", "none"))
	_, resellerKey := b.reseller("r")
	for _, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		ofReseller := strings.HasPrefix(path, "/api/reseller") || strings.HasPrefix(path, "/api/invite")
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + b.Key(), b.Key(),
			"Bearer " + b.Key() + "x", "Bearer  " + b.Key()} {
			r := httptest.NewRequest(method, "http://localhost"+path+"?nonsense", strings.NewReader("nonsense"))
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := b.do(r)
			b.refused(w, 401, "unauthorized")
			equal(t, w.Header().Get("WWW-Authenticate")+w.Header().Get("Content-Type"), "Bearerapplication/json", "its headers")
			w = open.do(r)
			failIf(t, ofReseller == (w.Code == 401), "%s with reseller_auth=none: %d", op, w.Code)
		}
		b.refused(b.send(method, path+"?nonsense=1", "{}"), 400, "invalid_query", "nonsense")
		b.refused(b.send(method, path+"?id=%zz", "{}"), 400, "invalid_query")
		equal(t, b.sendAs(resellerKey, method, path+"?nonsense=1", "").Code == 403, ofReseller, "%s: a reseller is refused", op)
		b.refused(b.send(method, path+"/", ""), 404, "unknown_path")
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "X"} {
			if !slices.Contains(operations, method+" "+path) {
				w := b.send(method, path, "")
				b.refused(w, 405, "wrong_method", method)
				failIf(t, w.Header().Get("Allow") == "", "no Allow header")
			}
		}
	}
	b.refused(b.send("GET", "/", ""), 404, "unknown_path")
	b.refused(b.send("GET", "/api/invoices", ""), 404, "unknown_path", "/api/invoices")
}

func TestForeignHostIsRefused(t *testing.T) {
	b := newBox(t)
	for hosts, want := range map[string]int{
		"localhost localhost:80 LOCALHOST:80 sandbox.localhost a.b.localhost:1 127.0.0.1 127.0.0.1:8080 127.9.9.9:1 " +
			"[::1] [::1]:8080": 200,
		"example.com localhost.example.com 127.0.0.1.example.com notlocalhost 10.0.0.1 0.0.0.0 [::] 128.0.0.1:80 " +
			"localhost. .": 403,
	} {
		for host := range strings.FieldsSeq(hosts) {
			equal(t, b.with("GET", "/api/invites", "", "Host", host).Code, want, "%s", host)
		}
	}
	equal(t, b.with("GET", "/api/invites", "", "Host", "").Code, 200, "the Host of the URL")
}

func TestBodyLimit(t *testing.T) {
	b := newBox(t)
	pad := func(n int) string { return btcBody + strings.Repeat(" ", n-len(btcBody)) }
	b.create(createPath, pad(1<<20))
	b.refused(b.send("POST", createPath, strings.Repeat("[", 1<<20)), 400, "invalid_body")
	w := b.send("POST", createPath, pad(1<<20+1))
	b.refused(w, 413, "body_too_large", "1048576")
	equal(t, w.Header().Get("Connection"), "close", "Connection")
	b.set(map[string]string{"max_body": "100"})
	b.refused(b.send("POST", createPath, pad(101)), 413, "body_too_large", "100")
	b.refused(b.send("POST", createPath, strings.Repeat("[", 100)), 400, "invalid_body")
}

func TestBrokenBody(t *testing.T) {
	b := newBox(t)
	for _, body := range []io.Reader{nil, io.MultiReader(strings.NewReader(btcBody), iotest.ErrReader(io.ErrUnexpectedEOF))} {
		r := request(b.Key(), "POST", createPath, body)
		if body == nil {
			r.Body = nil // a client's request may arrive like this through a RoundTripper
		}
		b.refused(b.do(r), 400, "invalid_body")
	}
	same(t, at(t, b.post(listPath, everything), "total"), "0")
}

// TestRequestsHasEveryCall checks that the log has each request to the interface in order: carried out,
// refused before and after the key was checked, and struck by a fault.
func TestRequestsHasEveryCall(t *testing.T) {
	b := newBox(t, set("requests_per_second", "8"))
	b.create(createPath, btcBody)
	b.sendAs("till_sandbox_wrong", "POST", createPath, btcBody)
	b.send("POST", createPath, `{`)
	b.send("GET", "/api/nothing?id=1", "")
	b.send("DELETE", "/api/invite", "")
	b.with("GET", "/api/invites", "", "Host", "evil.example.com")
	b.send("GET", "/sandbox/state", "") // a control is not of the interface
	for _, f := range []struct{ do, method, path, body string }{
		{"drop-after", "POST", createPath, btcBody}, {"delay=1ms status=503", "GET", "/api/invites", ""},
		{"truncate", "GET", "/api/resellers/ids", ""}, {"refuse", "POST", createPath, `{"address":"a"}`},
	} {
		for do := range strings.FieldsSeq(f.do) {
			b.fault(sandbox.Fault{Do: do, Times: 1})
		}
		func() {
			defer func() { recover() }() // the connection breaks
			b.send(f.method, f.path, f.body)
		}()
	}
	for range 3 { // the last is one too many in this second
		b.send("GET", "/api/resellers/ids", "")
	}
	var got []string
	for _, r := range b.Requests() {
		failIf(t, r.Cut, "request %d is cut", r.ID)
		got = append(got, fmt.Sprintf("%d %s %s?%s %d %s %s", r.ID, r.Method, r.Path, r.Query, r.Status, r.Fault, r.Body))
	}
	want := `1 POST /api/merchant_withdrawal/create? 200  ` + btcBody + `
2 POST /api/merchant_withdrawal/create? 401  ` + btcBody + `
3 POST /api/merchant_withdrawal/create? 400  "{"
4 GET /api/nothing?id=1 404  
5 DELETE /api/invite? 405  
6 GET /api/invites? 403  
7 POST /api/merchant_withdrawal/create? 0 drop-after ` + btcBody + `
8 GET /api/invites? 503 delay=1ms, status=503 
9 GET /api/resellers/ids? 200 truncate 
10 POST /api/merchant_withdrawal/create? 0 refuse {"address":"a"}
11 GET /api/resellers/ids? 200  
12 GET /api/resellers/ids? 200  
13 GET /api/resellers/ids? 429  `
	equal(t, strings.Join(got, "\n"), want, "the log")
}

// TestRequestsOverHTTP checks the filters of the control. The script sandbox_requests shows those of the command.
func TestRequestsOverHTTP(t *testing.T) {
	b := newBox(t)
	for _, order := range []string{"1", "2", "2"} {
		b.create(createPath, strings.Replace(btcBody, "{", `{"external_order_id":"`+order+`",`, 1))
	}
	b.get("/api/invites")
	b.send("GET", "/api/invite?id=2", "")
	const twos = "match=external_order_id=2"
	for query, ids := range map[string]string{
		"": "1 2 3 4 5", "on=*": "1 2 3 4 5", "on=POST+" + createPath: "1 2 3", "since=5": "", twos: "2 3",
		twos + "&since=2&on=POST+" + createPath: "3", twos + "&match=currency.Crypto=Btc": "2 3",
		twos + "&match=currency.Crypto=%3D": "", "match=id=2": "5", "limit=2": "1 2", "limit=5": "1 2 3 4 5",
		"limit=2&since=3": "4 5",
	} {
		answer := b.get("/sandbox/requests?" + query)
		var got []string
		for _, r := range at(t, answer, "requests").([]any) {
			got = append(got, fmt.Sprint(at(t, r, "id")))
		}
		equal(t, strings.Join(got, " "), ids, "%s: the requests", query)
		delete(answer.(map[string]any), "requests")
		same(t, answer, fmt.Sprintf(`{"dropped":0,"undecided":0,"more":%v}`, query == "limit=2"))
	}
	for query, names := range map[string]string{
		"match=a=1&match=a=2": "each field once", "since=6": "no request 6 yet", "match=a..b=1": "the name of a field",
		"on=*&on=*": "2 times", "expect=1": "expect",
	} {
		b.refused(b.send("GET", "/sandbox/requests?"+query, ""), 400, "invalid_query", names)
	}
}

// TestRequestsShowNoKey checks that the log has neither the sandbox's key nor the key of a request, wherever it was
// sent, and has the rest of the request as it was sent, as JSON. Package secret tests how a key may be quoted.
func TestRequestsShowNoKey(t *testing.T) {
	own := "till_sandbox_4f1d\"&+7c0a"
	b := newBox(t, sandbox.WithKey(own))
	for _, key := range []string{own, "live_4f1d\"&+7c0a", "1234567890", "till_sandbox_4f1d_other"} {
		asJSON, _ := json.Marshal(key)
		for sent, shown := range map[string]string{
			"[" + string(asJSON) + ",1]": `["[hidden]",1]`, `{"a":"` + key: `"{\"a\":\"[hidden]"`,
			"a&key=" + url.QueryEscape(key): `"a\u0026key=[hidden]"`, "1 " + key: `"1 [hidden]"`,
		} {
			for _, headers := range [][]string{{"Bearer " + key}, {"Bearer\t" + key + " "}, {key},
				{"Bearer x", "Token id " + key}} {
				r := httptest.NewRequest("POST", "http://localhost/api/"+url.PathEscape(key)+"?k="+url.QueryEscape(key),
					strings.NewReader(sent))
				r.Header["Authorization"] = headers
				b.ServeHTTP(httptest.NewRecorder(), r)
				all := b.Requests()
				last := all[len(all)-1]
				if last.Path != "/api/[hidden]" || last.Query != "k=[hidden]" || string(last.Body) != shown {
					t.Errorf("%q, sent with %q, is shown as %s, %s and %s", sent, headers, last.Path, last.Query, last.Body)
				}
			}
		}
	}
	b.sendAs("1234567890", "POST", "/api/invoice", `{"a":1234567890}`) // it is no JSON without the key
	text := b.send("GET", "/sandbox/requests", "").Body.String()
	failIf(t, strings.Contains(text, "4f1d") || strings.Contains(text, "1234567890"), "the log shows a key: %s", text)
	decode(t, text)
}

// TestRequestsAreBounded checks that a long body is cut in the log only, and that the log says what it has
// lost.
func TestRequestsAreBounded(t *testing.T) {
	b := newBox(t)
	long := strings.Replace(btcBody, "{", `{`+strings.Repeat(" ", 70_000), 1)
	b.create(createPath, long)
	if r := b.Requests()[0]; !r.Cut || len(r.Body) < 64<<10 || len(r.Body) > 65<<10 || r.Status != 200 {
		t.Errorf("the body has %d bytes, cut: %v, status %d", len(r.Body), r.Cut, r.Status)
	}
	counts := func(query, field, want string) {
		t.Helper()
		same(t, at(t, b.get("/sandbox/requests?on=GET+/api/invites"+query), field), want)
	}
	same(t, at(t, b.get("/sandbox/requests?match=address=x"), "undecided"), "1")
	counts("&match=address=x", "undecided", "0")
	for range 600 { // more than 32 MiB
		b.send("POST", createPath, long)
	}
	part := b.get("/sandbox/requests?limit=1000")
	failIf(t, len(at(t, part, "requests").([]any)) != 1 || at(t, part, "more") != true,
		"an answer with a limit has all of the long requests")
	all := b.Requests()
	first := all[0].ID
	failIf(t, first < 80 || first > 120 || len(all) != 601-int(first)+1,
		"the log has %d requests from %d on", len(all), first)
	counts("", "dropped", fmt.Sprint(first-1))
	counts(fmt.Sprint("&since=", first-3), "dropped", "2")
	counts(fmt.Sprint("&since=", first), "dropped", "0")
	must(t, b.Reset(""))
	counts("", "dropped", "0")
	for range 100_001 { // the other bound
		b.send("GET", "/api/x", "")
	}
	all = b.Requests()
	failIf(t, len(all) != 100_000 || all[0].ID != 603, "the log has %d requests from %d on", len(all), all[0].ID)
}

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
	page := "/invoice/" + b.create(invoicePath, usdInvoice)
	const visit = "; Sec-Fetch-Mode: navigate; Sec-Fetch-Dest: document"
	for headers, c := range map[string]struct{ shown, takes int }{
		"Origin: http://localhost:80": {200, 303}, "Sec-Fetch-Site: same-origin; Origin: http://localhost:80" + visit: {200, 303},
		"Sec-Fetch-Site: none" + visit: {200, 303}, "Sec-Fetch-Site: cross-site" + visit: {200, 403},
		"Sec-Fetch-Site: same-site" + visit: {200, 403}, "Sec-Fetch-Site: cross-site; Origin: null" + visit: {200, 403},
		"Sec-Fetch-Site: cross-site; Sec-Fetch-Mode: navigate; Sec-Fetch-Dest: iframe": {403, 403},
		"Sec-Fetch-Site: cross-site; Sec-Fetch-Mode: cors; Sec-Fetch-Dest: empty":      {403, 403},
		"Sec-Fetch-Site: same-site; Sec-Fetch-Mode: no-cors; Sec-Fetch-Dest: image":    {403, 403},
		"Sec-Fetch-Site: cross-site": {403, 403}, "Origin: https://shop.example": {403, 403},
		"Origin: http://localhost:81": {403, 403}, "Origin: null": {403, 403},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			equal(t, b.visit(method, page, strings.Split(headers, "; ")...).Code, c.shown, "%s with %s", method, headers)
		}
		id := b.create(invoicePath, usdInvoice)
		w, status := b.visit("POST", "/invoice/"+id+"/pay", strings.Split(headers, "; ")...), `"Paid"`
		if equal(t, w.Code, c.takes, "the form with %s", headers); c.takes == 403 {
			b.shows(w, 403, "<h1>Refused</h1>")
			status = `"Awaiting"`
		}
		same(t, at(t, b.get(invoicePath+"?id="+id), "status"), status)
	}
	// The interface cannot be visited like a page.
	b.refused(b.visit("GET", "/api/invoice", strings.Split("Sec-Fetch-Site: cross-site"+visit, "; ")...), 403, "cross_origin")

	w := b.do(httptest.NewRequest("GET", "http://shop.example"+page, nil))
	b.shows(w, 403, "<h1>Refused</h1>", "shop.example")
	b.hides(w, "Order")
}
