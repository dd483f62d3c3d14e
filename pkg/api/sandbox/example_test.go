package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/till/pkg/api/sandbox"
)

// A test of a program that pays: 25 dollars are withdrawn as satoshi, at a rate that
// the test sets.
func ExampleNew() {
	box, err := sandbox.New(sandbox.WithSetting("rates", "Btc=50000"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(box)
	defer server.Close()
	before, err := box.Balance("Btc")
	if err != nil {
		fmt.Println(err)
		return
	}

	body := `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"bc1q"}`
	r, _ := http.NewRequest("POST", server.URL+"/api/merchant_withdrawal/create", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+box.Key())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	after, err := box.Balance("Btc")
	fmt.Println(answer.StatusCode, before-after, err)
	// Output: 200 50000 <nil>
}

// A test that needs a shop with a history gives it in a seed. The test chooses the
// reseller's key.
func ExampleWithSeedJSON() {
	box, err := sandbox.New(sandbox.WithSeedJSON([]byte(`{
		"balances": ["1000.00 Usd", "1.5 Btc"],
		"resellers": [{"label": "Harbour Books", "api_key": "till_sandbox_harbour"}],
		"invoices": [
			{"account": "Harbour Books", "title": "Order 1001", "total": "25.00 Usd", "status": "Paid"},
			{"items": [{"name": "Tea", "amount": "3.00 Eur"}], "created": "2026-05-03T10:00:00Z"}
		],
		"withdrawals": [{"amount": "0.015 Btc", "address": "bc1q", "status": "Processing"}]
	}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(box)
	defer server.Close()
	fmt.Println(box.Balance("Usd"))
	fmt.Println(box.Balance("Btc"))

	body := `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":2500}},"address":"account 1"}`
	r, _ := http.NewRequest("POST", server.URL+"/api/merchant_withdrawal/create", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer till_sandbox_harbour")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.StatusCode)
	// Output:
	// 100000 <nil>
	// 150000000 <nil>
	// 200
}
