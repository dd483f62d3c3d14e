package api

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "86400": 24 * time.Hour, "86401": 24 * time.Hour,
		"9999999999999999999999": 24 * time.Hour, "-5": 0, "-9999999999999999999999": 0,
		"1.5": 0, "7s": 0, "soon": 0, "Sun, 03 May 2026 10:00:12 GMT": 12 * time.Second,
		"Sun, 03 May 2026 09:00:00 GMT": 0, "Sunday, 03-May-26 10:01:00 GMT": time.Minute,
		"Tue, 05 May 2026 10:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After: %s is read as %s, want %s", header, got, want)
		}
	}
}

func TestIsRead(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		want           bool
	}{
		{"GET", "/api/anything", true}, {"POST", "/api/merchant_withdrawal/list", true},
		{"POST", "/api/merchant_withdrawal/list?page=1", true}, {"POST", "/api/reseller/withdraw/list", true},
		{"POST", "/api/reseller/invoice/list?id=x", true}, {"POST", "/api/invoice", false},
		{"POST", "/api/merchant_withdrawal/list/", false}, {"POST", "/api//merchant_withdrawal/list", false},
		{"POST", "/api/merchant_withdrawal/List", false},
		{"POST", "/api/merchant_withdrawal/create?x=/api/merchant_withdrawal/list", false},
		{"PUT", "/api/merchant_withdrawal/list", false},
		{"DELETE", "/api/invite", false}, {"get", "/api/invite", false}, {"HEAD", "/api/invite", false},
	} {
		if got := isRead(tt.method, tt.target); got != tt.want {
			t.Errorf("isRead(%s %s) = %t", tt.method, tt.target, got)
		}
	}
}

func TestCreatesWithdrawalInEverySpelling(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1", "http://127.0.0.1/gateway"} {
		c := must[*Client](t)(New(base))
		for _, target := range []string{
			"/api/merchant_withdrawal/create", "/api/merchant_withdrawal/create/",
			"/api/merchant_withdrawal/create?x=1", "/api/merchant_withdrawal/create/x",
			"/API/Merchant_Withdrawal/CREATE", "/api//merchant_withdrawal///create",
			"/api/./merchant_withdrawal/../merchant_withdrawal/create", "/x/../api/merchant_withdrawal/create",
			"/api/merchant_withdrawal%2Fcreate", "/api/merchant%5Fwithdrawal/create",
			"/api/merchant_withdrawal/%63reate", "/api/merchant_withdrawal/%2563reate",
			"/api/merchant_withdrawal/%252563reate", "/api/merchant_withdrawal/create;v=1",
			"/api;a=b/merchant_withdrawal;c/create;d", "/api/merchant_withdrawal/create%20",
			"/api/merchant_withdrawal/create%00", "/api/merchant_withdrawal/create%0A",
			"/api/merchant_withdrawal%5Ccreate", "/api/merchant_withdrawal/create/..;/create",
			"/api/merchant_withdrawal/%2e/create", "/api/merchant%255Fwithdrawal/create;%25zz",
			"/merchant_withdrawal/create", "/api/merchant_withdrawal/create%2F",
			"/api/merchant_withdrawal/create%3Fx", "/api/merchant_withdrawal/create%23x",
		} {
			for _, method := range []string{"POST", "GET", "PUT"} {
				if _, err := c.parseTarget(method, target); !errors.Is(err, ErrUseCreate) {
					t.Errorf("%s %s: %v", method, target, err)
				}
			}
		}
		for _, target := range []string{"/api/merchant_withdrawal", "/api/merchant_withdrawal/list", "/api/invoice",
			"/api/create", "/api/merchant_withdrawal/created", "/api/invites?x=/merchant_withdrawal/create", "/"} {
			if _, err := c.parseTarget("POST", target); err != nil {
				t.Errorf("%s: %v", target, err)
			}
		}
		for _, target := range []string{"", "api/invites", "https://other.example/api", "//other.example/api",
			"/api#x", "/api\n", "/api?q=a b", "/%zz", "?x", "http:/api"} {
			var invalid *InvalidError
			if _, err := c.parseTarget("GET", target); !errors.As(err, &invalid) || invalid.Field != "path" {
				t.Errorf("%q: %v", target, err)
			}
		}
		for _, method := range []string{"", "get", "HEAD", "OPTIONS", "TRACE", "CONNECT", "POST "} {
			var invalid *InvalidError
			if _, err := c.parseTarget(method, "/api"); !errors.As(err, &invalid) || invalid.Field != "method" {
				t.Errorf("%q: %v", method, err)
			}
		}
	}
	// The base URL may contain a part of the path.
	c := must[*Client](t)(New("http://127.0.0.1/api/merchant_withdrawal"))
	if _, err := c.parseTarget("POST", "/create"); !errors.Is(err, ErrUseCreate) {
		t.Errorf("the base URL makes the path, and it is not seen: %v", err)
	}
}

