package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const rejection = `{"error":{"code":1,"reason":"no","description":"no."}}`

// TestMiddlewareCannotChangeOutcomes checks that no middleware changes an unknown outcome, and that none can
// send a create twice.
func TestMiddlewareCannotChangeOutcomes(t *testing.T) {
	type middleware = func(next http.RoundTripper, r *http.Request) (*http.Response, error)
	pass := func(next http.RoundTripper, r *http.Request) (*http.Response, error) { return next.RoundTrip(r) }
	twice := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		var resp *http.Response
		var err error
		for range 2 {
			again := r.Clone(r.Context())
			again.Body = io.NopCloser(bytes.NewReader(body))
			resp, err = next.RoundTrip(again)
		}
		return resp, err
	}
	fails := func(err error) roundTripper {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	instead := func(do roundTripper) middleware {
		return func(_ http.RoundTripper, r *http.Request) (*http.Response, error) { return do(r) }
	}
	after := func(do roundTripper) middleware {
		return func(next http.RoundTripper, r *http.Request) (*http.Response, error) { next.RoundTrip(r); return do(r) }
	}
	changed := func(change func(*http.Response)) middleware {
		return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			change(resp)
			return resp, err
		}
	}
	later := make(chan func() error, 1)
	for _, tt := range []struct {
		name    string
		status  int // of the service; 0: it breaks off, -1: nothing listens
		body    string
		do      middleware
		want    Outcome // -1: no error
		creates int32
	}{
		{"passes on an answer", 200, `"w-1"`, pass, -1, 1},
		{"passes on a rejection", 400, rejection, pass, Rejected, 1},
		{"passes on a failure", 0, "", pass, Unknown, 1},
		{"passes on a failed connection", -1, "", pass, NotSent, 0},
		{"wraps an answer's body", 200, `"w-1"`, changed(func(resp *http.Response) {
			text, _ := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(bytes.NewReader(text))
		}), -1, 1},
		{"wraps an error", -1, "", func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			_, err := next.RoundTrip(r)
			return nil, fmt.Errorf("wrapped: %w", err)
		}, NotSent, 0},
		{"says another error", -1, "", after(fails(errors.New("another"))), NotSent, 0},
		{"tries again what was not sent", -1, "", twice, NotSent, 0},

		{"says that nothing was sent", 0, "", after(fails(notSentError{errors.New("x")})), Unknown, 1},
		{"says so after an answer", 200, `"w-1"`, after(fails(fmt.Errorf("x: %w", notSentError{errors.New("x")}))),
			Unknown, 1},
		{"swallows a failure", 0, "", after(answering(400, rejection)), Unknown, 1},
		{"swallows a failure and answers well", 0, "", after(answering(200, `"w-1"`)), Unknown, 1},
		{"returns nothing after a failure", 0, "", after(fails(nil)), Unknown, 1},
		{"returns nothing after an answer", 200, `"w-1"`, after(fails(nil)), Unknown, 1},
		{"answers by itself", 200, "", instead(answering(200, `"w-1"`)), Unknown, 0},
		{"rejects by itself", 200, "", instead(answering(400, rejection)), Unknown, 0},
		{"fails by itself", 200, "", instead(fails(errors.New("x"))), Unknown, 0},
		{"refuses by itself", 200, "", instead(fails(notSentError{errors.New("x")})), NotSent, 0},
		{"changes the status", 500, rejection, changed(func(resp *http.Response) { resp.StatusCode = 400 }), Unknown, 1},
		{"changes the body", 400, "<html>", changed(func(resp *http.Response) {
			resp.Body = io.NopCloser(strings.NewReader(rejection))
		}), Unknown, 1},
		{"sends twice", 200, `"w-1"`, twice, Unknown, 1},
		{"sends again what failed", 0, "", twice, Unknown, 1},
		{"sends again what was rejected", 400, rejection, twice, Unknown, 1},
		{"sends once more and returns the first answer", 400, rejection,
			func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				next.RoundTrip(r)
				return resp, err
			}, Rejected, 1},
		{"takes the context away", 200, `"w-1"`, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			return next.RoundTrip(r.WithContext(context.Background()))
		}, NotSent, 0},
		{"sends when the call has ended", 200, `"w-1"`,
			func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				again := r.Clone(context.WithoutCancel(r.Context()))
				later <- func() error { _, err := next.RoundTrip(again); return err }
				return nil, notSentError{errors.New("given up")}
			}, NotSent, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := newWire(t, func(c *wireConn, r *http.Request) bool {
				if tt.status > 0 {
					c.say(reply(tt.status, tt.body, "Connection: close"))
				}
				return false
			})
			if tt.status < 0 {
				service.stop()
			}
			for _, trace := range []Option{WithTimeouts(0, 0), WithTrace(io.Discard)} {
				service.began.Store(0)
				client := must[*Client](t)(New(service.url, trace, WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(r *http.Request) (*http.Response, error) { return tt.do(next, r) })
				})))
				id, err := client.Withdrawals.Create(t.Context(), sampleCreate())
				var call *Error
				switch {
				case tt.want == -1 && (err != nil || id != "w-1"):
					t.Errorf("%q, %v", id, err)
				case tt.want != -1 && (!errors.As(err, &call) || call.Outcome != tt.want || id != ""):
					t.Errorf("%q, %v, want %s", id, err, tt.want)
				}
				select {
				case send := <-later:
					if err := send(); err == nil {
						t.Error("it is sent after the call has ended")
					}
				default:
				}
				if got := service.began.Load(); got != tt.creates {
					t.Errorf("the service got %d creates, want %d", got, tt.creates)
				}
			}
		})
	}
}

