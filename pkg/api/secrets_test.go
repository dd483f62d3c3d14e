package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// echoes returns answers of every kind that contain the key, as from a proxy that echoes what it was sent.
func echoes(key string) map[string]string {
	// A cut at 60 characters then falls within the key.
	long := strings.Repeat("<p>502 Bad Gateway</p>", 3)[:41]
	all := map[string]string{
		"HTML with 200":            reply(200, "<html><pre>Authorization: Bearer "+key+"</pre>", "Content-Type: text/html"),
		"502, cut":                 reply(502, long+"Bearer "+key),
		"an envelope":              reply(401, fmt.Sprintf(`{"error":{"code":1,"reason":%q,"description":%q}}`, "no "+key, key[3:15])),
		"an envelope, 500":         reply(500, fmt.Sprintf(`{"error":{"code":1,"reason":%q,"description":%q}}`, "no "+key, url.QueryEscape(key))),
		"Location":                 reply(302, "", "Location: /login?token="+url.QueryEscape(key)),
		"Retry-After":              reply(429, goodEnvelope, "Retry-After: "+key),
		"a header's name":          reply(400, "", strings.Map(func(r rune) rune { return map[bool]rune{true: r, false: 'x'}[r >= 'A' && r <= 'z'] }, key)+": x"),
		"the status line":          "HTTP/1.1 400 Bearer " + key + "\r\nContent-Length: 0\r\n\r\n",
		"a malformed status line":  "HTTP/1.1 " + key + "\r\n\r\n",
		"no status line":           key + " is not allowed\r\n\r\n",
		"Content-Length":           "HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n",
		"Transfer-Encoding":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n",
		"a malformed header":       "HTTP/1.1 200 OK\r\n" + key + " no colon\r\n\r\n",
		"an id":                    reply(200, fmt.Sprintf("%q", key)),
		"a piece in an id":         reply(200, fmt.Sprintf("%q", "w-"+key[4:12]+"-1")),
		"JSON of the wrong type":   reply(200, fmt.Sprintf(`{%q:%q}`, key, key)),
		"a cut body":               "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + key,
		"gzip":                     reply(200, zipped("<p>"+key+"</p>"), "Content-Encoding: gzip"),
		"not gzip":                 reply(200, key, "Content-Encoding: gzip"),
		"behind the first 4 KiB":   reply(200, "<p>"+strings.Repeat("x", maxTraced-10)+key),
		"another protocol":         "HTTP/1.1 101 " + key + "\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n" + key,
		"an informational answer":  "HTTP/1.1 103 " + key + "\r\nLink: " + key + "\r\n\r\n" + reply(400, ""),
		"a trailer":                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n<\r\n0\r\nX-Key: " + key + "\r\n\r\n",
		"a chunk that is no chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
	}
	for name, text := range spellings(key) {
		all["HTML, "+name] = reply(200, "<pre>"+text)
	}
	return all
}

// TestEchoesOfTheKey checks that no echo of the key gets out of a call: not in any part of its error, its
// answer or its trace.
func TestEchoesOfTheKey(t *testing.T) {
	for _, key := range []string{aKey, "4f1c0e9ab2d84c7ea1b05d3ef6c81234"} {
		for name, answer := range echoes(key) {
			for _, traced := range []bool{false, true} {
				w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(answer); return false })
				var trace bytes.Buffer
				opts := []Option{WithAPIKey(key), WithRetries(0)}
				if traced {
					opts = append(opts, WithTrace(&trace))
				}
				client := newClient(t, w.url, opts...)
				id, err := client.Withdrawals.Create(t.Context(), sampleCreate())
				if e := failure(t, err); id != "" || e.Outcome != Unknown && e.Outcome != Rejected {
					t.Errorf("%s: a create ends with %q, %v", name, id, err)
				}
				text, readErr := client.Do(t.Context(), "GET", "/api/other", nil)
				shown := id + string(text) + trace.String()
				for _, err := range []error{err, readErr} {
					for ; err != nil; err = errors.Unwrap(err) {
						shown += fmt.Sprintf("%v %+v %#v %s\n", err, err, err, everyText(err))
					}
				}
				if piece := leaks(shown, key); piece != "" {
					t.Errorf("%s: %q leaks in %q", name, piece, shown)
				}
				if w.began.Load() != 1 {
					t.Errorf("%s: the create was sent %d times", name, w.began.Load())
				}
			}
		}
	}
}

