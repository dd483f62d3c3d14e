package sandbox_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// These tests change each setting that no other test changes, and check the difference.

func invoiceBody(more string) string {
	return `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"250"}]` + more + `}`
}

// paidReseller makes a reseller with one paid invoice of 2.50 Usd.
func (b box) paidReseller() (id, invoice, key string) {
	b.t.Helper()
	id, key = b.reseller("Shop")
	invoice = b.ok(b.sendAs(key, "POST", "/api/invoice", invoiceBody(""))).(string)
	*b.now = b.now.Add(time.Hour)
	must(b.t, b.PayInvoice(invoice))
	return id, invoice, key
}

func TestFilterChoices(t *testing.T) {
	b := newBox(t, set("unknown_in_filter", "no_match"), set("reversed_period", "empty"))
	b.create(createPath, btcBody)
	for _, none := range []string{`{"currencies":[{"Crypto":"Doge"}],"tags":[]}`,
		`{"currencies":[],"tags":["Unheard"]}`, `{"currencies":[],"tags":[],"from":"2026-06-01T00:00:00",` +
			`"to":"2026-05-01T00:00:00"}`} {
		same(t, b.post(listPath, none), `{"page_content":[],"page_count":0,"total":0}`)
	}
	same(t, at(t, b.post(listPath, `{"currencies":[{"Crypto":"Doge"},{"Crypto":"Btc"}],"tags":["Unheard","New"]}`),
		"total"), "1")
	b.refused(b.send("POST", listPath, `{"currencies":[{"Metal":"Au"}],"tags":[]}`), 400, "invalid_body",
		"currencies[0]")

	path := "/api/reseller/invoice/list?id="
	b = newBox(t, set("invoice_filter", "required"))
	id, _, _ := b.paidReseller()
	b.refused(b.send("POST", path+id, `{}`), 400, "invalid_body", "currencies")
	same(t, at(t, b.post(path+id, everything), "total"), "1")
	b = newBox(t, set("invoice_filter", "ignored"))
	id, _, _ = b.paidReseller()
	same(t, at(t, b.post(path+id, `{"anything":{"at":"all"},"tags":["Expired"]}`), "total"), "1")
	b.refused(b.send("POST", path+id, `[]`), 400, "invalid_body")
}