// field expects an *InvalidError about a field, or no error.
func field(t *testing.T, what string, err error, want string) {
	t.Helper()
	var invalid *InvalidError
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (!errors.As(err, &invalid) || invalid.Field != want):
		t.Errorf("%s: got %v, want it to be about %s", what, err, want)
	}
}

func xlrWithMemo(memo string) CreateWithdrawal {
	return CreateWithdrawal{Currency: Currency{Crypto, "Xlr"}, Amount: Amount{Crypto, "Xlr", 5},
		Address: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ", Memo: memo}
}

func TestCreateWithdrawalValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *CreateWithdrawal)
		field  string
	}{
		{"good", func(r *CreateWithdrawal) {}, ""},
		{"all of it", func(r *CreateWithdrawal) { r.Callback, r.Memo = "https://shop.example.com/w", "Order 17" }, ""},
		{"fiat equivalent", func(r *CreateWithdrawal) { r.Amount = Amount{Fiat, "USD", 1} }, ""},
		{"fiat of fiat", func(r *CreateWithdrawal) { r.Currency, r.Amount = FiatCurrency("Usd"), FiatAmount("EUR", 1) }, ""},
		{"no order id", func(r *CreateWithdrawal) { r.ExternalOrderID = "" }, ""},
		{"no currency", func(r *CreateWithdrawal) { r.Currency = Currency{} }, "currency"},
		{"no code", func(r *CreateWithdrawal) { r.Currency.Code = "" }, "currency"},
		{"no amount", func(r *CreateWithdrawal) { r.Amount = Amount{} }, "amount"},
		{"zero", func(r *CreateWithdrawal) { r.Amount.Minor = 0 }, "amount"},
		{"negative", func(r *CreateWithdrawal) { r.Amount.Minor = -1 }, "amount"},
		{"another crypto", func(r *CreateWithdrawal) { r.Amount.Code = "Eth" }, "amount"},
		{"the same in another case", func(r *CreateWithdrawal) { r.Amount.Code = "BTC" }, "amount"},
		{"crypto of fiat", func(r *CreateWithdrawal) { r.Currency = Currency{Fiat, "Btc"} }, "amount"},
		{"an address beyond ASCII", func(r *CreateWithdrawal) { r.Address = "münze" }, ""},
		{"based on XLR", func(r *CreateWithdrawal) {
			*r = xlrWithMemo("")
			r.Currency.Code, r.Amount.Code = "UsdcXLR", "UsdcXLR"
		}, "memo"},
		{"XLR in dollars", func(r *CreateWithdrawal) { *r = xlrWithMemo(""); r.Amount = Amount{Fiat, "USD", 1} }, "memo"},
	} {
		r := sampleCreate()
		tt.change(&r)
		field(t, tt.name, r.Validate(), tt.field)
	}
	r := sampleCreate()
	for _, r.ExternalOrderID = range []string{"1", "9007199254740991"} {
		field(t, "the order id "+r.ExternalOrderID, r.Validate(), "")
	}
	for want, c := range map[string]struct {
		set    *string
		values []string
	}{
		"address":           {&r.Address, []string{"", " ", "a b", "a\n", "a\xff", "a\x7f", "a\u200bb", "a\u00a0b", "a\u3164", "a\u2800b"}},
		"callback":          {&r.Callback, []string{"shop.example.com", "ftp://example.com/x", "https:///x", "http://[::1"}},
		"external_order_id": {&r.ExternalOrderID, []string{"0", "01", "9007199254740992", "A-1", "-1"}},
	} {
		good := *c.set
		for _, *c.set = range c.values {
			field(t, fmt.Sprintf("%s %q", want, *c.set), r.Validate(), want)
		}
		*c.set = good
	}
}

