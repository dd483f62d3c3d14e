//go:build unix

package powercut

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"

	"example.com/till/e2e/powercut/tape"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	gojson "github.com/go-json-experiment/json"
)

// duties are what the journal must know after a cut.
type duties struct {
	sent     map[string][]byte // bodies of creates that have left and were not refused, by order id
	reported map[string]string // ids that the caller was told
}

func dutiesOf(events []tape.Event) duties {
	d := duties{map[string][]byte{}, map[string]string{}}
	for _, e := range events {
		switch e.Kind {
		case tape.Left:
			d.sent[e.Order] = e.Data
		case tape.Refused:
			delete(d.sent, e.Order)
		case tape.Reported:
			d.reported[e.Order] = e.ID
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
	err = errors.Join(d.remembered(ctx, j, r), d.sentOnce(ctx, j, r))
	if err := errors.Join(err, j.Close()); err != nil {
		return err
	}
	return sound(ctx, place)
}

// remembered compares what the journal knows with what it must know.
func (d duties) remembered(ctx context.Context, j *payout.Journal, r tape.Record) error {
	orders := map[string]payout.Order{}
	var errs []error
	for o, err := range j.Ledger(payout.Account{Address: r.Address, Name: r.Name}).Orders(ctx, payout.Filter{}) {
		if err != nil {
			return err
		}
		orders[o.OrderID] = o
		if o.State == payout.StateAccepted && o.ID != r.Paid[o.OrderID] {
			errs = append(errs, fmt.Errorf("order %s is accepted as %q, and the service made it %q", o.OrderID, o.ID, r.Paid[o.OrderID]))
		}
	}
	for id := range d.sent {
		switch o, found := orders[id]; {
		case !found:
			errs = append(errs, fmt.Errorf("order %s was sent, and is not in the journal", id))
		case o.State == payout.StatePlanned || o.State == payout.StateRejected:
			errs = append(errs, fmt.Errorf("order %s was sent, and is %s in the journal", id, o.State))
		}
	}
	for id, withdrawal := range d.reported {
		if o := orders[id]; o.State != payout.StateAccepted || o.ID != withdrawal {
			errs = append(errs, fmt.Errorf("order %s was reported as %s, and is %q in the journal with the id %q", id, withdrawal, o.State, o.ID))
		}
	}
	return errors.Join(errs...)
}

// sentOnce asks a sender to pay everything again that was sent. The sender has nothing but the journal.
func (d duties) sentOnce(ctx context.Context, j *payout.Journal, r tape.Record) error {
	var creates atomic.Int32
	client, err := api.New("http://127.0.0.1", api.WithAPIKey(r.Key), api.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
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
	for id, body := range d.sent {
		var again api.CreateWithdrawal
		if err := gojson.Unmarshal(body, &again); err != nil {
			return err
		}
		sent, err := sender.Send(ctx, again)
		if n := creates.Load(); n != 0 {
			return fmt.Errorf("order %s was sent again: %v", id, err)
		}
		if err == nil && !sent.Already || err != nil && !errors.Is(err, payout.ErrUnknown) {
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
