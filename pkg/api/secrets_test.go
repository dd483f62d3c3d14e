package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

// aKey is a key that has a character for every escape.
const aKey = `sk_live/Zq7+wT4&uR9=mK2"xV6<pL8%41eH3yN5\nbJ0~dG1'fC`

// spellings returns the key as services, proxies and gateways quote it.
func spellings() map[string]string {
	asJSON, _ := json.Marshal(aKey)
	return map[string]string{
		"plain": aKey, "JSON": string(asJSON), "JSON, slashes": strings.ReplaceAll(strconv.Quote(aKey), "/", `\/`),
		"HTML":      html.EscapeString(aKey),
		"URL query": url.QueryEscape(aKey), "URL path": url.PathEscape(aKey),
		"base64":             base64.StdEncoding.EncodeToString([]byte(aKey)),
		"base64 of a header": base64.URLEncoding.EncodeToString([]byte("Bearer " + aKey)),
	}
}

// leaks reports whether a text shows aKey: quoted in any way, in hexadecimal or in base64.
func leaks(text string) bool {
	const part = "eH3yN5"
	for before := range 3 {
		in64 := base64.RawStdEncoding.EncodeToString([]byte("xyz"[:before] + aKey))
		if strings.Contains(text, in64[24:48]) {
			return true
		}
	}
	return strings.Contains(text, part) || strings.Contains(text, hex.EncodeToString([]byte(part)))
}

// TestErrorsAndTraceShowNoKey checks that no echo of the key gets into the error or the trace of a call.
func TestErrorsAndTraceShowNoKey(t *testing.T) {
	answers := map[string]string{
		"the status line":         "HTTP/1.1 400 Bearer " + aKey + "\r\nContent-Length: 0\r\n\r\n",
		"a malformed status line": "HTTP/1.1 " + aKey + "\r\n\r\n",
		"no status line":          aKey + " is not allowed\r\n\r\n",
		"Content-Length":          "HTTP/1.1 200 OK\r\nContent-Length: " + aKey + "\r\n\r\n",
		"Location":                reply(302, "", "Location: /login?token="+url.QueryEscape(aKey)),
		"cut in the message":      reply(502, strings.Repeat("x", 41)+aKey),
		"cut in the trace":        reply(200, "<p>"+strings.Repeat("x", maxTraced-20)+aKey),
		"gzip":                    reply(200, zipped("<p>"+aKey+"</p>"), "Content-Encoding: gzip"),
	}
	for name, text := range spellings() {
		answers["HTML with 200, "+name] = reply(200, "<pre>"+text)
		answers["envelope of "+name] = reply(401, fmt.Sprintf(`{"error":{"code":1,"reason":%q,"description":%q}}`,
			text, "no "+text))
		answers["wrong name "+name] = reply(200,
			fmt.Sprintf(`{"page_content":[{"amount":{"Crypto":{%q:"x"}}}],"page_count":1,"total":1}`, text))
	}
	for name, answer := range answers {
		for _, traced := range []bool{false, true} {
			if traced && (strings.HasPrefix(name, "envelope") || strings.HasPrefix(name, "wrong name")) {
				continue // in its JSON, the key is quoted twice
			}
			w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(answer); return false })
			var trace bytes.Buffer
			opts := []Option{WithAPIKey(aKey), WithRetries(0)}
			if traced {
				opts = append(opts, WithTrace(&trace))
			}
			client := newClient(t, w.url, opts...)
			_, create := client.Withdrawals.Create(t.Context(), sampleCreate())
			_, read := client.Withdrawals.List(t.Context(), WithdrawalFilter{}, 0, 1)
			var shown string
			page, _ := client.Withdrawals.ListLenient(t.Context(), WithdrawalFilter{}, 0, 1)
			for _, u := range page.Unreadable {
				shown += fmt.Sprintf("%v %#v\n", u.Err, u.Err)
			}
			shown += trace.String()
			for _, err := range []error{failure(t, create), failure(t, read)} {
				for ; err != nil; err = errors.Unwrap(err) {
					shown += fmt.Sprintf("%v %+v %#v %s\n", err, err, err, everyText(err))
				}
			}
			if leaks(shown) {
				t.Errorf("%s: the key is in %q", name, shown)
			}
		}
	}
}

