//go:build unix

package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/till/e2e/chromium"
)

// TestCheckoutInBrowser checks that a customer who comes from the shop can pay with the button and returns to
// the shop, through its redirects to any origin. Back leads to the invoice as it is, and not as it was. No script
// runs, and the browser reports no problem.
func TestCheckoutInBrowser(t *testing.T) {
	b := chromium.Start(t)
	box := newBox(t)
	origin := make(chan string, 1) // the Origin of the form that paid
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/pay") {
			origin <- r.Header.Get("Origin") + " " + r.Header.Get("Sec-Fetch-Site")
		}
		box.ServeHTTP(w, r)
	}))
	defer service.Close()
	referers := make(chan string, 1)
	var page string // the page of the invoice
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, `<!doctype html><title>Shop</title><a href="%s">To the checkout</a>`, page)
		case "/thanks":
			referers <- r.Referer()
			fmt.Fprint(w, `<!doctype html><title>Thanks</title>Thanks`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer shop.Close()
	shopURL := strings.Replace(shop.URL, "127.0.0.1", "localhost", 1) // a different site from the sandbox's
	thanks := shopURL + "/thanks?order=1001"
	back := thanks
	for i := range 2 { // redirects of the shop, each on a port of its own: 302, 307
		next := httptest.NewServer(http.RedirectHandler(back, http.StatusFound+i*5))
		defer next.Close()
		back = next.URL + "/return"
	}
	id := box.create(invoicePath, fmt.Sprintf(`{"title":"Order 1001","number":1001,"currency":{"Fiat":"Usd"},
		"items":[{"name":"Coffee beans","amount":"2500"},{"name":"Shipping","amount":"450"}],
		"callback_url":%q}`, back))
	page = service.URL + "/invoice/" + id

	b.Use(chromium.Screen(375, 720, "light"))
	b.Open(shopURL + "/")
	b.Click("a")
	equal(t, b.Loaded(), page, "the page that the link leads to")
	b.Click("form button")
	equal(t, b.Loaded(), thanks, "the page after the payment")
	same(t, at(t, box.get(invoicePath+"?id="+id), "status"), `"Paid"`)
	equal(t, <-origin, service.URL+" same-origin", "the origin of the form")
	equal(t, <-referers, "", "the shop was told")
	equal(t, b.Back(), page, "the page before that")
	equal(t, b.Count("form"), 0, "the forms of a paid invoice")
	b.Click("a")
	equal(t, b.Loaded(), thanks, "the page that the link leads to")
	<-referers
	b.Quiet()
}

// TestPagesInBrowser checks that every page fits every screen, and looks as designed.
func TestPagesInBrowser(t *testing.T) {
	b, box := chromium.Start(t), newBox(t, set("payment_fails", "always"))
	server := httptest.NewServer(box)
	defer server.Close()
	b.Use(chromium.Screen(1280, 800, "light"))
	invoice := func(title, currency, item, amount string) string {
		return box.create(invoicePath, fmt.Sprintf(`{"title":%q,"number":1001,"currency":%s,
			"items":[{"name":%q,"amount":%q},{"name":"Shipping","amount":"450"}],
			"callback_url":"http://localhost:1/thanks"}`, title, currency, item, amount))
	}
	waiting, paid, expired := invoice("Order 1001", `{"Fiat":"Usd"}`, "Coffee beans", "2500"),
		invoice("Order 1002", `{"Fiat":"Eur"}`, "Tea", "300"), invoice("Order 1003", `{"Fiat":"Usd"}`, "Cocoa", "900")
	failed := invoice("Order 1005", `{"Fiat":"Usd"}`, "Coffee beans", "2500")
	box.leads(box.visit("POST", "/invoice/"+failed+"/pay"), "../"+failed)
	long := invoice(strings.Repeat("Long", 60), `{"Crypto":"UsdtTrc20"}`, strings.Repeat("very-long-name-", 20),
		"9223372036854775000")
	longFailed := invoice(strings.Repeat("Long", 60), `{"Crypto":"UsdtTrc20"}`, strings.Repeat("very-long-name-", 20),
		"9223372036854775000")
	box.leads(box.visit("POST", "/invoice/"+longFailed+"/pay"), "../"+longFailed)
	hebrew := invoice("הזמנה 1004", `{"Fiat":"Jpy"}`, "ספר (2)", "1200")
	must(t, box.PayInvoice(paid))
	must(t, box.ExpireInvoice(expired))
	invite := at(t, box.post("/api/invite", `"`+uuid("page")+`"`), "invite").(string)
	for _, page := range []struct{ name, path string }{
		{"waiting", "/invoice/" + waiting}, {"paid", "/invoice/" + paid}, {"expired", "/invoice/" + expired},
		{"failed", "/invoice/" + failed}, {"long-failed", "/invoice/" + longFailed},
		{"long", "/invoice/" + long}, {"hebrew", "/invoice/" + hebrew}, {"missing", "/invoice/" + uuid("none")},
		{"method", "/invoice/" + waiting + "/pay"}, {"invite", "/invite/" + invite},
	} {
		for _, look := range chromium.Looks() {
			b.Use(look)
			b.Open(server.URL + page.path)
			got := b.ContentWidth()
			failIf(t, got > look.Width, "%s, %s: it is %d wide", page.name, look, got)
			picture := b.Picture(page.name + "-" + look.String())
			equal(t, picture.Bounds().Dx(), look.Width, "%s, %s: the width of the picture", page.name, look)
			failIf(t, chromium.Dark(picture) != (look.Scheme == "dark"),
				"%s, %s: its ground is of the other kind", page.name, look)
			b.Quiet()
		}
	}
}
