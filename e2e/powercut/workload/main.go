// Command workload pays with a journal, and records what it does to the journal's files. The tests of
// e2e/powercut build it from sources with a few patched lines, and run it as
//
//	workload new DIRECTORY RECORD
//	workload old DIRECTORY RECORD
//	workload again DIRECTORY RECORD ADDRESS
//
// The directory is empty, and the journal is new or, with old, made by the first version of till. With again,
// it is what a power cut has left of the directory of another workload, whose service had the address.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"example.com/till/e2e/powercut/tape"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	gojson "github.com/go-json-experiment/json"
)

func main() {
	t := &program{}
	err := t.run(context.Background(), os.Args[1], os.Args[2], os.Args[3:])
	for _, end := range t.ends {
		end()
	}
	if err != nil {
		log.Fatal(err)
	}
}

const (
	name       = "acme"
	planRows   = 30
	createPath = "/api/merchant_withdrawal/create"
)

// program is what sandbox.Start asks of a test.
type program struct {
	ends []func()

	box    *sandbox.Running
	dir    string
	place  string // of the journal
	record tape.Record

	options payout.Options
}

func (t *program) Helper()                           {}
func (t *program) Cleanup(f func())                  { t.ends = append([]func(){f}, t.ends...) }
func (t *program) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (t *program) run(ctx context.Context, kind, dir string, args []string) error {
	t.box, t.dir = sandbox.Start(t), dir
	below := filepath.Join("state", "till", "journal.db")
	t.place = filepath.Join(dir, below)
	if err := tape.Begin(dir); err != nil {
		return err
	}
	t.record = tape.Record{Journal: below, Address: t.box.URL, Name: name, Key: t.box.Key(), Rows: planRows, Paid: map[string]string{}}
	steps := []func(context.Context, *payout.Sender) error{t.singles, t.batch, t.more}
	switch kind {
	case "old":
		if err := t.oldJournal(ctx); err != nil {
			return err
		}
		steps = steps[:1]
	case "again":
		t.record.Address = args[1]
		t.options.Lookup = payout.LookupNever
		steps = []func(context.Context, *payout.Sender) error{t.everything, t.more}
	}
	t.options.Address, t.options.AnyKey = t.record.Address, true // the journal can have withdrawals that this service never made
	for i, step := range steps {
		if err := t.withJournal(ctx, step, i == len(steps)-1); err != nil {
			return err
		}
	}
	client, err := api.New(t.box.URL, api.WithAPIKey(t.box.Key()))
	if err != nil {
		return err
	}
	for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
		if err != nil {
			return err
		}
		t.record.Paid[w.ExternalOrderID] = w.ID
	}
	return tape.Save(args[0], t.record)
}

// withJournal takes a step with the journal open, as one process does. The last process is killed.
func (t *program) withJournal(ctx context.Context, step func(context.Context, *payout.Sender) error, last bool) error {
	client, err := api.New(t.box.URL, api.WithAPIKey(t.box.Key()), api.WithRetries(0), api.WithMiddleware(watch))
	if err != nil {
		return err
	}
	j, err := payout.OpenJournal(ctx, t.place)
	if err != nil {
		return err
	}
	sender, err := payout.New(client, j, name, t.options)
	if err == nil {
		err = step(ctx, sender)
	}
	if err == nil && last {
		return nil
	}
	return errors.Join(err, j.Close())
}

