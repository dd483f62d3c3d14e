package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// open starts a sandbox on a real listener and returns a client for it. A program for the real service uses
// its own address and key, and a suitable time-out.
func open(opts ...sandbox.Option) (client *api.Client, box *sandbox.Server, stop func()) {
	box = must(sandbox.New(opts...))
	server := httptest.NewServer(box)
	return must(api.New(server.URL, api.WithAPIKey(box.Key()))), box, server.Close
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// must returns the value of a call that must succeed.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// This is a test with the sandbox: a server, a client, and no network.
func Example() {
	box, err := sandbox.New()
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(box)
	defer server.Close()

	client, err := api.New(server.URL, api.WithAPIKey(box.Key()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	id, err := client.Withdrawals.Create(ctx, api.CreateWithdrawal{
		Currency:        api.CryptoCurrency("Btc"),
		Amount:          api.FiatAmount("USD", 2500), // worth 25 dollars
		Address:         "bc1qexample",
		ExternalOrderID: "4711", // recorded before this call
	})
	if err != nil {
		log.Fatal(err)
	}
	w, err := client.Withdrawals.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Current, w.Amount, "to", w.Address, "for order", w.ExternalOrderID)
	// Output: New 2500 USD (minor units) to bc1qexample for order 4711
}

// A create can fail in several ways. This is what to do about each.
func ExampleWithdrawals_Create() {
	// This service accepts the withdrawal and then loses the answer.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	client, err := api.New(server.URL, api.WithAPIKey("key"))
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Withdrawals.Create(context.Background(), api.CreateWithdrawal{
		Currency: api.CryptoCurrency("Btc"),
		Amount:   api.CryptoAmount("Btc", 1_500_000),
		Address:  "bc1qexample", ExternalOrderID: "4711",
	})
	var call *api.Error
	var invalid *api.InvalidError
	switch {
	case err == nil:
		fmt.Println("accepted:", id)
	case errors.As(err, &invalid):
		fmt.Println("nothing was sent, correct the request:", invalid.Field)
	case errors.As(err, &call) && call.Outcome == api.NotSent:
		fmt.Println("nothing was sent, run it again")
	case errors.As(err, &call) && call.Outcome == api.Rejected:
		fmt.Println("the service said no:", call.Reason)
	default:
		fmt.Println("unknown: do not send order 4711 again before the list has been looked through")
	}
	// Output: unknown: do not send order 4711 again before the list has been looked through
}

// After an unknown outcome, look for the order in the service's list. Finding it settles the outcome. Not
// finding it does not, because a create can arrive late.
func ExampleWithdrawals_All_reconcile() {
	client, _, stop := open()
	defer stop()
	ctx := context.Background()
	must(client.Withdrawals.Create(ctx, api.CreateWithdrawal{
		Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1_500_000),
		Address: "bc1qexample", ExternalOrderID: "4711",
	}))

	for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
		if err != nil {
			log.Fatal(err) // nothing is known after half a list
		}
		if w.ExternalOrderID == "4711" {
			fmt.Println("order 4711 was accepted, and its status is", w.Current)
		}
	}
	// Output: order 4711 was accepted, and its status is New
}

// All reads page after page, whatever number the first page has.
func ExampleWithdrawals_All() {
	for _, firstPage := range []string{"0", "1"} {
		client, _, stop := open(sandbox.WithSetting("first_page", firstPage))
		ctx := context.Background()
		for order := range 5 {
			must(client.Withdrawals.Create(ctx, api.CreateWithdrawal{
				Currency: api.FiatCurrency("Usd"), Amount: api.FiatAmount("USD", 100),
				Address: "account-1", ExternalOrderID: fmt.Sprint(order + 1),
			}))
		}
		filter := api.WithdrawalFilter{Currencies: []api.Currency{{Kind: api.Fiat, Code: "Usd"}}}
		var orders []string
		for w, err := range client.Withdrawals.All(ctx, filter, api.ListOptions{PageSize: 2}) {
			if err != nil {
				log.Fatal(err)
			}
			orders = append(orders, w.ExternalOrderID)
		}
		fmt.Println("the first page is", firstPage+":", orders)
		stop()
	}
	// Output:
	// the first page is 0: [5 4 3 2 1]
	// the first page is 1: [5 4 3 2 1]
}

// This follows an invoice from its creation to its payment.
func ExampleInvoices() {
	client, box, stop := open()
	defer stop()
	ctx := context.Background()
	id := must(client.Invoices.Create(ctx, api.CreateInvoice{
		OrderID:  "A-17",
		Title:    "Order A-17",
		Currency: api.FiatCurrency("Usd"),
		Items:    []api.InvoiceItem{{Name: "Tea", Amount: 2500}, {Name: "Biscuits", Amount: 450}},
	}))
	check(box.PayInvoice(id)) // only a sandbox can do this
	invoice := must(client.Invoices.Get(ctx, id))
	var total int64
	for _, item := range invoice.Items {
		total += item.Amount
	}
	fmt.Println(invoice.Title, "is", invoice.Status+":", api.FormatDecimal(total, 2), invoice.Currency)
	// Output: Order A-17 is Paid: 29.50 Usd
}