func TestWithdrawalChoices(t *testing.T) {
	for format, shape := range map[string]string{"uuid": `^[0-9a-f-]{36}$`, "text": `^W-[A-Z2-7]{16}$`,
		"digits": `^[1-9][0-9]{17}$`} {
		b := newBox(t, set("id_format", format), sandbox.WithSeed("demo"))
		_, key := b.reseller("Shop")
		id := b.ok(b.sendAs(key, "POST", "/api/invoice", invoiceBody(""))).(string)
		must(t, b.PayInvoice(id))
		theirs := b.ok(b.sendAs(key, "POST", createPath,
			`{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":5}},"address":"a"}`)).(string)
		for _, item := range at(t, b.post(listPath, everything), "page_content").([]any) {
			id := at(t, item, "id").(string)
			failIf(t, !regexp.MustCompile(shape).MatchString(id), "%s: the id %q", format, id)
			same(t, at(t, b.get(getPath+id), "id"), `"`+id+`"`)
		}
		resellers := b.get("/api/resellers/ids").([]any)
		same(t, at(t, b.get(fmt.Sprintf("/api/reseller/withdraw?id=%s&withdraw=%s", resellers[len(resellers)-1],
			theirs)), "id"), `"`+theirs+`"`)
		text := dumped(t, b)
		again := newBox(t, sandbox.WithSeedJSON(text))
		same(t, at(t, again.ok(again.sendAs(key, "GET", getPath+theirs, "")), "id"), `"`+theirs+`"`)
	}

	b := newBox(t, set("order_id_format", "text"), set("history_order", "newest"), set("fiat_address", "fiat"),
		set("merchant_id_format", "digits"))
	for text, number := range map[string]string{"A-17/ü": "", "007": "", "-5": "", "17": "17",
		"99999999999999999999": ""} {
		id := b.create(createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":5}},"address":"a",`+
			`"external_order_id":"`+text+`"}`)
		must(t, b.AdvanceWithdrawal(id, "Processing"))
		got := b.get(getPath + id)
		same(t, at(t, got, "external_order_id"), `"`+text+`"`)
		same(t, at(t, got, "statuses", 0, "status"), `"Processing"`)
		same(t, at(t, got, "statuses", 1, "status"), `"New"`)
		if external, there := got.(map[string]any)["external_id"]; there != (number != "") || there &&
			fmt.Sprint(external) != number {
			t.Errorf("%s has the external_id %v", text, external)
		}
		merchant := at(t, got, "merchant_id").(string)
		failIf(t, !regexp.MustCompile(`^[1-9][0-9]{9}$`).MatchString(merchant), "the merchant_id %q", merchant)
	}
	b.create(createPath, btcBody)
	list := at(t, b.post(listPath, everything), "page_content").([]any)
	same(t, at(t, list[1], "address"), `{"Fiat":{"currency":"Usd","address":"a"}}`)
	if _, there := at(t, list[0], "address").(map[string]any)["Crypto"]; !there {
		t.Errorf("the address of a crypto withdrawal is %v", at(t, list[0], "address"))
	}
	if _, err := sandbox.New(sandbox.WithSeedJSON(b.send("GET", "/sandbox/dump", "").Body.Bytes())); err != nil {
		t.Error(err)
	}

	const btc = `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":%d}},"address":"a"%s}`
	b = newBox(t, set("needless_memo", "reject"), set("min_amount", "10"), set("max_amount", "20"),
		set("max_items", "1"))
	b.refused(b.send("POST", createPath, fmt.Sprintf(btc, 15, `,"memo":"m"`)), 400, "invalid_body", "memo")
	b.create(createPath, `{"currency":{"Crypto":"Xlr"},"amount":{"Crypto":{"Xlr":15}},"address":"a","memo":"m"}`)
	for _, out := range []int{9, 21} {
		b.refused(b.send("POST", createPath, fmt.Sprintf(btc, out, "")), 400, "invalid_amount", "10", "20")
		b.refused(b.send("POST", "/api/invoice", fmt.Sprintf(`{"title":"t","currency":{"Fiat":"Usd"},`+
			`"items":[{"name":"x","amount":"%d"}]}`, out)), 400, "invalid_amount", "items[0].amount")
	}
	b.create(createPath, fmt.Sprintf(btc, 10, ""))
	b.create(createPath, fmt.Sprintf(btc, 20, ""))
	b.refused(b.send("POST", "/api/invoice", `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x",`+
		`"amount":"10"},{"name":"y","amount":"10"}]}`), 400, "invalid_body", "items", "1")
	says(t, second(sandbox.New(set("min_amount", "10"), set("max_amount", "9"))), "max_amount")
}

func TestWhoseChoices(t *testing.T) {
	for _, sees := range []string{"own", "all"} {
		b := newBox(t, set("merchant_sees", sees), set("merchant_id_of",
			map[string]string{"own": "owner", "all": "merchant"}[sees]))
		first := b.create(createPath, btcBody)
		id, invoice, key := b.paidReseller()
		theirs := b.ok(b.sendAs(key, "POST", createPath,
			`{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":5}},"address":"a"}`)).(string)
		*b.now = b.now.Add(time.Hour)
		last := b.create(createPath, btcBody)
		want := []string{last, theirs, first}
		merchant := at(t, b.get(getPath+first), "merchant_id").(string)
		owner := at(t, b.ok(b.sendAs(key, "GET", getPath+theirs, "")), "merchant_id").(string)
		if sees == "own" {
			want = []string{last, first}
			b.refused(b.send("GET", getPath+theirs, ""), 404, "not_found")
			b.refused(b.send("GET", "/api/invoice?id="+invoice, ""), 404, "not_found")
			failIf(t, owner != id, "the merchant_id is %s, and the reseller %s", owner, id)
		} else {
			b.get(getPath + theirs)
			b.get("/api/invoice?id=" + invoice)
			failIf(t, owner != merchant, "the merchant_id is %s, and the merchant's %s", owner, merchant)
		}
		var ids []string
		for page := 1; page <= len(want); page++ {
			ids = append(ids, at(t, b.post(fmt.Sprintf("%s?page_size=1&page=%d", listPath, page), everything),
				"page_content", 0, "id").(string))
		}
		failIf(t, !slices.Equal(ids, want), "%s: the list is %v, want %v", sees, ids, want)
		for _, hidden := range []string{first, last} { // the reseller never sees the merchant's
			b.refused(b.sendAs(key, "GET", getPath+hidden, ""), 404, "not_found")
		}
		same(t, at(t, b.ok(b.sendAs(key, "POST", listPath, everything)), "total"), "1")
		same(t, at(t, b.post("/api/reseller/withdraw/list?id="+id, everything), "total"), "1")
	}

	b := newBox(t, set("reseller_withdraws", "forbidden"), set("reseller_auth", "any_key"))
	_, key := b.reseller("Shop")
	b.refused(b.sendAs(key, "POST", createPath, btcBody), 403, "forbidden")
	b.create(createPath, btcBody)
	b.ok(b.sendAs(key, "GET", "/api/resellers", ""))
	b.refused(b.sendAs("", "GET", "/api/resellers", ""), 401, "unauthorized")
	b.refused(b.sendAs(key, "GET", "/sandbox/dump", ""), 403, "forbidden")
}

