package sandbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	createPath = "/api/merchant_withdrawal/create"
	getPath    = "/api/merchant_withdrawal?id="
)

const btcBody = `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"bc1q"}`

func TestWithdrawalRefused(t *testing.T) {
	const amount = `{"Crypto":{"Btc":1500}}`
	const good = `{"currency":{"Crypto":"Btc"},"amount":` + amount + `,"address":"bc1q",` +
		`"callback":"https://a.example","external_order_id":"7","memo":"m"}`
	newBox(t).refuses(createPath, good, []swap{
		{good, ``, "invalid_body", "empty"}, {good, `null`, "invalid_body", "null"},
		{good, good[:30], "invalid_body", "JSON"}, {good, good + `{}`, "invalid_body", "after"},
		{"bc1q", "bc\xff", "invalid_body", "UTF-8"}, {"bc1q", `bc\ud800`, "invalid_body", "address"},
		{`"memo"`, `"tag"`, "invalid_body", "tag"}, {`"memo":"m"`, `"address":"x"`, "invalid_body", "twice"},
		{`"currency":{"Crypto":"Btc"},`, ``, "invalid_body", "currency"},
		{`{"Crypto":"Btc"}`, `"Btc"`, "invalid_body", "currency"},
		{`{"Crypto":"Btc"}`, `{"Crypto":"Btc","Fiat":"Usd"}`, "invalid_body", "currency"},
		{`{"Crypto":"Btc"}`, `{"Crypto":"btc"}`, "unknown_currency", "btc"},
		{`{"Crypto":"Btc"}`, `{"Crypto":1}`, "invalid_body", "currency.Crypto"},
		{`{"Crypto":"Btc"}`, `{"Fiat":"Btc"}`, "unknown_currency", "Btc"},
		{`"amount":{"Crypto":{"Btc":1500}},`, ``, "invalid_body", "amount"},
		{amount, `{"Crypto":{"Btc":1,"Eth":1}}`, "invalid_body", "amount.Crypto"},
		{amount, `{"Crypto":{"Btc":1,"Btc":2}}`, "invalid_body", "twice"},
		{amount, `{"Crypto":{"Btc":1},"Fiat":{"USD":1}}`, "invalid_body", "amount"},
		{amount, `{"Crypto":{"Btc":0}}`, "invalid_amount", "amount.Crypto.Btc"},
		{amount, `{"Crypto":{"Btc":1.0}}`, "invalid_body", "amount.Crypto.Btc"},
		{amount, `{"Crypto":{"Btc":1e3}}`, "invalid_body", "amount.Crypto.Btc"},
		{amount, `{"Crypto":{"Btc":"1500"}}`, "invalid_body", "amount.Crypto.Btc"},
		{amount, `{"Crypto":{"Btc":9223372036854775808}}`, "invalid_body", "int64"},
		{amount, `{"Crypto":{"Eth":1500}}`, "invalid_amount", "Btc"}, {`"address":"bc1q",`, ``, "invalid_body", "address"},
		{`"bc1q"`, `"  "`, "invalid_body", "address"}, {`"bc1q"`, `"bc\u0007"`, "invalid_body", "address"},
		{`"bc1q"`, `12`, "invalid_body", "address"}, {"https://a.example", "ftp://a.example", "invalid_body", "callback"},
		{"https://a.example", "http://:80", "invalid_body", "callback"},
		{`"7"`, `"seven"`, "invalid_body", "external_order_id"}, {`"7"`, `"07"`, "invalid_body", "external_order_id"},
		{`"7"`, `"9223372036854775808"`, "invalid_body", "external_order_id"}, {`"m"`, `""`, "invalid_body", "memo"},
	})
}

// A swap replaces a part of a good body, and is refused.
type swap struct{ old, new, reason, names string }

// refuses checks that the good body is taken, and that none with a swap is, and does something.
func (b box) refuses(path, good string, swaps []swap) {
	b.t.Helper()
	b.create(path, good)
	before := dumped(b.t, b)
	for _, c := range swaps {
		failIf(b.t, !strings.Contains(good, c.old), "%s is not in the good body", c.old)
		b.refused(b.send("POST", path, strings.Replace(good, c.old, c.new, 1)), 400, c.reason, c.names)
	}
	equal(b.t, string(dumped(b.t, b)), string(before), "after the refusals, the dump")
}