// TestErrorWithoutKeyKeepsItsCause checks that an error from which the key is removed matches its cause.
func TestErrorWithoutKeyKeepsItsCause(t *testing.T) {
	failing := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, notSentError{fmt.Errorf("malformed %q: %w", aKey, io.ErrUnexpectedEOF)}
	})
	client := must[*Client](t)(New("http://127.0.0.1", WithAPIKey(aKey), WithTransport(failing)))
	_, err := client.Withdrawals.Create(t.Context(), sampleCreate())
	if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		!strings.Contains(err.Error(), "malformed \"[hidden]\"") {
		t.Errorf("got %v", err)
	}
}

// TestAnswersAreData checks that an answer with the key in it, whole or in part, comes out as it was sent.
func TestAnswersAreData(t *testing.T) {
	const merchant = "m-4f1c0e9ab2d84c7e"
	for _, key := range []string{"live_" + merchant + "_Zq7wT4uR9", merchant} {
		text := strings.NewReplacer("m-1", merchant, `"4711"`, `"`+merchant+`"`, "w-1", merchant,
			"bc1qexample", merchant).Replace(sampleWithdrawal)
		unreadable := strings.Replace(text, `"address"`, `"no_address"`, 1)
		answers := map[string]string{
			"/api/merchant_withdrawal":        text,
			"/api/merchant_withdrawal/create": `"` + merchant + `"`,
			"/api/merchant_withdrawal/list":   `{"page_content":[` + unreadable + `],"page_count":1,"total":1}`,
			"/api/invite":                     `{"invite":"` + someID + `","label":"l","url":"https://u/` + merchant + `"}`,
		}
		w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, answers[r.URL.Path])); return true })
		client := newClient(t, w.url, WithAPIKey(key), WithTrace(io.Discard))
		got, err := client.Withdrawals.Get(t.Context(), "w-1")
		if err != nil || string(got.RawJSON()) != text || got.MerchantID != merchant || got.ID != merchant ||
			got.ExternalOrderID != merchant || got.Address.Text != merchant {
			t.Errorf("%s: got %s, %v", key, got.RawJSON(), err)
		}
		request := sampleCreate()
		request.Address, request.Memo = merchant, merchant
		if id, err := client.Withdrawals.Create(t.Context(), request); err != nil || id != merchant {
			t.Errorf("%s: the id is %q, %v", key, id, err)
		}
		if raw, err := client.Do(t.Context(), "GET", "/api/merchant_withdrawal", nil); err != nil || string(raw) != text {
			t.Errorf("%s: the body is %s, %v", key, raw, err)
		}
		if invite, err := client.Invites.Create(t.Context(), someID); err != nil || !strings.HasSuffix(invite.URL, merchant) {
			t.Errorf("%s: got %+v, %v", key, invite, err)
		}
		page, err := client.Withdrawals.ListLenient(t.Context(), WithdrawalFilter{}, 1, 100)
		if err != nil || len(page.Unreadable) != 1 {
			t.Fatalf("%s: got %+v, %v", key, page, err)
		}
		if u := page.Unreadable[0]; string(u.RawJSON()) != unreadable || u.ExternalOrderID != merchant ||
			!u.Readable("external_order_id") {
			t.Errorf("%s: got %s, without %v", key, u.RawJSON(), u.Unread)
		}
	}
}

// TestTraceOfARequestWithTheKey checks that the request in a trace is cut only after the key is hidden.
func TestTraceOfARequestWithTheKey(t *testing.T) {
	w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, "{}")); return false })
	var trace bytes.Buffer
	client := newClient(t, w.url, WithAPIKey(aKey), WithTrace(&trace))
	body, _ := json.Marshal(strings.Repeat("x", maxTraced-20) + aKey + strings.Repeat("y", 100))
	client.Do(t.Context(), "POST", "/api/other?key="+url.QueryEscape(aKey), body)
	if leaks(trace.String()) || strings.Contains(trace.String(), "sk_live") ||
		!strings.Contains(trace.String(), "bytes more") {
		t.Errorf("the trace is %s", trace.String())
	}
}

