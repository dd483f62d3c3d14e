// Payouts pays every row of a CSV file at most once, however often it runs:
//
//	go run ./examples/payouts payouts.csv                makes a plan, shows its totals and sends nothing
//	go run ./examples/payouts payouts.csv sha256:...     pays that plan, if its digest is the approved one
//
// It takes the address of the service from TILL_BASE_URL, the key from TILL_API_KEY and the journal from
// TILL_JOURNAL. It exits with 20 if an outcome is unknown. Run it again then: it finds on the service's list
// what was paid meanwhile, and does not pay it again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

func main() {
	// After an interrupt, Apply waits for the calls in flight.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "payouts:", err)
		if wrong := (*payout.Error)(nil); errors.As(err, &wrong) {
			for _, detail := range wrong.Details {
				fmt.Fprintln(os.Stderr, detail)
			}
		}
		if errors.Is(err, payout.ErrUnknown) {
			os.Exit(20)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return errors.New("usage: payouts FILE.csv [DIGEST]")
	}
	client, err := api.New(os.Getenv("TILL_BASE_URL"), api.WithAPIKey(os.Getenv("TILL_API_KEY")))
	if err != nil {
		return err
	}
	journal, err := payout.OpenJournal(ctx, os.Getenv("TILL_JOURNAL"))
	if err != nil {
		return err
	}
	defer journal.Close()
	sender, err := payout.New(client, journal, "acme", payout.Options{})
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return makePlan(ctx, sender, args[0])
	}
	plan, err := payout.OpenPlan(args[0] + ".plan")
	if err != nil {
		return err
	}
	defer plan.Close()
	if plan.Digest != args[1] {
		return fmt.Errorf("the plan's digest is %s, and %s was approved", plan.Digest, args[1])
	}
	tally, err := sender.Apply(ctx, plan, payout.ApplyOptions{})
	fmt.Printf("%d of %d rows are paid\n", tally.States[payout.StateAccepted], plan.Rows)
	return err
}

func makePlan(ctx context.Context, sender *payout.Sender, file string) error {
	rows, err := os.Open(file)
	if err != nil {
		return err
	}
	defer rows.Close()
	plan, err := sender.MakePlan(ctx, payout.PlanInput{Path: file + ".plan", Input: rows, Name: file, Format: payout.CSV})
	if err != nil {
		return err
	}
	for _, total := range plan.Totals {
		fmt.Println(total.Rows, "rows,", plan.Pays(total.Amount))
	}
	fmt.Println("digest", plan.Digest)
	return nil
}
