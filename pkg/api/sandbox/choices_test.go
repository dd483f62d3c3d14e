package sandbox_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
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

// TestChoices makes one request with settings. RESELLER has one paid INVOICE of 2.50 Usd; WITHDRAWAL and OWN, an
// invoice, are the merchant's. Each is made for the requests that name it, and a withdrawal for its list.
func TestChoices(t *testing.T) {
	const (
		btc             = `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":%d}},"address":"a"%s}`
		usd             = `{"currency":{"Fiat":"%s"},"amount":{"Fiat":{"%s":%d}},"address":"a"}`
		noMatch, limits = "unknown_in_filter=no_match", "min_amount=10; max_amount=20; max_items=1; needless_memo=reject"
		inEth           = "paid_in=Eth; rebate_percent=10; rebate_created=payment"
		eurRecord       = "balance_record=list; include_fiat_is=currency; currency_balance="
		list, create    = "POST " + listPath + " ", "POST " + createPath + " "
		bill, invite    = "POST " + invoicePath + " ", "POST /api/invite "
		own, withdrawal = "GET " + invoicePath + "?id=OWN", "GET " + getPath + "WITHDRAWAL"
		theirs          = "GET /api/reseller/invoice?id=RESELLER&invoice=INVOICE"
		invoices        = "POST /api/reseller/invoice/list?id=RESELLER "
		balance, stats  = "GET /api/reseller/balance?id=RESELLER", "GET /api/reseller/stats?id=RESELLER"
		inUsd           = "GET /api/reseller/balance/currency?id=RESELLER&currency=Usd"
		rebate, asShown = "GET /api/reseller/rebate/currency?id=RESELLER&currency=", "fiat_codes_in=as_shown"
	)
	withdraw := func(minor int, more string) string { return create + fmt.Sprintf(btc, minor, more) }
	inFiat := func(code, amountCode string, minor int64) string {
		return create + fmt.Sprintf(usd, code, amountCode, minor)
	}
	for _, c := range []struct{ settings, call, at, want string }{ // want is JSON, "absent", "ok", or a refusal
		{noMatch, list + `{"currencies":[{"Crypto":"Doge"}],"tags":[]}`, "", `{"page_content":[],"page_count":0,"total":0}`},
		{noMatch, list + `{"currencies":[],"tags":["Unheard"]}`, "total", "0"},
		{noMatch, list + `{"currencies":[{"Crypto":"Doge"},{"Crypto":"Btc"}],"tags":["Unheard","New"]}`, "total", "1"},
		{noMatch, list + `{"currencies":[{"Metal":"Au"}],"tags":[]}`, "", "400 invalid_body currencies[0]"},
		{"reversed_period=empty", list + `{"currencies":[],"tags":[],"from":"2026-06-01T00:00:00",` +
			`"to":"2026-05-01T00:00:00"}`,
			"total", "0"},
		{"empty_page_count=1", list + `{"currencies":[],"tags":["Failed"]}`, "page_count", "1"},
		{"invoice_filter=required", invoices + `{}`, "", "400 invalid_body currencies"},
		{"invoice_filter=required", invoices + everything, "total", "1"},
		{"invoice_filter=ignored", invoices + `{"anything":{"at":"all"},"tags":["Expired"]}`, "total", "1"},
		{"invoice_filter=ignored", invoices + `[]`, "", "400 invalid_body"},
		{"invoice_list=array", invoices + `{}`, "0.id", `"INVOICE"`},

		{limits, withdraw(15, `,"memo":"m"`), "", "400 invalid_body memo"},
		{limits, strings.ReplaceAll(withdraw(15, `,"memo":"m"`), "Btc", "Xlr"), "", "ok"},
		{"", strings.ReplaceAll(withdraw(15, ""), "Btc", "Xlr"), "", "400 memo_required memo Xlr"},
		{"", strings.ReplaceAll(withdraw(15, `,"memo":null`), "Btc", "UsdcXlr"), "", "400 memo_required UsdcXlr"},
		{limits, withdraw(9, ""), "", "400 invalid_amount 10 20"},
		{limits, withdraw(21, ""), "", "400 invalid_amount 10 20"},
		{limits, withdraw(10, ""), "", "ok"}, {limits, withdraw(20, ""), "", "ok"},
		{limits, bill + strings.Replace(usdInvoice, "2500", "9", 1), "", "400 invalid_amount items[0].amount"},
		{limits, bill + strings.Replace(usdInvoice, "[", `[{"name":"x","amount":"10"},`, 1), "", "400 invalid_body items 1"},
		{"errors=insufficient_funds=409:77", inFiat("Usd", "USD", 1<<62), "", "409 insufficient_funds"},
		{"errors=insufficient_funds=409:77", inFiat("Usd", "USD", 1<<62), "error.code", "77"},
		{"", withdrawal, "external_id", "absent"}, {"absent_fields=null", withdrawal, "external_id", "null"},
		{"", withdrawal, "external_order_id", "absent"}, {"absent_fields=null", withdrawal, "external_order_id", "null"},
		{"", withdrawal, "callback", "absent"}, {"absent_fields=null", withdrawal, "callback", "null"},
		{"", withdrawal, "memo", "absent"}, {"", own, "external_order_id", "absent"},
		{"absent_fields=null", own, "external_order_id", "null"}, {"", own, "external_number", "absent"},
		{"absent_fields=null", own, "external_number", "null"},

		{"invoice_statuses=Waiting,Done,Late", theirs, "status", `"Done"`}, {"invoice_states=A,B,C", theirs, "state", `"B"`},
		{"choosen_unpaid=omit", own, "choosen", "absent"}, {"choosen_unpaid=empty", own, "choosen", "{}"},
		{"choosen_paid=record", theirs, "choosen",
			`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":250}},"at":"2026-05-03T11:00:00"}`},
		{"choosen_paid=currency", theirs, "choosen", `{"Fiat":"Usd"}`},
		{"choosen_paid=null", theirs, "choosen", "null"}, {"choosen_paid=omit", theirs, "choosen", "absent"},
		// 2.50 Usd at 3 000 Usd an Eth of nine decimals is 833 333.3 gwei, rounded up.
		{inEth, theirs, "choosen.amount", `{"Crypto":{"Eth":833334}}`},
		{inEth, balance, "", `{"Crypto":{"Eth":833334},"Fiat":{}}`},
		{inEth, "GET /api/reseller/rebate?id=RESELLER", "", `[{"Crypto":{"Eth":83333}}]`},
		{inEth, stats, "total_volume", `{"Eth":{"Eth":833334}}`},
		{inEth, stats, "invoice_rebates.INVOICE", `{"id":"INVOICE","paid_amount":{"Eth":833334},"rebate":{"Eth":83333},` +
			`"created":"2026-05-03T11:00:00"}`},
		{"due_date_in=date_time", bill + invoiceBody(`,"due_date":"soon"`), "", "400 invalid_body due_date"},
		{"due_date_in=date_time", bill + invoiceBody(`,"due_date":"2026-05-03T11:00:00"`), "", "ok"},

		{"invite_label=No. {n} ({invite})", invite + `"` + uuid("o") + `"`, "label", `"No. 1 (` + uuid("o") + `)"`},
		{"invite_label=", invite + `"` + uuid("o") + `"`, "label", `""`},
		{"rebate_codes=amount", "GET /api/reseller/info?id=RESELLER", "rebates", `{"USD":{"Fiat":{"USD":2}}}`},
		{"", "GET /api/reseller/rebate?id=RESELLER", "", `[{"Fiat":{"USD":2}}]`},
		{"zero_amounts=show", "GET /api/reseller/rebate?id=RESELLER", "11.Fiat.KWD", "0"},
		{"", rebate + "Usd", "", `{"Usd":{"Fiat":{"USD":2}}}`}, {"", rebate + "Eth", "", `{"Eth":{"Crypto":{"Eth":0}}}`},
		{"", rebate + "eth", "", "400 unknown_currency eth"}, {"", rebate, "", "400 invalid_query currency"},
		{"rebate_codes=amount", rebate + "Usd", "", `{"USD":{"Fiat":{"USD":2}}}`},
		{"stats_zeros=omit", stats, "invoice_stats", `{"Paid":1}`},
		{"stats_codes=currency", stats, "total_volume", `{"Usd":{"Usd":250}}`},
		// 2.50 Usd at 1.08 Usd an Eur, and at 0.0067 Usd a Jpy, rounded down
		{eurRecord + "record", inUsd, "", `{"currency":{"Fiat":"Usd"},"balance":{"Fiat":{"USD":250}}}`},
		{eurRecord + "record", inUsd + "&include_fiat=Eur", "fiat", `{"Fiat":{"EUR":231}}`},
		{eurRecord + "record", balance, "", `[{"currency":{"Fiat":"Usd"},"balance":{"Fiat":{"USD":250}}}]`},
		{eurRecord + "amounts", inUsd + "&include_fiat=Eur", "", `[{"Fiat":{"USD":250}},{"Fiat":{"EUR":231}}]`},
		{eurRecord + "amounts", inUsd, "", `[{"Fiat":{"USD":250}}]`},
		{eurRecord + "amounts", balance, "", `[[{"Fiat":{"USD":250}}]]`},
		{eurRecord + "map", inUsd, "", `{"USD":250}`}, {eurRecord + "map", balance, "", `[{"USD":250}]`},
		{eurRecord + "map", inUsd + "&include_fiat=Eur", "", `{"USD":250,"EUR":231}`},
		{eurRecord + "map", inUsd + "&include_fiat=true", "", "400 unknown_currency"},
		{eurRecord + "map", inUsd + "&include_fiat=", "", "400 invalid_query"},
		{eurRecord + "map", inUsd + "&include_fiat=Btc", "", "400 invalid_query"},
		{"include_fiat=required", inUsd, "", "400 invalid_query include_fiat"},
		{"fiat_currency=Jpy; currency_balance=record", inUsd + "&include_fiat=true", "fiat", `{"Fiat":{"JPY":373}}`},

		{"currencies=Usd,Eth", create + btcBody, "", "400 unknown_currency Btc Eth"},
		{"currencies=Btc", bill + usdInvoice, "", "400 unknown_currency setting currencies"},
		{"currencies=Usd,Eth; zero_amounts=show", balance, "", `{"Crypto":{"Eth":0},"Fiat":{"USD":250}}`},
		{asShown, inFiat("Usd", "USD", 5), "", "ok"},
		{asShown, inFiat("USD", "USD", 5), "", "400 unknown_currency USD"},
		{asShown, inFiat("Usd", "Usd", 5), "", "400 unknown_currency Usd"},
		{asShown, rebate + "Usd", "", "ok"}, {asShown, rebate + "USD", "", "400 unknown_currency"},

		{"unknown_keys=ignore; empty_text=absent", bill + invoiceBody(`,"order_id":"","color":"red"`), "", "ok"},
		{"unknown_keys=ignore", bill + invoiceBody(`,"title":"t"`), "", "400 invalid_body title"},
		{"empty_text=absent", bill + strings.Replace(usdInvoice, "Order", "", 1), "", "400 invalid_body title"},
		{"max_text=10", bill + invoiceBody(`,"order_id":"ααααααααααα"`), "", "400 invalid_body order_id 10"},
		{"max_text=10", bill + invoiceBody(`,"order_id":"αααααααααα"`), "", "ok"},
		{"unknown_parameters=ignore", own + "&y=2", "", "ok"},
		{"unknown_keys=ignore", `POST /sandbox/pay {"invoice":"OWN","x":1}`, "", "400 invalid_body x"},
		{"unknown_parameters=ignore", "GET /sandbox/state?x=1", "", "400 invalid_query x"},
		{"envelope=as_shown", create + "{}", "", "400 invalid_body"},
		{"envelope=as_shown", "GET " + getPath + "x", "", "404 not_found"},
		{"envelope=as_shown", bill + "{}", "", "400 invalid_body"},
		{"envelope=as_shown", "POST /sandbox/pay {}", "", "400 invalid_body"},
		{"", `POST /sandbox/settings {"first_page":0}`, "", "400 invalid_body string"},
		{"", `POST /sandbox/settings ["first_page"]`, "", "400 invalid_body object"},
		{"", `POST /sandbox/settings {"withdrawal_pace":"New>Gone=1m"}`, "", "400 invalid_body step"},
	} {
		t.Run(c.settings+" "+c.call, func(t *testing.T) {
			b := newBox(t, settings(c.settings)...)
			var ids []string // with the names
			if strings.Contains(c.call, "RESELLER") {
				id, invoice, _ := b.paidReseller()
				ids = append(ids, "RESELLER", id, "INVOICE", invoice)
			}
			if strings.Contains(c.call, "WITHDRAWAL") || strings.HasPrefix(c.call, list) {
				ids = append(ids, "WITHDRAWAL", b.create(createPath, btcBody))
			}
			if strings.Contains(c.call, "OWN") {
				ids = append(ids, "OWN", b.create(invoicePath, usdInvoice))
			}
			named := strings.NewReplacer(ids...)
			method, rest, _ := strings.Cut(named.Replace(c.call), " ")
			path, body, _ := strings.Cut(rest, " ")
			b.answers(b.send(method, path, body), named.Replace(c.at), named.Replace(c.want))
		})
	}
}

