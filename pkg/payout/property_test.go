package payout

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"pgregory.net/rapid"
)

// A world has the true history of an order, which its senders may not know.
type world struct {
	id      string
	pending []api.CreateWithdrawal // sent, and not arrived yet
	wrong   bool                   // a person said that it was not sent, although it was
	doubted []int64                // amounts of the attempts whose outcome was unknown at first
}

// TestHistories checks that an order is paid at most once, whatever happens to the calls, the senders and the
// list, unless a person insists. When all is settled, the journal and the service agree.
func TestHistories(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("40") // every step is synced to the disk; more with -rapid.checks
		defer f.Value.Set(f.DefValue)
	}
	const create, list = "POST /api/merchant_withdrawal/create", "POST /api/merchant_withdrawal/list"
	box := sandbox.Start(t)
	d := newDesk(t)
	d.client = newClient(t, box.URL)
	client, err := api.New(box.URL, api.WithAPIKey(box.Key()), api.WithRetries(0))
	ok(t, err)
	d.client, d.options.AnyKey, d.options.FirstPage = client, true, api.PageBaseOne
	d.clock.now = time.Now() // the time of the sandbox's Date header, to the minute at least
	books := []*Sender{d.Sender}
	for range 2 {
		b := *d.Sender
		b.Ledger = &Ledger{d.open()}
		books = append(books, &b)
	}
	ctx := context.Background()
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		for _, b := range books {
			b.Ledger = &Ledger{ledgerOf(t, b.ledger.Journal(), Account{Address: d.s.URL, Name: fmt.Sprint("round ", round)})}
		}
		account := d.ledger.Account()
		var orders []*world
		for n := range 3 {
			orders = append(orders, &world{id: fmt.Sprint(round*10 + n)})
		}
		pick := func() *world { return orders[rapid.IntRange(0, len(orders)-1).Draw(r, "order")] }
		book := func() *Sender { return books[rapid.IntRange(0, len(books)-1).Draw(r, "process")] }
		content := func(o *world) withdrawal {
			w := asked(o.id)
			w.request.Amount.Minor = rapid.SampledFrom([]int64{5000, 6000}).Draw(r, "amount")
			return w
		}
		fault := func(on string, kinds ...string) {
			if do := rapid.SampledFrom(kinds).Draw(r, "fault"); do != "" {
				if _, err := box.AddFault(sandbox.Fault{On: on, Do: do, Times: 1}); err != nil {
					r.Fatal(err)
				}
			}
		}
		mend := func() {
			if _, err := box.ClearFaults(); err != nil {
				r.Fatal(err)
			}
		}
		// there returns the service's withdrawals, by order id.
		there := func() map[string][]api.Withdrawal {
			found := map[string][]api.Withdrawal{}
			for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{},
				api.ListOptions{FirstPage: api.PageBaseOne}) {
				if err != nil {
					r.Fatal(err)
				}
				found[w.ExternalOrderID] = append(found[w.ExternalOrderID], w)
			}
			return found
		}
		land := func(o *world) {
			for _, request := range o.pending {
				if _, err := client.Withdrawals.Create(ctx, request); err != nil {
					r.Fatal(err)
				}
			}
			o.pending = nil
		}
		// expected accepts the errors that are expected.
		expected := func(err error) {
			if err != nil && !errors.As(err, new(*Error)) && !errors.As(err, new(*api.Error)) {
				r.Fatalf("%T: %v", err, err)
			}
		}
		resolve := func(b *Sender, o *world, decision Decision) {
			decision.OrderIDs = []string{o.id}
			d.clock.move(time.Since(d.clock.Now())) // on a slow machine, the clocks may differ by more than allowed
			later := *b
			later.options.SettleAfter = 0 // as if the time had passed for both clocks
			b = &later
			checked, err := b.Check(ctx, decision)
			if err != nil {
				expected(err)
				return
			}
			_, err = b.Resolve(ctx, checked)
			expected(err)
			if err == nil && decision.PaidAs == "" && len(o.pending) > 0 {
				o.wrong = true
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				o, b := pick(), book()
				w, before := content(o), len(there()[o.id])
				fault(create, "", "refuse", "drop-before", "drop-after", "truncate", "status=503", "status=422", "status=422,bare",
					"status=401", "status=429", "html")
				if rapid.Bool().Draw(r, "and of the list") {
					fault(list, "status=500", "drop-after", "html", "status=401")
				}
				w.calls = ctx
				sent, err := b.Send(ctx, w.request, as(w))
				expected(err)
				mend()
				after := there()[o.id]
				amount := w.request.Amount.Minor
				if other := slices.ContainsFunc(o.doubted, func(a int64) bool { return a != amount }); other &&
					len(after) > before {
					r.Fatalf("order %s is sent over %d, though it may have been taken over %v", o.id, amount, o.doubted)
				}
				if own := (*Error)(nil); errors.As(err, &own) && own.Kind == Unknown && errors.As(own.Err, new(*api.Error)) {
					o.doubted = append(o.doubted, amount)
				}
				if err == nil && (len(after) != 1 || after[0].ID != sent.Order.ID) && !o.wrong {
					r.Fatalf("order %s is said to be accepted as %s, and the service has %v", o.id, sent.Order.ID, after)
				}
				var call *api.Error
				if err != nil && len(after) > before {
					if own := (*Error)(nil); !errors.As(err, &own) || own.Kind != Unknown {
						r.Fatalf("order %s has landed, and the error is %v", o.id, err)
					}
				} else if errors.As(err, &call) && call.Outcome == api.Unknown && !errors.As(err, new(*Error)) {
					r.Fatalf("an unknown outcome is not said to be one of an order: %v", err)
				}
			},
			"die with the call made, not made, or under way": func(r *rapid.T) {
				o := pick()
				w := content(o)
				dead := ledgerOf(t, d.open().Journal(), account)
				defer dead.Journal().Close()
				if err := dead.Enter(ctx); err != nil {
					r.Fatal(err)
				}
				_, err := dead.Claim(ctx, journal.Claim{OrderID: o.id, Content: contentOf(w.request), AllowDuplicate: true})
				if err != nil {
					return
				}
				o.doubted = append(o.doubted, w.request.Amount.Minor)
				switch rapid.IntRange(0, 2).Draw(r, "how far") {
				case 1:
					o.pending = append(o.pending, w.request)
				case 2:
					o.pending = append(o.pending, w.request)
					land(o)
				}
			},
			"land": func(r *rapid.T) { land(pick()) },
			"reconcile": func(r *rapid.T) {
				fault(list, "", "status=500", "drop-after", "truncate")
				_, err := book().Reconcile(ctx)
				expected(err)
				mend()
			},
			"reconcile one": func(r *rapid.T) {
				_, err := book().Reconcile(ctx, pick().id)
				expected(err)
			},
			"a person decides, who knows all": func(r *rapid.T) {
				o, b := pick(), book()
				switch have := there()[o.id]; {
				case len(have) == 1:
					resolve(b, o, Decision{PaidAs: have[0].ID})
				case len(have) == 0 && len(o.pending) == 0:
					resolve(b, o, Decision{Reason: "looked"})
				}
			},
			"a person decides too soon": func(r *rapid.T) {
				if rapid.IntRange(0, 3).Draw(r, "rarely") == 0 {
					resolve(book(), pick(), Decision{Reason: "in a hurry"})
				}
			},
			"": func(r *rapid.T) {
				have := there()
				for _, o := range orders {
					if n := len(have[o.id]); n > 1 && !o.wrong {
						r.Fatalf("order %s was paid %d times", o.id, n)
					}
				}
			},
		})
		// All calls arrive, the list is read, and the missing orders are sent.
		for _, o := range orders {
			land(o)
		}
		if _, err := books[1].Reconcile(ctx); err != nil {
			r.Fatal(err)
		}
		have := there()
		for _, o := range orders {
			state := State("")
			got, err := d.account(account).Order(ctx, o.id)
			if err == nil {
				state = got.State
			}
			switch paid := have[o.id]; {
			case o.wrong:
			case len(paid) == 0 && (state == StateAccepted || state == StateConflict || state == StateSending):
				r.Fatalf("order %s is %s, and the service does not have it", o.id, state)
			case len(paid) == 1 && (state != StateAccepted || got.ID != paid[0].ID || got.Amount.Minor != paid[0].Amount.Minor ||
				got.Address != paid[0].Address.Text):
				r.Fatalf("order %s is %+v, and the service has %+v", o.id, got, paid[0])
			case len(paid) == 0 && state == StateUnknown:
				resolve(books[2], o, Decision{Reason: "looked"})
			}
		}
		for _, o := range orders {
			w := asked(o.id)
			if got, err := d.account(account).Order(ctx, o.id); err == nil {
				w.request.Amount.Minor = got.Amount.Minor
			}
			sent, err := books[0].Send(ctx, w.request)
			if paid := there()[o.id]; !o.wrong && (err != nil || len(paid) != 1 || paid[0].ID != sent.Order.ID) {
				r.Fatalf("order %s ends as %+v (%v), and the service has %+v", o.id, sent.Order, err, paid)
			}
		}
	})
}
