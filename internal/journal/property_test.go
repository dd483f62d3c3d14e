package journal

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/till/pkg/payout/order"
)

// An attempt has what really happened to it, which the journal does not know.
type attempt struct {
	sender  int
	ticket  Ticket
	content order.Content
	taken   string      // the id that the service gave it; empty: it was not taken
	told    order.State // what its sender has recorded; empty: nothing yet
	lost    bool        // its sender has died
	excused bool        // a person has said since that the order was not sent
}

// mayBeTaken reports whether the sender has not recorded that the attempt was not taken.
func (a *attempt) mayBeTaken() bool {
	return a.told != order.Rejected && a.told != order.State(order.SaidNothing)
}

type history struct {
	attempts []*attempt
	events   []order.Event
	evidence bool // something has shown that it was accepted: an answer, the list, or a person
}

// mostTaken returns the most that the service may have taken of attempts that nothing has excused.
func mostTaken(orders map[string]*history) (total int64) {
	for _, h := range orders {
		most := int64(0)
		for _, a := range h.attempts {
			if !a.excused && a.mayBeTaken() {
				most = max(most, a.content.Amount.Minor)
			}
		}
		total += most
	}
	return total
}

// TestHistories checks that the journal follows its rules, whatever senders, their deaths, the service's list
// and a person do. The model knows only what has happened, and not how the journal decides.
func TestHistories(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("25") // every step is synced to the disk; more with -rapid.checks
	}
	eachDialect(t, func(t *testing.T, open opener) {
		senders := []*book{open(), open(), open()}
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			account := order.Account{Address: "http://pay.test", Name: fmt.Sprint("round ", round)}
			orders := map[string]*history{"1": {}, "2": {}}
			ids := 0
			contents := []order.Content{coffee, tea}
			pick := func() (string, *history) {
				id := rapid.SampledFrom([]string{"1", "2"}).Draw(r, "order")
				return id, orders[id]
			}
			known := func(err error) {
				if err != nil && !refused(err) {
					r.Fatal(err)
				}
			}
			// finish ends an attempt truthfully: an attempt that the service took is never reported as
			// refused.
			finish := func(a *attempt) {
				out := unknown
				if answered := rapid.Bool().Draw(r, "answered"); answered && a.taken != "" {
					out = accepted(a.taken)
				} else if answered {
					out = rapid.SampledFrom([]Outcome{rejected, limited, notLeft}).Draw(r, "outcome")
				}
				if _, err := senders[a.sender].Finish(t.Context(), a.ticket, out); err != nil {
					r.Fatal(err)
				}
				a.told = order.State(out.Ending)
			}
			r.Repeat(map[string]func(*rapid.T){
				"claim": func(r *rapid.T) {
					id, h := pick()
					sender := rapid.IntRange(0, 2).Draw(r, "sender")
					c := Claim{OrderID: id, Content: rapid.SampledFrom(contents).Draw(r, "content"), AllowDuplicate: true,
						Budgets: perDay(coffee.Amount.Minor + tea.Amount.Minor - 1)}
					ticket, err := senders[sender].in(t, account).Claim(t.Context(), c)
					known(err)
					if err != nil {
						return
					}
					for i, a := range h.attempts {
						if a.mayBeTaken() && (!a.excused || a.content != c.Content) || a.told == order.Accepted {
							r.Fatalf("order %s is sent again (other content: %t), though attempt %d (%q, taken as %q) may have been taken",
								id, a.content != c.Content, i, a.told, a.taken)
						}
					}
					a := &attempt{sender: sender, ticket: ticket, content: c.Content}
					if rapid.Bool().Draw(r, "taken") {
						ids++
						a.taken = fmt.Sprint("w", ids)
					}
					h.attempts = append(h.attempts, a)
					if total := mostTaken(orders); total > c.Budgets[0].Most.Minor {
						r.Fatalf("order %s is sent, though %d may have been taken then", id, total)
					}
				},
				"finish": func(r *rapid.T) {
					_, h := pick()
					i := slices.IndexFunc(h.attempts, func(a *attempt) bool { return a.told == "" && !a.lost })
					if i < 0 {
						return
					}
					finish(h.attempts[i])
					h.evidence = h.evidence || h.attempts[i].told == order.Accepted
				},
				"die": func(r *rapid.T) {
					sender := rapid.IntRange(0, 2).Draw(r, "sender")
					senders[sender].Close()
					senders[sender] = open()
					for _, h := range orders {
						for _, a := range h.attempts {
							a.lost = a.lost || a.sender == sender
						}
					}
				},
				"lose the lock": func(r *rapid.T) { loseLock(t, senders[rapid.IntRange(0, 2).Draw(r, "sender")]) },
				"reap":          func(r *rapid.T) { known(senders[0].of(account).Reap(t.Context())) },
				"read the list": func(r *rapid.T) {
					id, h := pick()
					for _, a := range h.attempts {
						if a.taken != "" {
							f := Evidence{OrderID: id, Withdrawal: a.taken}
							o, err := senders[1].of(account).Order(t.Context(), id)
							if f.Content = o.Content; err != nil || o.Content != a.content {
								f.Differs = "the content is another"
							}
							_, err = senders[1].of(account).Settle(t.Context(), f)
							known(err)
							h.evidence = h.evidence || f.Differs == ""
						}
					}
				},
				"see it on the list": func(r *rapid.T) {
					id, h := pick()
					for _, a := range h.attempts {
						if a.taken != "" {
							known(senders[1].of(account).Show(t.Context(), map[string]string{id: a.taken}))
						}
					}
				},
				"say it was not sent": func(r *rapid.T) {
					id, h := pick()
					_, err := senders[2].in(t, account).Decide(t.Context(), Decision{OrderID: id, NotSent: true, Reason: "x"})
					known(err)
					if err == nil {
						for _, a := range h.attempts {
							a.excused = true
						}
					}
				},
				"say what it was paid as": func(r *rapid.T) {
					id, h := pick()
					ids++
					_, err := senders[2].in(t, account).Decide(t.Context(), Decision{OrderID: id, PaidAs: fmt.Sprint("p", ids)})
					known(err)
					h.evidence = h.evidence || err == nil
				},
				"": func(r *rapid.T) { // after each action
					if kept, counted := spentOn(t, senders[0], account); kept != counted {
						r.Fatalf("%d is kept as spent, and the orders come to %d", kept, counted)
					}
					for id, h := range orders {
						o, err := senders[0].of(account).Order(t.Context(), id)
						if errors.Is(err, NotFound) {
							continue
						}
						if err != nil {
							r.Fatal(err)
						}
						for i, a := range h.attempts {
							switch {
							case a.mayBeTaken() && (o.State == order.Planned && !a.excused || o.State == order.Rejected):
								r.Fatalf("order %s is %s, though attempt %d (%q) may have been taken", id, o.State, i, a.told)
							case a.told == order.Accepted && o.State != order.Accepted && o.State != order.Conflict:
								r.Fatalf("order %s is %s, though attempt %d was accepted", id, o.State, i)
							}
						}
						if o.State == order.Accepted && !h.evidence {
							r.Fatalf("order %s is accepted, and nobody has said so", id)
						}
						events, err := senders[0].Story(t.Context(), o)
						if err != nil {
							r.Fatal(err)
						}
						if len(events) < len(h.events) || !slices.Equal(events[:len(h.events)], h.events) {
							r.Fatalf("events of order %s are gone: %v, and now %v", id, whats(h.events), whats(events))
						}
						began := 0
						for _, e := range events {
							if e.What == eventSending {
								began++
							}
						}
						if began != len(h.attempts) || events[len(events)-1].State != o.State {
							r.Fatalf("order %s is %s after %d attempts, and its story is %v", id, o.State, len(h.attempts), whats(events))
						}
						h.events = events
					}
				},
			})
		})
	})
}