// This prints a reseller's figures.
func ExampleResellers_Stats() {
	client, box, stop := open()
	defer stop()
	ctx := context.Background()

	// The sandbox turns an invite into a reseller, who makes an invoice with a separate key. Then it is paid.
	invite := must(client.Invites.Create(ctx, "7c9e6679-7425-40de-944b-e07fc1f90ae7"))
	id, key, err := box.RedeemInvite(invite.Invite, "Harbour Books")
	if err != nil {
		log.Fatal(err)
	}
	theirs := httptest.NewServer(box)
	defer theirs.Close()
	reseller := must(api.New(theirs.URL, api.WithAPIKey(key)))
	invoice := must(reseller.Invoices.Create(ctx, api.CreateInvoice{
		Title: "Atlas", Currency: api.FiatCurrency("Usd"), Items: []api.InvoiceItem{{Name: "Atlas", Amount: 12_000}},
	}))
	check(box.PayInvoice(invoice))

	stats := must(client.Resellers.Stats(ctx, id))
	for _, s := range stats.InvoiceStats {
		fmt.Println(stats.Label, s.Status, s.Count)
	}
	for _, r := range stats.InvoiceRebates {
		paid, _ := r.PaidAmount.Of("USD")
		rebate, _ := r.Rebate.Of("USD")
		fmt.Println("paid", api.FormatDecimal(paid, 2), "rebate", api.FormatDecimal(rebate, 2))
	}
	// Output:
	// Harbour Books Awaiting 0
	// Harbour Books Expired 0
	// Harbour Books Paid 1
	// paid 120.00 rebate 1.20
}

// Decimals are exact. A text that is not an exact decimal is refused with a reason.
func ExampleParseDecimal() {
	for _, text := range []string{"25.00", "0.1", "25.001", "1e3", "1,000", ".5"} {
		minor, err := api.ParseDecimal(text, 2)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(text, "is", minor, "minor units")
	}
	// Output:
	// 25.00 is 2500 minor units
	// 0.1 is 10 minor units
	// "25.001" has 3 decimals, and the currency has 2: write no more digits than that
	// "1e3" has an exponent: write all digits out
	// "1,000" has a separator: write digits and one point only
	// ".5" has no digit before the point: write 0.5
}

func ExampleFormatDecimal() {
	fmt.Println(api.FormatDecimal(2500, 2), api.FormatDecimal(1, 8), api.FormatDecimal(-5, 2), api.FormatDecimal(42, 0))
	// Output: 25.00 0.00000001 -0.05 42
}

// The error has the service's own words.
func ExampleError() {
	client, _, stop := open(sandbox.WithSeed("none"))
	defer stop()
	_, err := client.Withdrawals.Create(context.Background(), api.CreateWithdrawal{
		Currency: api.FiatCurrency("Usd"), Amount: api.FiatAmount("USD", 1), Address: "account-1",
	})
	var call *api.Error
	if errors.As(err, &call) {
		fmt.Println(call.Outcome, call.Status, call.Code, call.Reason)
	}
	// Output: rejected 422 2004 insufficient_funds
}

// RawJSON returns every field that the service sent, even those that this version does not know.
func ExampleWithdrawal_RawJSON() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w,
			`{"id":"w-1","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":5}},"address":"bc1qexample",`+
				`"fee":{"Crypto":{"Btc":1}}}`)
	}))
	defer server.Close()
	client := must(api.New(server.URL))
	w := must(client.Withdrawals.Get(context.Background(), "w-1"))
	fmt.Printf("%s\n", w.RawJSON())
	// Output: {"id":"w-1","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":5}},"address":"bc1qexample","fee":{"Crypto":{"Btc":1}}}
}

// Do reaches a path that has no method yet.
func ExampleClient_Do() {
	client, _, stop := open()
	defer stop()
	answer := must(client.Do(context.Background(), http.MethodGet, "/api/resellers/ids", nil))
	fmt.Printf("%s", answer)
	// Output: []
}

// A receiver treats callbacks as hints, and asks the service.
func ExampleParseCallback() {
	client, box, stop := open()
	defer stop()
	came := make(chan api.Withdrawal, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxCallback))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		hint, err := api.ParseCallback(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		current, err := client.Withdrawals.Get(r.Context(), hint.ID)
		if err != nil {
			http.Error(w, "later", http.StatusServiceUnavailable) // the service posts it again
			return
		}
		came <- current
	}))
	defer receiver.Close()

	id := must(client.Withdrawals.Create(context.Background(), api.CreateWithdrawal{
		Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1_500_000), Address: "bc1qexample",
		Callback: receiver.URL,
	}))
	check(box.AdvanceWithdrawal(id, "Processing"))
	fmt.Println((<-came).Current)
	// Output: Processing
}

// A wait ends with a status, or with the context.
func ExampleWithdrawals_WaitFor() {
	client, box, stop := open()
	defer stop()
	id := must(client.Withdrawals.Create(context.Background(), api.CreateWithdrawal{
		Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1_500_000), Address: "bc1qexample",
	}))
	for _, status := range []string{"Processing", "Completed"} {
		check(box.AdvanceWithdrawal(id, status))
	}

	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	w := must(client.Withdrawals.WaitFor(ctx, id,
		api.Wait{Status: []string{"Completed"}, FailOn: []string{"Failed", "Cancelled"}}))
	fmt.Println(w.Current)
	// Output: Completed
}

// This middleware counts calls.
func ExampleWithMiddleware() {
	box := must(sandbox.New())
	server := httptest.NewServer(box)
	defer server.Close()
	var calls atomic.Int64
	client := must(api.New(server.URL, api.WithAPIKey(box.Key()),
		api.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return counter{next, &calls}
		})))
	must(client.Invites.List(context.Background()))
	fmt.Println(calls.Load(), "call")
	// Output: 1 call
}

type counter struct {
	next  http.RoundTripper
	calls *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return c.next.RoundTrip(r)
}
