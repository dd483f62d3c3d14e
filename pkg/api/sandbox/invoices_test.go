package sandbox_test

import (
	"strings"
	"testing"
)

const invoicePath = "/api/invoice"

const usdInvoice = `{"title":"Order","currency":{"Fiat":"Usd"},"items":[{"name":"Book","amount":"2500"}]}`

func TestInvoiceExpires(t *testing.T) {
	b := newBox(t, set("invoice_statuses", "Waiting,Done,Late"), set("invoice_states", "Begun,Ended,Dropped"))
	id := b.create(invoicePath, usdInvoice)
	must(t, b.ExpireInvoice(id))
	b.answers(b.send("GET", invoicePath+"?id="+id, ""), "status", `"Late"`)
	b.answers(b.send("GET", invoicePath+"?id="+id, ""), "state", `"Dropped"`)
	says(t, b.PayInvoice(id), "has expired")
}

func TestInvoiceRefused(t *testing.T) {
	good := `{"title":"T","currency":{"Fiat":"Usd"},"items":[{"name":"A","amount":"1"},{"name":"B","amount":"2"}],` +
		`"number":1,"order_id":"o","callback_url":"http://a.example","due_date":"x"}`
	b := newBox(t)
	b.refuses(invoicePath, good, []swap{
		{`"title":"T",`, ``, "invalid_body", "title"},
		{`"title"`, `"tittle"`, "invalid_body", "tittle"},
		{`"T"`, `null`, "invalid_body", "title"},
		{`{"Fiat":"Usd"}`, `{"Fiat":"Xxx"}`, "unknown_currency", "Xxx"},
		{`"items":[{"name":"A","amount":"1"},{"name":"B","amount":"2"}],`, ``, "invalid_body", "items"},
		{`[{"name":"A","amount":"1"},{"name":"B","amount":"2"}]`, `[]`, "invalid_body", "items"},
		{`{"name":"A","amount":"1"},`, `null,`, "invalid_body", "items[0]"},
		{`"2"`, `2`, "invalid_body", "items[1].amount"},
		{`"2"`, `"2.0"`, "invalid_amount", "items[1].amount"},
		{`"2"`, `"0"`, "invalid_amount", "items[1].amount"},
		{`"2"`, `"9223372036854775808"`, "invalid_amount", "items[1].amount"},
		{`"name":"B"`, `"label":"B"`, "invalid_body", "items[1].label"},
		{`"name":"B",`, ``, "invalid_body", "items[1].name"},
		{`"number":1`, `"number":"1"`, "invalid_body", "number"},
		{`http://a.example`, `javascript:alert(1)`, "invalid_body", "callback_url"},
	})
	b.refused(b.send("POST", invoicePath, strings.Replace(good, `"2"`, `"9223372036854775807"`, 1)), 422,
		"amount_too_large", "items")
}
