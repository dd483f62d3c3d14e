package journal

import (
	"errors"
	"sync"
	"testing"

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

// TestKnownIsCompared checks that an order is not claimed by what was read before, if that was another order
// or an older version. The claim is then decided by the order in the journal.
func TestKnownIsCompared(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
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
	eachJournal(t, func(t *testing.T, j *book) {
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
	eachJournal(t, func(t *testing.T, j *book) {
		twin := claim("2")
		twin.Content = claim("1").Content
		first := mustClaim(t, j, claim("1"))
		_, finished, _, claimed := j.FinishAndClaim(t.Context(), first, unknown, twin)
		if finished != nil || !errors.Is(claimed, Duplicate) {
			t.Errorf("it ended with %v and %v", finished, claimed)
		}
	})
}
