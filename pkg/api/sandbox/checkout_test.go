package sandbox_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// visit requests a page as a browser does, without a key. Headers are given as "Name: value".
func (b box) visit(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:80"+path, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return b.do(r)
}

// shows checks that the answer is a page with this status and these pieces of HTML.
func (b box) shows(w *httptest.ResponseRecorder, status int, pieces ...string) {
	b.t.Helper()
	if w.Code != status {
		b.t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	header := w.Header()
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Content-Length": fmt.Sprint(w.Body.Len()),
	} {
		equal(b.t, header.Get(name), want, "%s", name)
	}
	body := w.Body.String()
	_, style, _ := strings.Cut(body, "<style>")
	style, _, found := strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action "
	if got := header.Get("Content-Security-Policy"); !found || !strings.HasPrefix(got, policy) ||
		!strings.HasSuffix(got, "; base-uri 'none'; frame-ancestors 'none'") {
		b.t.Errorf("Content-Security-Policy: %s\nwant %s...", got, policy)
	}
	for _, piece := range append(pieces, `<html lang="en">`, "no real money") {
		failIf(b.t, !strings.Contains(body, piece), "the page does not hold %s:\n%s", piece, body)
	}
	for _, piece := range []string{"<script", " style=", " on", "ZgotmplZ", "<img", "<link", "<iframe"} {
		if _, body, _ := strings.Cut(body,
			"</style>"); strings.Contains(regexp.MustCompile(`>[^<]*<`).ReplaceAllString(body, "><"), piece) {
			b.t.Errorf("the page holds %s:\n%s", piece, body)
		}
	}
}

// hides checks that a page does not contain these pieces.
func (b box) hides(w *httptest.ResponseRecorder, pieces ...string) {
	b.t.Helper()
	for _, piece := range pieces {
		failIf(b.t, strings.Contains(w.Body.String(), piece), "the page holds %s:\n%s", piece, w.Body)
	}
}

// leads checks that the answer is a redirect to an address.
func (b box) leads(w *httptest.ResponseRecorder, to string) {
	b.t.Helper()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != to {
		b.t.Fatalf("status %d to %q, want 303 to %q: %s", w.Code, w.Header().Get("Location"), to, w.Body)
	}
	equal(b.t, w.Header().Get("Cache-Control"), "no-store", "Cache-Control of the redirect")
}

func shopInvoice(callback string) string {
	return strings.Replace(usdInvoice, "{", `{"callback_url":"`+callback+`",`, 1)
}

// TestInvoicePage checks what the page shows before and after the payment, and that an invoice without a shop
// leads back to its page. The script checkout goes a customer's way.
func TestInvoicePage(t *testing.T) {
	b := newBox(t, set("invoice_statuses", "Waiting,Done,Late"))
	id := b.create(invoicePath, strings.NewReplacer("{\"title", `{"number":0,"order_id":"secret-17","title`,
		"Fiat", "Crypto", "Usd", "Btc").Replace(usdInvoice))
	path := "/invoice/" + strings.ToUpper(id)
	w := b.visit("GET", path+"?lang=de")
	b.shows(w, 200, "<dd>0</dd>", ">Waiting</span>", "Pay 0.00002500 Btc",
		`<time datetime="2026-05-03T10:00:00Z">3 May 2026, 10:00:00 UTC</time>`)
	b.hides(w, "Paid at", "Return to the shop", "secret-17", "<input", `role="alert"`)
	*b.now = start.Add(time.Minute)
	b.leads(b.visit("POST", path+"/pay"), "../"+id)
	w = b.visit("GET", path)
	b.shows(w, 200, ">Done</span>", `<time datetime="2026-05-03T10:01:00Z">3 May 2026, 10:01:00 UTC</time>`)
	b.hides(w, "Return to the shop", "<form", "<button")
	b.hides(b.visit("GET", "/invoice/"+b.create(invoicePath, usdInvoice)), "Invoice number")
}