// TestMemo checks that a memo is refused if it may differ unseen from the one that the receiver gave.
func TestMemo(t *testing.T) {
	for memo, want := range map[string]string{
		"Order 17": "", "Order\u00a017": "", "\u6771\u4eac \u2615": "", "Jose\u0301": "", // with an accent of its own
		"\a": "memo", "17\xff": "memo", "17\t": "memo", "17\n": "memo", "1\u20287": "memo", // a line separator
		" ": "memo", " 17": "memo", "17 ": "memo", "17\u00a0": "memo", "\u300017": "memo", "17\u202f": "memo",
		"17\u1680": "memo", "17\u2800": "memo", // an Ogham space, an empty cell of braille
		"a\u200bb": "memo", "\ufeff17": "memo", "1\u200d7": "memo", "1\u20607": "memo", "1\u034f7": "memo", // no width
		"17\u3164": "memo", "17\ufe0f": "memo", "17\u202e": "memo", "1\u00ad7": "memo", // filler, selector, direction, hyphen
	} {
		r := sampleCreate()
		r.Memo = memo
		field(t, fmt.Sprintf("%+q", memo), r.Validate(), want)
	}
	for memo, want := range map[string]string{
		"7": "", "": "memo", "\u00a0\u2003": "memo", "\u200b": "memo", "\u2800": "memo",
	} {
		field(t, fmt.Sprintf("XLR with %+q", memo), xlrWithMemo(memo).Validate(), want)
	}
}

func TestCreateInvoiceValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *CreateInvoice)
		field  string
	}{
		{"good", func(r *CreateInvoice) {}, ""},
		{"to the limit", func(r *CreateInvoice) { r.Items = []InvoiceItem{{"a", math.MaxInt64 - 1}, {"b", 1}} }, ""},
		{"beyond it", func(r *CreateInvoice) { r.Items = []InvoiceItem{{"a", math.MaxInt64}, {"b", 1}} }, "items"},
		{"far beyond", func(r *CreateInvoice) {
			r.Items = []InvoiceItem{{"a", math.MaxInt64}, {"b", math.MaxInt64},
				{"c", 5}}
		}, "items"},
		{"no title", func(r *CreateInvoice) { r.Title = "" }, "title"},
		{"no currency", func(r *CreateInvoice) { r.Currency.Kind = "" }, "currency"},
		{"no items", func(r *CreateInvoice) { r.Items = nil }, "items"},
		{"an item without a name", func(r *CreateInvoice) { r.Items = append(r.Items, InvoiceItem{"", 1}) }, "items[1].name"},
		{"an item for nothing", func(r *CreateInvoice) { r.Items[0].Amount = 0 }, "items[0].amount"},
		{"an item that gives", func(r *CreateInvoice) { r.Items[0].Amount = -1 }, "items[0].amount"},
		{"a bell in the order id", func(r *CreateInvoice) { r.OrderID = "\a" }, "order_id"},
		{"a callback to nowhere", func(r *CreateInvoice) { r.CallbackURL = "/thanks" }, "callback_url"},
	} {
		r := CreateInvoice{Title: "t", Currency: Currency{Fiat, "Usd"}, Items: []InvoiceItem{{"a", 1}}}
		tt.change(&r)
		field(t, tt.name, r.Validate(), tt.field)
	}
}

