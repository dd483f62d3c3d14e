// Package checkout serves pages for a browser: an invoice, which a customer can pay there, and an invite.
package checkout

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// Anyone who has the address of a page may see it, as with any hosted checkout, so the pages need no key.
// They have no script and load nothing.
const (
	invoicePages = "/invoice/"
	invitePages  = "/invite/"
)

// IsPage reports whether a request is for a page: below those of invoices and invites, or the index, for a
// browser.
func IsPage(r *http.Request) bool {
	path := r.URL.Path
	return strings.HasPrefix(path, invoicePages) || strings.HasPrefix(path, invitePages) ||
		path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

//go:embed checkout.html
var checkoutHTML string

//go:embed checkout.css
var checkoutCSS string

// checkout holds what all pages share. It is built at the first request for a page, because many programs
// with a sandbox never show one.
var checkout = sync.OnceValue(func() (c struct {
	templates *template.Template
	styleHash string
}) {
	c.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"style":   func() template.CSS { return template.CSS(checkoutCSS) },
		"visible": visible,
		"amount":  amount,

		"awaiting": func() store.InvoicePhase { return store.Awaiting },
		"paid":     func() store.InvoicePhase { return store.Paid },
		"expired":  func() store.InvoicePhase { return store.Expired },
	}).Parse(checkoutHTML))
	sum := sha256.Sum256([]byte(checkoutCSS))
	c.styleHash = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return c
})

type page struct {
	status   int
	template string
	view     any
	hasForm  bool
	next     string // redirects the browser there instead
}

type Pages struct {
	Store  *store.Store
	Status func(refusal.Kind) int // returns the HTTP status of a refusal
}