// settings reads settings such as "first_page=0; list_order=oldest".
func settings(text string) (opts []sandbox.Option) {
	for setting := range strings.SplitSeq(text, "; ") {
		if name, value, found := strings.Cut(setting, "="); found {
			opts = append(opts, set(name, value))
		}
	}
	return opts
}

// answers compares an answer, or the part of it at a path of keys and indices, with JSON, with "absent", with "ok",
// or with the status, the reason and the names of a refusal.
func (b box) answers(w *httptest.ResponseRecorder, path, want string) {
	b.t.Helper()
	if words := strings.Fields(want); path == "" && len(words) > 1 && len(words[0]) == 3 {
		status, _ := strconv.Atoi(words[0])
		b.refused(w, status, words[1], words[2:]...)
		return
	}
	if want == "ok" {
		b.ok(w)
		return
	}
	got := decode(b.t, w.Body.String())
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		if n, err := strconv.Atoi(key); err == nil {
			got = at(b.t, got, n)
		} else if object, _ := got.(map[string]any); want == "absent" {
			failIf(b.t, object == nil || object[key] != nil, "%s is there", path)
			return
		} else {
			got = at(b.t, got, key)
		}
	}
	same(b.t, got, want)
}

// TestWithdrawalChoices checks ids in every format, also those of a dump, and what order ids and merchants' ids may
// look like. The script choices shows more.
func TestWithdrawalChoices(t *testing.T) {
	for format, shape := range map[string]string{"uuid": `^[0-9a-f-]{36}$`, "text": `^W-[A-Z2-7]{16}$`,
		"digits": `^[1-9][0-9]{17}$`} {
		b := newBox(t, set("id_format", format), sandbox.WithSeed("demo"))
		id, _, key := b.paidReseller()
		theirs := b.ok(b.sendAs(key, "POST", createPath, strings.Replace(btcBody, "1500", "5", 1))).(string)
		for _, item := range at(t, b.post(listPath, everything), "page_content").([]any) {
			id := at(t, item, "id").(string)
			failIf(t, !regexp.MustCompile(shape).MatchString(id), "%s: the id %q", format, id)
			same(t, at(t, b.get(getPath+id), "id"), `"`+id+`"`)
		}
		for _, b := range []box{b, newBox(t, sandbox.WithSeedJSON(dumped(t, b)), set("id_format", format))} {
			same(t, at(t, b.get("/api/reseller/withdraw?id="+id+"&withdraw="+theirs), "id"), `"`+theirs+`"`)
		}
	}

	b := newBox(t, settings("order_id_format=text; history_order=newest; fiat_address=fiat; merchant_id_format=digits")...)
	for text, number := range map[string]string{"A-17/ü": "absent", "007": "absent", "-5": "absent", "17": "17",
		"99999999999999999999": "absent"} {
		id := b.create(createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":5}},"address":"a",`+
			`"external_order_id":"`+text+`"}`)
		b.mustAdvance(id, "Processing")
		got := b.send("GET", getPath+id, "")
		b.answers(got, "external_order_id", `"`+text+`"`)
		b.answers(got, "external_id", number)
		b.answers(got, "statuses.0.status", `"Processing"`)
		merchant := at(t, b.ok(got), "merchant_id").(string)
		failIf(t, !regexp.MustCompile(`^[1-9][0-9]{9}$`).MatchString(merchant), "the merchant_id %q", merchant)
	}
	b.create(createPath, btcBody)
	list := b.send("POST", listPath, everything)
	b.answers(list, "page_content.1.address", `{"Fiat":{"currency":"Usd","address":"a"}}`)
	b.answers(list, "page_content.0.address", `{"Crypto":{"currency":"Btc","address":"bc1q"}}`)
	must(t, second(sandbox.New(sandbox.WithSeedJSON(dumped(t, b)))))
}