func TestInvoiceChoices(t *testing.T) {
	for value, want := range map[string]string{
		"record":   `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":250}},"at":"2026-05-03T11:00:00"}`,
		"currency": `{"Fiat":"Usd"}`, "null": `null`, "omit": "",
	} {
		b := newBox(t, set("choosen_paid", value))
		_, invoice, key := b.paidReseller()
		choosen, there := b.ok(b.sendAs(key, "GET", "/api/invoice?id="+invoice, "")).(map[string]any)["choosen"]
		if there != (want != "") {
			t.Errorf("choosen_paid=%s shows %v", value, choosen)
		} else if there {
			same(t, choosen, want)
		}
	}

	// 2.50 Usd at 3 000 Usd an Eth of nine decimals is 833 333.3 gwei, rounded up.
	b := newBox(t, set("paid_in", "Eth"), set("rebate_percent", "10"), set("rebate_created", "payment"))
	id, invoice, key := b.paidReseller()
	same(t, at(t, b.ok(b.sendAs(key, "GET", "/api/invoice?id="+invoice, "")), "choosen", "amount"),
		`{"Crypto":{"Eth":833334}}`)
	same(t, b.get("/api/reseller/balance?id="+id), `{"Crypto":{"Eth":833334},"Fiat":{}}`)
	same(t, b.get("/api/reseller/rebate?id="+id), `[{"Crypto":{"Eth":83333}}]`)
	stats := b.get("/api/reseller/stats?id=" + id)
	same(t, at(t, stats, "total_volume"), `{"Eth":{"Eth":833334}}`)
	same(t, at(t, stats, "invoice_rebates", invoice),
		`{"id":"`+invoice+`","paid_amount":{"Eth":833334},"rebate":{"Eth":83333},"created":"2026-05-03T11:00:00"}`)
	text := dumped(t, b)
	same(t, newBox(t, sandbox.WithSeedJSON(text)).get("/api/reseller/balance?id="+id),
		`{"Crypto":{"Eth":833334},"Fiat":{}}`)

	b = newBox(t, set("paid_in", "Eth"), set("rates", "Eth=0.000000001"))
	huge := b.create("/api/invoice", `{"title":"t","currency":{"Crypto":"Btc"},"items":[{"name":"x",`+
		`"amount":"9223372036854775807"}]}`)
	err := b.PayInvoice(huge)
	says(t, err, "paid_in")

	b = newBox(t, set("due_date_in", "date_time"), set("min_items", "0"))
	b.refused(b.send("POST", "/api/invoice", invoiceBody(`,"due_date":"soon"`)), 400, "invalid_body", "due_date")
	b.create("/api/invoice", invoiceBody(`,"due_date":"2026-05-03T11:00:00"`))
	free := b.create("/api/invoice", `{"title":"t","currency":{"Fiat":"Usd"},"items":[]}`)
	must(t, b.PayInvoice(free))
	same(t, at(t, b.get("/api/invoice?id="+free), "items"), `[]`)
	text = dumped(t, b)
	same(t, at(t, newBox(t, sandbox.WithSeedJSON(text)).post("/sandbox/restore", string(text)), "merchant_id"),
		fmt.Sprintf("%q", at(t, decode(t, string(text)), "merchant_id")))
}

