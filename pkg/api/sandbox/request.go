package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A request is an HTTP request of the interface or to a control.
type request struct {
	http    *http.Request
	choices *settings // as they were when it began, so that it never sees two sets of them

	// Of a request of the interface only:
	received []byte        // its body
	broken   error         // why received is not all of it
	entry    *received     // in the log
	stale    time.Duration // a list hides what is younger
	rules    *wire.Rules   // how strictly it is read; nil for a control, which is always read strictly

	account string // the account of the key
	query   *wire.Query
	object  *wire.Object // the body, if it was read as an object
}

// carryOut reads the request, and does what it asks for if its query and its body are right.
func (r *request) carryOut(read func(*request) action) (any, error) {
	r.query, r.object = wire.NewQuery(r.http.URL.RawQuery, r.rules), nil
	do := read(r)
	if err := r.query.Done(); err != nil {
		return nil, err
	}
	if r.object != nil {
		if err := r.object.Done(); err != nil {
			return nil, err
		}
	}
	return do()
}

// readBody reads a body up to one byte more than most.
func readBody(body io.Reader, most int64) ([]byte, error) {
	if body == nil { // a client's request that is passed on without a connection may have none
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(body, most+1))
}

func (r *request) body() (json.RawMessage, error) {
	if err := r.checkContentType(); err != nil {
		return nil, err
	}
	body, err, most := r.received, r.broken, r.choices.MaxBody
	if r.rules == nil {
		most = maxDump
		body, err = readBody(r.http.Body, most)
	}
	switch {
	case int64(len(body)) > most:
		return nil, refusal.New(refusal.BodyTooLarge, "The body is larger than %d bytes; send less.", most)
	case err != nil:
		return nil, refusal.New(refusal.InvalidBody, "The body ended before it was complete; send it again.")
	}
	return wire.DecodeBody(body)
}

// fields reads the body as a JSON object, which keeps the first error, that of the body included.
func (r *request) fields() *wire.Object {
	raw, err := r.body()
	r.object = wire.NewObject(raw, "", r.rules, &err)
	return r.object
}

func (r *request) checkContentType() error {
	if r.rules == nil || r.rules.ContentType == "ignored" {
		return nil
	}
	given := r.http.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(given); err != nil || media != "application/json" {
		return refusal.New(refusal.WrongContentType, "The Content-Type is %q; send Content-Type: application/json.",
			refusal.Shorten(given))
	}
	return nil
}

// hostOf returns the Host of a request. A client's request that is passed on without a connection may have it
// only in its URL.
func hostOf(r *http.Request) string { return cmp.Or(r.Host, r.URL.Host) }

// parsePublicURL reads the address of a proxy, which begins other addresses.
func parsePublicURL(address string) (*url.URL, error) {
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.ContainsAny(address, "?#") {
		return nil, fmt.Errorf("the public URL %q is not an http or https address without user, query and fragment; "+
			"write it like https://shop.example/sandbox", refusal.Shorten(address))
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

func (s *Server) base(r *http.Request) string {
	switch {
	case s.proxy != nil:
		return s.proxy.String()
	case r.TLS != nil:
		return "https://" + hostOf(r)
	}
	return "http://" + hostOf(r)
}

// checkHost accepts only names of this machine, and that of its proxy. It refuses a web page that points its
// own name at a loopback address.
func (s *Server) checkHost(r *http.Request) error {
	if s.exposed {
		return nil
	}
	host := hostOf(r)
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	ip, _ := netip.ParseAddr(name)                                           // an invalid one is no loopback address
	isProxy := s.proxy != nil && name == strings.ToLower(s.proxy.Hostname()) // with any port: a proxy may leave it out
	if isProxy || ip.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	return refusal.New(refusal.WrongHost, "The Host %q is not this machine; use localhost, 127.0.0.1 or [::1], or name the address of a proxy with --public-url.",
		refusal.Shorten(host))
}

// checkOrigin refuses requests that a browser sends for another site. The standard library's
// CrossOriginProtection lets every GET pass; here a GET may show money, and with reseller_auth=none it needs
// no key.
func (s *Server) checkOrigin(r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return nil
		}
		u, err := url.Parse(origin)
		if err == nil && (u.Host == hostOf(r) || s.proxy != nil && originOf(u) == originOf(s.proxy)) {
			return nil
		}
	}
	return refusal.New(refusal.CrossOrigin,
		"The request comes from a web page of another origin; call the sandbox from a program, or from its own pages.")
}

func originOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func bearer(r *http.Request) (key string, err error) {
	values := r.Header["Authorization"]
	scheme, key, _ := strings.Cut(strings.Join(values, ","), " ")
	if len(values) != 1 || !strings.EqualFold(scheme, "Bearer") || key == "" {
		return "", refusal.New(refusal.Unauthorized,
			"The Authorization header is missing, or not of the form Bearer <API key>; send it so, and once.")
	}
	return key, nil
}

// authorize returns the account of the request's key, if the key may use the route. An unknown key and a
// missing one get the same status.
func (s *Server) authorize(r *http.Request, access access) (account string, err error) {
	merchant, auth := *s.store.Merchant.Load(), s.settings().ResellerAuth
	reseller := access == merchantOnly || access == ofReseller
	if access == openControl || reseller && auth == "none" {
		return merchant, nil
	}
	key, err := bearer(r)
	if err != nil {
		return "", err
	}
	hash := store.HashKey(key)
	if hash == s.keyHash {
		return merchant, nil
	}
	s.store.Read(func(st *store.State) { account = st.Keys[hash] })
	switch {
	case account == "":
		return "", refusal.New(refusal.Unauthorized,
			"The API key is not one of this sandbox; use the key that it printed at its start, or a reseller's.")
	case access == ofReseller && auth == "own" && strings.EqualFold(r.URL.Query().Get("id"), account):
	case access == ofReseller && auth == "own":
		return "", refusal.New(refusal.Forbidden, "A reseller's key reads what is its own; use the merchant's key for the others.")
	case access == control, reseller && auth != "any_key":
		return "", refusal.New(refusal.Forbidden, "A reseller's key cannot use this path; use the merchant's key.")
	}
	return account, nil
}

// envelopeShown reports whether the interface shows the envelope for a request: on the paths of the
// merchant's withdrawals and for the creation of an invoice. Controls are outside the interface and always
// use it.
func envelopeShown(r *http.Request) bool {
	path := r.URL.Path
	return strings.HasPrefix(path, "/api/merchant_withdrawal") || strings.HasPrefix(path, "/sandbox/") ||
		path == "/openapi.json" || path == "/api/invoice" && r.Method == http.MethodPost
}

// rate counts the requests in the current second, by the sandbox's clock: one that does not move lets no more
// requests pass until it is moved.
type rate struct {
	mu     sync.Mutex
	second int64
	count  int64
}

func (r *rate) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count = 0
}

// checkRate refuses a request beyond the setting requests_per_second. All keys count together.
func (s *Server) checkRate(w http.ResponseWriter) error {
	most := s.settings().RequestsPerSecond
	if most == unlimited {
		return nil
	}
	s.rate.mu.Lock()
	defer s.rate.mu.Unlock()
	if now := s.store.Now().Unix(); now != s.rate.second {
		s.rate.second, s.rate.count = now, 0
	}
	if s.rate.count >= most {
		w.Header().Set("Retry-After", "1")
		return refusal.New(refusal.RateLimited,
			"The limit of requests per second is %d; wait and send it again.", most)
	}
	s.rate.count++
	return nil
}