func TestWhoseChoices(t *testing.T) {
	for sees, whose := range map[string]string{"own": "owner", "all": "merchant"} {
		b := newBox(t, set("merchant_sees", sees), set("merchant_id_of", whose))
		first := b.create(createPath, btcBody)
		id, invoice, key := b.paidReseller()
		theirs := b.ok(b.sendAs(key, "POST", createPath, strings.Replace(btcBody, "1500", "5", 1))).(string)
		*b.now = b.now.Add(time.Hour)
		last := b.create(createPath, btcBody)
		want, seen, owner := []string{last, theirs, first}, 200, at(t, b.get(getPath+first), "merchant_id").(string)
		if sees == "own" {
			want, seen, owner = []string{last, first}, 404, id
		}
		equal(t, b.send("GET", getPath+theirs, "").Code, seen, "%s: a reseller's withdrawal", sees)
		equal(t, b.send("GET", "/api/invoice?id="+invoice, "").Code, seen, "%s: a reseller's invoice", sees)
		same(t, at(t, b.ok(b.sendAs(key, "GET", getPath+theirs, "")), "merchant_id"), `"`+owner+`"`)
		for page, id := range want {
			list := b.post(fmt.Sprintf("%s?page_size=1&page=%d", listPath, page+1), everything)
			same(t, at(t, list, "page_content", 0, "id"), `"`+id+`"`)
			same(t, at(t, list, "total"), fmt.Sprint(len(want)))
		}
		for _, hidden := range []string{first, last} { // the reseller never sees the merchant's
			b.refused(b.sendAs(key, "GET", getPath+hidden, ""), 404, "not_found")
		}
		same(t, at(t, b.ok(b.sendAs(key, "POST", listPath, everything)), "total"), "1")
		same(t, at(t, b.post("/api/reseller/withdraw/list?id="+id, everything), "total"), "1")
	}

	b := newBox(t, set("reseller_withdraws", "forbidden"))
	_, key := b.reseller("Shop")
	b.refused(b.sendAs(key, "POST", createPath, btcBody), 403, "forbidden")
	b.create(createPath, btcBody)
}

