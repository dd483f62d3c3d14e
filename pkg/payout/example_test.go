package payout_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
)

// A T replaces the *testing.T that an example does not have.
type T struct{ cleanups []func() }

func (t *T) Helper()                           {}
func (t *T) Context() context.Context          { return context.Background() }
func (t *T) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *T) done() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// start starts a sandbox, which is the service of these examples, and makes a directory.
func start(t *T) (client *api.Client, dir string, box *sandbox.Running) {
	box = sandbox.Start(t)
	client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if dir, err = os.MkdirTemp("", "payout"); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return client, dir, box
}

// newSender returns a Sender as the first example makes it.
func newSender(t *T, currencies []payout.Currency) (sender *payout.Sender, dir string, box *sandbox.Running) {
	client, dir, box := start(t)
	journal, err := payout.OpenJournal(t.Context(), filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { journal.Close() })
	if sender, err = payout.New(client, journal, "acme", payout.Options{Currencies: currencies}); err != nil {
		t.Fatalf("%v", err)
	}
	return sender, dir, box
}

// This example sends one withdrawal. The second Send pays nothing, because the order id is the same.
func ExampleSender_Send() {
	t := new(T)
	defer t.done()
	client, dir, _ := start(t)

	ctx := context.Background()
	journal, err := payout.OpenJournal(ctx, filepath.Join(dir, "journal.db"))
	if err != nil {
		panic(err)
	}
	defer journal.Close()
	sender, err := payout.New(client, journal, "acme", payout.Options{})
	if err != nil {
		panic(err)
	}
	salary := api.CreateWithdrawal{
		Currency:        api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount:          api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 1_500_000},
		Address:         "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		ExternalOrderID: "4711",
	}
	for range 2 {
		sent, err := sender.Send(ctx, salary)
		fmt.Println(sent.Order.OrderID, sent.Order.State, "before:", sent.Already, err)
	}

	salary.Amount.Minor++
	_, err = sender.Send(ctx, salary)
	fmt.Println(errors.Is(err, payout.ErrRefused))
	// Output:
	// 4711 accepted before: false <nil>
	// 4711 accepted before: true <nil>
	// true
}

// After a crash or a lost answer, the outcome of an order is unknown. Reconcile finds the order on the
// service's list.
func ExampleSender_Reconcile() {
	t := new(T)
	defer t.done()
	sender, _, box := newSender(t, nil)
	if _, err := box.AddFault(sandbox.Fault{On: "POST /api/merchant_withdrawal/create", Do: "drop-after",
		Times: 1}); err != nil {
		panic(err)
	}

	ctx := context.Background()
	_, err := sender.Send(ctx, api.CreateWithdrawal{
		Currency:        api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount:          api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 1_500_000},
		Address:         "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		ExternalOrderID: "4711",
	})
	fmt.Println("unknown:", errors.Is(err, payout.ErrUnknown))

	results, err := sender.Reconcile(ctx) // every unknown order of the account
	if err != nil {
		panic(err)
	}
	for _, r := range results {
		fmt.Println(r.Order.OrderID, r.Order.State, "on the list:", r.Listed)
	}
	// Output:
	// unknown: true
	// 4711 accepted on the list: true
}

// This example makes a plan from a file and applies it. Applied again, it pays nothing more.
func ExampleSender_Apply() {
	t := new(T)
	defer t.done()
	currencies := []payout.Currency{{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "bitcoin"}}
	sender, dir, _ := newSender(t, currencies)
	const rows = `order_id,currency,amount,address
1,Btc,0.015,bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
2,Btc,0.02,bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4
`

	ctx := context.Background()
	made, err := sender.MakePlan(ctx, payout.PlanInput{
		Path: filepath.Join(dir, "staff.plan"), Rows: sheet.CSV(strings.NewReader(rows), sheet.Layout{}), Name: "staff.csv", Currencies: currencies,
	})
	if err != nil {
		panic(err)
	}
	for _, total := range made.Totals {
		fmt.Println(total.Rows, "rows,", made.Pays(total.Amount))
	}

	plan, err := payout.OpenPlan(made.Path) // by the person who has approved made.Digest
	if err != nil {
		panic(err)
	}
	for range 2 {
		tally, err := sender.Apply(ctx, plan, payout.ApplyOptions{Concurrency: 4})
		fmt.Println(tally.States[payout.StateAccepted], "of", tally.Rows, "accepted", err)
	}
	// Output:
	// 2 rows, 0.03500000 Btc
	// 2 of 2 accepted <nil>
	// 2 of 2 accepted <nil>
}

// Accepted is not yet paid. This example waits until the service is processing every order of a run.
func ExampleSender_WaitRun() {
	t := new(T)
	defer t.done()
	sender, dir, box := newSender(t, nil)

	ctx := context.Background()
	made, err := sender.MakePlan(ctx, payout.PlanInput{
		Path: filepath.Join(dir, "staff.plan"), Name: "staff.csv",
		Rows: sheet.CSV(strings.NewReader("order_id,currency,amount_minor,address\n1,Btc,1500000,"+
			"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq\n"), sheet.Layout{}),
	})
	if err != nil {
		panic(err)
	}
	plan, err := payout.OpenPlan(made.Path)
	if err != nil {
		panic(err)
	}
	if _, err := sender.Apply(ctx, plan, payout.ApplyOptions{}); err != nil {
		panic(err)
	}

	waited, err := sender.WaitRun(ctx, plan.Name(), payout.RunWait{
		Statuses: []string{"Processing"}, FailOn: []string{"Failed"}, Interval: 10 * time.Millisecond, Timeout: time.Minute,
		Progress: func(p payout.RunProgress) {
			fmt.Println(p.Left, "of", len(p.Orders), "left")
			if p.Left > 0 { // the service continues
				if err := box.AdvanceWithdrawal(p.Orders[0].ID, "Processing"); err != nil {
					panic(err)
				}
			}
		},
	})
	fmt.Println(waited.Statuses[waited.Orders[0].ID], err)
	// Output:
	// 1 of 1 left
	// 0 of 1 left
	// Processing <nil>
}

// Several machines share a journal in PostgreSQL. The password is in ~/.pgpass or PGPASSWORD.
func ExampleOpenJournal_postgres() {
	ctx := context.Background()
	journal, err := payout.OpenJournal(ctx, "postgres://till@db.example.com/till?sslmode=verify-full")
	if errors.Is(err, payout.ErrJournalBroken) {
		fmt.Println("it cannot be reached")
		return
	}
	defer journal.Close()
	// Output: it cannot be reached
}
