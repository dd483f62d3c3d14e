package sandbox_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// requested is the part of a Request that does not depend on its body.
func requested(all []sandbox.Request) (lines []string) {
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%d %s %s?%s %d %s", r.ID, r.Method, r.Path, r.Query, r.Status, r.Fault))
	}
	return lines
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
	b.fault(sandbox.Fault{Do: "drop-after", Times: 1})
	b.cut("POST", createPath, btcBody)
	b.fault(sandbox.Fault{Do: "delay=1ms", Times: 1})
	b.fault(sandbox.Fault{Do: "status=503", Times: 1})
	b.send("GET", "/api/invites", "")
	b.fault(sandbox.Fault{Do: "truncate", Times: 1})
	b.cut("GET", "/api/resellers/ids", "")
	b.fault(sandbox.Fault{Do: "refuse", Times: 1, Match: map[string]string{"address": "a"}})
	b.cut("POST", createPath, `{"address":"a"}`)
	b.get("/api/resellers/ids")
	b.get("/api/resellers/ids")
	b.send("GET", "/api/resellers/ids", "") // one too many in this second
	want := []string{
		"1 POST /api/merchant_withdrawal/create? 200 ",
		"2 POST /api/merchant_withdrawal/create? 401 ",
		"3 POST /api/merchant_withdrawal/create? 400 ",
		"4 GET /api/nothing?id=1 404 ",
		"5 DELETE /api/invite? 405 ",
		"6 GET /api/invites? 403 ",
		"7 POST /api/merchant_withdrawal/create? 0 drop-after",
		"8 GET /api/invites? 503 delay=1ms, status=503",
		"9 GET /api/resellers/ids? 200 truncate",
		"10 POST /api/merchant_withdrawal/create? 0 refuse",
		"11 GET /api/resellers/ids? 200 ",
		"12 GET /api/resellers/ids? 200 ",
		"13 GET /api/resellers/ids? 429 ",
	}
	all := b.Requests()
	got := requested(all)
	failIf(t, strings.Join(got, "\n") != strings.Join(want, "\n"), "got\n%s", strings.Join(got, "\n"))
	for i, body := range map[int]string{0: btcBody, 1: btcBody, 2: `"{"`, 3: ``, 6: btcBody, 9: `{"address":"a"}`} {
		failIf(t, string(all[i].Body) != body || all[i].Cut,
			"request %d has the body %s, want %s", i+1, all[i].Body, body)
	}
}

// cut sends a request whose connection breaks.
func (b box) cut(method, path, body string) {
	b.t.Helper()
	defer func() {
		failIf(b.t, recover() != http.ErrAbortHandler, "the connection did not break")
	}()
	b.send(method, path, body)
}

// TestRequestsOverHTTP checks the filters of the control.
func TestRequestsOverHTTP(t *testing.T) {
	b := newBox(t)
	for _, order := range []string{"1", "2", "2"} {
		b.create(createPath, strings.Replace(btcBody, "{", `{"external_order_id":"`+order+`",`, 1))
	}
	b.get("/api/invites")
	b.send("GET", "/api/invite?id=2", "")
	for query, ids := range map[string]string{
		"":                           "1 2 3 4 5",
		"?on=*":                      "1 2 3 4 5",
		"?on=POST+" + createPath:     "1 2 3",
		"?on=GET+/api/invites":       "4",
		"?since=3":                   "4 5",
		"?since=5":                   "",
		"?match=external_order_id=2": "2 3",
		"?match=external_order_id=2&since=2&on=POST+" + createPath:                 "3",
		"?match=external_order_id=2&match=currency.Crypto=Btc":                     "2 3",
		"?match=external_order_id=2&match=currency.Crypto=" + url.QueryEscape("="): "",
		"?match=id=2": "5", "?limit=0": "1 2 3 4 5", "?limit=2": "1 2", "?limit=5": "1 2 3 4 5",
		"?limit=2&since=3": "4 5",
	} {
		answer := b.get("/sandbox/requests" + query)
		var got []string
		for _, r := range at(t, answer, "requests").([]any) {
			got = append(got, fmt.Sprint(at(t, r, "id")))
		}
		failIf(t, strings.Join(got, " ") != ids, "%s: got the requests %v, want %s", query, got, ids)
		same(t, at(t, answer, "dropped"), "0")
		same(t, at(t, answer, "undecided"), "0")
		same(t, at(t, answer, "more"), fmt.Sprint(query == "?limit=2"))
	}
	same(t, at(t, b.get("/sandbox/requests?since=4"), "requests"),
		`[{"id":5,"method":"GET","path":"/api/invite","query":"id=2","body":null,"cut":false,"status":400,"fault":""}]`)
	for query, names := range map[string]string{
		"on=invoice":          "is not an operation",
		"match=a=1&match=a=2": "each field once",
		"since=6":             "no request 6 yet",
		"match=a..b=1":        "the name of a field",
		"on=*&on=*":           "2 times",
		"expect=1":            "expect",
	} {
		b.refused(b.send("GET", "/sandbox/requests?"+query, ""), 400, "invalid_query", names)
	}
}