func TestInvoiceChoices(t *testing.T) {
	b := newBox(t, set("paid_in", "Eth"), set("rates", "Eth=0.000000001"))
	says(t, b.PayInvoice(b.create(invoicePath, strings.Replace(usdInvoice, "2500", "9223372036854775807", 1))), "paid_in")

	b = newBox(t, set("min_items", "0"))
	free := b.create(invoicePath, `{"title":"t","currency":{"Fiat":"Usd"},"items":[]}`)
	must(t, b.PayInvoice(free))
	same(t, at(t, b.get(invoicePath+"?id="+free), "items"), `[]`)
	inEth := newBox(t, set("paid_in", "Eth"))
	inEth.paidReseller()
	for _, b := range []box{b, inEth} {
		text := dumped(t, b)
		must(t, b.Restore(text))
		equal(t, string(dumped(t, b)), string(text), "the dump of a dump")
	}
}

func TestCurrencyChoices(t *testing.T) {
	b := newBox(t, set("currencies", "Usd,Eth"))
	wrong, ok := errors.AsType[*sandbox.Error](b.Fund("Btc", 1))
	failIf(t, !ok || wrong.Kind != sandbox.UnknownCurrency, "Btc: %v", wrong)
	b.create(createPath, `{"currency":{"Crypto":"Eth"},"amount":{"Fiat":{"USD":250}},"address":"a"}`)
	equal(t, b.Balance("Eth"), 1_000_000_000_000_000-833_334, "the balance of gwei") // 833 333.3, rounded up
	// Usd is first in the order of swaps here, and Btc first by default.
	for order, from := range map[string]string{"Ltc,Usd,Btc": "Usd", "Ltc,Btc,Usd": "Btc"} {
		b = newBox(t, set("currencies", order), set("code_case", "any"))
		b.create(createPath, `{"currency":{"Crypto":"ltc"},"amount":{"Crypto":{"LTC":100000000000100}},"address":"a"}`)
		if swaps := b.Swaps(); len(swaps) != 1 || swaps[0].From != from {
			t.Errorf("%s: %+v", order, swaps)
		}
	}
}

