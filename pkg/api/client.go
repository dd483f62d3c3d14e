package api

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"
)

// Default time limits of one call, everything included: connecting, sending, retries of a read, and reading the answer.
const (
	DefaultReadTimeout   = 30 * time.Second
	DefaultCreateTimeout = 90 * time.Second
)

// SandboxKeyPrefix marks the keys of a sandbox. A Client sends a key so marked to loopback addresses only.
const SandboxKeyPrefix = "till_sandbox_"

// Client speaks to one service with one key. Make one with New and share it: it is safe for concurrent use and keeps
// connections open between calls.
type Client struct {
	Withdrawals *Withdrawals
	Invoices    *Invoices
	Invites     *Invites
	Resellers   *Resellers

	base          string
	fingerprint   string
	resellerKey   bool
	readTimeout   time.Duration
	createTimeout time.Duration
	large         sync.Mutex // held while a large answer is decoded

	// keyed returns what has the key in it. It is a func so that nothing that prints values, fmt and slog among them,
	// finds the key in a Client.
	keyed func() *keyed
}

// String returns the base URL.
func (c *Client) String() string { return "api.Client(" + c.base + ")" }

// BaseURL returns the address of the service, without a slash at its end.
func (c *Client) BaseURL() string { return c.base }

// KeyFingerprint names the key without showing it: the first 8 bytes of its SHA-256, in hexadecimal digits.
func (c *Client) KeyFingerprint() string { return c.fingerprint }

// keyed is the part of a Client that has the key in it.
type keyed struct {
	headers headers
	reads   *restyClient // retries
	creates *restyClient // never does
}

// Option changes how New makes a Client.
type Option func(*options)

type options struct {
	key           string
	resellerKey   bool
	readTimeout   time.Duration
	createTimeout time.Duration
	retries       int
	roots         *x509.CertPool
	transport     http.RoundTripper
	trace         io.Writer
	tls           *tls.Config
	userAgent     string
	middlewares   []func(http.RoundTripper) http.RoundTripper
	err           error // of an option
}

// WithAPIKey sets the key, which goes into the Authorization header of every call.
func WithAPIKey(key string) Option { return func(o *options) { o.key = key } }

// WithoutResellerAuth leaves the key out of the calls of Invites and Resellers: the interface does not say how those are
// authenticated, and the default is to send it.
func WithoutResellerAuth() Option { return func(o *options) { o.resellerKey = false } }

// WithTimeouts limits each call; zero keeps the default.
func WithTimeouts(read, create time.Duration) Option {
	return func(o *options) {
		if read > 0 {
			o.readTimeout = read
		}
		if create > 0 {
			o.createTimeout = create
		}
	}
}

// WithRetries sets how many times a read is tried again after a connection error or a 429, 502, 503 or 504; the default
// is 3. A create is never tried again, whatever this says.
func WithRetries(n int) Option { return func(o *options) { o.retries = n } }

// WithRootCAs sets the certificate authorities that are trusted, instead of the system's.
func WithRootCAs(pool *x509.CertPool) Option { return func(o *options) { o.roots = pool } }

// WithTrace writes every request and answer to w, the key hidden, each with one Write. A client makes these one after the
// other, also for calls that run at the same time, so that w may be a bytes.Buffer.
func WithTrace(w io.Writer) Option { return func(o *options) { o.trace = w } }

// WithTransport sends requests through rt instead of the network: to a handler in the same process, or to a recorder.
// Only this package's own transport can tell by itself that nothing was written, so with another one a failed create is
// Unknown, and not NotSent; unless the error that rt returns, or one in its chain, has a method NotSent() bool that returns
// true. That is the transport's word that no byte of the request was or will be written.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithMiddleware puts wrap around the transport: to count and time calls, to log them, to add a header. wrap is called by New,
// once for reads and once for creates; with several middlewares, the first sees a request first. A middleware sees the key in
// the Authorization header.
//
// A middleware has no say in the outcome of a create. The transport below it sends a create at most once, and lets nothing
// pass after the call has ended. The call is Unknown if a middleware answers by itself, if it changes the answer's status or
// body, or if it returns an answer after a failure in which something may have been written. It is NotSent only if the
// transport below knows that nothing was written, or if the middleware did not call it and returns an error with a method
// NotSent() bool that returns true, see WithTransport. The context of the request it passes on must be that of the request it
// got, or made from it.
func WithMiddleware(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(o *options) {
		if wrap == nil {
			o.err = errors.New("WithMiddleware: the middleware is nil: leave it out")
			return
		}
		o.middlewares = append(o.middlewares, wrap)
	}
}

// WithUserAgent sets the User-Agent header, which is "till" otherwise: printable ASCII, such as "shop/1.2".
func WithUserAgent(text string) Option {
	return func(o *options) {
		if strings.Trim(text, " ") == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			o.err = fmt.Errorf("WithUserAgent: %q is not printable ASCII", text)
			return
		}
		o.userAgent = text
	}
}