// TestHiddenIDIsNoID checks that an id with a hidden piece of the key is not an id: no call can ask for it,
// so the outcome of its create is unknown.
func TestHiddenIDIsNoID(t *testing.T) {
	for name, body := range map[string]string{
		"whole": fmt.Sprintf("%q", aKey), "a piece": fmt.Sprintf("%q", "w-"+aKey[8:16]), "escaped": spellings(aKey[8:16])[`\u0041`],
	} {
		if !strings.HasPrefix(body, `"`) {
			body = `"` + body + `"`
		}
		w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, body)); return false })
		id, err := newClient(t, w.url, WithAPIKey(aKey)).Withdrawals.Create(t.Context(), sampleCreate())
		if e := failure(t, err); e.Outcome != Unknown || !strings.Contains(e.Error(), "its id has a piece of the API key in it") || id != "" {
			t.Errorf("%s: got %q, %v", name, id, err)
		}
	}
	w := newWire(t, func(c *wireConn, r *http.Request) bool {
		c.say(reply(200, fmt.Sprintf(`{"invite":%q,"label":"l","url":%q}`, someID, "https://pay.example.com/"+aKey[:9])))
		return false
	})
	invite, err := newClient(t, w.url, WithAPIKey(aKey)).Invites.Create(t.Context(), someID)
	if e := failure(t, err); e.Outcome != Unknown || invite.URL != "" {
		t.Errorf("got %+v, %v", invite, err)
	}
}

// TestKeyInRecords checks that a record hides the key and keeps the rest exact. A hidden order id is an
// error: the record would be taken for another order's, and the order would be paid again.
func TestKeyInRecords(t *testing.T) {
	const key = "9k12345678Zq7wT4uR9m"
	answer := strings.Replace(sampleWithdrawal, `"current":"New"`, `"current":"New Zq7wT4uR9m","new_field":[1.50,"\u00e4"]`, 1)
	w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, answer)); return true })
	client := newClient(t, w.url, WithAPIKey(key))
	got, err := client.Withdrawals.Get(t.Context(), "w-1")
	if want := strings.Replace(answer, "Zq7wT4uR9m", hiddenMark, 1); err != nil || got.Current != "New "+hiddenMark || string(got.RawJSON()) != want {
		t.Errorf("got %+v %s, %v", got, got.RawJSON(), err)
	}
	for text, wrong := range map[string]bool{`"4711"`: false, `"12345678"`: true, `"112345678"`: false} {
		answer = strings.Replace(sampleWithdrawal, `"external_order_id":"4711"`, `"external_order_id":`+text, 1)
		got, err := client.Withdrawals.Get(t.Context(), "w-1")
		if wrong != (err != nil) || wrong && !strings.Contains(err.Error(), "order id") || !wrong && `"`+got.ExternalOrderID+`"` != text {
			t.Errorf("%s: got %q, %v", text, got.ExternalOrderID, err)
		}
	}
}

// TestKeyInARequest checks that a withdrawal is not sent if the answers about it would hide what identifies it.
func TestKeyInARequest(t *testing.T) {
	w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, `"w-1"`)); return true })
	client := newClient(t, w.url, WithAPIKey("live_20261126_bc1qexampleZq7wT4uR9_UsdtErc20"))
	good := CreateWithdrawal{Currency: Currency{Crypto, "Btc"}, Amount: CryptoAmount("Btc", 5), Address: "bc1qother",
		ExternalOrderID: "120261126"}
	for field, change := range map[string]func(*CreateWithdrawal){
		"":                  func(*CreateWithdrawal) {},
		"external_order_id": func(r *CreateWithdrawal) { r.ExternalOrderID = "20261126" },
		"address":           func(r *CreateWithdrawal) { r.Address = "xbc1qexample" },
		"memo":              func(r *CreateWithdrawal) { r.Memo = "Zq7wT4uR9" },
		"currency": func(r *CreateWithdrawal) {
			r.Currency, r.Amount = Currency{Crypto, "UsdtErc20"}, CryptoAmount("UsdtErc20", 5)
		},
		"amount": func(r *CreateWithdrawal) { r.Currency, r.Amount.Code = Currency{Crypto, "UsdtErc20"}, "UsdtErc20" },
	} {
		r := good
		change(&r)
		id, err := client.Withdrawals.Create(t.Context(), r)
		invalid, refused := errors.AsType[*InvalidError](err)
		if field == "" && (err != nil || id != "w-1") || field != "" && (!refused || !strings.Contains(invalid.Why, "piece of the API key")) {
			t.Errorf("%s: got %q, %v", field, id, err)
		}
	}
}