func TestCheckUUID(t *testing.T) {
	for _, id := range []string{someID, strings.ToUpper(someID), "00000000-0000-0000-0000-000000000000"} {
		if err := CheckUUID(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"", someID + "0", someID[1:], "{" + someID[2:] + "}",
		strings.ReplaceAll(someID, "-", ""), strings.Replace(someID, "7", "g", 1),
		strings.Replace(someID, "-", "0", 1), " " + someID[1:], someID[:33] + "--" + someID[35:]} {
		if CheckUUID(id) == nil {
			t.Errorf("%q is taken for a UUID", id)
		}
	}
}

func TestNew(t *testing.T) {
	for _, base := range []string{"https://pay.example.com", "https://pay.example.com/v2/",
		"https://pay.example.com:8443", "http://127.0.0.1:8080", "http://[::1]", "http://127.9.9.9",
		"http://[::ffff:127.0.0.1]"} {
		if c, err := New(base); err != nil || strings.HasSuffix(c.base, "/") {
			t.Errorf("%s: %v", base, err)
		}
	}
	for base, says := range map[string]string{
		"": "absolute", "pay.example.com": "absolute", "//pay.example.com": "absolute",
		"ftp://pay.example.com": "absolute", "https://": "absolute", "https://:443": "absolute",
		"https:pay.example.com":               "absolute",
		"https://user:secret@pay.example.com": "user name", "https://pay.example.com?x=1": "query",
		"https://pay.example.com?": "query", "https://pay.example.com#x": "fragment",
		"http://pay.example.com": "plain http", "http://localhost": "plain http", "http://10.0.0.1": "plain http",
		"http://127.0.0.1.example.com": "plain http", "http://0.0.0.0": "plain http",
		"https://pay.example.com/%zz": "read", "https://pay\x00.example.com": "read",
		"https://pay.example.com/x/..":    `another spelling of "/"`,
		"https://pay.example.com/v2/%2e/": `another spelling of "/v2"`,
		"https://pay.example.com/%76//2":  `another spelling of "/v/2"`,
		"https://pay.example.com./":       "ends with a dot", "https://pay。example.com": "beyond ASCII",
	} {
		if _, err := New(base); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want it to say %q", base, err, says)
		}
	}
	for _, key := range []string{"a b", "a\n", "a\r\nX: y", "é", "\x00", " "} {
		if _, err := New("https://pay.example.com", WithAPIKey(key)); err == nil || key != " " &&
			strings.Contains(err.Error(), key) {
			t.Errorf("the key %q: %v", key, err)
		}
	}
	if _, err := New("https://pay.example.com", WithAPIKey(SandboxKeyPrefix+"x")); err == nil ||
		strings.Contains(err.Error(), SandboxKeyPrefix+"x") {
		t.Errorf("a sandbox's key for another machine: %v", err)
	}
	c, err := New("http://127.0.0.1", WithTimeouts(0, 0))
	if err != nil || c.keyed().readTimeout != DefaultReadTimeout || c.keyed().createTimeout != DefaultCreateTimeout {
		t.Errorf("zero timeouts: %v, %v", c, err)
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"pay: nothing was sent: refused": {Op: "pay", Outcome: NotSent,
			Err: errors.New("refused")},
		"pay: the outcome is unknown, it may have taken effect: HTTP 500": {Op: "pay", Status: 500},
		"pay: the outcome is unknown, it may have taken effect: reset":    {Op: "pay", Err: errors.New("reset")},
		"pay: the service rejected it: no_funds: Short. (code 7, HTTP 422)": {Op: "pay", Outcome: Rejected,
			Status: 422, Code: 7, Reason: "no_funds", Description: "Short."},
		"pay: the service rejected it: Short. (code 0, HTTP 400)": {Op: "pay", Outcome: Rejected,
			Status: 400, Description: "Short."},
		"pay: the service refused the key: HTTP 401":      {Op: "pay", Outcome: Rejected, Status: 401},
		"pay: the service refused the key: HTTP 403":      {Op: "pay", Outcome: Rejected, Status: 403},
		"pay: the service asks for fewer calls: HTTP 429": {Op: "pay", Outcome: Rejected, Status: 429},
		"get: no usable answer: HTTP 401":                 {Op: "get", Outcome: Failed, Status: 401},
		"get: no usable answer: HTTP 429":                 {Op: "get", Outcome: Failed, Status: 429},
		"get: no usable answer: it is a web page (HTTP 200)": {Op: "get", Outcome: Failed,
			Status: 200, Err: errors.New("it is a web page")},
		"get: no usable answer: busy: Later: nobody knows (code 1, HTTP 503)": {Op: "get", Outcome: Failed,
			Status: 503, Code: 1, Reason: "busy", Description: "Later.", Err: errors.New("nobody knows")},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	cause := errors.New("below")
	if err := error(&Error{Err: cause}); !errors.Is(err, cause) {
		t.Error("the cause cannot be reached")
	}
}

// TestDecodingErrorsAreReadable checks that invalid answers are described without a decoder's jargon.
func TestDecodingErrorsAreReadable(t *testing.T) {
	client := must[*Client](t)(New("http://127.0.0.1"))
	for body, want := range map[string]string{
		"":                            "its body is empty",
		"<html>\nno":                  `it is a web page or XML, not JSON, the body begins "<html>\nno"`,
		`{"id":"x"`:                   "it is cut off after 9 bytes",
		`{"id":5}`:                    `at /id: a number, where a string belongs`,
		`{"id":"a","id":"b"}`:         `at byte 10: duplicate object member name`,
		`{"amount":{"Fiat":null}}`:    `at /amount`,
		`{"amount":{"Fiat":{"U":-}}}`: `invalid character '}'`,
		`{"error":"no"}`:              "the answer is not what it should be",
		sampleWithdrawal + " x":       `: invalid character 'x'`,
		"[]":                          "an array, where an object belongs",
	} {
		if _, err := open[Withdrawal](client, request{}, []byte(body)); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want it to say %q", body, err, want)
		}
	}
}

