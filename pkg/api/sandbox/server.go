package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/till/pkg/api/sandbox/internal/checkout"
	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/requestlog"
	"example.com/till/pkg/api/sandbox/internal/seed"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/webhook"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A Server is one sandbox. It is an http.Handler, safe for concurrent use.
type Server struct {
	live    atomic.Pointer[settings]
	clock   func() time.Time
	key     string
	keyHash store.KeyHash
	store   *store.Store
	routes  map[string]map[string]route // by path, then method
	sender  *webhook.Sender
	seeds   seed.Maker
	pages   *checkout.Pages
	rate    rate
	log     *requestlog.Log
	public  *url.URL // nil: there is no proxy
	frozen  bool     // the clock stands still until it is moved

	first    func() (store.Change, error) // makes the state that the server begins with
	starting *settings
	given    map[string]string // the values of starting that are not the default
	setting  sync.Mutex        // one change of the settings at a time
	values   map[string]string // those of the settings now; it never changes
}

// An Option configures the Server that New makes.
type Option func(*options)

type options struct {
	key       string
	settings  map[string]string
	clock     func() time.Time
	seed      string
	seedJSON  []byte
	frozen    bool
	seededIDs bool
	state     string
	shared    bool
	faults    []Fault
	public    string
}

// WithKey sets the merchant's API key, which must begin with KeyPrefix. Without this
// option the sandbox generates a random key.
func WithKey(key string) Option { return func(o *options) { o.key = key } }

// WithSetting changes one setting; Settings lists them.
func WithSetting(name, value string) Option {
	return func(o *options) { o.settings[name] = value }
}

// WithClock replaces time.Now. The clock is called from many goroutines.
func WithClock(clock func() time.Time) Option { return func(o *options) { o.clock = clock } }

// WithFrozenClock begins with a clock that stands still until SetClock or AdvanceClock
// moves it, in a year from 1000 to 9000. A callback is posted at once, but its retries, and everything else that is
// due later, wait for the clock: a move makes them all, each at its own time, before it
// returns.
func WithFrozenClock(at time.Time) Option {
	return func(o *options) { o.clock, o.frozen = func() time.Time { return at }, true }
}

// WithSeededIDs makes the ids and the resellers' keys of a state from its seed, so that
// they are the same every time, for the same requests in the same order. The id of the
// state, see Identity, remains random. It excludes WithState.
func WithSeededIDs() Option { return func(o *options) { o.seededIDs = true } }

// WithSeed chooses what a fresh sandbox holds: "none" holds nothing; "demo" holds
// funds, withdrawals, and half a year of invoices of the merchant and of four
// resellers. The last seven days always have the same withdrawals and invoices, with
// the same amounts, and all of them are in the current month. Without this option the
// sandbox holds a million whole units of every currency.
func WithSeed(seed string) Option { return func(o *options) { o.seed = seed } }

// WithSeedJSON sets the seed in JSON: a seed that a person has written, or the
// result of Dump. The package documentation describes the format.
func WithSeedJSON(seed []byte) Option { return func(o *options) { o.seedJSON = seed } }

// WithState keeps the state in a file, an SQLite database, so that it outlives the
// server. A request is answered after its changes are in the file. One server at a time
// has the file: if it is open elsewhere for longer than a second, New fails with
// ErrInUse. A file that does not exist is created, readable by its owner only, and
// gets the seed; for an existing file the seed is ignored. Neither the key nor the
// settings are in the file.
func WithState(path string) Option { return func(o *options) { o.state, o.shared = path, false } }

// WithSharedState is WithState for a program that needs the state for a moment and does
// not call Serve. Several of them may have the file open at the same time, and each sees
// at once what the others have done; but two that change the status of one withdrawal may
// both post its callbacks. While a server with WithState has the file, New fails with
// ErrInUse.
func WithSharedState(path string) Option { return func(o *options) { o.state, o.shared = path, true } }

// WithPublicURL sets the address of a proxy in front of the sandbox, such as
// https://shop.example/sandbox, for a proxy that strips the path from what it passes on.
// The url of an invite begins with it, and the sandbox accepts its host, with any port, as
// Host and its origin as that of the pages' forms.
func WithPublicURL(address string) Option { return func(o *options) { o.public = address } }

