package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/e2e/described"
	"example.com/till/pkg/api/sandbox"
)

// A bench is a client and its sandbox in one process: the client's requests go straight to the handler. The
// sandbox was written separately from the same interface, so a wrong name on either side shows.
type bench struct {
	*sandbox.Server
	t      testing.TB
	client *Client
	sent   []string // "METHOD path?query" of every request
	last   []byte   // the last answer
	mu     sync.Mutex
	// ticks is the clock, in seconds, and pace how many of them each request takes.
	ticks atomic.Int64
	pace  int64
	// foreign says that requests are not the client's own, so that they may differ from the description.
	foreign bool
}

// newBench returns a bench whose sandbox has settings such as first_page=0.
func newBench(t testing.TB, settings ...string) *bench {
	t.Helper()
	b := &bench{t: t}
	begin := time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)
	opts := []sandbox.Option{sandbox.WithClock(func() time.Time {
		return begin.Add(time.Duration(b.ticks.Load()) * time.Second)
	})}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		opts = append(opts, sandbox.WithSetting(name, value))
	}
	b.Server = must[*sandbox.Server](t)(sandbox.New(opts...))
	t.Cleanup(func() { b.Close() })
	b.client = b.as(b.Key())
	return b
}

func (b *bench) as(key string, opts ...Option) *Client {
	b.t.Helper()
	return must[*Client](b.t)(New("http://127.0.0.1",
		append([]Option{WithAPIKey(key), WithTransport(b), WithRetries(0)}, opts...)...))
}

func (b *bench) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	b.mu.Lock() // lists are read ahead, concurrently
	defer b.mu.Unlock()
	b.ticks.Add(b.pace)
	b.sent = append(b.sent, r.Method+" "+r.URL.RequestURI())
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if b.foreign {
		described.Serve(b.t, b.Server, w, in)
	} else {
		described.ServeClient(b.t, b.Server, w, in)
	}
	b.last = bytes.TrimSpace(w.Body.Bytes())
	return w.Result(), nil
}

// must returns the value of a call that must succeed.
func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// payout creates the n-th withdrawal.
func (b *bench) payout(c *Client, n int) string {
	b.t.Helper()
	return must[string](b.t)(c.Withdrawals.Create(context.Background(), CreateWithdrawal{
		Currency: Currency{Crypto, "Btc"}, Amount: Amount{Crypto, "Btc", 1000 + int64(n)}, Address: "bc1qexample",
		ExternalOrderID: fmt.Sprint(n),
	}))
}

func err2[T any](_ T, err error) error { return err }

