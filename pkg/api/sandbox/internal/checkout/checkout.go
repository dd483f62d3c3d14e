// Package checkout serves the pages that a browser shows: an invoice, which a customer pays there, and an invite.
package checkout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
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

// Anyone who has the address of a page may see it, as with any hosted checkout, so no key is wanted. There
// is no script in the pages, and nothing is loaded from anywhere.
const (
	invoicePages = "/invoice/"
	invitePages  = "/invite/"
)

func IsPage(path string) bool {
	return strings.HasPrefix(path, invoicePages) || strings.HasPrefix(path, invitePages)
}

//go:embed checkout.html
var checkoutHTML string

//go:embed checkout.css
var checkoutCSS string

// checkout is what all pages share. It is made when the first of them is asked
// for, since a program that only brings the sandbox along has no use for it.
var checkout = sync.OnceValue(func() (c struct {
	templates *template.Template
	styleHash string
	plainHost *regexp.Regexp
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
	c.plainHost = regexp.MustCompile(`^(127\.0\.0\.1|([a-z0-9-]+\.)*[a-z][a-z0-9-]*)(:[1-9][0-9]{0,4})?$`)
	return c
})

// A page is one answer to a browser.
type page struct {
	status     int
	template   string
	view       any
	formAction string // where its form may lead, or nothing where it has none
	next       string // sends the browser there and shows nothing
}

// Pages answers browsers.
type Pages struct {
	Store  *store.Store
	Status func(refusal.Kind) int // of a refusal
}

// Serve answers one request for a page. The order of the checks is that of the
// interface, and so are the statuses, but errors are pages too. The checks of Host
// and origin come first: refused is what they have said.
func (s *Pages) Serve(w http.ResponseWriter, r *http.Request, refused error) {
	p, err := page{}, refused
	if err == nil {
		p, err = s.page(w, r)
	}
	if err != nil {
		p = s.problem(r.URL.Path, err)
	}
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src "+checkout().styleHash+
		"; form-action "+cmp.Or(p.formAction, "'none'")+"; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	// Other sites are told nothing. The page itself still is, because a browser
	// that may not send a Referer does not say where a form comes from either.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if p.next != "" {
		http.Redirect(w, r, p.next, http.StatusSeeOther)
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

func (s *Pages) page(w http.ResponseWriter, r *http.Request) (page, error) {
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
		return page{}, refusal.New(refusal.UnknownPath, "There is no page at this address. Check that it was copied whole.")
	}
	if !slices.Contains(methods, r.Method) {
		allow := strings.Join(methods, ", ")
		w.Header().Set("Allow", allow)
		return page{}, refusal.New(refusal.WrongMethod, "This address does not take %s; use %s.", refusal.Shorten(r.Method), allow)
	}
	if err := s.Store.Refresh(); err != nil {
		return page{}, err
	}
	return show(id)
}

// IsVisit says whether somebody follows a link to a page, from whatever site: a
// browser that opens the page for itself lets no other page look into it.
func IsVisit(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

type invoicePageView struct {
	store.Invoice
	Status string
	Sum    string
	Alert  string // why a payment was not taken
}

// amount shows minor units, which an item has as text.
func amount(minor, code string) string {
	c := money.ByCode[code]
	n, _ := money.ParseInteger(minor) // was checked
	return money.Format(n, c.Decimals) + " " + c.AmountCode()
}

func (s *Pages) invoicePage(id string) (page, error) { return s.showInvoice(id, nil) }

// payPage pays an invoice at the push of a button. A customer who pushes it twice
// has paid once and is led on all the same.
func (s *Pages) payPage(id string) (page, error) {
	refused := s.Store.PayInvoice(id)
	if v, _ := s.Store.Invoice(id); v.Phase == store.Paid {
		return page{next: cmp.Or(v.Callback, invoicePages+v.ID)}, nil
	}
	return s.showInvoice(id, refused)
}

// showInvoice is the page of an invoice, whichever key made it, and says why it could not be paid when
// somebody has just tried.
func (s *Pages) showInvoice(id string, refused error) (page, error) {
	v, found := s.Store.Invoice(id)
	if !found {
		return page{}, refusal.New(refusal.NotFound, "There is no invoice at this address. Check that it was copied whole, or go back to the shop for a new one.")
	}
	view := invoicePageView{v, s.Store.Terms.InvoiceStatuses[v.Phase], amount(strconv.FormatInt(v.Total, 10), v.Currency), ""}
	p := page{status: http.StatusOK, template: "invoice"}
	if v.Phase == store.Awaiting {
		p.formAction = formAction(v.Callback)
	}
	if refused != nil {
		f := refusal.From(refused)
		p.status, view.Alert = s.Status(f.Kind), f.Description
		if f.Kind == refusal.WrongStatus {
			view.Alert = "It had expired when the button was pushed."
		}
	}
	p.view = view
	return p, nil
}

// formAction is where the form of an invoice may lead: to the sandbox, and on to
// the shop, since browsers hold a redirect against it too. A host that a policy
// cannot spell, such as [::1] or one with letters outside ASCII, is let through by
// its scheme.
func formAction(callback string) string {
	shop, err := url.Parse(callback)
	if err != nil || callback == "" {
		return "'self'"
	}
	if host := strings.ToLower(shop.Host); checkout().plainHost.MatchString(host) {
		return "'self' " + shop.Scheme + "://" + host
	}
	return "'self' " + shop.Scheme + ":"
}

func (s *Pages) invitePage(id string) (page, error) {
	var view store.Invite
	s.Store.Read(func(st *store.State) {
		if v := st.Invites[id]; v != nil {
			view = *v
			view.Redeemed = v.Redeemed && s.Store.Terms.InviteReuse == "reject" // or it can be again
		}
	})
	if view.ID == "" {
		return page{}, refusal.New(refusal.NotFound, "There is no invite at this address. Check that it was copied whole, or ask for a new one.")
	}
	return page{status: http.StatusOK, template: "invite", view: view}, nil
}

type problemView struct {
	Title, Text string
	Invoice     string // whose page leads further
}

func (s *Pages) problem(path string, err error) page {
	f := refusal.From(err)
	view := problemView{Title: "This did not work", Text: f.Description}
	switch f.Kind {
	case refusal.NotFound, refusal.UnknownPath:
		view.Title = "Nothing is here"
	case refusal.WrongHost, refusal.CrossOrigin:
		view.Title = "Refused"
	case refusal.WrongMethod:
		if toPay, pays := strings.CutSuffix(path, "/pay"); pays {
			view.Invoice, _ = wire.ParseUUID(strings.TrimPrefix(toPay, invoicePages))
		}
	}
	return page{status: s.Status(f.Kind), template: "problem", view: view}
}

// visible shows what would be invisible in somebody's text as \u202e is shown
// here, above all what turns the direction of writing round. The two joiners stay
// as they are: words of some languages and many emoji are made with them.
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
