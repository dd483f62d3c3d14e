package sandbox_test

import (
	"fmt"
	"net/http/httptest"

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
	box, err := sandbox.New(sandbox.WithSeedJSON([]byte(`{
		"balances": ["1000.00 Usd", "1.5 Btc"],
		"resellers": [{"label": "Harbour Books", "api_key": "till_sandbox_harbour"}],
		"invoices": [
			{"account": "Harbour Books", "title": "Order 1001", "total": "25.00 Usd", "status": "Paid"},
			{"items": [{"name": "Tea", "amount": "3.00 Eur"}], "created": "2026-05-03T10:00:00Z"}
		],
		"withdrawals": [{"amount": "0.015 Btc", "address": "bc1q", "status": "Processing"}]
	}`)))
	t.Must(err)
	server := httptest.NewServer(box)
	defer server.Close()
	fmt.Println(box.Balance("Usd"))
	fmt.Println(box.Balance("Btc"))

	status, _, err := ask("till_sandbox_harbour", "POST", server.URL+"/api/merchant_withdrawal/create",
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
	box, err := sandbox.New(sandbox.WithFault(sandbox.Fault{
		On: "POST /api/merchant_withdrawal/create", Do: "drop-after", Times: 1,
	}))
	t.Must(err)
	server := httptest.NewServer(box)
	defer server.Close()
	before, err := box.Balance("Btc")
	t.Must(err)

	pay := func() error {
		_, _, err := ask(box.Key(), "POST", server.URL+"/api/merchant_withdrawal/create",
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