func TestWithdrawalFiatEquivalent(t *testing.T) {
	// 25.00 USD at 60000 is 41666.67 satoshi; at 1 it is 25 Usdt.
	for _, code := range []string{"USD", "Usd"} {
		b := newBox(t)
		btc := b.Balance("Btc")
		id := b.create(createPath, `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"`+code+`":2500}},"address":"a"}`)
		equal(t, btc-b.Balance("Btc"), 41667, "%s: satoshi taken", code)
		same(t, at(t, b.get(getPath+id), "amount"), `{"Fiat":{"USD":2500}}`)
	}

	b := newBox(t, set("amount_shown", "converted"), set("rates", "Btc=50000"))
	id := b.create(createPath, `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"a"}`)
	same(t, at(t, b.get(getPath+id), "amount"), `{"Crypto":{"Btc":50000}}`)
	b.refused(b.send("POST", createPath, `{"currency":{"Crypto":"Eth"},"amount":{"Fiat":{"KWD":9223372036854775807}},`+
		`"address":"a"}`), 422, "amount_too_large", "Eth")
}

// TestDuplicateOrderID checks that an order id is used once by each account, if the settings say so. None is no
// duplicate of none.
func TestDuplicateOrderID(t *testing.T) {
	for path, body := range map[string]string{
		createPath: strings.Replace(btcBody, "{", `{"external_order_id":"7",`, 1), invoicePath: invoiceBody(`,"order_id":"7"`),
	} {
		b := newBox(t)
		first, second := b.create(path, body), b.create(path, body)
		failIf(t, first == second, "two records share an id")
		b = newBox(t, set("duplicate_order_ids", "reject"), set("duplicate_invoice_order_ids", "reject"))
		b.create(path, body)
		balance := b.Balance("Btc")
		b.refused(b.send("POST", path, body), 422, "duplicate_order_id", "7")
		equal(t, b.Balance("Btc"), balance, "the balance after the refusal")
		_, key := b.reseller("other account")
		failIf(t, strings.Contains(b.sendAs(key, "POST", path, body).Body.String(), "duplicate"), "it is one of another account")
		for range 2 {
			b.create(createPath, btcBody)
			b.create(invoicePath, usdInvoice)
		}
	}
}

// TestWithdrawalStatuses checks what the script sandbox_advance does not show: times, and flows with a circle.
func TestWithdrawalStatuses(t *testing.T) {
	b := newBox(t)
	id := b.create(createPath, btcBody)
	*b.now = start.Add(90*1e9 + 5)
	b.mustAdvance(id, "Processing")
	equal(t, b.statuses(id), "New 10:00:00, Processing 10:01:30", "the history")
	for _, status := range []string{"New", "Cancelled", "Processing", "completed", ""} {
		failIf(t, b.AdvanceWithdrawal(id, status) == nil, "a Processing withdrawal became %q", status)
	}
	balance := b.Balance("Btc")
	b.mustAdvance(id, "Completed")
	equal(t, b.Balance("Btc"), balance, "the balance")

	b = newBox(t, set("withdrawal_flow", "Queued>Sent,Sent>Queued"))
	id = b.create(createPath, btcBody)
	b.mustAdvance(id, "Sent", "Queued", "Sent")
	same(t, at(t, b.get(getPath+id), "current"), `"Sent"`)
}

const listPath = "/api/merchant_withdrawal/list"

const everything = `{"currencies":[],"tags":[]}`

// orders returns the order ids on a page, first to last.
func orders(t testing.TB, page any) string {
	t.Helper()
	text := ""
	for _, item := range at(t, page, "page_content").([]any) {
		text += at(t, item, "external_order_id").(string)
	}
	return text
}