// FuzzUnions checks that an accepted one-key union or address of a list is JSON, and is written again as the same
// value.
func FuzzUnions(f *testing.F) {
	for _, text := range []string{`{"Crypto":"Btc"}`, `{"Fiat":{"USD":2500}}`, `{"USD":1,"Btc":-5}`,
		`{"Crypto":{"currency":"Btc","address":"a"}}`, `"a"`, `{"amount":"1","name":"x"}`,
		`{"Usd":{"Fiat":{"USD":1}}}`, `{"Crypto":{"Btc":1e3}}`, `{"Crypto":{"Btc":9223372036854775808}}`,
		`{"\u0043rypto":"Btc"}`, `{"USD":-0}`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzValue[Currency](t, text)
		fuzzValue[Amount](t, text)
		fuzzValue[Address](t, text)
		fuzzValue[InvoiceItem](t, text)
		fuzzValue[Rebates](t, text)
		fuzzValue[CodeAmounts](t, text)
	})
}

func fuzzValue[T any](t *testing.T, text []byte) {
	var got, back T
	if err := json.Unmarshal(text, &got); err != nil {
		return
	}
	written, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(written, &back)
	}
	if err != nil || !reflect.DeepEqual(got, back) || !stdjson.Valid(text) {
		t.Errorf("%s is read as %+v, and written as %s it is %+v, %v", text, got, written, back, err)
	}
}

// FuzzWithdrawalPage checks that an accepted page is JSON, and that the text that each of its records keeps is
// complete.
func FuzzWithdrawalPage(f *testing.F) {
	f.Add([]byte(`{"page_content":[` + goodRecord + `,` + sampleWithdrawal + `],"page_count":1,"total":2}`))
	f.Add([]byte(`{"page_content":[` + sampleWithdrawal + `],"page_count":1,"total":1,"more":{"x":[1.5,null]}}`))
	f.Add([]byte(`{"total":0,"page_count":0,"page_content":[]}`))
	f.Add([]byte(`{"page_content":[{"id":"w","currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":1}},"address":"a",` +
		`"statuses":null,"callback":null,"external_id":null}],"page_count":1,"total":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var page WithdrawalPage
		if decode(body, &page) != nil {
			return
		}
		if !stdjson.Valid(body) {
			t.Errorf("%s is no JSON, and is read as %+v", body, page)
		}
		for _, w := range page.Items {
			var alone Withdrawal
			if err := decode(w.RawJSON(), &alone); err != nil || !reflect.DeepEqual(alone, w) {
				t.Errorf("%s: the text it keeps is %s, which is %+v, %v", body, w.RawJSON(), alone, err)
			}
		}
	})
}

// TestAnswerIsToldWithItsDate checks what a call asks for, and what becomes of a redirect and of its date.
func TestAnswerIsToldWithItsDate(t *testing.T) {
	var seen time.Time
	var query string
	redirect := func(r *http.Request) (*http.Response, error) {
		query = r.URL.RawQuery
		resp, err := answering(300, "")(r)
		resp.Header.Set("Date", "Sun, 03 May 2026 10:00:12 GMT")
		return resp, err
	}
	client := must[*Client](t)(New("http://127.0.0.1", WithTransport(roundTripper(redirect))))
	ctx := ObserveDate(t.Context(), func(at time.Time) { seen = at })
	_, err := client.Resellers.BalanceIn(ctx, someID, "Btc", "")
	if e := failure(t, err); !strings.Contains(e.Error(), "redirect") || seen.Second() != 12 || query != "id="+someID+"&currency=Btc" {
		t.Errorf("%v, at %s, asked for %s", err, seen, query)
	}
}

func TestProxyAddress(t *testing.T) {
	for address, wrong := range map[string]bool{"": false, "p:65535": false, "http://p": false, "socks5h://u@p:1": false,
		"ftp://p": true, "http://p:0": true, "http://p:65536": true, "http://:8080": true, "http://%": true} {
		t.Setenv("HTTPS_PROXY", address)
		for host, asks := range map[string]bool{"https://a.example": true, "http://a.example": false, "https://[::1]": false} {
			base := must[*url.URL](t)(url.Parse(host))
			if err := checkProxy(base); (err != nil) != (wrong && asks) {
				t.Errorf("the proxy %q for %s: %v", address, host, err)
			}
		}
	}
}
