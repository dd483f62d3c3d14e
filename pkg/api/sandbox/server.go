package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/till/pkg/api/sandbox/internal/checkout"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/seed"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/webhook"
)

// A Server is one sandbox. It is an http.Handler, safe for concurrent use.
type Server struct {
	options
	live    atomic.Pointer[settings]
	keyHash store.KeyHash
	store   *store.Store
	routes  map[string]map[string]route // by path, then method
	sender  *webhook.Sender
	seeds   seed.Maker
	pages   *checkout.Pages
	rate    rate
	log     requestLog
	proxy   *url.URL // nil: there is none

	first    func() (store.Change, error) // makes the state that the server begins with
	starting *settings
	setting  sync.Mutex // one change of the settings at a time
}

// An Option configures the Server that New makes.
type Option func(*options)

type options struct {
	key       string
	settings  map[string]string
	clock     func() time.Time
	seed      string
	seedJSON  []byte
	frozen    bool // the clock does not move by itself
	seededIDs bool
	state     string
	shared    bool
	faults    []Fault
	public    string
	exposed   bool
}

// WithKey sets the merchant's API key, which must begin with KeyPrefix. Without this option the sandbox
// generates a random key.
func WithKey(key string) Option { return func(o *options) { o.key = key } }

// WithSetting changes one setting; Settings lists them.
func WithSetting(name, value string) Option {
	return func(o *options) { o.settings[name] = value }
}

// WithClock replaces time.Now. The clock is called from many goroutines.
func WithClock(clock func() time.Time) Option { return func(o *options) { o.clock = clock } }

// WithFrozenClock begins with a clock that stands still until SetClock or AdvanceClock moves it, in a year
// from 1000 to 9000. A callback is posted at once, but its retries, and everything else that is due later,
// wait for the clock: a move makes them all, each at its own time, before it returns.
func WithFrozenClock(at time.Time) Option {
	return func(o *options) { o.clock, o.frozen = func() time.Time { return at }, true }
}

// WithSeededIDs makes the ids and the resellers' keys of a state from its seed, so that they are the same
// every time, for the same requests in the same order. The id of the state, see Identity, remains random. It
// excludes WithState.
func WithSeededIDs() Option { return func(o *options) { o.seededIDs = true } }

// WithSeed chooses what a fresh sandbox holds: "none" holds nothing; "demo" holds funds, withdrawals, and
// half a year of invoices of the merchant and of four resellers. The last seven days always have the same
// withdrawals and invoices, with the same amounts, and all of them are in the current month. Without this
// option the sandbox holds a million whole units of every currency.
func WithSeed(seed string) Option { return func(o *options) { o.seed = seed } }

// WithSeedJSON sets the seed in JSON: a seed that a person has written, or the result of Dump. The package
// documentation describes the format.
func WithSeedJSON(seed []byte) Option {
	return func(o *options) { o.seedJSON = append([]byte{}, seed...) }
}

// WithState keeps the state in a file, an SQLite database, so that it outlives the server. A request is
// answered after its changes are synced to the disk, and a process that is killed leaves no half of one. One
// server at a time has the file: if it is open elsewhere for longer than a second, New fails with ErrInUse. A
// file that does not exist is created, readable by its owner only, and gets the seed; for an existing file the
// seed is ignored. Neither the key nor the settings are in the file.
func WithState(path string) Option { return func(o *options) { o.state, o.shared = path, false } }

// WithSharedState is WithState for a program that needs the state for a moment and does not call Serve.
// Several of them may have the file open at the same time, and each sees at once what the others have done;
// but two that change the status of one withdrawal may both post its callbacks. While a server with WithState
// has the file, New fails with ErrInUse.
func WithSharedState(path string) Option { return func(o *options) { o.state, o.shared = path, true } }

// WithPublicURL sets the address of a proxy in front of the sandbox, such as https://shop.example/sandbox,
// for a proxy that strips the path from what it passes on. The url of an invite begins with it, and the
// sandbox accepts its host, with any port, as Host and its origin as that of the pages' forms.
func WithPublicURL(address string) Option { return func(o *options) { o.public = address } }

// WithExposure lets Serve listen on any address, and answers requests with any Host: for a container whose network
// has nothing but a test. Everyone who reaches the address and has the key can use the sandbox and its controls; the
// pages of invoices need no key.
func WithExposure() Option { return func(o *options) { o.exposed = true } }