// TestHiddenOrderIDIsUnreadable checks that a record on a list whose order id is hidden is not taken for a record
// without one, or with another one.
func TestHiddenOrderIDIsUnreadable(t *testing.T) {
	record := strings.NewReplacer(`"external_order_id":"4711"`, `"external_order_id":"20261126"`, `"external_id":4711`, `"external_id":null`).
		Replace(sampleWithdrawal)
	w := newWire(t, func(c *wireConn, r *http.Request) bool {
		c.say(reply(200, `{"page_content":[`+record+`],"page_count":1,"total":1}`))
		return true
	})
	client := newClient(t, w.url, WithAPIKey("live_20261126_abcdefgh"))
	page, err := client.Withdrawals.ListLenient(t.Context(), WithdrawalFilter{}, 1, 100)
	if unreadable := page.Unreadable; err != nil || len(unreadable) == 0 || unreadable[0].Readable("external_order_id") || !unreadable[0].Readable("address") {
		t.Errorf("got %+v", unreadable)
	}
}

// TestTraceOfARequestWithTheKey checks that the request in a trace is cut only after the key is hidden.
func TestTraceOfARequestWithTheKey(t *testing.T) {
	w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, "{}")); return false })
	var trace bytes.Buffer
	client := newClient(t, w.url, WithAPIKey(aKey), WithTrace(&trace))
	body, _ := json.Marshal(strings.Repeat("x", maxTraced-20) + aKey + strings.Repeat("y", 100))
	client.Do(t.Context(), "POST", "/api/other?key="+url.QueryEscape(aKey), body)
	if piece := leaks(trace.String(), aKey); piece != "" || !strings.Contains(trace.String(), "bytes more") {
		t.Errorf("%q leaks: %s", piece, trace.String()[:200])
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
	w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, sampleWithdrawal)); return true })
	option := WithAPIKey(aKey)
	client, err := New(w.url, option, WithTrace(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	// No connection is in use yet.
	if found := everyText(struct{ inner *keyed }{client.keyed()}); leaks(found, aKey) == "" {
		t.Error("the test would not find the key where it is")
	}
	for range 2 {
		var shown strings.Builder
		for name, value := range map[string]any{
			"client": client, "a copied client": reflect.ValueOf(client).Elem().Interface(), "withdrawals": client.Withdrawals, "invoices": client.Invoices,
			"invites": client.Invites, "resellers": *client.Resellers, "option": option, "options": []Option{option},
			"in a struct": struct{ inner, Outer any }{client, client}, "in a map": map[string]*Client{"a": client},
		} {
			fmt.Fprintf(&shown, "%s: %v %+v %#v %s %q %x\n", name, value, value, value, value, value, value)
			slog.New(slog.NewTextHandler(&shown, nil)).Info("text", "value", value)
			slog.New(slog.NewJSONHandler(&shown, nil)).Info("JSON", "value", value)
			text, _ := json.Marshal(value)
			shown.Write(text)
			shown.WriteString(everyText(value))
		}
		if piece := leaks(shown.String(), aKey); piece != "" {
			t.Errorf("%q leaks", piece)
		}
		if _, err := client.Withdrawals.Get(t.Context(), "w-1"); err != nil {
			t.Fatal(err)
		}
	}
	closeConnections(client)
}

func closeConnections(c *Client) {
	rt := c.keyed().reads.GetClient().Transport
	for {
		switch layer := rt.(type) {
		case tracer:
			rt = layer.next
		case keyless:
			rt = layer.next
		case whole:
			rt = layer.next
		case *http.Transport:
			layer.CloseIdleConnections()
			return
		}
	}
}

// TestOnlyHTTP1 checks that HTTP/2 is never used, whatever a server offers: it has its own rules for sending
// a request again.
func TestOnlyHTTP1(t *testing.T) {
	var versions []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		versions = append(versions, r.Proto+" "+r.TLS.NegotiatedProtocol)
		if r.Method == "POST" {
			io.WriteString(w, `"w-1"`)
			return
		}
		io.WriteString(w, sampleWithdrawal)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if resp, err := server.Client().Get(server.URL); err != nil || resp.ProtoMajor != 2 {
		t.Fatalf("the server does not speak HTTP/2: %v", err)
	}
	versions = nil
	client, err := New(server.URL, WithAPIKey("key"), WithRootCAs(roots))
	if err != nil {
		t.Fatal(err)
	}
	defer closeConnections(client)
	if _, err := client.Withdrawals.Create(t.Context(), sampleCreate()); err != nil {
		t.Error(err)
	}
	if _, err := client.Withdrawals.Get(t.Context(), "w-1"); err != nil {
		t.Error(err)
	}
	for _, v := range versions {
		if v != "HTTP/1.1 " && v != "HTTP/1.1 http/1.1" {
			t.Errorf("it spoke %s", v)
		}
	}
	if len(versions) != 2 {
		t.Errorf("%d requests", len(versions))
	}
}

// afterReuse returns a context in which a create that gets a used connection calls do before anything is
// written to it.
func afterReuse(ctx context.Context, do func(net.Conn)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			do(info.Conn)
		}
	}})
}

