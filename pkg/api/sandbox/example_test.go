package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/till/pkg/api/sandbox"
)

// A test of a program that pays: 25 dollars leave as satoshi, at a rate that the
// test chose.
func ExampleNew() {
	box, err := sandbox.New(sandbox.WithSetting("rate_Btc", "50000"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(box)
	defer server.Close()
	before := box.Balance("Btc")

	body := `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"bc1q"}`
	r, _ := http.NewRequest("POST", server.URL+"/api/merchant_withdrawal/create", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+box.Key())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.StatusCode, before-box.Balance("Btc"))
	// Output: 200 50000
}
