package api

import (
	"cmp"
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
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"example.com/till/internal/secret"
	"github.com/go-resty/resty/v2"
)

// These are the default time limits of a call: connecting, sending, retries of a read, and reading the
// answer.
const (
	DefaultReadTimeout   = 30 * time.Second
	DefaultCreateTimeout = 90 * time.Second
)

// SandboxKeyPrefix marks the keys of a sandbox. A Client sends such a key to loopback addresses only.
const SandboxKeyPrefix = "till_sandbox_"

// Client calls one service with one key. Make one with New and share it: it is safe for concurrent use and
// keeps connections open between calls.
type Client struct {
	Withdrawals *Withdrawals
	Invoices    *Invoices
	Invites     *Invites
	Resellers   *Resellers

	base        string
	fingerprint string
	large       sync.Mutex // locked while a large answer is decoded

	// keyed returns the values that contain the key. It is a func so that packages that print values, such as
	// fmt and slog, do not find the key in a Client.
	keyed func() *keyed
}

// String returns the base URL.
func (c *Client) String() string { return "api.Client(" + c.base + ")" }

// BaseURL returns the address of the service, without a trailing slash.
func (c *Client) BaseURL() string { return c.base }

// KeyFingerprint identifies the key without showing it: the first 8 bytes of its SHA-256, in hexadecimal.
func (c *Client) KeyFingerprint() string { return c.fingerprint }

// keyed holds the parts of a Client that contain the key.
type keyed struct {
	options
	reads   restyClient
	creates restyClient
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
	err           error // from an option
}

// WithAPIKey sets the key, which every call sends in the Authorization header.
func WithAPIKey(key string) Option { return func(o *options) { o.key = key } }

// WithoutResellerAuth leaves the key out of the calls of Invites and Resellers. The interface does not say
// how these calls are authenticated; by default they send the key.
func WithoutResellerAuth() Option { return func(o *options) { o.resellerKey = false } }

// WithTimeouts limits each call. Zero keeps the default.
func WithTimeouts(read, create time.Duration) Option {
	return func(o *options) {
		o.readTimeout = cmp.Or(max(read, 0), o.readTimeout)
		o.createTimeout = cmp.Or(max(create, 0), o.createTimeout)
	}
}

// WithRetries sets how many times a read is retried after a connection error or a 429, 502, 503 or 504. The
// default is 3. A create is never retried.
func WithRetries(n int) Option { return func(o *options) { o.retries = n } }

// WithRootCAs sets the trusted certificate authorities, in place of the system's.
func WithRootCAs(pool *x509.CertPool) Option { return func(o *options) { o.roots = pool } }

// WithTrace writes every request and answer to w, each with one Write and with the key hidden. A client never
// makes two of these writes at the same time, even if calls run concurrently, so w can be a bytes.Buffer.
func WithTrace(w io.Writer) Option { return func(o *options) { o.trace = w } }

// WithTransport sends requests through rt instead of the network, for example to a handler in the same
// process or to a recorder. Only this package's own transport knows that nothing was written. With another
// transport a failed create is Unknown, not NotSent, unless the error that rt returns, or one in its chain,
// has a method NotSent() bool that returns true. Such an error guarantees that no byte of the request was or
// will be written.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithMiddleware puts wrap around the transport, for example to count, time or log calls, or to add a header.
// New calls wrap twice: once for reads and once for creates. With several middlewares, the first sees a
// request first. A middleware sees the key in the Authorization header.
//
// A middleware cannot change the outcome of a create. The transport below it sends a create at most once, and
// sends nothing after the call has ended. The call is Unknown if a middleware answers by itself, if it
// changes the answer's status or body, or if it returns an answer after a failure in which something may have
// been written. The call is NotSent only if the transport below knows that nothing was written, or if the
// middleware did not call it and returns an error with a method NotSent() bool that returns true, see
// WithTransport. The context of the request that a middleware passes on must be that of the request it got,
// or derived from it.
func WithMiddleware(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(o *options) {
		if wrap == nil {
			o.err = errors.New("WithMiddleware: the middleware is nil: leave it out")
			return
		}
		o.middlewares = append(o.middlewares, wrap)
	}
}