// New makes a sandbox. Close it if it uses WithState or if withdrawals have
// callbacks.
func New(opts ...Option) (*Server, error) {
	o := options{key: newKey(), settings: map[string]string{}, clock: time.Now}
	for _, opt := range opts {
		opt(&o)
	}
	if err := checkKey(o.key); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if o.seededIDs && o.state != "" {
		return nil, errors.New("sandbox: seeded ids would come again in a state that is kept in a file; keep it in memory")
	}
	if at := o.clock(); o.frozen && (at.Year() < 1000 || at.Year() > 9000) { // JSON has years of four digits
		return nil, fmt.Errorf("sandbox: a frozen clock cannot start in the year %d; choose one from 1000 to 9000", at.Year())
	}
	settings, err := newSettings(o.settings)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s := &Server{starting: settings, given: o.settings, values: o.settings, clock: o.clock, frozen: o.frozen,
		key: o.key, keyHash: store.HashKey(o.key), log: requestlog.New(o.key)}
	s.live.Store(settings)
	if s.public, err = parsePublicURL(o.public); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.routes = s.routeTable()
	s.store = store.New(settings.Terms, o.clock, s.announce)
	s.seeds = seed.Maker{Terms: settings.Terms, Clock: o.clock, MerchantKey: s.keyHash, CheckKey: checkKey,
		Operations: Operations(), SeededIDs: o.seededIDs}
	s.pages = &checkout.Pages{Store: s.store, Status: func(k refusal.Kind) int { return s.settings().errors[k].Status }}
	s.sender = webhook.New(s.store, func() webhook.Limits { return s.settings().callbacks }, o.frozen)
	if err := s.open(o); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	for _, f := range o.faults {
		if _, err := s.AddFault(f); err != nil {
			return nil, errors.Join(fmt.Errorf("sandbox: %w", err), s.Close())
		}
	}
	return s, nil
}

// open loads the state, or begins a new one.
func (s *Server) open(o options) error {
	s.first = func() (store.Change, error) { return s.seeds.Named(o.seed) }
	if o.seedJSON != nil {
		seed := bytes.Clone(o.seedJSON)
		s.first = func() (store.Change, error) { return s.seeds.FromJSON(seed) }
	}
	first, err := s.first() // a wrong seed is an error even if it is not used
	if err != nil {
		return exported(err)
	}
	err = s.store.Open(o.state, o.shared, first, func(path string, err error) error { return &StateError{path, err} })
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// A StateError reports that the file of WithState cannot be used, and why.
type StateError struct {
	Path string
	Err  error
}

func (e *StateError) Error() string {
	return fmt.Sprintf("the state file %s cannot be used: %v", e.Path, e.Err)
}

func (e *StateError) Unwrap() error { return e.Err }

// ErrInUse is the error, in a StateError that names the process, if a server has the
// state file open, or if programs share it and WithState wants it alone.
var ErrInUse = store.ErrInUse

// Close stops posting callbacks, cuts off posts in flight, and closes the state's
// file. Pending callbacks stay pending in the file.
func (s *Server) Close() error {
	s.sender.Close()
	return s.store.Close()
}

// Identity returns the random ID of this state. It stays the same as long as the
// state lives. After Reset the state has a new one.
func (s *Server) Identity() (id string) {
	s.store.Refresh()
	s.store.Read(func(st *store.State) { id = st.ID })
	return id
}

// Reset discards the state and begins a new one, with the seed as it was read at the
// start, or with another one, named as for WithSeed. The settings and the clock are
// again those of the start, and the log of requests is empty. The keys of the resellers
// are lost. A wrong seed changes nothing.
func (s *Server) Reset(seed string) error {
	first := s.first
	if seed != "" {
		first = func() (store.Change, error) { return s.seeds.Named(seed) }
	}
	return s.begin(first)
}

// A Dump is the JSON that Server.Dump returns.
type Dump = seed.Dump

// Dump returns the whole state as JSON, which Restore and WithSeedJSON take back.
func (s *Server) Dump() ([]byte, error) {
	if err := s.store.Refresh(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(seed.DumpOf(s.store), "", "  ")
}

// Restore is Reset with a seed in JSON: a seed that a person has written, or the result
// of Dump. The new state has its own identity, and its clock is as far ahead as the
// seed says.
func (s *Server) Restore(seed []byte) error {
	return s.begin(func() (store.Change, error) { return s.seeds.FromJSON(seed) })
}

// begin begins a new state.
func (s *Server) begin(make func() (store.Change, error)) error {
	first, err := make()
	if err != nil {
		return exported(err)
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	err = s.store.Begin(first, s.starting.Terms, func() {
		s.live.Store(s.starting)
		s.values = s.given
		s.log.Clear()
		s.rate.clear()
	})
	s.sender.Forget()
	return err
}

func checkKey(key string) error {
	if len(key) <= len(KeyPrefix) || !strings.HasPrefix(key, KeyPrefix) {
		return fmt.Errorf("the key does not begin with %s; a sandbox takes only keys that are marked as its own",
			KeyPrefix)
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("the key holds a space or a character outside ASCII, which a header cannot carry; use another")
		}
	}
	return nil
}

// Key returns the merchant's API key.
func (s *Server) Key() string { return s.key }

// access is the set of keys that a route accepts.
type access int

const (
	anyAccount   access = iota // the merchant's or a reseller's; each sees its own records
	merchantOnly               // the merchant's; with reseller_auth=none, no key is needed
	control                    // the merchant's, always
	anyControl                 // the merchant's or a reseller's, always
	openControl                // none is needed
)

// controls reports whether a route is a control. A control is not part of the
// interface, and the rules of the interface do not apply to it.
func (a access) controls() bool { return a >= control }

// A route is one operation of the interface or one control. Its handler returns the
// value to write as JSON, or a failure.
type route struct {
	method, path string
	access       access
	handle       func(*request) (any, error)
}

// withoutQuery wraps a handler of requests that have no query.
func withoutQuery(handle func(*request) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		if err := r.query().Done(); err != nil {
			return nil, err
		}
		return handle(r)
	}
}

// withID wraps a handler of requests whose query is only an id.
func withID(handle func(r *request, id string) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		q := r.query()
		id := q.UUID("id")
		if err := q.Done(); err != nil {
			return nil, err
		}
		return handle(r, id)
	}
}