// TestRequestsShowNoKey checks that the log has neither the sandbox's key nor the key of a request, wherever
// and however it was sent, and has the rest of the request as it was sent.
func TestRequestsShowNoKey(t *testing.T) {
	own := "till_sandbox_4f1d\"&+7c0a"
	b := newBox(t, sandbox.WithKey(own))
	for _, key := range []string{own, "live_4f1d\"&+7c0a", "1234567890", "till_sandbox_4f1d_other"} {
		asJSON, _ := json.Marshal(key)
		in64 := base64.StdEncoding.EncodeToString([]byte("user:" + key))
		for sent, shown := range map[string]string{
			`{"a":{"b":"x ` + string(asJSON[1:len(asJSON)-1]) + ` y"}}`: `{"a":{"b":"x [hidden] y"}}`, "[" +
				string(asJSON) + ",1]": `["[hidden]",1]`,
			"a=1&key=" + url.QueryEscape(key) + "&b": `"a=1\u0026key=[hidden]\u0026b"`, `{"a":"` +
				key: `"{\"a\":\"[hidden]"`,
			"<p>" + html.EscapeString(key) + "</p>": `"\u003cp\u003e[hidden]\u003c/p\u003e"`, "1 " +
				key: `"1 [hidden]"`, "basic " + in64: `[hidden]`,
		} {
			for _, headers := range [][]string{{"Bearer " + key}, {"Bearer\t" + key + " "}, {key},
				{"Bearer x", "Token id " + key}} {
				r := httptest.NewRequest("POST",
					"http://sandbox.localhost/api/"+url.PathEscape(key)+"?a=1&k="+url.QueryEscape(key),
					strings.NewReader(sent))
				r.Header["Authorization"] = headers
				b.ServeHTTP(httptest.NewRecorder(), r)
				all := b.Requests()
				last := all[len(all)-1]
				if body := string(last.Body); last.Path != "/api/[hidden]" || last.Query != "a=1&k=[hidden]" ||
					body != shown && !(strings.Contains(sent, in64) && strings.Contains(body, shown)) {
					t.Errorf("%q, sent with %q, is shown as %s, %s and %s", sent, headers, last.Path, last.Query,
						last.Body)
				}
			}
		}
	}
	text := b.send("GET", "/sandbox/requests", "").Body.String()
	failIf(t, strings.Contains(text, "4f1d") || strings.Contains(text, "1234567890"), "the log shows a key: %s", text)
	decode(t, text)
}

// TestRequestsShowANumberThatIsTheKey checks that a body from which a key is removed is still JSON.
func TestRequestsShowANumberThatIsTheKey(t *testing.T) {
	b := newBox(t)
	b.sendAs("1234567890", "POST", "/api/invoice", `{"a":1234567890}`)
	if got := string(b.Requests()[0].Body); got != `"{\"a\":[hidden]}"` {
		t.Errorf("the log shows %s", got)
	}
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
	same(t, at(t, b.get("/sandbox/requests?match=address=x"), "undecided"), "1")
	same(t, at(t, b.get("/sandbox/requests?match=address=x&on=GET+/api/invites"), "undecided"), "0")
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
	same(t, at(t, b.get("/sandbox/requests?on=GET+/api/invites"), "dropped"), fmt.Sprint(first-1))
	same(t, at(t, b.get(fmt.Sprint("/sandbox/requests?on=GET+/api/invites&since=", first-3)), "dropped"), "2")
	same(t, at(t, b.get(fmt.Sprint("/sandbox/requests?on=GET+/api/invites&since=", first)), "dropped"), "0")
	must(t, b.Reset(""))
	same(t, at(t, b.get("/sandbox/requests"), "dropped"), "0")
	for range 3 {
		b.send("POST", createPath, long)
	}
	equal(t, len(b.Requests()), 3, "long requests in the log after a reset")
}

// TestRequestsHaveManyRows checks the bound of rows.
func TestRequestsHaveManyRows(t *testing.T) {
	b := newBox(t)
	for range 100_001 {
		b.send("GET", "/api/x", "")
	}
	all := b.Requests()
	failIf(t, len(all) != 100_000 || all[0].ID != 2, "the log has %d requests from %d on", len(all), all[0].ID)
}
