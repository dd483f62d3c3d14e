// Payouts pays every row of a CSV file at most once, however often it runs:
//
//	go run ./examples/payouts payouts.csv
//
// The first run writes the plan payouts.csv.plan; every later run continues with it. The address of the
// service is in TILL_BASE_URL, the key in TILL_API_KEY and the path of the journal in TILL_JOURNAL. The exit
// code is 20 if an outcome is unknown. Run it again then: it finds on the service's list what was paid
// meanwhile, and does not pay it again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
)

func main() {
	// After an interrupt, Apply waits for the calls in flight.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		exit(1, errors.New("usage: payouts FILE.csv"))
	}
	switch err := pay(ctx, os.Args[1]); {
	case errors.Is(err, payout.ErrUnknown):
		exit(20, err)
	case err != nil:
		exit(1, err)
	}
}

func exit(code int, err error) {
	fmt.Fprintln(os.Stderr, "payouts:", err)
	if wrong := (*payout.Error)(nil); errors.As(err, &wrong) {
		for _, detail := range wrong.Details {
			fmt.Fprintln(os.Stderr, detail)
		}
	}
	os.Exit(code)
}

func pay(ctx context.Context, file string) error {
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
	if _, err := os.Stat(file + ".plan"); errors.Is(err, fs.ErrNotExist) {
		rows, err := os.Open(file)
		if err != nil {
			return err
		}
		defer rows.Close()
		if _, err := sender.MakePlan(ctx,
			payout.PlanInput{Path: file + ".plan", Rows: sheet.CSV(rows, sheet.Layout{}), Name: file}); err != nil {
			return err
		}
	}
	plan, err := payout.OpenPlan(file + ".plan")
	if err != nil {
		return err
	}
	tally, err := sender.Apply(ctx, plan, payout.ApplyOptions{})
	fmt.Printf("%d of %d rows are paid\n", tally.States[payout.StateAccepted], len(plan.Rows))
	return err
}