func TestResellerChoices(t *testing.T) {
	b := newBox(t, set("invite_label", "No. {n} ({invite})"), set("invites_listed", "open"),
		set("rebate_codes", "amount"), set("stats_zeros", "omit"))
	id, _, _ := b.paidReseller()
	open := b.post("/api/invite", `"`+uuid("open")+`"`)
	same(t, at(t, open, "label"), `"No. 2 (`+uuid("open")+`)"`)
	same(t, b.get("/api/invites"), `[{"invite":"`+uuid("open")+`","label":"No. 2 (`+uuid("open")+`)"}]`)
	b.get("/api/invite?id=" + uuid("Shop"))
	same(t, at(t, b.get("/api/reseller/info?id="+id), "rebates"), `{"USD":{"Fiat":{"USD":2}}}`)
	same(t, b.get("/api/reseller/rebate/currency?currency=Usd&id="+id), `{"USD":{"Fiat":{"USD":2}}}`)
	same(t, at(t, b.get("/api/reseller/stats?id="+id), "invoice_stats"), `{"Paid":1}`)

	b = newBox(t, set("invite_label", ""))
	same(t, at(t, b.post("/api/invite", `"`+uuid("open")+`"`), "label"), `""`)

	in := "/api/reseller/balance/currency?currency=Usd&id="
	for value, want := range map[string][3]string{
		"record": {`{"currency":{"Fiat":"Usd"},"balance":{"Fiat":{"USD":250}}}`,
			`{"currency":{"Fiat":"Usd"},"balance":{"Fiat":{"USD":250}},"fiat":{"Fiat":{"EUR":231}}}`,
			`[{"currency":{"Fiat":"Usd"},"balance":{"Fiat":{"USD":250}}}]`},
		"amounts": {`[{"Fiat":{"USD":250}}]`, `[{"Fiat":{"USD":250}},{"Fiat":{"EUR":231}}]`,
			`[[{"Fiat":{"USD":250}}]]`},
		"map": {`{"USD":250}`, `{"USD":250,"EUR":231}`, `[{"USD":250}]`},
	} {
		b := newBox(t, set("currency_balance", value), set("balance_record", "list"),
			set("include_fiat_is", "currency"))
		id, _, _ := b.paidReseller()
		same(t, b.get(in+id), want[0])
		same(t, b.get(in+id+"&include_fiat=Eur"), want[1]) // 2.50 Usd at 1.08 Usd an Eur, rounded down
		same(t, b.get("/api/reseller/balance?id="+id), want[2])
		for _, bad := range []string{"true", "", "Btc"} {
			w := b.send("GET", in+id+"&include_fiat="+bad, "")
			failIf(t, w.Code != 400, "include_fiat=%s: %d %s", bad, w.Code, w.Body)
		}
	}
}

func TestCurrencyChoices(t *testing.T) {
	b := newBox(t, set("currencies", "Usd,Eth"), set("fiat_codes_in", "as_shown"), set("zero_amounts", "show"))
	for _, err := range []error{b.Fund("Btc", 1), second(b.Server.Balance("Btc"))} {
		wrong, ok := errors.AsType[*sandbox.Error](err)
		failIf(t, !ok || wrong.Kind != sandbox.UnknownCurrency, "Btc: %v", err)
	}
	b.refused(b.send("POST", createPath, btcBody), 400, "unknown_currency", "Btc", "Eth")
	const fiatWithdrawal = `{"currency":{"Fiat":%q},"amount":{"Fiat":{%q:5}},"address":"a"}`
	b.create(createPath, fmt.Sprintf(fiatWithdrawal, "Usd", "USD"))
	b.refused(b.send("POST", createPath, fmt.Sprintf(fiatWithdrawal, "USD", "USD")), 400, "unknown_currency", "USD")
	b.refused(b.send("POST", createPath, fmt.Sprintf(fiatWithdrawal, "Usd", "Usd")), 400, "unknown_currency", "Usd")
	id, _, _ := b.paidReseller()
	b.get("/api/reseller/rebate/currency?currency=Usd&id=" + id)
	b.refused(b.send("GET", "/api/reseller/rebate/currency?currency=USD&id="+id, ""), 400, "unknown_currency")
	same(t, b.get("/api/reseller/balance?id="+id), `{"Crypto":{"Eth":0},"Fiat":{"USD":250}}`)
	// 2.50 Usd at 3 000 Usd an Eth of nine decimals is 833 333.3 gwei, rounded up.
	withdrawal := b.create(createPath, `{"currency":{"Crypto":"Eth"},"amount":{"Fiat":{"USD":250}},"address":"a"}`)
	equal(t, b.Balance("Eth"), 1_000_000_000_000_000-833_334, "the balance after %s", withdrawal)

	// Usd is first in the order of swaps here, and Btc first by default.
	for order, from := range map[string]string{"Ltc,Usd,Btc": "Usd", "Ltc,Btc,Usd": "Btc"} {
		b = newBox(t, set("currencies", order), set("code_case", "any"))
		b.create(createPath, `{"currency":{"Crypto":"ltc"},"amount":{"Crypto":{"LTC":100000000000100}},"address":"a"}`)
		if swaps := b.Swaps(); len(swaps) != 1 || swaps[0].From != from {
			t.Errorf("%s: %+v", order, swaps)
		}
	}
	for _, bad := range [][2]string{{"currencies", ""}, {"currencies", "Btc,Btc"}, {"currencies", "USD"},
		{"currencies", "Btc, Eth"}, {"paid_in", "USD"}, {"paid_in", ""},
		{"invite_label", " "}, {"max_items", "0"}, {"max_items", "all"}, {"min_items", "2"},
		{"max_amount", "9223372036854775808"}} {
		says(t, second(sandbox.New(set(bad[0], bad[1]))), bad[0])
	}
}