// WithUserAgent sets the User-Agent header: printable ASCII, such as "shop/1.2". The default is "till".
func WithUserAgent(text string) Option {
	return func(o *options) {
		if strings.Trim(text, " ") == "" ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			o.err = fmt.Errorf("WithUserAgent: %q is not printable ASCII", text)
			return
		}
		o.userAgent = text
	}
}

// WithTLSConfig sets the TLS configuration, for example for a client certificate. It copies config. TLS is
// always 1.2 or newer, and HTTP/2 is not offered. New returns an error if the configuration disables
// verification. WithRootCAs overrides its RootCAs. WithTLSConfig has no effect with WithTransport.
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

// New makes a Client for the service at baseURL, an absolute http or https address that may have a path. It
// refuses plain http unless the host is a literal loopback address, because the key would cross the network
// unencrypted. It also refuses what CheckSpelling refuses, a sandbox key for any other host, and a nil
// option. New sends nothing.
func New(baseURL string, opts ...Option) (*Client, error) {
	o := options{resellerKey: true, readTimeout: DefaultReadTimeout, createTimeout: DefaultCreateTimeout, retries: 3,
		userAgent: "till"}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("an option is nil: leave it out")
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
	if o.transport == nil {
		if err := checkProxy(base); err != nil {
			return nil, err
		}
	}
	reads, creates, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(o.key))
	c := &Client{base: strings.TrimRight(base.String(), "/"), fingerprint: hex.EncodeToString(sum[:8])}
	k := &keyed{o, newResty(reads), newResty(creates)}
	c.keyed = func() *keyed { return k }
	c.Withdrawals = &Withdrawals{c}
	c.Invoices = &Invoices{c}
	c.Invites = &Invites{c}
	c.Resellers = &Resellers{c}
	return c, nil
}

func (o options) hide(text string) string { return secret.Hide(text, o.key) }

// headers returns the headers of a request with or without a body, and with or without the key.
func (o options) headers(body, key bool) http.Header {
	h := http.Header{"User-Agent": {o.userAgent}, "Accept": {"application/json"}}
	if o.transport == nil {
		// net/http would ask for this by itself, but would make a new header for every request.
		h["Accept-Encoding"] = []string{"gzip"}
	}
	if body {
		h["Content-Type"] = []string{"application/json"}
	}
	if key && o.key != "" {
		h["Authorization"] = []string{"Bearer " + o.key}
	}
	return h
}

// restyClient is a resty client that sends a request once: resty's own retries stay off.
type restyClient struct {
	*resty.Client
	blank *resty.Request // resty only reads its maps, which stay empty
}

// request returns a request as resty makes it, but without its maps: they are a tenth of the garbage of a
// call.
func (c restyClient) request() *resty.Request {
	req := *c.blank
	return &req
}

func newResty(rt http.RoundTripper) restyClient {
	client := resty.NewWithClient(&http.Client{
		Transport: rt,
		// A redirect would carry the key and, with a 307, the body to an address that was not configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).SetLogger(silent{})
	return restyClient{client, client.R().SetDoNotParseResponse(true)}
}

// silent keeps resty from writing to standard error: the error of a call says what went wrong.
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
	return u, CheckSpelling(u)
}

// CheckSpelling refuses a base URL that is another spelling of a base URL: the path has dot segments, empty
// segments or percent codes that are not needed, or the host ends with a dot or has letters beyond ASCII. The
// same service would have two addresses, and what was sent to one would be unknown at the other.
func CheckSpelling(base *url.URL) error {
	host := base.Hostname()
	switch {
	case strings.HasSuffix(host, "."):
		return fmt.Errorf("the host %q ends with a dot: leave the dot out", host)
	case strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }):
		return fmt.Errorf("the host %q has letters beyond ASCII: write it in its ASCII form, which begins with xn--", host)
	}
	plain := url.URL{Path: strings.TrimRight(path.Clean("/"+base.Path), "/")}
	if written := strings.TrimRight(base.EscapedPath(), "/"); written != plain.EscapedPath() {
		return fmt.Errorf("the path %q is another spelling of %q: write that", written, cmp.Or(plain.EscapedPath(), "/"))
	}
	return nil
}

// isLoopback accepts literal addresses only: another machine decides what a name resolves to.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