// everyText returns all text that reflection finds in a value, following pointers.
func everyText(value any) string {
	var b strings.Builder
	seen := map[unsafe.Pointer]bool{}
	var walk func(v reflect.Value, depth int)
	walk = func(v reflect.Value, depth int) {
		if depth > 60 || b.Len() > 4<<20 {
			return
		}
		switch v.Kind() {
		case reflect.String:
			b.WriteString(v.String() + "\n")
		case reflect.Pointer:
			if !v.IsNil() && !seen[v.UnsafePointer()] {
				seen[v.UnsafePointer()] = true
				walk(v.Elem(), depth+1)
			}
		case reflect.Interface:
			walk(v.Elem(), depth+1)
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), depth+1)
			}
		case reflect.Slice, reflect.Array:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				for i := range v.Len() {
					b.WriteByte(byte(v.Index(i).Uint()))
				}
				b.WriteByte('\n')
				return
			}
			for i := range min(v.Len(), 1000) {
				walk(v.Index(i), depth+1)
			}
		case reflect.Map:
			for each := v.MapRange(); each.Next(); {
				walk(each.Key(), depth+1)
				walk(each.Value(), depth+1)
			}
		}
	}
	walk(reflect.ValueOf(value), 0)
	return b.String()
}

// TestPrintedClientShowsNoKey checks that printing a client, before or after a call, or an option never
// prints the key.
func TestPrintedClientShowsNoKey(t *testing.T) {
	w := newWire(t, accepting)
	option := WithAPIKey(aKey)
	client := must[*Client](t)(New(w.url, option, WithTrace(io.Discard)))
	// No connection is in use yet.
	if found := everyText(struct{ inner http.Header }{client.keyed().headers(true, true)}); !leaks(found) {
		t.Error("the test would not find the key where it is")
	}
	for range 2 {
		for name, value := range map[string]any{
			"client": client, "a copied client": reflect.ValueOf(client).Elem().Interface(),
			"withdrawals": client.Withdrawals, "invoices": client.Invoices,
			"invites": client.Invites, "resellers": *client.Resellers, "option": option, "options": []Option{option},
			"in a struct": struct{ inner, Outer any }{client, client}, "in a map": map[string]*Client{"a": client},
		} {
			if leaks(printed(value) + everyText(value)) {
				t.Errorf("the key is shown by %s", name)
			}
		}
		must[Withdrawal](t)(client.Withdrawals.Get(t.Context(), "w-1"))
	}
	client.closeIdle()
}

// keptOnce returns a client with an idle connection, which the wire closes when hangUp is called. do is called when
// a create gets that connection, before anything is written to it.
func keptOnce(t *testing.T, do func(net.Conn), opts ...Option) (
	ctx context.Context, client *Client, w *wire, hangUp func(),
) {
	hungUp := make(chan struct{})
	w = newWire(t, func(c *wireConn, r *http.Request) bool {
		if accepting(c, r); r.Method == "GET" {
			<-hungUp
		} else if !r.Close {
			t.Error("the new connection is kept in a transport that nobody uses again")
		}
		return false
	})
	client = newClient(t, w.url, opts...)
	must[Withdrawal](t)(client.Withdrawals.Get(t.Context(), "w-1"))
	ctx = httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			do(info.Conn)
		}
	}})
	return ctx, client, w, func() { close(hungUp) }
}

// TestKeptConnectionThatCloses checks that a kept connection that closes before the first byte of a create is
// replaced once, and that the create arrives once.
func TestKeptConnectionThatCloses(t *testing.T) {
	do := func(body []byte) func(ctx context.Context, c *Client) error {
		return func(ctx context.Context, c *Client) error { return err2(c.Do(ctx, "POST", "/api/other", body)) }
	}
	create := func(ctx context.Context, c *Client) error { return err2(c.Withdrawals.Create(ctx, sampleCreate())) }
	for _, tt := range []struct {
		name  string
		call  func(ctx context.Context, c *Client) error
		whole int32 // creates that arrive; 0: the new connection is not accepted
	}{
		{"create", create, 1}, {"raw, with a body", do([]byte(`{"a":1}`)), 1}, {"raw, without a body", do(nil), 1},
		{"the service is gone", create, 0},
	} {
		for _, opts := range [][]Option{nil, {WithTrace(io.Discard)}} {
			var ctx context.Context
			var client *Client
			var w *wire
			var hangUp func()
			reused, asked := 0, 0
			ctx, client, w, hangUp = keptOnce(t, func(conn net.Conn) {
				if reused++; tt.whole == 0 {
					w.listener.Close()
				}
				hangUp()
				for conn.(*gatedConn).state.Load() != gateShut { // until the client has closed it as well
					conn.Read(nil)
				}
			}, opts...)
			err := tt.call(BeforeSending(ctx, func() error { asked++; return nil }), client)
			if tt.whole == 1 && err != nil || tt.whole == 0 && failure(t, err).Outcome != NotSent {
				t.Errorf("%s: got %v", tt.name, err)
			}
			client.closeIdle()
			w.stop()
			if w.began.Load() != tt.whole || w.whole.Load() != tt.whole || reused != 1 || asked != int(tt.whole) ||
				w.conns.Load() != tt.whole+1 {
				t.Errorf("%s: %d creates began to arrive and %d arrived, want %d; %d asked, %d on a used one of %d connections",
					tt.name, w.began.Load(), w.whole.Load(), tt.whole, asked, reused, w.conns.Load())
			}
		}
	}
}