func TestRequestChoices(t *testing.T) {
	b := newBox(t, set("unknown_keys", "ignore"), set("unknown_parameters", "ignore"), set("empty_text", "absent"),
		set("max_text", "10"))
	id := b.create("/api/invoice?x=1", `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"250",`+
		`"tax":1}],"order_id":"","color":"red"}`)
	got := b.get("/api/invoice?y=2&id=" + id).(map[string]any)
	failIf(t, got["external_order_id"] != nil || got["color"] != nil, "got %v", got)
	b.refused(b.send("POST", "/api/invoice", `{"title":"t","title":"t","currency":{"Fiat":"Usd"},"items":[]}`), 400,
		"invalid_body", "title")
	b.refused(b.send("POST", "/api/invoice", `{"title":"","currency":{"Fiat":"Usd"},"items":[]}`), 400,
		"invalid_body", "title")
	b.refused(b.send("POST", "/api/invoice", invoiceBody(`,"order_id":"ααααααααααα"`)), 400, "invalid_body",
		"order_id", "10")
	b.create("/api/invoice", invoiceBody(`,"order_id":"αααααααααα"`))
	// A control stays strict.
	b.refused(b.send("POST", "/sandbox/pay", `{"invoice":"`+id+`","x":1}`), 400, "invalid_body", "x")
	b.refused(b.send("GET", "/sandbox/state?x=1", ""), 400, "invalid_query", "x")

	b = newBox(t, set("content_type", "required"))
	b.refused(b.send("POST", createPath, btcBody), 415, "wrong_content_type", "application/json")
	b.refused(b.with("POST", createPath, btcBody, "Content-Type", "text/plain"), 415, "wrong_content_type",
		"text/plain")
	b.ok(b.with("POST", createPath, btcBody, "Content-Type", "application/json; charset=utf-8"))
	b.get("/api/invites")
	b.post("/sandbox/reset", `{}`)

	b = newBox(t, set("requests_per_second", "2"))
	b.get("/api/invites")
	b.get("/api/invites")
	w := b.send("GET", "/api/invites", "")
	b.refused(w, 429, "rate_limited", "2")
	failIf(t, w.Header().Get("Retry-After") != "1", "it does not say when to come back")
	b.get("/sandbox/state")
	*b.now = b.now.Add(time.Second)
	b.get("/api/invites")

	b = newBox(t, set("envelope", "as_shown"))
	b.refused(b.send("POST", createPath, "{}"), 400, "invalid_body")
	b.refused(b.send("GET", getPath+"x", ""), 404, "not_found")
	b.refused(b.send("POST", "/api/invoice", "{}"), 400, "invalid_body")
	b.refused(b.send("POST", "/sandbox/pay", "{}"), 400, "invalid_body")
	for path, status := range map[string]int{"/api/invoice?id=" + uuid("x"): 404, "/api/nothing": 404,
		"/api/resellers?x=1": 400} {
		if w := b.send("GET", path, ""); w.Code != status || strings.HasPrefix(w.Body.String(), "{") ||
			w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
