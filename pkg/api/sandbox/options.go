package sandbox

import "time"

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
func WithSeedJSON(seed []byte) Option { return func(o *options) { o.seedJSON = seed } }

// WithState keeps the state in a file, an SQLite database, so that it outlives the server. A request is
// answered after its changes are in the file. One server at a time has the file: if it is open elsewhere for
// longer than a second, New fails with ErrInUse. A file that does not exist is created, readable by its owner
// only, and gets the seed; for an existing file the seed is ignored. Neither the key nor the settings are in
// the file.
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