func (s *Server) routeTable() map[string]map[string]route {
	table := map[string]map[string]route{}
	for _, r := range append(s.controls(), []route{
		{"POST", "/api/merchant_withdrawal/create", anyAccount, withoutQuery(s.createWithdrawal)},
		{"GET", "/api/merchant_withdrawal", anyAccount, s.getWithdrawal},
		{"POST", "/api/merchant_withdrawal/list", anyAccount, s.listWithdrawals},

		{"POST", "/api/invoice", anyAccount, withoutQuery(s.createInvoice)},
		{"GET", "/api/invoice", anyAccount, withID(s.getInvoice)},

		{"GET", "/api/invites", merchantOnly, withoutQuery(s.listInvites)},
		{"GET", "/api/invite", merchantOnly, withID(s.getInvite)},
		{"POST", "/api/invite", merchantOnly, withoutQuery(s.createInvite)},

		{"GET", "/api/resellers", merchantOnly, withoutQuery(s.listResellers)},
		{"GET", "/api/resellers/ids", merchantOnly, withoutQuery(s.listResellerIDs)},
		{"GET", "/api/reseller/info", merchantOnly, s.aboutReseller((*settings).viewReseller)},
		{"GET", "/api/reseller/invite", merchantOnly, s.aboutReseller(viewInviteOf)},
		{"GET", "/api/reseller/stats", merchantOnly, s.aboutReseller((*settings).viewStats)},

		{"POST", "/api/reseller/withdraw/list", merchantOnly, s.listResellerWithdrawals},
		{"GET", "/api/reseller/withdraw", merchantOnly, s.getResellerWithdrawal},

		{"GET", "/api/reseller/balance", merchantOnly, s.aboutReseller((*settings).viewBalances)},
		{"GET", "/api/reseller/balance/currency", merchantOnly, s.getResellerBalanceIn},
		{"GET", "/api/reseller/rebate", merchantOnly, s.aboutReseller((*settings).viewRebates)},
		{"GET", "/api/reseller/rebate/currency", merchantOnly, s.getResellerRebateIn},

		{"POST", "/api/reseller/invoice/list", merchantOnly, s.listResellerInvoices},
		{"GET", "/api/reseller/invoice", merchantOnly, s.aboutResellerInvoice((*settings).viewInvoice)},
		{"GET", "/api/reseller/invoice/finished", merchantOnly, s.aboutResellerInvoice((*settings).viewFinished)},
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
	if checkout.IsPage(r.URL.Path) {
		err := s.checkHost(r)
		if err == nil && !checkout.IsVisit(r) {
			err = s.checkOrigin(r)
		}
		s.pages.Serve(w, r, err)
		return
	}
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		w, r = s.record(w, r)
	}
	answer, err := s.answer(w, r)
	s.reply(w, r, answer, err)
}

// apiPrefix begins the paths of the interface.
const apiPrefix = "/api/"

func (s *Server) reply(w http.ResponseWriter, r *http.Request, answer any, err error) {
	switch {
	case err == fault.ErrAnswered:
	case err != nil:
		s.refuse(w, r, err)
	default:
		wire.WriteJSON(w, http.StatusOK, answer)
	}
}

// answer checks in a fixed order: first the checks that need no key, and then the
// key, before it reads anything else of the request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
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
	// A program that shares the state may have added a fault, or begun a new state with
	// other accounts.
	if err := s.store.Refresh(); err != nil {
		return nil, err
	}
	account, err := s.authorize(r, route.access)
	if err != nil {
		return nil, err
	}
	if !route.access.controls() {
		if err := s.checkRate(w); err != nil {
			return nil, err
		}
	}
	choices := s.settings()
	req := &request{http: r, writer: unwrapped(w), account: account, choices: choices, maxBody: choices.maxBody,
		rules: &choices.Rules}
	if route.access.controls() {
		req.maxBody, req.rules = maxDump, nil
	}
	list := s.store.Faults.Load()
	entry, isLogged := w.(*logged)
	if list == nil || !isLogged {
		return route.handle(req)
	}
	return fault.Apply(s.store, *list,
		&fault.Call{Operation: route.operation(), Writer: w, Request: r, MaxBody: req.maxBody,
			Handle: func(r *http.Request, stale time.Duration) (any, error) {
				req.http, req.stale = r, stale
				return route.handle(req)
			},
			Reply:  func(w http.ResponseWriter, answer any, err error) { s.reply(w, r, answer, err) },
			Struck: entry.entry.Struck})
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := refusal.From(err)
	now := s.settings()
	rule := now.errors[f.Kind]
	if rule.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if now.envelope == "as_shown" && !envelopeShown(r) {
		http.Error(w, f.Description, rule.Status)
		return
	}
	wire.WriteJSON(w, rule.Status,
		wire.Envelope{Error: wire.EnvelopeError{Code: rule.Code, Reason: rule.Reason, Description: f.Description}})
}