// New makes a sandbox. Close it if it uses WithState or if withdrawals have callbacks.
func New(opts ...Option) (*Server, error) {
	o := options{key: KeyPrefix + rand.Text(), settings: map[string]string{}, clock: time.Now}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("sandbox: option %d is nil: leave it out", i+1)
		}
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
	s := &Server{options: o, starting: settings, keyHash: store.HashKey(o.key), log: requestLog{key: o.key}}
	s.live.Store(settings)
	if s.proxy, err = parsePublicURL(o.public); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.routes = s.routeTable()
	s.store = store.New(settings.Terms, o.clock, s.announce)
	s.seeds = seed.Maker{Terms: settings.Terms, Clock: o.clock, MerchantKey: s.keyHash, CheckKey: checkKey,
		Operations: Operations(), SeededIDs: o.seededIDs}
	s.pages = &checkout.Pages{Store: s.store, Status: func(k refusal.Kind) int { return s.settings().errors[k].Status }}
	s.sender = webhook.New(s.store, o.frozen)
	if err := s.open(); err != nil {
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
func (s *Server) open() error {
	s.first = func() (store.Change, error) { return s.seeds.Named(s.seed) }
	if s.seedJSON != nil {
		seed := bytes.Clone(s.seedJSON)
		s.first = func() (store.Change, error) { return s.seeds.FromJSON(seed) }
	}
	first, err := s.first() // a wrong seed is an error even if it is not used
	if err != nil {
		return err
	}
	if err := s.store.Open(s.state, s.shared, first); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// A StateError reports that the file of WithState, at its Path, cannot be used, and as Err why.
type StateError = store.FileError

// ErrInUse is the error, in a StateError that names the process, if a server has the state file open, or if
// programs share it and WithState wants it alone.
var ErrInUse = store.ErrInUse

// Close stops posting callbacks, cuts off posts in flight, and closes the state's file. Pending callbacks
// stay pending in the file. A second Close does nothing.
func (s *Server) Close() error {
	s.sender.Close()
	return s.store.Close()
}

// Identity returns the random ID of this state. It stays the same as long as the state lives. After Reset the
// state has a new one.
func (s *Server) Identity() (id string) {
	s.read(func(st *store.State) { id = st.ID })
	return id
}

// read looks at the state as it is now, or as it was if its file cannot be read.
func (s *Server) read(look func(*store.State)) error {
	err := s.store.Refresh()
	s.store.Read(look)
	return err
}

// Reset discards the state and begins a new one, with the seed as it was read at the start, or with another
// one, named as for WithSeed. The settings and the clock are again those of the start, and the log of
// requests is empty. The keys of the resellers are lost. A wrong seed changes nothing.
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

// Restore is Reset with a seed in JSON: a seed that a person has written, or the result of Dump. The new
// state has its own identity, and its clock is as far ahead as the seed says.
func (s *Server) Restore(seed []byte) error {
	return s.begin(func() (store.Change, error) { return s.seeds.FromJSON(seed) })
}

func (s *Server) begin(make func() (store.Change, error)) error {
	first, err := make()
	if err != nil {
		return err
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	err = s.store.Begin(first, s.starting.Terms, func() {
		s.live.Store(s.starting)
		s.log.clear()
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

// KeyPrefix begins every key that a sandbox generates or accepts, so that a client can tell that the key
// opens only a sandbox.
const KeyPrefix = "till_sandbox_"

// An Error reports that a method of Server refused what it was asked, and changed nothing. Its Kind says why,
// and its Message what is wrong and what to do about it. Over HTTP the same refusal is an error envelope, with
// the Kind as its reason.
type Error = refusal.Error

// An ErrorKind is a kind of refusal. The package documentation lists all of them.
type ErrorKind = refusal.Kind

// The kinds of errors that tests look for most.
const (
	NotFound        ErrorKind = "not_found"        // no such invoice, withdrawal, invite, delivery or fault
	WrongStatus     ErrorKind = "wrong_status"     // the record is in a status that does not allow it
	UnknownCurrency ErrorKind = "unknown_currency" // not one of the setting currencies
	InvalidAmount   ErrorKind = "invalid_amount"   // not above 0
	AmountTooLarge  ErrorKind = "amount_too_large" // more than an int64 holds
	InviteUsed      ErrorKind = "invite_used"      // redeemed already
	InvalidQuery    ErrorKind = "invalid_query"    // not a UUID, or not plain text
	InvalidBody     ErrorKind = "invalid_body"     // a seed, a time or a value that cannot be read
)
