package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxAnswer limits the body of an answer, in bytes after decompression. The statistics of a reseller with
// tens of thousands of invoices fit, but no answer can exhaust the memory of a small machine.
const maxAnswer = 6 << 20

// largeAnswer is the size above which answers are handled one at a time, because several large ones would
// take too much memory. They are decoded one after the other, and no page of a list is read ahead after a
// large one.
const largeAnswer = 1 << 20

// idleForCreate is how long a connection may be idle and still be used. The longer it was idle, the more
// likely the other side has closed it, and a request that is written to a closed connection has an unknown
// outcome.
const idleForCreate = time.Second

// newTransport stacks the layers between resty and the network. From the outside in:
//
//  1. trace: shows the request as it is sent and the answer as it came;
//  2. the caller's middlewares, if any;
//  3. gate, for creates: sends a create at most once, and finds out whether a failed one was written at all;
//  4. whole, also above the middlewares: gives the layers above a complete answer of at most maxAnswer, or an
//     error;
//  5. the network, with one pool of connections for reads and creates.
func newTransport(o options) (reads, creates http.RoundTripper, err error) {
	trace := log.New(o.trace, "", 0)
	stack := func(rt http.RoundTripper) http.RoundTripper {
		for _, wrap := range slices.Backward(o.middlewares) {
			if rt = wrap(rt); rt == nil {
				err = errors.New("a middleware returned no RoundTripper")
				return nil
			}
		}
		if len(o.middlewares) > 0 {
			rt = whole{rt}
		}
		if o.trace != nil {
			rt = tracer{rt, trace, o.hide}
		}
		return rt
	}
	bottom, watched := o.transport, (*http.Transport)(nil)
	if bottom == nil {
		watched = network(o)
		bottom = watched
	}
	reads, creates = stack(whole{bottom}), stack(gate{whole{bottom}, watched})
	return reads, creates, err
}

func network(o options) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	http1 := new(http.Protocols)
	http1.SetHTTP1(true) // HTTP/2 has its own rules for sending a request again
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &gatedConn{Conn: conn}, nil
		},
		TLSClientConfig:        tlsConfig(o),
		TLSHandshakeTimeout:    10 * time.Second,
		Protocols:              http1,
		MaxIdleConns:           128,
		MaxIdleConnsPerHost:    128,
		IdleConnTimeout:        idleForCreate,
		MaxResponseHeaderBytes: 64 << 10,
		OnProxyConnectResponse: func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &ProxyError{nameOfProxy(proxy), fmt.Errorf("it answered HTTP %s", resp.Status)}
		},
	}
}

