package journal

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/till/pkg/payout/order"
)

// atOnce makes several calls wait for one commit, in their order.
func atOnce(j *book, calls ...func()) {
	j.writing.Lock()
	var wait sync.WaitGroup
	for i, call := range calls {
		wait.Go(call)
		for waiting := 0; waiting <= i; {
			j.queueing.Lock()
			waiting = len(j.queue)
			j.queueing.Unlock()
		}
	}
	j.writing.Unlock()
	wait.Wait()
}

// endedAs describes the result of a call, in words that do not depend on the time.
func endedAs(err error) string {
	switch e := AsError(err); {
	case errors.Is(err, Exists):
		return fmt.Sprintf("%s stands as %s: %v, %v", e.Order.OrderID, e.Order.State, e.Same, e.Alive)
	case errors.Is(err, Duplicate):
		return fmt.Sprintf("%s is %s with the same content: %v", e.Order.OrderID, e.Order.State, e.Alive)
	case err != nil:
		return err.Error()
	}
	return "done"
}

// TestBatchesEqualSingleWrites checks that claims and outcomes that are committed together have the same
// results as when they are committed one by one, also for orders that occur twice, and for any answers of the
// service.
func TestBatchesEqualSingleWrites(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("25")
	}
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			accounts := [2]order.Account{{Address: "http://pay.test", Name: fmt.Sprint("alone ", round)},
				{Address: "http://pay.test", Name: fmt.Sprint("together ", round)}}
			var ids []string
			var all []Row
			for n := range 7 {
				id := fmt.Sprint(n + 1)
				row := Row{OrderID: id, Content: rapid.SampledFrom([]order.Content{coffee, tea, claim(id).Content,
					claim(id).Content}).Draw(r, "content"), Note: rapid.SampledFrom([]string{"", "note"}).Draw(r, "note")}
				ids, all = append(ids, id), append(all, row)
			}
			for _, a := range accounts {
				if _, err := j.of(a).BeginRun(t.Context(), Run{Name: "cafe", Digest: "sha256:cafe"}, rows(all...)); err != nil {
					r.Fatal(err)
				}
			}
			given := 0
			for range rapid.IntRange(1, 4).Draw(r, "rounds") {
				// Some of the orders, perhaps one of them twice, perhaps with other content than planned.
				picked := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 9).Draw(r, "orders")
				var claims []Claim
				for at, n := range picked {
					if before := slices.Index(picked[:at],
						n); before >= 0 { // the same claim again: if the two differed, either could come first
						claims = append(claims, claims[before])
						continue
					}
					row := all[n]
					c := Claim{OrderID: row.OrderID, Content: row.Content, Note: row.Note, Key: "key1", Run: "cafe", SameContent: true}
					c.AllowDuplicate, c.NotRejected = rapid.Bool().Draw(r, "allow duplicate"), rapid.Bool().Draw(r, "not rejected")
					if rapid.IntRange(0, 9).Draw(r, "other content") == 0 {
						c.Address += "2"
					}
					claims = append(claims, c)
				}
				var tickets [2][]Ticket
				var errs [2][]error
				for i := range accounts {
					tickets[i], errs[i] = make([]Ticket, len(picked)), make([]error, len(picked))
				}
				for n, c := range claims {
					tickets[0][n], errs[0][n] = j.of(accounts[0]).Claim(t.Context(), c)
				}
				var calls []func()
				for n, c := range claims {
					calls = append(calls, func() { tickets[1][n], errs[1][n] = j.of(accounts[1]).Claim(t.Context(), c) })
				}
				atOnce(j, calls...)
				for n := range picked {
					if one, other := endedAs(errs[0][n]), endedAs(errs[1][n]); one != other {
						r.Fatalf("claim %d of %v ended alone with %q, and together with %q", n, picked, one, other)
					}
				}
				// Each of them gets an answer, perhaps with the id of another order.
				var outs []Outcome
				for range picked {
					given++
					id := fmt.Sprint("w", given-rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(r, "back"))
					outs = append(outs, rapid.SampledFrom([]Outcome{accepted(id), accepted(id), rejected, unknown,
						limited}).Draw(r, "outcome"))
				}
				if slices.ContainsFunc(tickets[0], func(t Ticket) bool { return t.order.OrderID != "" }) &&
					rapid.IntRange(0, 3).Draw(r, "lose the lock") == 0 {
					loseLock(t, j) // so that the orders being sent look as if their sender had died
					for _, a := range accounts {
						if err := open().of(a).Reap(t.Context()); err != nil {
							r.Fatal(err)
						}
					}
				}
				calls = nil
				var orders [2][]Record
				for i := range accounts {
					orders[i] = make([]Record, len(picked))
				}
				for n, ticket := range tickets[0] {
					if errs[0][n] != nil {
						continue
					}
					if orders[0][n], errs[0][n] = j.Finish(t.Context(), ticket, outs[n]); errs[0][n] != nil {
						r.Fatal(errs[0][n])
					}
					calls = append(calls, func() { orders[1][n], errs[1][n] = j.Finish(t.Context(), tickets[1][n], outs[n]) })
				}
				atOnce(j, calls...)
				for n := range picked {
					if one, other := orders[0][n], orders[1][n]; errs[0][n] == nil &&
						(one.State != other.State || one.ID != other.ID || one.Reason != other.Reason || errs[1][n] != nil) {
						r.Fatalf("outcome %d of %v led alone to %+v, and together to %+v, %v", n, picked, one, other, errs[1][n])
					}
				}
			}
			for _, id := range ids {
				one, other := timeless(r, j, accounts[0], id), timeless(r, j, accounts[1], id)
				if one != other {
					r.Fatalf("order %s is alone\n%s\nand together\n%s", id, one, other)
				}
			}
		})
	})
}