// TestIndex checks that a browser finds the open invoices, and that a program gets the same answer as before.
func TestIndex(t *testing.T) {
	b := newBox(t)
	index := func() *httptest.ResponseRecorder {
		return b.visit("GET", "/", "Accept: text/html,application/xhtml+xml")
	}
	b.shows(index(), 200, "<h1>Open invoices</h1>", "No invoice waits for payment.")
	paid := b.create(invoicePath, usdInvoice)
	must(t, b.PayInvoice(paid))
	*b.now = start.Add(time.Minute)
	old := b.create(invoicePath, usdInvoice)
	*b.now = start.Add(2 * time.Minute)
	whole := b.create(invoicePath, strings.NewReplacer("Usd", "Jpy", "2500", "7000").Replace(usdInvoice))
	b.shows(b.visit("GET", "/invoice/"+whole), 200, ">Pay 7\u202f000 JPY<", "<td class=\"amount\">7\u202f000 JPY</td></tr>\n</tbody>")
	newest := b.create(invoicePath,
		strings.NewReplacer(`"title":"`, `"title":"\u202e`, "Usd", "Kwd", "2500", "1234567000").Replace(usdInvoice))
	w := index()
	b.shows(w, 200, `<a href="invoice/`+old+`"><bdi>`, `<td class="amount">25.00 USD</td>`, `<bdi>\u202e`,
		"1\u202f234\u202f567.000 KWD")
	b.hides(w, paid, "No invoice")
	text := w.Body.String()
	failIf(t, strings.Index(text, newest) > strings.Index(text, old), "the newest is not the first")
	b.refused(b.send("GET", "/", ""), 404, "unknown_path", "")
}

// TestPaymentOverflowOnPage checks that a payment that overflows the books is refused on the page, and the
// invoice stays payable.
func TestPaymentOverflowOnPage(t *testing.T) {
	b := newBox(t)
	id := b.create(invoicePath, strings.Replace(usdInvoice, "2500", "9223372036854775807", 1))
	b.shows(b.visit("POST", "/invoice/"+id+"/pay"), 422, `role="alert"`, "int64", "<form")
	b.refused(b.send("POST", "/sandbox/fund", `{"amount":{"Fiat":{"USD":9223372036854775807}}}`), 422, "amount_too_large")
	same(t, at(t, b.get(invoicePath+"?id="+id), "status"), `"Awaiting"`)
}

// TestPaymentFails checks that the setting payment_fails lets payments on the page fail. The page says so and
// offers to try again, and everything else is as if there had been no payment.
func TestPaymentFails(t *testing.T) {
	for fails, attempts := range map[string]int{"never": 0, "first": 1, "always": 3} {
		t.Run(fails, func(t *testing.T) {
			b := newBox(t, set("payment_fails", fails))
			id := b.create(invoicePath, shopInvoice("https://shop.example/"))
			page := "/invoice/" + id
			untouched := func() string { return fmt.Sprint(b.get(invoicePath+"?id="+id), b.Balance("Usd")) }
			before := untouched()
			w := b.visit("GET", page)
			b.shows(w, 200, "<title>Invoice (Awaiting): Order", ">Pay 25.00 USD</button>")
			b.hides(w, `role="alert"`, "Failed")
			for n := range attempts {
				*b.now = start.Add(time.Duration(n+1) * time.Minute)
				b.leads(b.visit("POST", page+"/pay"), "../"+id) // not to the shop
				b.shows(b.visit("GET", page), 200, "<title>Payment failed: Order", `role="alert"`, "The payment failed.",
					"Nothing was paid.", "try again", ">Awaiting</span>", ">Try again: pay 25.00 USD</button>",
					`<dt>Last payment</dt><dd><span class="status failed">Failed</span></dd>`,
					fmt.Sprintf("<dt>Failed at</dt><dd><time datetime=\"2026-05-03T10:%02d:00Z\">", n+1))
				equal(t, untouched(), before, "after a payment that failed")
			}
			if fails == "always" {
				must(t, b.PayInvoice(id))
			} else {
				b.leads(b.visit("POST", page+"/pay"), "https://shop.example/")
			}
			w = b.visit("GET", page)
			b.shows(w, 200, ">Paid</span>", "<title>Invoice (Paid): Order")
			b.hides(w, "Failed", "The payment failed", `role="alert"`)
			same(t, at(t, b.get(invoicePath+"?id="+id), "status"), `"Paid"`)
		})
	}
}