// fill makes n withdrawals with the order ids 1 to n, a minute apart: odd ones in Btc, even ones in Ltc.
func fill(b box, n int) (ids []string) {
	b.t.Helper()
	for i := 1; i <= n; i++ {
		*b.now = start.Add(time.Duration(i) * time.Minute)
		code := []string{"Ltc", "Btc"}[i%2]
		ids = append(ids, b.create(createPath, fmt.Sprintf(
			`{"currency":{"Crypto":%[1]q},"amount":{"Crypto":{%[1]q:10}},"address":"a","external_order_id":"%[2]d"}`,
			code, i)))
	}
	return ids
}

func TestPages(t *testing.T) {
	const sizes = "default_page_size=2; max_page_size=4"
	for _, c := range []struct{ settings, query, want string }{ // want are the order ids, or a refusal
		{"", "page_size=3", "765"}, {"", "page_size=3&page=1", "765"}, {"", "page_size=3&page=2", "432"},
		{"", "page_size=3&page=3", "1"}, {"", "page_size=3&page=0", ""}, {"", "page_size=3&page=4", ""},
		{"", "page_size=3&page=9223372036854775807", ""}, {"first_page=0", "page_size=3&page=0", "765"},
		{"first_page=0", "page_size=3&page=2", "1"}, {"first_page=0", "page_size=3&page=3", ""},
		{"list_order=oldest", "page_size=3", "123"}, {"list_order=oldest", "page_size=3&page=3", "7"},
		{"first_page=0; list_order=oldest", "page_size=3&page=2", "7"},
		{"page_out_of_range=reject", "page_size=3&page=4", "400 page_out_of_range 4"},
		{"first_page=0; page_out_of_range=reject", "page_size=3&page=3", "400 page_out_of_range 3"},
		{"page_out_of_range=clamp", "page_size=3&page=4", "1"}, {"page_out_of_range=clamp", "page_size=3&page=0", "765"},
		{"first_page=0; page_out_of_range=clamp", "page_size=3&page=3", "1"}, {sizes, "", "76"},
		{sizes, "page_size=5", "400 invalid_query page_size 4"}, {sizes + "; page_size_too_large=clamp", "page_size=5", "7654"},
		{"", "page_size=0", "400 invalid_query"}, {"", "page_size=-1", "400 invalid_query"},
		{"", "page_size=x", "400 invalid_query"}, {"", "page_size=", "400 invalid_query"}, {"", "page=-1", "400 invalid_query"},
		{"", "page=1.0", "400 invalid_query"}, {"", "page=01", "400 invalid_query"}, {"", "page=1&page=2", "400 invalid_query"},
		{"", "size=3", "400 invalid_query"},
	} {
		b := newBox(t, settings(c.settings)...)
		fill(b, 7)
		w := b.send("POST", listPath+"?"+c.query, everything)
		if strings.Contains(c.want, " ") {
			b.answers(w, "", c.want)
			continue
		}
		got := b.ok(w)
		equal(t, orders(t, got), c.want, "%s %s", c.settings, c.query)
		same(t, at(t, got, "total"), "7")
		if strings.HasPrefix(c.query, "page_size=3") {
			same(t, at(t, got, "page_count"), "3")
		}
	}
	newBox(t, set("page_out_of_range", "reject")).post(listPath+"?page=1", everything) // an empty list has a first page
}

func TestFilters(t *testing.T) {
	b := newBox(t)
	ids := fill(b, 6) // 10:01 to 10:06
	for _, id := range ids[:2] {
		must(t, b.AdvanceWithdrawal(id, "Processing"))
	}
	for _, test := range []struct{ currencies, tags, more, want string }{
		{"", "", "", "654321"}, {`{"Crypto":"Btc"}`, "", "", "531"}, {`{"Crypto":"Btc"},{"Crypto":"Ltc"}`, "", "", "654321"},
		{`{"Fiat":"Usd"}`, "", "", ""}, {"", `"Processing"`, "", "21"}, {"", `"New"`, "", "6543"},
		{`{"Crypto":"Btc"}`, `"Processing"`, "", "1"}, {"", "", `,"from":"2026-05-03T10:04:00"`, "654"},
		{"", "", `,"to":"2026-05-03T10:04:00"`, "4321"},
		{"", "", `,"from":"2026-05-03T10:04:00","to":"2026-05-03T10:04:00"`, "4"},
		{"", "", `,"from":"2026-05-03T12:04:00+02:00","to":"2026-05-03T10:05:00Z"`, "54"},
		{"", "", `,"from":"2026-05-03T10:04:01","to":"2026-05-03T10:04:59"`, ""},
		{`{"Crypto":"Btc"}`, `"New"`, `,"from":"2026-05-03T10:04:00","to":null`, "5"},
	} {
		got := b.post(listPath, fmt.Sprintf(`{"currencies":[%s],"tags":[%s]%s}`, test.currencies, test.tags, test.more))
		equal(t, orders(t, got), test.want, "%+v", test)
		same(t, at(t, got, "total"), fmt.Sprint(len(test.want)))
	}
}