// timeless returns an order and its history without what differs between two accounts.
func timeless(r *rapid.T, j *book, a order.Account, id string) string {
	o, err := j.of(a).Order(r.Context(), id)
	if err != nil {
		r.Fatal(err)
	}
	events, err := j.Story(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	sent := !o.Sent.IsZero()
	o.row, o.account, o.Created, o.Changed, o.Sent = 0, 0, noon, noon, noon
	for i := range o.Attempts {
		o.Attempts[i].Began, o.Attempts[i].Ended = noon, noon
	}
	text := fmt.Sprintf("%+v sent %v", o, sent)
	for _, e := range events {
		e.At = noon
		text += fmt.Sprintf("\n%+v", e)
	}
	return text
}

// TestKnownIsCompared checks that an order is not claimed by what was read before, if that was another order
// or an older version. The claim is then decided by the order in the journal.
func TestKnownIsCompared(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		one, two := row("1"), row("2")
		two.Content, two.Callback, two.Note = one.Content, one.Callback, one.Note
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe"}, one, two, row("3"))
		ask := func(place int, r Row) (Ticket, error) {
			known := rowClaims(t, j.Ledger, run)[place].Known
			return j.Claim(t.Context(), Claim{OrderID: r.OrderID, Content: r.Content, Callback: r.Callback, Note: r.Note, Run: run.Name,
				SameContent: true, Known: known})
		}
		if ticket, err := ask(0, one); err != nil {
			t.Fatal(err)
		} else {
			mustFinish(t, j, ticket, accepted("w1"))
		}
		if _, err := ask(1, one); !errors.Is(err, Exists) { // the second row now says 1 too
			t.Errorf("order 1 at the place of 2: %v", err)
		}
		wantState(t, j, "2", order.Planned)

		third := rowClaims(t, j.Ledger, run)[2]
		mustFinish(t, j, mustClaim(t, j, third), unknown)
		mustDecide(t, j, Decision{OrderID: "3", NotSent: true, Reason: "the provider said so"})
		ticket, err := j.Claim(t.Context(), third) // with the order as it was at first
		must(t, err)
		mustFinish(t, j, ticket, accepted("w4"))
		if o := wantState(t, j, "3", order.Accepted); o.Resolved != nil || o.ID != "w4" || o.Reason != "" {
			t.Errorf("the order is %+v", o)
		}
	})
}

// TestKnownOfAnotherAccount checks that an order of another account does not become known by its order id.
func TestKnownOfAnotherAccount(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe"}, row("1"))
		c := claim("1")
		c.Known = rowClaims(t, j.Ledger, run)[0].Known
		elsewhere := order.Account{Address: shop.Address, Name: "elsewhere"}
		if _, err := j.in(t, elsewhere).Claim(t.Context(), c); err != nil {
			t.Error(err)
		}
		wantState(t, j, "1", order.Planned)
	})
}

// TestOutcomeComesBeforeTheNextClaim checks that the claim sees the outcome that is recorded with it: an
// order whose outcome is unknown keeps the same content from being sent.
func TestOutcomeComesBeforeTheNextClaim(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		twin := claim("2")
		twin.Content = claim("1").Content
		first := mustClaim(t, j, claim("1"))
		_, finished, _, claimed := j.FinishAndClaim(t.Context(), first, unknown, twin)
		if finished != nil || !errors.Is(claimed, Duplicate) {
			t.Errorf("it ended with %v and %v", finished, claimed)
		}
	})
}