// TestMiddlewareOrder checks that middlewares see requests in order, including reads, and see compressed
// answers decompressed.
func TestMiddlewareOrder(t *testing.T) {
	var seen []string
	named := func(name string) Option {
		return WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				seen = append(seen, name+" "+r.Method)
				r = r.Clone(r.Context())
				r.Header.Add("X-Seen", name)
				resp, err := next.RoundTrip(r)
				if err == nil && resp.Header.Get("Content-Encoding") != "" {
					t.Error("an answer is still compressed")
				}
				return resp, err
			})
		})
	}
	var header http.Header
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, zipped(sampleWithdrawal))
	}))
	defer service.Close()
	client := must[*Client](t)(New(service.URL, named("a"), named("b"), WithUserAgent("shop/1.2")))
	w := must[Withdrawal](t)(client.Withdrawals.Get(t.Context(), "w-1"))
	if string(w.RawJSON()) != sampleWithdrawal || !slices.Equal(seen, []string{"a GET", "b GET"}) ||
		!slices.Equal(header["X-Seen"], []string{"a", "b"}) {
		t.Errorf("%s, %q, %q", w.RawJSON(), seen, header["X-Seen"])
	}
	if got := header.Get("User-Agent"); got != "shop/1.2" {
		t.Errorf("User-Agent: %s", got)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for name, option := range map[string]Option{
		"nil":                nil,
		"nil middleware":     WithMiddleware(nil),
		"no round tripper":   WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nil }),
		"empty user agent":   WithUserAgent(" "),
		"line in user agent": WithUserAgent("a\r\nX: b"),
		"nil TLS":            WithTLSConfig(nil),
		"no verification":    WithTLSConfig(&tls.Config{InsecureSkipVerify: true}),
		"old TLS":            WithTLSConfig(&tls.Config{MaxVersion: tls.VersionTLS11}),
	} {
		if client, err := New("http://127.0.0.1", option); err == nil || client != nil {
			t.Errorf("%s: %v, %v", name, client, err)
		}
	}
}

// TestTLSConfig checks that WithTLSConfig sets the client certificate, but cannot allow an older TLS or
// HTTP/2.
func TestTLSConfig(t *testing.T) {
	var proto string
	var shown int
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto, shown = r.Proto, len(r.TLS.PeerCertificates)
		io.WriteString(w, sampleWithdrawal)
	}))
	service.EnableHTTP2 = true
	service.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	service.StartTLS()
	defer service.Close()
	roots := service.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, NextProtos: []string{"h2", "http/1.1"},
		Certificates: service.TLS.Certificates}
	client := must[*Client](t)(New(service.URL, WithTLSConfig(config)))
	config.RootCAs = nil // New has copied it
	if _, err := client.Withdrawals.Get(t.Context(), "w-1"); err != nil || proto != "HTTP/1.1" || shown != 1 {
		t.Errorf("%s, %d certificates, %v", proto, shown, err)
	}
	client.closeIdle()
	if got := tlsConfig(options{tls: config, roots: roots}); got.MinVersion != tls.VersionTLS12 || got.RootCAs != roots {
		t.Errorf("at least version %x", got.MinVersion)
	}
	if got := tlsConfig(options{tls: &tls.Config{MinVersion: tls.VersionTLS13}}); got.MinVersion != tls.VersionTLS13 {
		t.Errorf("at least version %x", got.MinVersion)
	}
}