func TestRequestChoices(t *testing.T) {
	b := newBox(t, set("content_type", "required"))
	b.refused(b.send("POST", createPath, btcBody), 415, "wrong_content_type", "application/json")
	b.refused(b.with("POST", createPath, btcBody, "Content-Type", "text/plain"), 415, "wrong_content_type",
		"text/plain")
	b.ok(b.with("POST", createPath, btcBody, "Content-Type", "application/json; charset=utf-8"))
	b.get("/api/invites")
	b.post("/sandbox/reset", `{}`)

	b = newBox(t, set("requests_per_second", "1"))
	for range 2 {
		b.get("/api/invites")
		w := b.send("GET", "/api/invites", "")
		b.refused(w, 429, "rate_limited", "1")
		equal(t, w.Header().Get("Retry-After"), "1", "Retry-After")
		b.get("/sandbox/state")
		*b.now = b.now.Add(time.Second)
	}

	b = newBox(t, set("envelope", "as_shown"))
	for path, status := range map[string]int{"/api/invoice?id=" + uuid("x"): 404, "/api/nothing": 404,
		"/api/resellers?x=1": 400} {
		w := b.send("GET", path, "")
		failIf(t, w.Code != status || strings.HasPrefix(w.Body.String(), "{") || w.Body.Len() == 0,
			"%s: %d %s", path, w.Code, w.Body)
	}
}