func TestDo(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	if got := must[[]byte](t)(b.client.Do(ctx, "POST", "/api/invite", []byte(`"`+someID+`"`))); !bytes.Equal(bytes.TrimSpace(got), b.last) {
		t.Errorf("got %s of %s", got, b.last)
	}
	if e := failure(t, err2(b.client.Do(ctx, "DELETE", "/api/invite", nil))); e.Outcome != Rejected || e.Status != 405 {
		t.Errorf("got %v", e)
	}
	if _, err := b.client.Do(ctx, "GET", "/", []byte("[7]")); !errors.As(err, new(*InvalidError)) {
		t.Errorf("a GET with a body: %v", err)
	}
	if e := failure(t, err2(b.client.Do(ctx, "GET", "/api/a%2Fb%20c?q=%20", nil))); e.Path != "/api/a%2Fb%20c" ||
		b.sent[len(b.sent)-1] != "GET /api/a%2Fb%20c?q=%20" {
		t.Errorf("got %+v, sent %s", e, b.sent[len(b.sent)-1])
	}
	before := len(b.sent)
	var invalid *InvalidError
	if _, err := b.client.Do(ctx, "POST", "/api/invite", json.RawMessage(`{"a":`)); !errors.As(err, &invalid) {
		t.Errorf("a body that is no JSON: %v", err)
	}
	if _, err := b.client.Do(ctx, "POST", "/api/merchant_withdrawal/create", nil); !errors.Is(err, ErrUseCreate) {
		t.Errorf("got %v", err)
	}
	if len(b.sent) != before {
		t.Errorf("sent %v", b.sent[before:])
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	ctx := context.Background()
	c := must[*Client](t)(New("http://127.0.0.1", WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return nil, errors.New("sent")
	}))))
	r := c.Resellers
	for name, err := range map[string]error{
		"id":        err2(c.Withdrawals.Get(ctx, "")),
		"id ":       err2(c.Withdrawals.Get(ctx, "a\nb")),
		"id  ":      err2(c.Invoices.Get(ctx, "x")),
		"id   ":     err2(c.Invites.Get(ctx, "")),
		"uuid":      err2(c.Invites.Create(ctx, "x")),
		"currency":  err2(c.Withdrawals.Create(ctx, CreateWithdrawal{})),
		"title":     err2(c.Invoices.Create(ctx, CreateInvoice{})),
		"page":      err2(c.Withdrawals.List(ctx, WithdrawalFilter{}, -1, 1)),
		"page_size": err2(c.Withdrawals.List(ctx, WithdrawalFilter{}, 0, 0)),
		"request":   err2(c.Withdrawals.List(ctx, WithdrawalFilter{From: "\xff"}, 0, 1)),
		"request ":  err2(c.Withdrawals.List(ctx, WithdrawalFilter{Currencies: []Currency{{}}}, 0, 1)),
		"id 1":      err2(r.Info(ctx, "x")), "id 2": err2(r.Invite(ctx, "x")), "id 3": err2(r.Stats(ctx, "x")),
		"id 4": err2(r.Balance(ctx, "x")),
		"id 5": err2(r.BalanceIn(ctx, "x", "Btc", "")), "id 6": err2(r.Rebate(ctx, "x")),
		"id 7": err2(r.RebateIn(ctx, "x", "Btc")),
		"id 8": err2(r.Withdrawals(ctx, "x", WithdrawalFilter{}, 0, 1)), "id 9": err2(r.Withdrawal(ctx, "x", "y")),
		"id 10": err2(r.Invoices(ctx, "x", nil, 0, 1)),
		"id 11": err2(r.Invoice(ctx, "x", someID)), "id 12": err2(r.InvoiceFinished(ctx, "x", someID)),
		"withdraw": err2(r.Withdrawal(ctx, someID, "")), "invoice": err2(r.Invoice(ctx, someID, "x")),
		"invoice ":  err2(r.InvoiceFinished(ctx, someID, "x")),
		"currency ": err2(r.BalanceIn(ctx, someID, "", "")), "currency  ": err2(r.RebateIn(ctx, someID, "")),
		"filter":      err2(r.Invoices(ctx, someID, json.RawMessage("[]"), 0, 1)),
		"filter ":     err2(r.Invoices(ctx, someID, json.RawMessage(`{"a":1,"a":2}`), 0, 1)),
		"page_size  ": err2(r.Invoices(ctx, someID, nil, 0, -1)),
		"page_size ":  err2(r.Withdrawals(ctx, someID, WithdrawalFilter{}, 0, -1)),
	} {
		var invalid *InvalidError
		field, _, _ := strings.Cut(name, " ")
		if !errors.As(err, &invalid) || invalid.Field != field || invalid.Why == "" ||
			!strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for range c.Withdrawals.All(ctx, WithdrawalFilter{}, ListOptions{PageSize: -1}) {
	}
}

// TestTraceHidesOnlyTheKey checks that a trace shows everything of a request and an answer except the key.
func TestTraceHidesOnlyTheKey(t *testing.T) {
	var trace bytes.Buffer
	b := newBench(t)
	c := b.as(b.Key(), WithTrace(&trace))
	id := b.payout(c, 5)
	must[Withdrawal](t)(c.Withdrawals.Get(context.Background(), id))
	for _, want := range []string{"> POST http://127.0.0.1/api/merchant_withdrawal/create\n",
		"> Authorization: [hidden]\n",
		`> {"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1005}},"address":"bc1qexample","external_order_id":"5"}`,
		"< HTTP/1.1 200 OK after ", `< "` + id + `"`, "> GET http://127.0.0.1/api/merchant_withdrawal?id=" + id + "\n"} {
		if !strings.Contains(trace.String(), want) {
			t.Errorf("the trace does not show %q:\n%s", want, &trace)
		}
	}
	if strings.Contains(trace.String(), b.Key()) {
		t.Error("the trace shows the key")
	}
}