// Serve answers one request for a page. It makes the checks in the same order as the interface and uses the
// same statuses, but its errors are pages too. The caller has checked Host and origin first; refused is the
// error of these checks.
func (s *Pages) Serve(w http.ResponseWriter, r *http.Request, refused error) {
	p, err := page{}, refused
	if err == nil {
		p, err = s.page(w, r)
	}
	if err != nil {
		p = s.problem(r.URL.Path, err)
	}
	header := w.Header()
	formAction := "'none'"
	if p.hasForm {
		// The form itself leads to the sandbox, and then to the shop, and the shop may redirect to any other
		// address. Browsers apply the policy to every redirect.
		formAction = "http: https:"
	}
	header.Set("Content-Security-Policy", "default-src 'none'; style-src "+checkout().styleHash+
		"; form-action "+formAction+"; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	// Other sites get no Referer. The page itself does, because a browser that may not send a Referer also
	// hides the origin of a form.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if p.next != "" {
		// Chromium keeps a page for its Back in spite of no-store, but not if a cookie has changed since. After a
		// payment, the page must not come back as it was. Nothing reads the cookie.
		http.SetCookie(w, &http.Cookie{Name: "changed", Value: rand.Text(), MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		redirect(w, r, p.next)
		return
	}
	var body bytes.Buffer
	if err := checkout().templates.ExecuteTemplate(&body, p.template, p.view); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // not reached: every view fits its template
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		w.Write(body.Bytes())
	}
}

// redirect leaves a relative address as it is. http.Redirect would make it absolute, without the prefix of a
// proxy.
func redirect(w http.ResponseWriter, r *http.Request, to string) {
	if !strings.HasPrefix(to, "../") {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

func (s *Pages) page(w http.ResponseWriter, r *http.Request) (p page, err error) {
	if err := s.Store.Refresh(); err != nil {
		return p, err
	}
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return s.index(), nil
	}
	id, isInvoice := strings.CutPrefix(r.URL.Path, invoicePages)
	show := s.invoicePage
	if !isInvoice {
		id, show = strings.TrimPrefix(r.URL.Path, invitePages), s.invitePage
	}
	methods := []string{http.MethodGet, http.MethodHead}
	if toPay, pays := strings.CutSuffix(id, "/pay"); pays && isInvoice {
		id, show, methods = toPay, s.payPage, []string{http.MethodPost}
	}
	id, ok := wire.ParseUUID(id)
	if !ok {
		return p, refusal.New(refusal.UnknownPath, "There is no page at this address. Check that it was copied whole.")
	}
	if !slices.Contains(methods, r.Method) {
		allow := strings.Join(methods, ", ")
		w.Header().Set("Allow", allow)
		return p, refusal.New(refusal.WrongMethod, "This address does not take %s; use %s.", refusal.Shorten(r.Method), allow)
	}
	return show(id)
}

// IsVisit reports whether a request follows a link to a page, from any site. That is safe: a browser that
// navigates to the page lets no other page read it.
func IsVisit(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

type invoicePageView struct {
	store.Invoice
	Pay    string // the address of the form
	Status string
	Sum    string
	Alert  string // why a payment was refused
}

func (v invoicePageView) Failed() bool { return v.Phase == store.Awaiting && !v.FailedAt.IsZero() }

// amount formats minor units, which an item has as text. A thin space that does not break is between
// thousands.
func amount(minor, code string) string {
	c := money.ByCode[code]
	n, _ := money.ParseInteger(minor) // checked before
	text := money.Format(n, c.Decimals)
	whole := len(text)
	if c.Decimals > 0 {
		whole = strings.IndexByte(text, '.')
	}
	for at := whole - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text + " " + c.AmountCode()
}

// backLink leads from the form on the page of an invoice to the invoice. The pages link to each other by
// relative addresses, so that they work behind a proxy that strips a prefix from the path.
func backLink(id string) string { return "../" + id }

func (s *Pages) invoicePage(id string) (page, error) { return s.showInvoice(id, id+"/pay", nil) }

// payPage pays an invoice when the customer pushes the button. A customer who pushes it twice pays once and
// is redirected both times. After a payment that failed, the customer is redirected to the invoice, so that a
// reload does not try again.
func (s *Pages) payPage(id string) (page, error) {
	refused := s.Store.Pay(id, s.Store.Terms().PaymentFails)
	if v, _ := s.Store.Invoice(id); v.Phase == store.Paid {
		return page{next: cmp.Or(v.Callback, backLink(v.ID))}, nil
	}
	if refused == nil {
		return page{next: backLink(id)}, nil
	}
	return s.showInvoice(id, "pay", refused)
}

func (s *Pages) index() page {
	var open []invoicePageView
	s.Store.Read(func(st *store.State) {
		for _, v := range st.Invoices {
			if v.Phase == store.Awaiting {
				open = append(open, invoicePageView{Invoice: *v, Sum: amount(strconv.FormatInt(v.Total, 10), v.Currency)})
			}
		}
	})
	slices.SortFunc(open, func(a, b invoicePageView) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return page{status: http.StatusOK, template: "index", view: open[:min(len(open), mostListed)]}
}

const mostListed = 100

// showInvoice returns the page of an invoice, whichever key made it. If a payment has just been refused, the
// page says why. The form leads to pay.
func (s *Pages) showInvoice(id, pay string, refused error) (page, error) {
	v, found := s.Store.Invoice(id)
	if !found {
		return page{}, refusal.New(refusal.NotFound,
			"There is no invoice at this address. Check that it was copied whole, or go back to the shop for a new one.")
	}
	view := invoicePageView{v, pay, s.Store.Terms().InvoiceStatuses[v.Phase],
		amount(strconv.FormatInt(v.Total, 10), v.Currency), ""}
	p := page{status: http.StatusOK, template: "invoice", hasForm: v.Phase == store.Awaiting}
	if refused != nil {
		f := refusal.From(refused)
		p.status, view.Alert = s.Status(f.Kind), f.Message
		if f.Kind == refusal.WrongStatus {
			view.Alert = "It had expired when the button was pushed."
		}
	}
	p.view = view
	return p, nil
}

func (s *Pages) invitePage(id string) (page, error) {
	var view store.Invite
	s.Store.Read(func(st *store.State) {
		if v := st.Invites[id]; v != nil {
			view = *v
			// With invite_reuse=accept it can be redeemed again.
			view.Redeemed = v.Redeemed && s.Store.Terms().InviteReuse == "reject"
		}
	})
	if view.ID == "" {
		return page{}, refusal.New(refusal.NotFound,
			"There is no invite at this address. Check that it was copied whole, or ask for a new one.")
	}
	return page{status: http.StatusOK, template: "invite", view: view}, nil
}

type problemView struct {
	Title, Text string
	Invoice     string // the address of an invoice to link to
}

func (s *Pages) problem(path string, err error) page {
	f := refusal.From(err)
	view := problemView{Title: "This did not work", Text: f.Message}
	switch f.Kind {
	case refusal.NotFound, refusal.UnknownPath:
		view.Title = "Nothing is here"
	case refusal.WrongHost, refusal.CrossOrigin:
		view.Title = "Refused"
	case refusal.WrongMethod:
		if toPay, pays := strings.CutSuffix(path, "/pay"); pays {
			if id, ok := wire.ParseUUID(strings.TrimPrefix(toPay, invoicePages)); ok {
				view.Invoice = backLink(id)
			}
		}
	}
	return page{status: s.Status(f.Kind), template: "problem", view: view}
}

// visible escapes invisible characters, for example as \u202e, above all those that change the direction of
// writing. It keeps the two joiners, because words of some languages and many emoji need them.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
