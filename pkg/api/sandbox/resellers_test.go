package sandbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// A shop is a sandbox with one reseller, at 1.5 percent, that has five invoices: two paid in Usd (10.01 and
// 20.00), one paid in Btc (199 satoshi), one waiting, one expired.
type shop struct {
	box
	id, key                     string
	usd1, expired, merchantsOwn string
}

func newShop(t *testing.T, opts ...sandbox.Option) shop {
	t.Helper()
	s := shop{box: newBox(t, append(opts, set("rebate_percent", "1.5"))...)}
	s.id, s.key = s.reseller("Books")
	minute := 0
	invoice := func(kind, code, amount string) string {
		t.Helper()
		*s.now = start.Add(time.Duration(minute) * time.Minute)
		minute++
		return s.ok(s.sendAs(s.key, "POST", "/api/invoice", fmt.Sprintf(
			`{"title":"T","currency":{%q:%q},"items":[{"name":"N","amount":%q}]}`, kind, code, amount))).(string)
	}
	s.usd1 = invoice("Fiat", "Usd", "1001")
	usd2, btc := invoice("Fiat", "Usd", "2000"), invoice("Crypto", "Btc", "199")
	invoice("Fiat", "Usd", "50")
	s.expired = invoice("Fiat", "Usd", "70")
	s.merchantsOwn = s.create("/api/invoice", usdInvoice)
	for _, id := range []string{s.usd1, usd2, btc, s.merchantsOwn} {
		must(t, s.PayInvoice(id))
	}
	must(t, s.ExpireInvoice(s.expired))
	s.ok(s.sendAs(s.key, "POST", createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":1}},"address":"a"}`))
	return s
}

func TestResellerBalances(t *testing.T) {
	// Paid: 30.01 Usd and 199 satoshi; one cent was withdrawn. 199 satoshi at 60000 are 11.94 cents.
	s := newShop(t)
	same(t, s.get("/api/reseller/balance?id="+s.id), `{"Crypto":{"Btc":199},"Fiat":{"USD":3000}}`)
	in := "/api/reseller/balance/currency?currency=Btc&id=" + s.id
	plain, withFiat := `[{"Crypto":{"Btc":199}}]`, `[{"Crypto":{"Btc":199}},{"Fiat":{"USD":11}}]`
	for query, want := range map[string]string{
		"": plain, "&include_fiat=false": plain, "&include_fiat": withFiat, "&include_fiat=": withFiat,
		"&include_fiat=true": withFiat,
	} {
		same(t, s.get(in+query), want)
	}
	s.refused(s.send("GET", in+"&include_fiat=yes", ""), 400, "invalid_query", "include_fiat")
	s.refused(s.send("GET", "/api/invoice?id="+strings.Repeat("%80", 70), ""), 400, "invalid_query", "id") // no character begins
}

// TestResellersOwnKey checks that a reseller's key reads what is its own, and nothing else.
func TestResellersOwnKey(t *testing.T) {
	for setting, want := range map[string][4]int{ // for its own, another's, none's, and what is of all
		"own": {200, 403, 403, 403}, "bearer": {403, 403, 403, 403}, "any_key": {200, 200, 400, 200}} {
		s := newShop(t, set("reseller_auth", setting))
		other, _ := s.reseller("Tea")
		for route := range strings.FieldsSeq("GET:info? GET:invite? GET:stats? GET:balance? GET:rebate? " +
			"POST:withdraw/list?page_size=5& POST:invoice/list?page_size=5&") {
			method, path, _ := strings.Cut(route, ":")
			for i, query := range []string{"id=" + strings.ToUpper(s.id), "id=" + other, ""} {
				got := s.sendAs(s.key, method, "/api/reseller/"+path+query, everything).Code
				equal(t, got, want[i], "%s: %s%s", setting, path, query)
			}
		}
		for _, path := range []string{"/api/resellers", "/api/resellers/ids", "/api/invites"} {
			equal(t, s.sendAs(s.key, "GET", path, "").Code, want[3], "%s: %s", setting, path)
		}
	}
}

func TestResellerInvoices(t *testing.T) {
	s := newShop(t)
	path := "/api/reseller/invoice/list?id=" + s.id
	all := s.post(path, `{}`)
	same(t, at(t, all, "total"), "5")
	same(t, at(t, all, "page_content", 0, "id"), fmt.Sprintf("%q", s.expired))
	for filter, want := range map[string]string{
		`{"tags":["Paid"]}`: "3", `{"tags":["Awaiting","Expired"],"currencies":[]}`: "2",
		`{"currencies":[{"Crypto":"Btc"}]}`: "1", `{"from":"2026-05-03T10:01:00","to":"2026-05-03T10:02:00"}`: "2",
	} {
		same(t, at(t, s.post(path, filter), "total"), want)
	}
	s.refused(s.send("POST", path, `{"tags":["New"]}`), 400, "invalid_body", "New")
	s.refused(s.send("POST", path, `[]`), 400, "invalid_body")

	one := s.get("/api/reseller/invoice?id=" + s.id + "&invoice=" + s.usd1)
	same(t, one, at(t, s.post(path+"&page_size=1&page=5", `{}`), "page_content", 0))
	s.refused(s.send("GET", "/api/reseller/invoice?id="+s.id+"&invoice="+s.merchantsOwn, ""), 404, "not_found")
	own := s.create(createPath, btcBody)
	s.refused(s.send("GET", "/api/reseller/withdraw?id="+s.id+"&withdraw="+own, ""), 404, "not_found")
	same(t, at(t, s.post("/api/reseller/withdraw/list?id="+s.id, everything), "total"), "1")
}

func TestUnknownReseller(t *testing.T) {
	b := newBox(t)
	id := uuid("nobody")
	for _, path := range []string{"info?", "invite?", "stats?", "balance?", "balance/currency?currency=Btc&",
		"rebate?", "rebate/currency?currency=Btc&",
		"withdraw?withdraw=" + id + "&", "invoice?invoice=" + id + "&", "invoice/finished?invoice=" + id + "&"} {
		b.refused(b.send("GET", "/api/reseller/"+path+"id="+id, ""), 404, "not_found", id)
		b.refused(b.send("GET", "/api/reseller/"+path+"id=x", ""), 400, "invalid_query", "id")
		b.refused(b.send("GET", "/api/reseller/"+strings.TrimRight(path, "?&"), ""), 400, "invalid_query", "id")
	}
	b.refused(b.send("POST", "/api/reseller/withdraw/list?id="+id, everything), 404, "not_found")
	b.refused(b.send("POST", "/api/reseller/invoice/list?id="+id, `{}`), 404, "not_found")
}

const invoicePath = "/api/invoice"

const usdInvoice = `{"title":"Order","currency":{"Fiat":"Usd"},"items":[{"name":"Book","amount":"2500"}]}`

func TestInvoiceRefused(t *testing.T) {
	good := `{"title":"T","currency":{"Fiat":"Usd"},"items":[{"name":"A","amount":"1"},{"name":"B","amount":"2"}],` +
		`"number":1,"order_id":"o","callback_url":"http://a.example","due_date":"x"}`
	b := newBox(t)
	b.refuses(invoicePath, good, []swap{
		{`"title":"T",`, ``, "invalid_body", "title"}, {`"title"`, `"tittle"`, "invalid_body", "tittle"},
		{`"T"`, `null`, "invalid_body", "title"}, {`{"Fiat":"Usd"}`, `{"Fiat":"Xxx"}`, "unknown_currency", "Xxx"},
		{`"items":[{"name":"A","amount":"1"},{"name":"B","amount":"2"}],`, ``, "invalid_body", "items"},
		{`[{"name":"A","amount":"1"},{"name":"B","amount":"2"}]`, `[]`, "invalid_body", "items"},
		{`{"name":"A","amount":"1"},`, `null,`, "invalid_body", "items[0]"},
		{`"2"`, `2`, "invalid_body", "items[1].amount"}, {`"2"`, `"2.0"`, "invalid_amount", "items[1].amount"},
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

// TestInvites checks what the scripts invite_create and sandbox_invite_redeem do not show.
func TestInvites(t *testing.T) {
	b := newBox(t, set("invite_reuse", "accept"))
	id := "6f1c2a34-9d0e-4b7a-8c55-0123456789ab"
	same(t, b.post("/api/invite", `"`+strings.ToUpper(id)+`"`),
		`{"invite":"`+id+`","label":"Invite 1","url":"http://sandbox.localhost/invite/`+id+`"}`)
	b.refused(b.send("POST", "/api/invite", `"`+id+`"`), 422, "invite_exists", id)
	b.refused(b.send("GET", "/api/invite?id="+uuid("x"), ""), 404, "not_found")
	for _, body := range []string{``, `null`, `{}`, `""`, `"x"`, `5`, `["` + id + `"]`, `"` + id + `" "x"`, `"{` +
		id + `}"`, `"` + strings.ReplaceAll(id, "-", "") + `"`} {
		b.refused(b.send("POST", "/api/invite", body), 400, "invalid_body")
	}
	same(t, b.get("/api/invites"), `[{"invite":"`+id+`","label":"Invite 1"}]`)
	first, key, err1 := b.RedeemInvite(strings.ToUpper(id), "")
	second, _, err2 := b.RedeemInvite(id, "")
	failIf(t, err1 != nil || err2 != nil || first == second, "redeemed twice: %s %s %v %v", first, second, err1, err2)
	failIf(t, !strings.HasPrefix(key, "till_sandbox_") || key == b.Key(), "the reseller's key is %q", key)
	same(t, at(t, b.get("/api/reseller/info?id="+first), "invite_info", "label"), `"Invite 1"`)

	b = newBox(t, set("invite_uuid", "reference"), set("invite_url", "https://join.example/{invite}"))
	made := b.post("/api/invite", `"`+id+`"`)
	own := at(t, made, "invite").(string)
	failIf(t, own == id, "the invite took the UUID that was sent")
	same(t, made, `{"invite":"`+own+`","label":"`+id+`","url":"https://join.example/`+own+`"}`)
	b.post("/api/invite", `"`+id+`"`) // a reference may come twice
}
