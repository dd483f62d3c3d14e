// Invoices makes an invoice and waits until it is paid:
//
//	go run ./examples/invoices -title "Order 1001" -minor 2500
//
// It takes the address of the service from TILL_BASE_URL and the key from TILL_API_KEY. It prints the
// invoice's id at once, and "paid" when the invoice has the status named by -paid. The interface does not say
// what that status is called, so it is a flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"example.com/till/pkg/api"
)

func main() {
	title := flag.String("title", "Order 1001", "what the customer sees")
	code := flag.String("currency", "Usd", "fiat currency of the invoice")
	minor := flag.Int64("minor", 2500, "price in minor units")
	paid := flag.String("paid", "Paid", "status of a paid invoice")
	interval := flag.Duration("interval", 2*time.Second, "pause between two readings")
	limit := flag.Duration("timeout", 10*time.Minute, "limit of the whole wait")
	flag.Parse()

	client, err := api.New(os.Getenv("TILL_BASE_URL"), api.WithAPIKey(os.Getenv("TILL_API_KEY")))
	exitOn(err)

	id, err := client.Invoices.Create(context.Background(), api.CreateInvoice{
		Title:    *title,
		Currency: api.Currency{Kind: api.Fiat, Code: *code},
		Items:    []api.InvoiceItem{{Name: *title, Amount: *minor}},
	})
	exitOn(err)
	fmt.Println(id)

	_, err = client.Invoices.WaitFor(context.Background(), id,
		api.Wait{Status: []string{*paid}, Poll: api.Poll{Interval: *interval, Timeout: *limit}})
	exitOn(err)
	fmt.Println("paid")
}

func exitOn(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "invoices:", err)
	var call *api.Error
	if errors.As(err, &call) && call.Outcome == api.Unknown {
		// No call lists invoices, so a program cannot find out. A person decides whether to make another one.
		fmt.Fprintln(os.Stderr,
			"invoices: it may be there all the same, look in the merchant panel before you make another")
		os.Exit(20)
	}
	os.Exit(1)
}
