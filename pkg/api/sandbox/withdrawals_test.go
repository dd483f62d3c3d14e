package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
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

func TestWithdrawalMemo(t *testing.T) {
	b := newBox(t, set("memo_shown", "yes"))
	for _, c := range sandbox.Currencies() {
		key := string(c.Kind)
		body := fmt.Sprintf(`{"currency":{%[1]q:%[2]q},"amount":{%[1]q:{%[2]q:100}},"address":"a"}`, key, c.Code)
		w := b.send("POST", createPath, body)
		if !c.MemoRequired {
			b.ok(w)
			continue
		}
		b.refused(w, 400, "memo_required", "memo", c.Code)
		withNull := strings.TrimSuffix(body, "}") + `,"memo":null}`
		b.refused(b.send("POST", createPath, withNull), 400, "memo_required")
		id := b.create(createPath, strings.TrimSuffix(body, "}")+`,"memo":"12"}`)
		same(t, at(t, b.get(getPath+id), "memo"), `"12"`)
	}
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
		failIf(t, b.create(path, body) == b.create(path, body), "two records share an id")
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
