//go:build unix

package powercut

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"

	"example.com/till/e2e/powercut/tape"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	gojson "github.com/go-json-experiment/json"
)

// duties are what the journal must know after a cut.
type duties struct {
	Sent     map[string][]byte // bodies of creates that have left and were not refused, by order id
	Reported map[string]string // ids that the caller was told
}

// after returns the duties after more events.
func (d duties) after(events []tape.Event) duties {
	d = duties{maps.Clone(d.Sent), maps.Clone(d.Reported)}
	for _, e := range events {
		switch e.Kind {
		case tape.Left:
			d.Sent[e.Order] = e.Data
		case tape.Refused:
			delete(d.Sent, e.Order)
		case tape.Reported:
			d.Reported[e.Order] = e.ID
		}
	}
	return d
}

// refusal is the error of a journal that does not open.
type refusal struct{ error }

// check opens the journal of a state, as the next process does after the machine has started again, and
// returns an error if the journal has forgotten anything, or something is sent again.
func (d duties) check(ctx context.Context, dir string, r tape.Record) (err error) {
	place := filepath.Join(dir, r.Journal)
	j, err := payout.OpenJournal(ctx, place)
	if err != nil {
		return refusal{err}
	}
	orders, err := d.remembered(ctx, j, r)
	err = errors.Join(err, d.sentOnce(ctx, j, r, orders))
	if err := errors.Join(err, j.Close()); err != nil {
		return err
	}
	return sound(ctx, place)
}

// remembered compares what the journal knows with what it must know. It returns the journal's orders.
func (d duties) remembered(ctx context.Context, j *payout.Journal, r tape.Record) (map[string]payout.Order, error) {
	orders := map[string]payout.Order{}
	var errs []error
	l := j.Ledger(payout.Account{Address: r.Address, Name: r.Name})
	for o, err := range l.Orders(ctx, payout.Filter{}) {
		if err != nil {
			return nil, err
		}
		orders[o.OrderID] = o
		if o.State == payout.StateAccepted && o.ID != r.Paid[o.OrderID] {
			errs = append(errs, fmt.Errorf("order %s is accepted as %q, and the service made it %q", o.OrderID,
				o.ID, r.Paid[o.OrderID]))
		}
	}
	runs, err := l.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		rows := 0
		for _, err := range l.Results(ctx, run.Name) {
			if rows++; err != nil {
				return nil, err
			}
		}
		if rows != r.Rows {
			errs = append(errs, fmt.Errorf("run %s has %d rows, want %d", run.Name, rows, r.Rows))
		}
	}
	for id := range d.Sent {
		switch o, found := orders[id]; {
		case !found:
			errs = append(errs, fmt.Errorf("order %s was sent, and is not in the journal", id))
		case o.State == payout.StatePlanned || o.State == payout.StateRejected:
			errs = append(errs, fmt.Errorf("order %s was sent, and is %s in the journal", id, o.State))
		}
	}
	for id, withdrawal := range d.Reported {
		if o := orders[id]; o.State != payout.StateAccepted || o.ID != withdrawal {
			errs = append(errs, fmt.Errorf("order %s was reported as %s, and is %q in the journal with the id %q", id,
				withdrawal, o.State, o.ID))
		}
	}
	return orders, errors.Join(errs...)
}

// sentOnce asks a sender to pay again what was sent: every order that is not accepted, and some of the
// others. The sender has nothing but the journal.
func (d duties) sentOnce(ctx context.Context, j *payout.Journal, r tape.Record, orders map[string]payout.Order) error {
	var creates atomic.Int32
	client, err := api.New("http://127.0.0.1", api.WithAPIKey(r.Key),
		api.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			creates.Add(1)
			return nil, io.ErrUnexpectedEOF
		})))
	if err != nil {
		return err
	}
	sender, err := payout.New(client, j, r.Name, payout.Options{Address: r.Address, Lookup: payout.LookupNever})
	if err != nil {
		return err
	}
	accepted := 0
	for _, id := range slices.Sorted(maps.Keys(d.Sent)) {
		if orders[id].State == payout.StateAccepted {
			if accepted++; accepted > 3 {
				continue
			}
		}
		var again api.CreateWithdrawal
		if err := gojson.Unmarshal(d.Sent[id], &again); err != nil {
			return err
		}
		sent, err := sender.Send(ctx, again)
		if n := creates.Load(); n != 0 {
			return fmt.Errorf("order %s was sent again: %v", id, err)
		}
		if err == nil && !sent.Already || err != nil && !errors.Is(err, payout.Unknown) {
			return fmt.Errorf("order %s, asked for again: %+v, %v", id, sent, err)
		}
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sound checks the database as SQLite does.
func sound(ctx context.Context, place string) error {
	db, err := sql.Open("sqlite", place)
	if err != nil {
		return err
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		return fmt.Errorf("the database is damaged: %s, %v", said, err)
	}
	return nil
}