func TestFilterSettings(t *testing.T) {
	b := newBox(t, set("tags_match", "history"), set("period_end", "exclusive"), set("filter_times", "layout"),
		set("time_layout", "02.01.2006 15:04:05"))
	ids := fill(b, 3)
	must(t, b.AdvanceWithdrawal(ids[0], "Processing"))
	equal(t, orders(t, b.post(listPath, `{"currencies":[],"tags":["New"]}`)), "321", "the orders by history")
	got := b.post(listPath, `{"currencies":[],"tags":[],"to":"03.05.2026 10:03:00"}`)
	failIf(t, orders(t, got) != "21", "to is not exclusive: %q", orders(t, got))
	same(t, at(t, got, "page_content", 0, "statuses", 0, "at"), `"03.05.2026 10:02:00"`)
	b.refused(b.send("POST", listPath, `{"currencies":[],"tags":[],"to":"2026-05-03T10:03:00Z"}`), 400,
		"invalid_body", "to")
}

func TestFilterRefused(t *testing.T) {
	b := newBox(t)
	for body, names := range map[string]string{
		`{}`: "currencies", `{"currencies":[]}`: "tags", `{"tags":[]}`: "currencies",
		`{"currencies":{},"tags":[]}`: "currencies", `{"currencies":["Btc"],"tags":[]}`: "currencies[0]",
		`{"currencies":[],"tags":["Unheard"]}`: "Unheard", `{"currencies":[],"tags":[],"from":5}`: "from",
		`{"currencies":[],"tags":[],"from":"today"}`: "from", `{"currencies":[],"tags":[],"to":""}`: "to",
		`{"currencies":[],"tags":[],"page":1}`:                                                "page",
		`{"currencies":[],"tags":[],"from":"2026-05-04T00:00:00","to":"2026-05-03T00:00:00"}`: "from",
	} {
		b.refused(b.send("POST", listPath, body), 400, "invalid_body", names)
	}
	b.refused(b.send("POST", listPath, `{"currencies":[{"Crypto":"Doge"}],"tags":[]}`), 400, "unknown_currency", "Doge")
}

// TestListAfterClockSetBack checks that lists are in order of creation even if the clock was set back, and that a
// time from an answer, sent as a filter, finds its record.
func TestListAfterClockSetBack(t *testing.T) {
	b := newBox(t)
	for i, minute := range []time.Duration{5, 9, 7, 7, 1} {
		*b.now = start.Add(minute*time.Minute + 700*time.Millisecond)
		b.create(createPath, strings.Replace(btcBody, "{", fmt.Sprintf(`{"external_order_id":"%d",`, i), 1))
	}
	all := b.post(listPath, everything)
	equal(t, orders(t, all), "13204", "the orders, newest first")
	shown := at(t, all, "page_content", 0, "statuses", 0, "at").(string)
	for filter, want := range map[string]string{`"from":"2026-05-03T10:05:00","to":"2026-05-03T10:07:00"`: "320",
		fmt.Sprintf(`"from":%[1]q,"to":%[1]q`, shown): "1"} {
		equal(t, orders(t, b.post(listPath, `{"currencies":[],"tags":[],`+filter+`}`)), want, "%s: the orders", filter)
	}
}