// TestKeptConnectionThatClosesDuringTheCheck checks that a kept connection is replaced as well if it closes after
// the last check of a create has begun, so that the write finds it closed and writes nothing.
func TestKeptConnectionThatClosesDuringTheCheck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a write that is interrupted does not say what it has written")
	}
	var used net.Conn
	asked := 0
	ctx, client, w, hangUp := keptOnce(t, func(conn net.Conn) { used = conn })
	ctx = BeforeSending(ctx, func() error {
		if asked++; asked == 1 {
			hangUp()
			for err := error(nil); !errors.Is(err, net.ErrClosed); { // until the client has closed it as well
				_, err = used.Read(make([]byte, 1))
			}
		}
		return nil
	})
	id, err := client.Withdrawals.Create(ctx, sampleCreate())
	client.closeIdle()
	w.stop()
	if err != nil || id != "w-1" || w.whole.Load() != 1 || asked != 2 {
		t.Errorf("got %q and %v, %d creates arrived after %d checks", id, err, w.whole.Load(), asked)
	}
}

// TestConnectionIsReplacedOnce checks that only a kept connection is replaced, and that the new one is not replaced
// again. If it is closed too, the create is not retried; if a byte was written to it, the outcome is unknown.
func TestConnectionIsReplacedOnce(t *testing.T) {
	for _, tt := range []struct {
		kept, answers bool
		want          Outcome
		dials, began  int32
	}{{false, false, NotSent, 1, 0}, {true, false, NotSent, 2, 0}, {true, true, Unknown, 2, 1}} {
		var dials atomic.Int32
		w := newWire(t, func(*wireConn, *http.Request) bool { return false }) // it takes the create and closes the connection
		var gone atomic.Bool
		client := newClient(t, w.url)
		client.network().DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if dials.Add(1) == 2 && tt.answers {
				return &gatedConn{Conn: conn}, err
			}
			return &gatedConn{Conn: goneConn{conn, &gone}}, err
		}
		if tt.kept {
			warm(t, client)
		}
		gone.Store(true)
		_, err := client.Withdrawals.Create(t.Context(), sampleCreate())
		client.closeIdle()
		w.stop()
		if e := failure(t, err); e.Outcome != tt.want || w.began.Load() != tt.began || dials.Load() != tt.dials {
			t.Errorf("%+v: got %v after %d dials and %d creates", tt, err, dials.Load(), w.began.Load())
		}
	}
}

// TestProxyIsNamed checks that an error names a proxy that refuses to connect, without the password in its
// address.
func TestProxyIsNamed(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(407)
	}))
	defer proxy.Close()
	address := strings.TrimPrefix(proxy.URL, "http://")
	want := "the proxy http://" + address + " does not connect: it answered HTTP 407 Proxy Authentication Required"
	client := newClient(t, "https://pay.example.com")
	client.network().Proxy = http.ProxyURL(must[*url.URL](t)(url.Parse("http://ann:pass-word-1@" + address)))
	_, err := client.Withdrawals.Create(t.Context(), sampleCreate())
	e, refusal := failure(t, err), new(ProxyError)
	if e.Outcome != NotSent || !errors.As(err, &refusal) || refusal.Proxy != "http://"+address ||
		!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass-word") {
		t.Errorf("got %v", err)
	}
}
