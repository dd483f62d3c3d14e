package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/till/pkg/api/sandbox"
)

// A careless program tries again when the answer to a payment is lost, and pays
// twice.
func ExampleWithFault() {
	box, err := sandbox.New(sandbox.WithFault(sandbox.Fault{
		On: "POST /api/merchant_withdrawal/create", Do: "drop-after", Times: 1,
	}))
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

	pay := func() error {
		body := `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"bc1q"}`
		r, _ := http.NewRequest("POST", server.URL+"/api/merchant_withdrawal/create", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+box.Key())
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
		}
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