// TestKeptConnectionThatCloses checks that a kept connection that closes before the first byte of a create is
// replaced once, and that the create arrives once. A connection with a written byte is not replaced.
func TestKeptConnectionThatCloses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		call    func(ctx context.Context, c *Client) error
		refuse  bool // the new connection is not accepted
		outcome Outcome
		whole   int32
	}{
		{name: "create", whole: 1},
		{name: "raw, with a body", whole: 1, call: func(ctx context.Context, c *Client) error {
			_, err := c.Do(ctx, "POST", "/api/other", []byte(`{"a":1}`))
			return err
		}},
		{name: "raw, without a body", whole: 1, call: func(ctx context.Context, c *Client) error {
			_, err := c.Do(ctx, "POST", "/api/other", nil)
			return err
		}},
		{name: "the service is gone", refuse: true, outcome: NotSent},
	} {
		for _, traced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/traced=%t", tt.name, traced), func(t *testing.T) {
				hangUp := make(chan struct{})
				w := newWire(t, nil)
				w.script = func(c *wireConn, r *http.Request) bool {
					if r.URL.Query().Get("id") == "last" {
						c.say(reply(200, sampleWithdrawal))
						<-hangUp
						return false
					}
					if !r.Close {
						t.Error("the new connection is kept in a transport that nobody uses again")
					}
					c.say(reply(200, `"w-1"`))
					return false
				}
				opts := []Option{WithAPIKey("key")}
				if traced {
					opts = append(opts, WithTrace(io.Discard))
				}
				client, err := New(w.url, opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer closeConnections(client)
				if _, err := client.Withdrawals.Get(t.Context(), "last"); err != nil {
					t.Fatal(err)
				}
				reused, asked := 0, 0
				ctx := afterReuse(t.Context(), func(conn net.Conn) {
					reused++
					if tt.refuse {
						w.listener.Close()
					}
					close(hangUp)
					for conn.(*gatedConn).state.Load() != gateShut { // until the client has closed it as well
						conn.Read(nil)
					}
				})
				ctx = BeforeSending(ctx, func() error { asked++; return nil })
				call := tt.call
				if call == nil {
					call = func(ctx context.Context, c *Client) error {
						id, err := c.Withdrawals.Create(ctx, sampleCreate())
						if err == nil && id != "w-1" {
							t.Errorf("got %q", id)
						}
						return err
					}
				}
				err = call(ctx, client)
				if tt.whole == 1 && err != nil || tt.whole == 0 && failure(t, err).Outcome != tt.outcome {
					t.Errorf("got %v", err)
				}
				closeConnections(client)
				w.stop()
				if w.began.Load() != tt.whole || w.whole.Load() != tt.whole || reused != 1 || asked != int(tt.whole) {
					t.Errorf("%d creates began to arrive and %d arrived, want %d; %d asked, %d on a used connection", w.began.Load(), w.whole.Load(), tt.whole, asked, reused)
				}
				if want := tt.whole + 1; w.conns.Load() != want {
					t.Errorf("%d connections, want %d", w.conns.Load(), want)
				}
			})
		}
	}
}

// TestKeptConnectionIsReplacedOnce checks that a replaced connection is not replaced again. If it is closed
// too, the create is not retried; if a byte was written to it, the outcome is unknown.
func TestKeptConnectionIsReplacedOnce(t *testing.T) {
	for _, answers := range []bool{false, true} {
		var dials atomic.Int32
		w := newWire(t, func(c *wireConn, r *http.Request) bool {
			if r.Method == "GET" {
				c.say(reply(200, sampleWithdrawal))
				return true
			}
			return false // it takes the create and closes the connection
		})
		var gone atomic.Bool
		rt := network(options{})
		rt.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if dials.Add(1) == 2 && answers {
				return &gatedConn{Conn: conn}, err
			}
			return &gatedConn{Conn: goneConn{conn, &gone}}, err
		}
		client := newClientOn(t, rt, w.url)
		warm(t, client)
		gone.Store(true)
		_, err := client.Withdrawals.Create(t.Context(), sampleCreate())
		client.closeIdle()
		w.stop()
		want, began := NotSent, int32(0)
		if answers {
			want, began = Unknown, 1
		}
		if e := failure(t, err); e.Outcome != want || w.began.Load() != began || dials.Load() != 2 {
			t.Errorf("answers=%t: got %v after %d dials and %d creates", answers, err, dials.Load(), w.began.Load())
		}
	}
}