// TestFailedPaymentExpires checks that an invoice with a failed payment can expire, to the second, and then
// says only that, and that a paid one does not expire.
func TestFailedPaymentExpires(t *testing.T) {
	b := newBox(t, set("payment_fails", "first"), set("invoice_expiry", "15m"), set("errors", "wrong_status=409:1"))
	id, paid := b.create(invoicePath, shopInvoice("https://shop.example/")), b.create(invoicePath, usdInvoice)
	must(t, b.PayInvoice(paid))
	b.leads(b.visit("POST", "/invoice/"+id+"/pay"), "../"+id)
	*b.now = start.Add(15 * time.Minute)
	w := b.visit("GET", "/invoice/"+id)
	b.shows(w, 200, "<title>Invoice (Expired)", ">Expired</span>", `<time datetime="2026-05-03T10:15:00Z">`,
		"has expired and can no longer be paid", `<a class="onward" href="https://shop.example/">Return to the shop</a>`)
	b.hides(w, "The payment failed", ">Failed<", "<form", "<button", `role="alert"`)
	w = b.visit("POST", "/invoice/"+id+"/pay")
	b.shows(w, 409, `role="alert"`, "It was not paid.", "It had expired")
	b.hides(w, "<form")
	same(t, at(t, b.get(invoicePath+"?id="+id), "status"), `"Expired"`)
	same(t, at(t, b.get(invoicePath+"?id="+paid), "status"), `"Paid"`)
}

// TestFailedPaymentIsKept checks that a failed payment is part of a dump, and of a seed written by a person.
func TestFailedPaymentIsKept(t *testing.T) {
	b := newBox(t, set("payment_fails", "first"))
	id := b.create(invoicePath, usdInvoice)
	b.leads(b.visit("POST", "/invoice/"+id+"/pay"), "../"+id)
	seed := `{"invoices":[{"id":"` + id + `","total":"25.00 Usd","failed_at":"2026-05-03T10:00:00Z"}]}`
	for _, text := range [][]byte{dumped(t, b), []byte(seed)} {
		again := newBox(t, sandbox.WithSeedJSON(text), set("payment_fails", "first"))
		again.shows(again.visit("GET", "/invoice/"+id), 200, "The payment failed.",
			`<dt>Failed at</dt><dd><time datetime="2026-05-03T10:00:00Z">`)
		again.leads(again.visit("POST", "/invoice/"+id+"/pay"), "../"+id)
		same(t, at(t, again.get(invoicePath+"?id="+id), "status"), `"Paid"`)
	}
}

// TestPageEscapes checks that the page shows the merchant's text as text, and escapes invisible characters.
func TestPageEscapes(t *testing.T) {
	b := newBox(t)
	invoice := func(title, item string) string {
		return "/invoice/" + b.create(invoicePath,
			fmt.Sprintf(`{"title":"%s","currency":{"Fiat":"Usd"},"items":[{"name":"%s","amount":"5"}]}`, title, item))
	}
	w := b.visit("GET", invoice(`</title><script>alert(1)</script>&amp;`, `<b onclick='x'>\"{{.}}`))
	b.shows(w, 200, "<bdi>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;</bdi>",
		"<bdi>&lt;b onclick=&#39;x&#39;&gt;&#34;{{.}}</bdi>")
	b.hides(w, "<script", "<b ")
	b.shows(b.visit("GET", invoice(`Pay \u202eDSU 00.1\u2066 \u200b\u00ad`, `\u061c\u3164\ue000\u2028\udb40\udc41`)),
		200,
		`<bdi>Pay \u202eDSU 00.1\u2066 \u200b\u00ad</bdi>`, `<bdi>\u061c\u3164`+"\ue000"+`\u2028\U000e0041</bdi>`,
		`: Pay \u202eDSU 00.1`)
	// Words and emoji need the joiners.
	b.shows(b.visit("GET", invoice("👩‍💻 می\u200cخواهم ☂️", "שלום")), 200, "<bdi>👩‍💻 می\u200cخواهم ☂️</bdi>",
		"<bdi>שלום</bdi>")
}

// TestFormAction checks that a page with a form lets it lead on through redirects to any shop, and that other
// pages have no form.
func TestFormAction(t *testing.T) {
	b := newBox(t)
	policy := func(path string) string {
		_, after, _ := strings.Cut(b.visit("GET", path).Header().Get("Content-Security-Policy"), "form-action ")
		sources, _, _ := strings.Cut(after, ";")
		return sources
	}
	id := b.create(invoicePath, shopInvoice("https://shop.example/thanks"))
	equal(t, policy("/invoice/"+id), "http: https:", "form-action")
	b.visit("POST", "/invoice/"+id+"/pay")
	for _, path := range []string{"/invoice/" + id, "/invoice/x"} {
		equal(t, policy(path), "'none'", "%s: a page without a form has form-action", path)
	}
	for _, bad := range []string{"javascript:alert(1)", "data:text/html,x", "//shop.example/", "/thanks",
		"ftp://shop.example/", "http:///x", "http:shop.example", "https://a b/"} {
		b.refused(b.send("POST", invoicePath, shopInvoice(bad)), 400, "invalid_body", "callback_url")
	}
	id = b.create(invoicePath, shopInvoice("https://bücher.example/danke schön"))
	b.leads(b.visit("POST", "/invoice/"+id+"/pay"), "https://b%c3%bccher.example/danke sch%c3%b6n")
}