// watch notes when a create is about to leave, and when it was refused.
func watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != createPath {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var order struct {
			ID string `json:"external_order_id"`
		}
		if err := gojson.Unmarshal(body, &order); err != nil {
			return nil, err
		}
		tape.HasLeft(order.ID, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer, err := next.RoundTrip(r)
		if err == nil && answer.StatusCode/100 == 4 {
			tape.WasRefused(order.ID)
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// what the service does with the next create of an order.
const (
	refuse    = "status=400"
	tooMany   = "status=429"
	takeInto  = "drop-after"  // takes it, and the answer is lost
	dropFirst = "drop-before" // never sees it, and the caller cannot know that
)

func (t *program) fault(order int, do string) error {
	_, err := t.box.AddFault(sandbox.Fault{On: "POST " + createPath, Do: do, Times: 1,
		Match: map[string]string{"external_order_id": strconv.Itoa(order)}})
	return err
}

func withdrawal(order int) api.CreateWithdrawal {
	btc := api.Currency{Kind: api.Crypto, Code: "Btc"}
	return api.CreateWithdrawal{Currency: btc, Amount: api.Amount{Kind: api.Crypto, Code: "Btc", Minor: int64(1000 + order)},
		Address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ExternalOrderID: strconv.Itoa(order)}
}

// send sends an order that ends in want; nil: it is accepted.
func (t *program) send(ctx context.Context, s *payout.Sender, order int, do string, want error) error {
	if do != "" {
		if err := t.fault(order, do); err != nil {
			return err
		}
	}
	_, err := s.Send(ctx, withdrawal(order))
	if !errors.Is(err, want) {
		return fmt.Errorf("order %d: %w, want %v", order, err, want)
	}
	return nil
}

// singles sends single withdrawals, one after the other and then side by side.
func (t *program) singles(ctx context.Context, s *payout.Sender) error {
	for _, try := range []struct {
		order int
		do    string
		want  error
	}{
		{1, "", nil}, {2, refuse, payout.Rejected}, {3, takeInto, payout.Unknown}, {4, dropFirst, payout.Unknown},
		{5, tooMany, payout.Rejected}, {5, "", nil}, {2, "", nil},
	} {
		if err := t.send(ctx, s, try.order, try.do, try.want); err != nil {
			return err
		}
	}
	results, err := s.Reconcile(ctx)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Order.State == payout.StateAccepted {
			tape.WasReported(r.Order.OrderID, r.Order.ID)
		}
	}
	var all sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		all.Go(func() { errs[i] = t.send(ctx, s, 10+i, "", nil) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// batch applies a plan, with several calls at a time and some faults, and settles what is unknown.
func (t *program) batch(ctx context.Context, s *payout.Sender) error {
	rows := "order_id,currency,amount_minor,address\n"
	for order := 100; order < 100+planRows; order++ {
		w := withdrawal(order)
		rows += fmt.Sprintf("%d,Btc,%d,%s\n", order, w.Amount.Minor, w.Address)
	}
	made, err := s.MakePlan(ctx, payout.PlanInput{Path: filepath.Join(filepath.Dir(t.dir), "rows.plan"), Name: "rows.csv",
		Rows: sheet.CSV(strings.NewReader(rows), sheet.Layout{})})
	if err != nil {
		return err
	}
	plan, err := payout.OpenPlan(made.Path)
	if err != nil {
		return err
	}
	for order, do := range map[int]string{105: refuse, 111: takeInto, 117: refuse, 121: dropFirst} {
		if err := t.fault(order, do); err != nil {
			return err
		}
	}
	tally, err := s.Apply(ctx, plan, payout.ApplyOptions{Concurrency: 4, KeepGoing: true})
	if tally.States[payout.StateAccepted] != 26 || tally.States[payout.StateRejected] != 2 || tally.States[payout.StateUnknown] != 2 {
		return fmt.Errorf("the plan: %v, %w", tally.States, err)
	}
	_, err = s.Reconcile(ctx)
	return err
}

// more sends with a journal that was closed and is opened again.
func (t *program) more(ctx context.Context, s *payout.Sender) error {
	for order := 200; order < 206; order++ {
		if _, err := s.Send(ctx, withdrawal(order)); err != nil && !errors.Is(err, payout.Unknown) {
			return err
		}
	}
	return nil
}

// everything sends all orders of singles and batch, some of which are already in the journal.
func (t *program) everything(ctx context.Context, s *payout.Sender) error {
	for order := 1; order < 100+planRows; order++ {
		if 5 < order && order < 10 || 12 < order && order < 100 {
			continue
		}
		if _, err := s.Send(ctx, withdrawal(order)); err != nil && !errors.Is(err, payout.Unknown) {
			return err
		}
	}
	return nil
}

// oldJournal makes a journal of the first version with orders in several states.
func (t *program) oldJournal(ctx context.Context) error {
	tape.FirstVersion(true)
	j, err := payout.OpenJournal(ctx, t.place)
	if err != nil {
		return err
	}
	if err := j.Close(); err != nil {
		return err
	}
	tape.FirstVersion(false)
	db, err := sql.Open("sqlite", t.place)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `PRAGMA synchronous = full;
		INSERT INTO accounts (id, address, name, created) VALUES (1, ?1, ?2, '2026-01-02T03:04:05.000000Z')`, t.box.URL, name); err != nil {
		return err
	}
	for i, state := range []string{"planned", "sending", "accepted", "rejected", "unknown"} {
		w, id := withdrawal(50+i), ""
		if state == "accepted" {
			id = "old-1"
		}
		if _, err := db.ExecContext(ctx, `INSERT INTO orders (account, order_id, state, currency, unit, minor, address, memo, callback, withdrawal, attempt, doubt, sender, sent, user_name, host, created, changed)
			SELECT 1, ?1, ?2, 'crypto:Btc', 'crypto:Btc', ?3, ?4, '', '', ?5, ?6, ?7, ?8, ?9, 'ann', 'till1', created, created FROM accounts`,
			w.ExternalOrderID, state, w.Amount.Minor, w.Address, id, min(i, 1), b(state == "unknown"), b(state == "sending"), "2026-01-02T03:04:05.000000Z"); err != nil {
			return err
		}
	}
	if err := db.Close(); err != nil {
		return err
	}
	for i, state := range []string{"planned", "sending", "accepted", "rejected", "unknown"} {
		if state == "planned" || state == "rejected" {
			continue
		}
		w := withdrawal(50 + i)
		body, err := gojson.Marshal(w)
		if err != nil {
			return err
		}
		tape.HasLeft(w.ExternalOrderID, body)
		if state == "accepted" {
			tape.WasReported(w.ExternalOrderID, "old-1")
			t.record.Paid[w.ExternalOrderID] = "old-1"
		}
	}
	return nil
}

func b(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