// TestRefusedCreateIsNotDialedAgain checks that no new connection is dialed for a create that its check has
// refused or that was canceled.
func TestRefusedCreateIsNotDialedAgain(t *testing.T) {
	for _, name := range []string{"refused", "given up"} {
		w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(200, `"w-1"`)); return true })
		client, err := New(w.url, WithAPIKey("key"))
		if err != nil {
			t.Fatal(err)
		}
		warm(t, client)
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		ctx = BeforeSending(ctx, func() error {
			if asked++; name == "given up" {
				cancel()
			}
			return errChecked
		})
		_, err = client.Withdrawals.Create(ctx, sampleCreate())
		cancel()
		closeConnections(client)
		w.stop()
		if e := failure(t, err); e.Outcome != NotSent || asked != 1 || w.conns.Load() != 1 || w.began.Load() != 0 {
			t.Errorf("%s: got %v, asked %d times, %d connections", name, err, asked, w.conns.Load())
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
	for name, tt := range map[string]struct{ proxy, want string }{
		"refuses": {"http://ann:pass-word-1@" + address, "the proxy http://" + address + " does not connect: it answered HTTP 407 Proxy Authentication Required"},
	} {
		rt := network(options{})
		u, err := url.Parse(tt.proxy)
		if err != nil {
			t.Fatal(err)
		}
		rt.Proxy = http.ProxyURL(u)
		_, err = newClientOn(t, rt, "https://pay.example.com").Withdrawals.Create(t.Context(), sampleCreate())
		e, refusal := failure(t, err), new(ProxyError)
		if e.Outcome != NotSent || !errors.As(err, &refusal) || refusal.Proxy != "http://"+address || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestEmptyEnvelope checks that an envelope is valid even if everything in it is empty.
func TestEmptyEnvelope(t *testing.T) {
	for body, want := range map[string]bool{`{"error":{"code":0,"reason":"","description":""}}`: true, `{}`: false, "": false} {
		w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(reply(400, body)); return false })
		_, err := newClient(t, w.url).Withdrawals.Create(t.Context(), sampleCreate())
		if e := failure(t, err); e.Envelope != want || want != strings.Contains(e.Error(), "code 0") {
			t.Errorf("%s: %t in %v", body, e.Envelope, e)
		}
	}
}

// TestAnswerIsHiddenAtOnce checks that a layer above in the transport, such as a middleware or a trace, never
// sees the key in an answer.
func TestAnswerIsHiddenAtOnce(t *testing.T) {
	layer := keyless{whole{roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{Status: "400 " + aKey, StatusCode: 400, Header: http.Header{"Location": {aKey}}, Body: io.NopCloser(strings.NewReader(aKey)), ContentLength: -1}, nil
	})}, newRedactor(aKey)}
	resp, err := layer.RoundTrip(httptest.NewRequest("GET", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != hiddenMark || resp.Status != "400 "+hiddenMark || resp.Header.Get("Location") != hiddenMark {
		t.Errorf("got %q, %v, %q, %v", resp.Status, resp.Header, body, err)
	}
}

// TestTraceOfCallsAtTheSameTime checks that a trace can use any writer, even with concurrent calls. (The race
// detector notices a writer without a lock.)
func TestTraceOfCallsAtTheSameTime(t *testing.T) {
	var trace bytes.Buffer
	var inside atomic.Int32
	out := writerFunc(func(text []byte) (int, error) {
		if inside.Add(1) > 1 {
			t.Error("two writes at the same time")
		}
		defer inside.Add(-1)
		runtime.Gosched()
		return trace.Write(text)
	})
	client := must[*Client](t)(New("http://127.0.0.1", WithTrace(out), WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == "POST" {
			return answering(200, `"w-1"`)(r)
		}
		return answering(200, sampleWithdrawal)(r)
	}))))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { client.Withdrawals.Get(t.Context(), "w-1") })
		calls.Go(func() { client.Withdrawals.Create(t.Context(), sampleCreate()) })
	}
	calls.Wait()
	if got := strings.Count(trace.String(), "< "); got < 40 {
		t.Errorf("%d lines of answers", got)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }
