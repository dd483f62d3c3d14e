package sandbox_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// A test of a program that pays: 25 dollars are withdrawn as satoshi, at a rate that
// the test sets.
func ExampleNew() {
	t := new(T)
	box, err := sandbox.New(sandbox.WithSetting("rates", "Btc=50000"))
	t.Must(err)
	server := httptest.NewServer(box)
	defer server.Close()
	before, err := box.Balance("Btc")
	t.Must(err)

	status, _, err := ask(box.Key(), "POST", server.URL+"/api/merchant_withdrawal/create",
		`{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"bc1q"}`)
	t.Must(err)
	after, err := box.Balance("Btc")
	fmt.Println(status, before-after, err)
	// Output: 200 50000 <nil>
}

// A test that needs a shop with a history gives it in a seed. The test chooses the
// reseller's key.
func ExampleWithSeedJSON() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t, sandbox.WithSeedJSON([]byte(`{
		"balances": ["1000.00 Usd", "1.5 Btc"],
		"resellers": [{"label": "Harbour Books", "api_key": "till_sandbox_harbour"}],
		"invoices": [
			{"account": "Harbour Books", "title": "Order 1001", "total": "25.00 Usd", "status": "Paid"},
			{"items": [{"name": "Tea", "amount": "3.00 Eur"}], "created": "2026-05-03T10:00:00Z"}
		],
		"withdrawals": [{"amount": "0.015 Btc", "address": "bc1q", "status": "Processing"}]
	}`)))
	fmt.Println(box.Balance("Usd"))
	fmt.Println(box.Balance("Btc"))

	status, _, err := ask("till_sandbox_harbour", "POST", box.URL+"/api/merchant_withdrawal/create",
		`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":2500}},"address":"account 1"}`)
	t.Must(err)
	fmt.Println(status)
	// Output:
	// 100000 <nil>
	// 150000000 <nil>
	// 200
}

// A careless program tries again when the answer to a payment is lost, and pays
// twice.
func ExampleWithFault() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t, sandbox.WithFault(sandbox.Fault{
		On: "POST /api/merchant_withdrawal/create", Do: "drop-after", Times: 1,
	}))
	before, err := box.Balance("Btc")
	t.Must(err)

	pay := func() error {
		_, _, err := ask(box.Key(), "POST", box.URL+"/api/merchant_withdrawal/create",
			`{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"bc1q"}`)
		return err
	}
	for pay() != nil {
		fmt.Println("it failed, try again")
	}
	after, err := box.Balance("Btc")
	fmt.Println("paid:", before-after, err)
	// Output:
	// it failed, try again
	// paid: 3000 <nil>
}

// T replaces the *testing.T of your test, because an example has none.
type T struct{ cleanups []func() }

func (t *T) Helper()                           {}
func (t *T) Context() context.Context          { return context.Background() }
func (t *T) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Must fails the test at an error.
func (t *T) Must(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Done ends the test.
func (t *T) Done() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// clientOf returns the client under test, which knows only an address and a key.
func clientOf(t *T, box *sandbox.Running) *api.Client {
	client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
	t.Must(err)
	return client
}

// coffee is the invoice in the examples: 29.50 dollars.
var coffee = api.CreateInvoice{
	Title:    "Order 1001",
	Currency: api.Currency{Kind: api.Fiat, Code: "Usd"},
	Items:    []api.InvoiceItem{{Name: "Coffee beans", Amount: 2500}, {Name: "Shipping", Amount: 450}},
}

// The program under test makes an invoice. The test pays it as the customer, and the
// program sees the payment.
func ExampleStart() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t)
	client := clientOf(t, box)

	id, err := client.Invoices.Create(t.Context(), coffee)
	t.Must(err)
	invoice, err := client.Invoices.Get(t.Context(), id)
	fmt.Println(invoice.Status, err)

	t.Must(box.PayInvoice(id))
	invoice, err = client.Invoices.Get(t.Context(), id)
	fmt.Println(invoice.Status, err)
	// Output:
	// Awaiting <nil>
	// Paid <nil>
}

// The test moves the clock: a withdrawal that takes two days takes no time.
func ExampleServer_AdvanceClock() {
	t := new(T)
	defer t.Done()
	noon := time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)
	box := sandbox.Start(t, sandbox.WithClock(func() time.Time { return noon })) // a clock that does not tick
	client := clientOf(t, box)

	id, err := client.Withdrawals.Create(t.Context(), api.CreateWithdrawal{
		Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount:   api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 1500},
		Address:  "bc1qexample",
	})
	t.Must(err)
	for _, status := range []string{"Processing", "Completed"} {
		t.Must(box.AdvanceClock(24 * time.Hour))
		t.Must(box.AdvanceWithdrawal(id, status))
	}
	w, err := client.Withdrawals.Get(t.Context(), id)
	t.Must(err)
	for _, s := range w.Statuses {
		fmt.Println(s.At, s.Status)
	}
	// Output:
	// 2026-05-03T12:00:00 New
	// 2026-05-04T12:00:00 Processing
	// 2026-05-05T12:00:00 Completed
}

// The test sets the clock back to April: a new invoice is then from that month.
func ExampleServer_SetClock() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t)
	client := clientOf(t, box)

	t.Must(box.SetClock(time.Date(2026, 4, 30, 23, 0, 0, 0, time.UTC)))
	id, err := client.Invoices.Create(t.Context(), coffee)
	t.Must(err)
	t.Must(box.SetClock(time.Time{})) // back to the machine's
	invoice, err := client.Invoices.Get(t.Context(), id)
	fmt.Println(invoice.CreatedDate[:len("2026-04-30")], err)
	// Output: 2026-04-30 <nil>
}

// An invite becomes a reseller, who makes an invoice with its own key. The merchant
// looks up the rebate.
func ExampleServer_RedeemInvite() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t, sandbox.WithSetting("rebate_percent", "10"))
	client := clientOf(t, box)

	invite, err := client.Invites.Create(t.Context(), "7c9e6679-7425-40de-944b-e07fc1f90ae7")
	t.Must(err)
	reseller, key, err := box.RedeemInvite(invite.Invite, "Harbour Books")
	t.Must(err)
	shop, err := api.New(box.URL, api.WithAPIKey(key))
	t.Must(err)
	id, err := shop.Invoices.Create(t.Context(), coffee)
	t.Must(err)
	t.Must(box.PayInvoice(id))
	rebate, err := client.Resellers.Rebate(t.Context(), reseller)
	fmt.Println(rebate.Amounts, err)
	// Output: [295 USD (minor units)] <nil>
}

// A setting changes what the interface leaves open: a program that counts pages from
// 1 should be tested with pages that begin at 0.
func ExampleWithSetting() {
	t := new(T)
	defer t.Done()
	box := sandbox.Start(t, sandbox.WithSetting("first_page", "0"),
		sandbox.WithSetting("page_out_of_range", "reject"), sandbox.WithSeed("demo"))
	client := clientOf(t, box)

	for _, page := range []int{0, 1} {
		list, err := client.Withdrawals.List(t.Context(), api.WithdrawalFilter{}, page, 10)
		fmt.Println(page, len(list.Items), err != nil)
	}
	// Output:
	// 0 5 false
	// 1 0 true
}

// A state in a file outlives the server: the second run of a program finds the
// invoice of the first.
func ExampleWithState() {
	directory, err := os.MkdirTemp("", "sandbox") // t.TempDir() in a test
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(directory)
	state := sandbox.WithState(filepath.Join(directory, "box.db"))
	var id string

	run := func(test func(t *T, client *api.Client) error) {
		t := new(T)
		defer t.Done()
		t.Must(test(t, clientOf(t, sandbox.Start(t, state))))
	}
	run(func(t *T, client *api.Client) (err error) {
		id, err = client.Invoices.Create(t.Context(), coffee)
		return err
	})
	run(func(t *T, client *api.Client) error {
		invoice, err := client.Invoices.Get(t.Context(), id)
		fmt.Println(invoice.Title, invoice.Status)
		return err
	})
	// Output: Order 1001 Awaiting
}
