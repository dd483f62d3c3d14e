package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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
	auth   []string // the Authorization header of every request
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
	b.auth = append(b.auth, r.Header.Get("Authorization"))
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
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// equal compares values without the JSON text that they keep.
func equal(t testing.TB, got, want any) {
	t.Helper()
	if !same(got, want, false) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// kept compares a value, and checks that it keeps the text that the service sent.
func kept[T interface{ RawJSON() json.RawMessage }](b *bench, got, want T) {
	b.t.Helper()
	equal(b.t, got, want)
	if !bytes.Equal(got.RawJSON(), b.last) {
		b.t.Errorf("%+v keeps the text\n%s\nwhere the service sent\n%s", got, got.RawJSON(), b.last)
	}
}

// reseller makes a reseller and returns its id, its invite and a client with its key.
func (b *bench) reseller(label string) (id, invite string, client *Client) {
	b.t.Helper()
	created := must[Invite](b.t)(b.client.Invites.Create(context.Background(),
		fmt.Sprintf("00000000-0000-0000-0000-%012x", label)))
	id, key, err := b.RedeemInvite(created.Invite, label)
	if err != nil {
		b.t.Fatal(err)
	}
	return id, created.Invite, b.as(key)
}

// payout creates the n-th withdrawal.
func (b *bench) payout(c *Client, n int) string {
	b.t.Helper()
	return must[string](b.t)(c.Withdrawals.Create(context.Background(), CreateWithdrawal{
		Currency: Currency{Crypto, "Btc"}, Amount: Amount{Crypto, "Btc", 1000 + int64(n)}, Address: "bc1qexample",
		ExternalOrderID: fmt.Sprint(n),
	}))
}

// TestEveryOperation checks that the 22 operations handle every field of every resource. Inputs and expected
// outputs are written by hand.
func TestEveryOperation(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, "memo_shown=yes", "rebate_percent=1.5")
	c := b.client

	var seen []string
	operation := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			b.t, b.sent, b.auth = t, nil, nil
			run(t)
			path, _, _ := strings.Cut(b.sent[len(b.sent)-1], "?")
			if seen = append(seen, path); path != name {
				t.Errorf("it went to %s", path)
			}
			for _, auth := range b.auth {
				if !strings.HasPrefix(auth, "Bearer "+SandboxKeyPrefix) {
					t.Errorf("it sent the Authorization %q", auth)
				}
			}
		})
		b.t = t
	}

	var id string
	operation("POST /api/merchant_withdrawal/create", func(t *testing.T) {
		id = must[string](t)(c.Withdrawals.Create(ctx, CreateWithdrawal{
			Currency: Currency{Crypto, "Xlr"}, Amount: Amount{Fiat, "USD", 2500}, Address: "GEXAMPLE",
			Callback:        "https://shop.example.com/w?a=1&b=<2>",
			ExternalOrderID: "9007199254740991", Memo: "Order 17, \"tea\" ☕",
		}))
		if `"`+id+`"` != string(b.last) {
			t.Errorf("got the id %q from %s", id, b.last)
		}
	})
	want := Withdrawal{
		ID: id, ExternalID: MaxOrderID, MerchantID: "", Currency: Currency{Crypto, "Xlr"}, Amount: Amount{Fiat, "USD", 2500},
		Statuses: []Status{{"New", "2026-05-03T10:00:00"}, {"Processing", "2026-05-03T10:01:30"}}, Current: "Processing",
		Address: Address{Text: "GEXAMPLE"}, IsTestnet: true, Callback: "https://shop.example.com/w?a=1&b=<2>",
		ExternalOrderID: "9007199254740991",
	}
	b.ticks.Add(90)
	if err := b.AdvanceWithdrawal(id, "Processing"); err != nil {
		t.Fatal(err)
	}
	operation("GET /api/merchant_withdrawal", func(t *testing.T) {
		got := must[Withdrawal](t)(c.Withdrawals.Get(ctx, id))
		if !strings.Contains(string(got.RawJSON()), `"memo":"Order 17, \"tea\" ☕"`) || CheckUUID(got.MerchantID) != nil {
			t.Errorf("the memo is lost, or the merchant: %s", got.RawJSON())
		}
		want.MerchantID = got.MerchantID
		kept(b, got, want)
	})
	operation("POST /api/merchant_withdrawal/list", func(t *testing.T) {
		page := must[WithdrawalPage](t)(c.Withdrawals.List(ctx, WithdrawalFilter{
			From: "2026-05-03T10:00:00", To: "2026-05-03T10:00:00",
			Currencies: []Currency{{Crypto, "Xlr"}, {Fiat, "Usd"}}, Tags: []string{"Processing"},
		}, 1, 50))
		want.Address.Currency, want.Address.Kind = "Xlr", Crypto
		equal(t, page, WithdrawalPage{Items: []Withdrawal{want}, PageCount: 1, Total: 1})
		if got := page.Items[0].raw; !bytes.HasPrefix(b.last, append([]byte(`{"page_content":[`), got...)) {
			t.Errorf("the withdrawal keeps %s of %s", got, b.last)
		}
		for _, none := range []WithdrawalFilter{{From: "2026-05-03T10:00:01"}, {To: "2026-05-03T09:59:59"},
			{Currencies: []Currency{{Fiat, "Usd"}}}, {Tags: []string{"New"}}} {
			equal(t, must[WithdrawalPage](t)(c.Withdrawals.List(ctx, none, 1, 50)), WithdrawalPage{})
		}
	})

	resellerID, resellerInvite, rc := b.reseller("Harbor")
	var invoiceID string
	number := int64(-7)
	create := CreateInvoice{
		OrderID: "A-17/ü", Number: &number, Title: "Tea & <biscuits>", Currency: Currency{Fiat, "Usd"},
		Items:       []InvoiceItem{{"Tea", 2500}, {"Biscuits", 9_000_000_000_000_000}},
		CallbackURL: "https://shop.example.com/thanks",
	}
	operation("POST /api/invoice", func(t *testing.T) {
		invoiceID = must[string](t)(rc.Invoices.Create(ctx, create))
		if CheckUUID(invoiceID) != nil {
			t.Errorf("got the id %q", invoiceID)
		}
	})
	wantInvoice := Invoice{
		ID: invoiceID, ExternalOrderID: "A-17/ü", ExternalNumber: -7, Title: "Tea & <biscuits>",
		Currency: Currency{Fiat, "Usd"}, Items: create.Items,
		CreatedDate: "2026-05-03T10:01:30", DueDate: "deprecated", Choosen: json.RawMessage("null"),
		Status: "Awaiting", State: "Open",
	}
	operation("GET /api/invoice", func(t *testing.T) {
		kept(b, must[Invoice](t)(rc.Invoices.Get(ctx, invoiceID)), wantInvoice)
	})

	const uuid = "6f1c2a34-9d0e-4b7a-8c55-0123456789ab"
	invite := Invite{Invite: uuid, Label: "Invite 2", URL: "http://127.0.0.1/invite/" + uuid}
	operation("POST /api/invite", func(t *testing.T) {
		kept(b, must[Invite](t)(c.Invites.Create(ctx, strings.ToUpper(uuid))), invite)
	})
	invite.URL = ""
	operation("GET /api/invite", func(t *testing.T) { kept(b, must[Invite](t)(c.Invites.Get(ctx, uuid)), invite) })
	theirInvite := Invite{Invite: resellerInvite, Label: "Harbor"}
	operation("GET /api/invites", func(t *testing.T) {
		got := must[[]Invite](t)(c.Invites.List(ctx))
		equal(t, got, []Invite{theirInvite, invite})
		if string(b.last) != fmt.Sprintf("[%s,%s]", got[0].raw, got[1].raw) {
			t.Errorf("the invites keep %s and %s", got[0].raw, got[1].raw)
		}
	})

	for _, minor := range []int64{10_000, 999} {
		id := must[string](t)(rc.Invoices.Create(ctx, CreateInvoice{Title: "x", Currency: Currency{Crypto, "Btc"},
			Items: []InvoiceItem{{"x", minor}}}))
		if err := b.PayInvoice(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PayInvoice(invoiceID); err != nil {
		t.Fatal(err)
	}
	wantInvoice.Status, wantInvoice.State = "Paid", "Closed"
	wantInvoice.Choosen = json.RawMessage(
		`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":9000000000002500}},"at":"2026-05-03T10:01:30"}`)
	// 1.5 % of each, rounded down: 150 and 14 of Btc; 135000000000037 of Usd.
	wantReseller := Reseller{
		ID: resellerID, InviteInfo: theirInvite,
		Rebates: Rebates{{"Btc", Amount{Crypto, "Btc", 164}}, {"Usd", Amount{Fiat, "USD", 135_000_000_000_037}}},
	}
	operation("GET /api/resellers", func(t *testing.T) {
		got := must[[]Reseller](t)(c.Resellers.List(ctx))
		equal(t, got, []Reseller{wantReseller})
		if string(b.last) != fmt.Sprintf(`{"%s":%s}`, resellerID, got[0].raw) {
			t.Errorf("the reseller keeps %s of %s", got[0].raw, b.last)
		}
	})
	operation("GET /api/resellers/ids", func(t *testing.T) {
		equal(t, must[[]string](t)(c.Resellers.IDs(ctx)), []string{resellerID})
	})
	operation("GET /api/reseller/info", func(t *testing.T) {
		kept(b, must[Reseller](t)(c.Resellers.Info(ctx, resellerID)), wantReseller)
	})
	operation("GET /api/reseller/invite", func(t *testing.T) {
		kept(b, must[Invite](t)(c.Resellers.Invite(ctx, resellerID)), theirInvite)
	})
	operation("GET /api/reseller/stats", func(t *testing.T) {
		got := must[ResellerStats](t)(c.Resellers.Stats(ctx, resellerID))
		paid, rebate := CodeAmounts{{"USD", 9_000_000_000_002_500}}, CodeAmounts{{"USD", 135_000_000_000_037}}
		kept(b, got, ResellerStats{
			ID: resellerID, Label: "Harbor", InvoiceRebates: got.InvoiceRebates,
			InvoiceStats: []StatusCount{{"Awaiting", 0}, {"Expired", 0}, {"Paid", 3}},
			TotalVolume:  []CodeTotal{{"Btc", CodeAmounts{{"Btc", 10_999}}}, {"USD", paid}},
			TotalRebates: []CodeTotal{{"Btc", CodeAmounts{{"Btc", 164}}}, {"USD", rebate}},
		})
		of := slices.IndexFunc(got.InvoiceRebates, func(r InvoiceRebate) bool { return r.ID == invoiceID })
		if of < 0 || len(got.InvoiceRebates) != 3 {
			t.Fatalf("got %+v", got)
		}
		equal(t, got.InvoiceRebates[of], InvoiceRebate{invoiceID, paid, rebate, "2026-05-03T10:01:30"})
	})

	theirs := b.payout(rc, 12)
	wantTheirs := Withdrawal{
		ID: theirs, ExternalID: 12, MerchantID: resellerID, Currency: Currency{Crypto, "Btc"},
		Amount:   Amount{Crypto, "Btc", 1012},
		Statuses: []Status{{"New", "2026-05-03T10:01:30"}}, Current: "New",
		Address: Address{Text: "bc1qexample", Currency: "Btc", Kind: Crypto}, IsTestnet: true,
		ExternalOrderID: "12",
	}
	operation("POST /api/reseller/withdraw/list", func(t *testing.T) {
		page := must[WithdrawalPage](t)(c.Resellers.Withdrawals(ctx, resellerID,
			WithdrawalFilter{Tags: []string{"New"}}, 1, 7))
		equal(t, page, WithdrawalPage{Items: []Withdrawal{wantTheirs}, PageCount: 1, Total: 1})
	})
	operation("GET /api/reseller/withdraw", func(t *testing.T) {
		wantTheirs.Address = Address{Text: "bc1qexample"}
		kept(b, must[Withdrawal](t)(c.Resellers.Withdrawal(ctx, resellerID, theirs)), wantTheirs)
	})
	operation("GET /api/reseller/balance", func(t *testing.T) {
		if got := must[json.RawMessage](t)(c.Resellers.Balance(ctx, resellerID)); !bytes.Equal(bytes.TrimSpace(got), b.last) {
			t.Errorf("got %s of %s", got, b.last)
		}
	})
	operation("GET /api/reseller/balance/currency", func(t *testing.T) {
		bare := must[json.RawMessage](t)(c.Resellers.BalanceIn(ctx, resellerID, "Btc", ""))
		withFiat := must[json.RawMessage](t)(c.Resellers.BalanceIn(ctx, resellerID, "Btc", "true"))
		if !strings.Contains(string(withFiat), `"Fiat":`) || strings.Contains(string(bare), `"Fiat":`) {
			t.Errorf("include_fiat changes nothing: %s and %s", bare, withFiat)
		}
	})
	operation("GET /api/reseller/rebate", func(t *testing.T) {
		kept(b, must[RebateList](t)(c.Resellers.Rebate(ctx, resellerID)),
			RebateList{Amounts: []Amount{{Crypto, "Btc", 164}, {Fiat, "USD", 135_000_000_000_037}}})
	})
	operation("GET /api/reseller/rebate/currency", func(t *testing.T) {
		kept(b, must[RebateMap](t)(c.Resellers.RebateIn(ctx, resellerID, "Usd")),
			RebateMap{Rebates: Rebates{{"Usd", Amount{Fiat, "USD", 135_000_000_000_037}}}})
	})
	operation("POST /api/reseller/invoice/list", func(t *testing.T) {
		all := must[json.RawMessage](t)(c.Resellers.Invoices(ctx, resellerID, nil, 1, 2))
		var page struct {
			Content []Invoice `json:"page_content"`
			Total   int       `json:"total"`
		}
		if err := json.Unmarshal(all, &page); err != nil || len(page.Content) != 2 || page.Total != 3 {
			t.Errorf("got %s, %v", all, err)
		}
		filtered := must[json.RawMessage](t)(c.Resellers.Invoices(ctx, resellerID,
			json.RawMessage(` {"currencies": [{"Fiat":"Usd"}]} `), 1, 2))
		if !strings.Contains(string(filtered), invoiceID) || !strings.Contains(string(filtered), `"total":1`) {
			t.Errorf("the filter did not arrive: %s", filtered)
		}
		must[json.RawMessage](t)(c.Resellers.FirstInvoices(ctx, resellerID, nil, PageBaseAuto, 0))
		if got := b.sent[len(b.sent)-1]; got != "POST /api/reseller/invoice/list?id="+resellerID+"&page=1&page_size=100" {
			t.Errorf("sent %s", got)
		}
	})
	operation("GET /api/reseller/invoice", func(t *testing.T) {
		kept(b, must[Invoice](t)(c.Resellers.Invoice(ctx, resellerID, invoiceID)), wantInvoice)
	})
	operation("GET /api/reseller/invoice/finished", func(t *testing.T) {
		waiting := must[string](t)(rc.Invoices.Create(ctx, create))
		if must[bool](t)(c.Resellers.InvoiceFinished(ctx, resellerID, waiting)) {
			t.Error("a waiting invoice is finished")
		}
		if !must[bool](t)(c.Resellers.InvoiceFinished(ctx, resellerID, invoiceID)) {
			t.Error("a paid invoice is not finished")
		}
	})

	described := slices.DeleteFunc(must[*described.API](t)(described.Load()).Operations(),
		func(name string) bool { return !strings.Contains(name, " /api/") })
	if slices.Sort(seen); len(described) != 22 || !slices.Equal(seen, described) {
		t.Errorf("the operations\n%s\nwere called, and described are\n%s", strings.Join(seen, "\n"),
			strings.Join(described, "\n"))
	}
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

// TestInvalidRequestsAreNotSent checks that an invalid request is refused before anything is sent.
func TestInvalidRequestsAreNotSent(t *testing.T) {
	ctx := context.Background()
	c, err := New("http://127.0.0.1", WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return nil, errors.New("sent")
	})))
	if err != nil {
		t.Fatal(err)
	}
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