func TestPageNotFound(t *testing.T) {
	b := newBox(t)
	id, none := b.create(invoicePath, usdInvoice), uuid("none")
	for _, path := range []string{"/invoice/", "/invoice/x", "/invoice/" + none, "/invoice/" + id + "/",
		"/invoice/" + id + "/paid", "/invoice//pay", "/invoice/" + id + "/pay/pay", "/invoice/..%2f" + id, "/invite/",
		"/invite/" + id, "/invite/" + id + "/pay", "/invoice/%3Cscript%3E"} {
		w := b.visit("GET", path)
		b.shows(w, 404, "<h1>Nothing is here</h1>")
		b.hides(w, "<form", "<script")
	}
	b.shows(b.visit("POST", "/invoice/"+none+"/pay"), 404)
	b.shows(b.visit("POST", "/invoice/x/pay"), 404)
	b.refused(b.visit("GET", "/invoice"), 404, "unknown_path") // the error of the interface, not a page
	b.set(map[string]string{"errors": "not_found=410:7"})
	b.shows(b.visit("GET", "/invoice/"+none), 410)
}

func TestPageMethods(t *testing.T) {
	b := newBox(t)
	id := b.create(invoicePath, usdInvoice)
	page, pay := "/invoice/"+id, "/invoice/"+id+"/pay"
	got, head := b.visit("GET", page), b.visit("HEAD", page)
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(got.Body.Len()) ||
		head.Header().Get("Content-Security-Policy") != got.Header().Get("Content-Security-Policy") {
		t.Errorf("HEAD: %d %v %s", head.Code, head.Header(), head.Body)
	}
	for _, c := range [][4]string{
		{page, "GET, HEAD", "POST PUT DELETE PATCH OPTIONS ET X", ""},
		{pay, "POST", "GET PUT DELETE OPTIONS", `<a href="../` + id + `">Go to the invoice</a>`},
	} {
		for method := range strings.FieldsSeq(c[2]) {
			w := b.visit(method, c[0])
			b.shows(w, 405, method, c[3])
			equal(t, w.Header().Get("Allow"), c[1], "%s: Allow", method)
		}
	}
	head = b.visit("HEAD", pay)
	failIf(t, head.Code != 405 || head.Body.Len() != 0, "HEAD of %s: %d", pay, head.Code)
	same(t, at(t, b.get(invoicePath+"?id="+id), "status"), `"Awaiting"`)
}

func TestInvitePage(t *testing.T) {
	for reuse, shown := range map[string]string{"reject": "has been redeemed", "accept": "invite redeem "} {
		b := newBox(t, set("invite_reuse", reuse))
		id, path := uuid("invite"), "/invite/"+uuid("invite")
		b.post("/api/invite", `"`+id+`"`)
		b.shows(b.visit("GET", path), 200, "<bdi>Invite 1</bdi>", "<code>till sandbox invite redeem "+id+"</code>")
		_, _, err := b.RedeemInvite(id, "A & \u202eB")
		must(t, err)
		w := b.visit("GET", path)
		b.shows(w, 200, `<bdi>A &amp; \u202eB</bdi>`, shown)
		equal(t, strings.Contains(w.Body.String(), "<code>"), reuse == "accept", "that it can be redeemed")
		b.shows(b.visit("POST", path), 405)
	}
}

// TestPageOfBrokenState checks that the error for an unreadable state is a page too.
func TestPageOfBrokenState(t *testing.T) {
	b := newBox(t, sandbox.WithState(filepath.Join(t.TempDir(), "box.db")))
	id := b.create(invoicePath, usdInvoice)
	must(t, b.Close())
	for method, path := range map[string]string{"GET": "/invoice/" + id, "POST": "/invoice/" + id + "/pay"} {
		b.shows(b.visit(method, path), 500, "<h1>This did not work</h1>")
	}
}
