package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

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
				if last := all[len(all)-1]; last.Path != "/api/[hidden]" || last.Query != "k=[hidden]" || string(last.Body) != shown {
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
