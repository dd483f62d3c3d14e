package sandbox

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/checkout"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// access is the set of keys that a route accepts.
type access int

const (
	anyAccount   access = iota // the merchant's or a reseller's; each sees its own records
	merchantOnly               // the merchant's; with reseller_auth=none, no key is needed
	ofReseller                 // as merchantOnly and, with reseller_auth=own, that of the reseller with the id
	control                    // the merchant's, always
	anyControl                 // the merchant's or a reseller's, always
	openControl                // none is needed
)

// controls reports whether a route is a control. A control is not part of the interface, and the rules of the
// interface do not apply to it.
func (a access) controls() bool { return a >= control }

// A route is one operation of the interface or one control. Its handler only reads the request. What it returns
// is called if everything that it has read is right.
type route struct {
	method, path string
	access       access
	read         func(*request) action
}

// An action returns the value to write as JSON, or a failure.
type action func() (any, error)

func always(do action) func(*request) action { return func(*request) action { return do } }

func (s *Server) routeTable() map[string]map[string]route {
	table := map[string]map[string]route{}
	for _, r := range append(s.controls(), []route{
		{"POST", "/api/merchant_withdrawal/create", anyAccount, s.createWithdrawal},
		{"GET", "/api/merchant_withdrawal", anyAccount, s.getWithdrawal},
		{"POST", "/api/merchant_withdrawal/list", anyAccount, s.listWithdrawals},

		{"POST", "/api/invoice", anyAccount, s.createInvoice},
		{"GET", "/api/invoice", anyAccount, s.getInvoice},

		{"GET", "/api/invites", merchantOnly, s.listInvites},
		{"GET", "/api/invite", merchantOnly, s.getInvite},
		{"POST", "/api/invite", merchantOnly, s.createInvite},

		{"GET", "/api/resellers", merchantOnly, s.listResellers},
		{"GET", "/api/resellers/ids", merchantOnly, always(s.listResellerIDs)},
		{"GET", "/api/reseller/info", ofReseller, s.aboutReseller((*wire.Rules).ViewReseller)},
		{"GET", "/api/reseller/invite", ofReseller, s.aboutReseller((*wire.Rules).ViewInviteOf)},
		{"GET", "/api/reseller/stats", ofReseller, s.aboutReseller((*wire.Rules).ViewStats)},

		{"POST", "/api/reseller/withdraw/list", ofReseller, s.listResellerWithdrawals},
		{"GET", "/api/reseller/withdraw", ofReseller, s.getResellerWithdrawal},

		{"GET", "/api/reseller/balance", ofReseller, s.aboutReseller((*wire.Rules).ViewBalances)},
		{"GET", "/api/reseller/balance/currency", ofReseller, s.getResellerBalanceIn},
		{"GET", "/api/reseller/rebate", ofReseller, s.aboutReseller((*wire.Rules).ViewRebates)},
		{"GET", "/api/reseller/rebate/currency", ofReseller, s.getResellerRebateIn},

		{"POST", "/api/reseller/invoice/list", ofReseller, s.listResellerInvoices},
		{"GET", "/api/reseller/invoice", ofReseller, s.aboutResellerInvoice((*wire.Rules).ViewInvoice)},
		{"GET", "/api/reseller/invoice/finished", ofReseller, s.aboutResellerInvoice((*wire.Rules).ViewFinished)},
	}...) {
		if table[r.path] == nil {
			table[r.path] = map[string]route{}
		}
		table[r.path][r.method] = r
	}
	return table
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if checkout.IsPage(r) {
		err := s.checkHost(r)
		if err == nil && !checkout.IsVisit(r) {
			err = s.checkOrigin(r)
		}
		s.pages.Serve(w, r, err)
		return
	}
	req := &request{http: r, choices: s.settings()}
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		w = s.record(w, req)
	}
	answer, err := s.answer(w, req)
	s.reply(w, r, answer, err)
}

// apiPrefix begins the paths of the interface.
const apiPrefix = "/api/"

func (s *Server) reply(w http.ResponseWriter, r *http.Request, answer any, err error) {
	switch {
	case err == errAnswered:
	case err != nil:
		s.refuse(w, r, err)
	default:
		wire.WriteJSON(w, http.StatusOK, answer)
	}
}

// answer checks in a fixed order: first the checks that need no key, and then the key, before it reads
// anything else of the request.
func (s *Server) answer(w http.ResponseWriter, req *request) (any, error) {
	r := req.http
	if err := s.checkHost(r); err != nil {
		return nil, err
	}
	if err := s.checkOrigin(r); err != nil {
		return nil, err
	}
	methods, found := s.routes[r.URL.Path]
	if !found {
		return nil, refusal.New(refusal.UnknownPath, "There is nothing at the path %q; check its spelling.",
			refusal.Shorten(r.URL.Path))
	}
	method, allowed := r.Method, slices.Sorted(maps.Keys(methods))
	if methods[http.MethodGet].access == openControl { // what waits for the sandbox may ask so
		allowed = append(allowed, http.MethodHead)
		if method == http.MethodHead {
			method = http.MethodGet
		}
	}
	route, found := methods[method]
	if !found {
		allow := strings.Join(allowed, ", ")
		w.Header().Set("Allow", allow)
		return nil, refusal.New(refusal.WrongMethod, "%s does not take %s; use %s.", r.URL.Path,
			refusal.Shorten(r.Method), allow)
	}
	// A program that shares the state may have added a fault, or begun a new state with other accounts.
	if err := s.store.Refresh(); err != nil {
		return nil, err
	}
	var err error
	if req.account, err = s.authorize(r, route.access); err != nil {
		return nil, err
	}
	if route.access.controls() {
		return req.carryOut(route.read)
	}
	if err := s.checkRate(w); err != nil {
		return nil, err
	}
	req.rules = &req.choices.Rules
	return s.strike(w, req, route)
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := refusal.From(err)
	now := s.settings()
	rule := now.errors[f.Kind]
	if rule.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if f.Kind == refusal.BodyTooLarge { // the rest of the body was not read
		w.Header().Set("Connection", "close")
	}
	if now.Envelope == "as_shown" && !envelopeShown(r) {
		http.Error(w, f.Message, rule.Status)
		return
	}
	wire.WriteError(w, rule.Status, rule.Code, string(f.Kind), f.Message)
}