// Serve answers requests on a loopback listener until ctx is done, and then lets the
// requests in flight finish. It closes the listener, and returns nil after such a
// stop. Meanwhile it moves withdrawals and invoices when the settings say that they
// are due, and posts the callbacks that the seed or the state's file has pending.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		listener.Close()
		return fmt.Errorf("sandbox: %s is not a loopback address; listen on 127.0.0.1 or [::1], the sandbox is for this machine only", listener.Addr())
	}
	server := &http.Server{
		Handler:           interruptible(ctx, s),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// The end of ctx also ends waits for callbacks and faults.
		BaseContext: func(net.Listener) context.Context { return fault.WithEnd(ctx) },
	}
	fresh := &freshConns{}
	server.ConnState = fresh.note
	meanwhile, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() { s.store.KeepTime(meanwhile) })
	running.Go(func() { s.sender.DeliverPending(meanwhile) })
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
		var interrupting sync.WaitGroup
		interrupting.Go(func() { fresh.interrupt(grace) })
		err := server.Shutdown(grace)
		cancel()
		interrupting.Wait()
		stopped <- err
	})
	err := server.Serve(listener)
	if stop() { // ctx is not done: the listener failed
		return fmt.Errorf("sandbox: the listener failed: %w", err)
	}
	if err := <-stopped; err != nil {
		server.Close()
		return fmt.Errorf("sandbox: requests that did not end within %s were cut off", endGrace)
	}
	return nil
}

// endGrace is how long the requests in flight have at the end.
const endGrace = 5 * time.Second

// KeyPrefix begins every key that a sandbox generates or accepts, so that a client
// can tell that the key opens only a sandbox.
const KeyPrefix = "till_sandbox_"

func newKey() string {
	return KeyPrefix + rand.Text()
}