// tlsConfig returns the caller's configuration, or an empty one, with the settings that the caller cannot
// change.
func tlsConfig(o options) *tls.Config {
	config := &tls.Config{}
	if o.tls != nil {
		config = o.tls.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.NextProtos = nil // this would offer HTTP/2
	if o.roots != nil {
		config.RootCAs = o.roots
	}
	return config
}

// A ProxyError is in the chain of an Error if a proxy refused the connection or could not be reached.
type ProxyError struct {
	Proxy string // its address, without a user name and password
	Err   error
}

func (e *ProxyError) Error() string {
	return "the proxy " + e.Proxy + " does not connect: " + e.Err.Error()
}
func (e *ProxyError) Unwrap() error { return e.Err }

// checkProxy refuses an address of a proxy that cannot be read. The standard library would go without a
// proxy. The error does not show the address, which may have a password.
func checkProxy(base *url.URL) error {
	name := "HTTPS_PROXY"
	if os.Getenv(name) == "" {
		name = "https_proxy"
	}
	address := os.Getenv(name)
	if address == "" || base.Scheme != "https" || isLoopback(base.Hostname()) { // no proxy is asked
		return nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) &&
		isPort(u.Port()) {
		return nil
	}
	return fmt.Errorf("the address of the proxy in %s cannot be read: write http://HOST:PORT, "+
		"where PORT is a number from 1 to 65535, and in a password %%25 for %%, %%2F for / and %%40 for @", name)
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

func nameOfProxy(proxy *url.URL) string { return proxy.Scheme + "://" + proxy.Host }

// withProxy adds the proxy's address to an error about the proxy.
func withProxy(err error, target string) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "proxyconnect" || errors.As(err, new(*ProxyError)) {
		return err
	}
	u, _ := url.Parse(target) // a request to it has been made, so it can be read
	proxy, err2 := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err2 != nil || proxy == nil {
		return err
	}
	return &ProxyError{nameOfProxy(proxy), op.Err}
}

// answer is the body of a response that whole has read.
type answer struct {
	bytes.Reader
	text []byte
}

func (*answer) Close() error { return nil }

// gate is the layer of creates below the middlewares.
type gate struct {
	next    http.RoundTripper
	network *http.Transport // below next; nil: the caller's transport, which cannot be watched
}

func (g gate) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	s, _ := req.Context().Value(sendingKey{}).(*sending)
	if err := s.begin(); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, notSentError{err}
	}
	defer func() { s.end(resp, err) }()
	once := *req
	once.GetBody = nil // without it, net/http cannot send the body a second time
	if g.network == nil {
		for _, check := range s.before {
			if err := check(); err != nil {
				return nil, notSentError{err}
			}
		}
		return g.next.RoundTrip(&once)
	}
	if resp, err = g.next.RoundTrip(&once); err == nil {
		return resp, nil
	}
	unsent, again := s.unsent(err)
	if again && req.GetBody != nil {
		second := once
		if second.Body, err = req.GetBody(); err != nil {
			return nil, unsent
		}
		fresh := g.network.Clone()
		fresh.DisableKeepAlives = true // it has no connections and is used only once
		if resp, err = (whole{fresh}).RoundTrip(&second); err == nil {
			return resp, nil
		}
		unsent, _ = s.unsent(err)
	}
	return nil, cmp.Or(unsent, err)
}

// ErrTooLarge is in the chain of an Error about an answer that is larger than this package accepts. Trying
// the same call again does not help.
var ErrTooLarge = errors.New("the answer is too large")

var errTooLarge = fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxAnswer>>20)

// whole reads an answer to its end, or makes an error of it.
type whole struct{ next http.RoundTripper }

func (w whole) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp == nil || resp.Body == nil {
		return nil, errors.New("the transport returned no answer")
	}
	var text []byte
	switch {
	// What follows is not a body, and may never end.
	case resp.StatusCode == http.StatusSwitchingProtocols:
	case strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip"):
		text, err = readZipped(resp.Body)
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = int64(len(text)), true
	default:
		text, err = readWhole(resp.Body, resp.ContentLength)
	}
	resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
	}
	resp.Body = &answer{*bytes.NewReader(text), text}
	return resp, nil
}

// zipReaders are reused because each takes about 40 KB, and most answers take less than one.
var zipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// readZipped decompresses an answer. net/http does not, because it did not ask for the compression itself:
// see options.headers.
func readZipped(body io.Reader) ([]byte, error) {
	zip := zipReaders.Get().(*gzip.Reader)
	defer zipReaders.Put(zip)
	// A row of members that hold nothing never reaches maxAnswer. Bytes that cannot be compressed become a
	// few more.
	body = http.MaxBytesReader(nil, io.NopCloser(body), maxAnswer+maxAnswer/64)
	switch err := zip.Reset(body); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, brokeOff(0, err)
	}
	return readWhole(zip, -1)
}

// readWhole reads to the end. length is the length that the service declares, or -1.
func readWhole(body io.Reader, length int64) ([]byte, error) {
	if length > maxAnswer {
		return nil, errTooLarge
	}
	// a declared length reserves no more than the size of a page
	text := bytes.NewBuffer(make([]byte, 0, min(max(length, 0), 1<<20)+bytes.MinRead))
	_, err := text.ReadFrom(io.LimitReader(body, maxAnswer+1))
	switch {
	case text.Len() > maxAnswer, errors.As(err, new(*http.MaxBytesError)):
		return nil, errTooLarge
	case err != nil:
		return nil, brokeOff(text.Len(), err)
	}
	return text.Bytes(), nil
}

func brokeOff(after int, err error) error {
	return fmt.Errorf("the answer broke off after %d bytes: %w", after, err)
}