// WithTLSConfig sets the configuration of TLS, for a client certificate say. It is copied. TLS is 1.2 or newer whatever it
// says, HTTP/2 is not offered, and a configuration that switches verification off is an error of New. WithRootCAs goes
// before its RootCAs. With WithTransport it has no effect.
func WithTLSConfig(config *tls.Config) Option {
	return func(o *options) {
		switch {
		case config == nil:
			o.err = errors.New("WithTLSConfig: the configuration is nil: leave it out")
		case config.InsecureSkipVerify:
			o.err = errors.New("WithTLSConfig: InsecureSkipVerify would send the key to anybody: trust the service's authority with WithRootCAs")
		case config.MaxVersion != 0 && config.MaxVersion < tls.VersionTLS12:
			o.err = errors.New("WithTLSConfig: MaxVersion is less than TLS 1.2")
		default:
			o.tls = config.Clone()
		}
	}
}

// New makes a Client for the service at baseURL, an absolute http or https address that may have a path. Plain http is
// refused unless the host is a literal loopback address, since the key would cross the network in the open; for the
// same reason a sandbox key is refused for any other host. An option that is nil is an error. New sends nothing.
func New(baseURL string, opts ...Option) (*Client, error) {
	o := options{resellerKey: true, readTimeout: DefaultReadTimeout, createTimeout: DefaultCreateTimeout, retries: 3, userAgent: "till"}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("option %d is nil: leave it out", i+1)
		}
		if opt(&o); o.err != nil {
			return nil, o.err
		}
	}
	base, err := checkBaseURL(baseURL)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(o.key, SandboxKeyPrefix) && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("this is a sandbox's key, and %s is not on this machine: a sandbox's key is sent to loopback addresses only", base.Host)
	}
	if strings.ContainsFunc(o.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key has a space, a control character or a letter beyond ASCII in it: it would not survive in a header")
	}
	reads, creates, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:          strings.TrimRight(base.String(), "/"),
		fingerprint:   fingerprint(o.key),
		resellerKey:   o.resellerKey,
		readTimeout:   o.readTimeout,
		createTimeout: o.createTimeout,
	}
	k := &keyed{newHeaders(o), newResty(reads), newResty(creates)}
	retryReads(k.reads.Client, o.retries)
	neverResend(k.creates.Client)
	if o.trace == nil { // a trace shows the body, and needs one of its own
		onlyBody(k.creates.Client)
	}
	c.keyed = func() *keyed { return k }
	c.Withdrawals = &Withdrawals{c}
	c.Invoices = &Invoices{c}
	c.Invites = &Invites{c}
	c.Resellers = &Resellers{c}
	return c, nil
}

func fingerprint(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// headers are what the requests of a client begin with. They are put together once, because a merchant's calls come by
// the thousand, and nothing writes to them afterwards: resty sends a copy.
type headers struct{ plain, body, keyed, keyedBody http.Header }

func newHeaders(o options) headers {
	plain := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
	if o.transport == nil {
		// net/http would ask for this by itself, in a header made anew for every request.
		plain["Accept-Encoding"] = []string{"gzip"}
	}
	keyed := plain.Clone()
	if o.key != "" {
		keyed["Authorization"] = []string{"Bearer " + o.key}
	}
	all := headers{plain: plain, body: plain.Clone(), keyed: keyed, keyedBody: keyed.Clone()}
	for _, h := range []http.Header{all.body, all.keyedBody} {
		h["Content-Type"] = []string{"application/json"}
	}
	return all
}

// of returns those of a request with or without a body, with or without the key.
func (h *headers) of(body, keyed bool) http.Header {
	switch {
	case body && keyed:
		return h.keyedBody
	case body:
		return h.body
	case keyed:
		return h.keyed
	}
	return h.plain
}

// restyClient is a resty client that uses its requests again. One is most of a kilobyte with its maps, and a new one for
// every call would be a tenth of all that a call leaves to the garbage collector.
type restyClient struct {
	*resty.Client
	blank *resty.Request // what every request begins as; resty only reads its maps, which stay empty
	used  sync.Pool
}

// request returns a request as resty makes it. It belongs to the caller until it is handed to done.
func (c *restyClient) request() *resty.Request {
	req, ok := c.used.Get().(*resty.Request)
	if !ok {
		req = new(resty.Request)
	}
	*req = *c.blank
	return req
}

// done takes a request back, after Execute has returned and its answer was looked at. By then nothing else holds it:
// what net/http may still be writing is the http.Request that resty made of it.
func (c *restyClient) done(req *resty.Request) {
	*req = resty.Request{}
	c.used.Put(req)
}

func newResty(rt http.RoundTripper) *restyClient {
	client := resty.NewWithClient(&http.Client{
		Transport: rt,
		// A redirect would carry the key and, with a 307, the body to an address that was not configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).
		SetLogger(silent{})
	return &restyClient{Client: client, blank: client.R().SetDoNotParseResponse(true)}
}

// silent keeps resty from writing to standard error: what went wrong is in the error that a call returns.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

func checkBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the base URL %q cannot be read: %w", text, err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return nil, fmt.Errorf("the base URL %q is not an absolute http or https address, such as https://pay.example.com", text)
	case u.User != nil:
		return nil, errors.New("the base URL holds a user name or password: leave it out, the key goes into a header")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("the base URL %q has a query or a fragment: leave it out", text)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("the base URL %q is plain http to another machine, where the key could be read on the way: use https (or 127.0.0.1 for a service on this machine)", text)
	}
	return u, nil
}

// isLoopback accepts literal addresses only: what a name means is another machine's word.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
