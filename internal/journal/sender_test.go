package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/payout/order"
)

func TestDeadSenderLeavesItsOrderUnknown(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		p := start(t, "claim", placeOf(j))
		p.hear(t)
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			p.say(t, "claim "+id)
			p.expect(t, "ticket")
		}
		// While it lives, no other process changes its order.
		if n, err := j.Reap(t.Context()); n != 0 || err != nil {
			t.Fatalf("Reap: %d, %v", n, err)
		}
		wantIs(t, "Settle", mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"}), order.Sending)
		wantErr(t, "Decide", OrderChanged)(j.Decide(t.Context(), Decision{OrderID: "1", NotSent: true, Reason: "x"}))
		if _, err := j.Claim(t.Context(), claim("1")); !errors.Is(err, Exists) || !AsError(err).Alive {
			t.Errorf("Claim: %v", err)
		}
		wantErr(t, "Rename", Busy, "process is sending order ")(nil, j.Rename(t.Context(), shop, order.Account{Address: "http://new.test", Name: "shop"}))
		p.kill()
		if IsPostgres(placeOf(j)) { // the server takes a moment to see it
			for holdsLock(t, j.Journal, wantState(t, j, "1", order.Sending).origin().sender) {
			}
		}
		// Each of these calls finds it dead.
		if _, err := j.Claim(t.Context(), claim("1")); !errors.Is(err, Exists) || AsError(err).Alive ||
			AsError(err).Order.State != order.Unknown {
			t.Errorf("Claim: %v", err)
		}
		wantState(t, j, "1", order.Unknown)
		c := claim("2")
		c.OrderID = "another"
		wantErr(t, "Claim of a duplicate", Duplicate)(j.Claim(t.Context(), c))
		wantState(t, j, "2", order.Unknown)
		wantIs(t, "Settle", mustSettle(t, j, Evidence{OrderID: "3", Withdrawal: "w3"}), order.Accepted)
		wantIs(t, "Decide", mustDecide(t, j, Decision{OrderID: "4", NotSent: true, Reason: "x"}), order.Planned)
		if n, err := j.Reap(t.Context()); n != 1 || err != nil {
			t.Errorf("Reap: %d, %v", n, err)
		}
		o := wantState(t, j, "5", order.Unknown)
		if o.Reason != "the process that was sending it died" || o.User != "child" {
			t.Errorf("it is %+v", o)
		}
		if got := whats(story(t, j, "3")); !slices.Equal(got,
			[]string{"sending>sending", "sender died>unknown", "found>accepted"}) {
			t.Errorf("the story is %v", got)
		}
		// A rejection does not remove the doubt that a death has left.
		mustDecide(t, j, Decision{OrderID: "5", NotSent: true, Reason: "x"})
		wantIs(t, "a rejection after a death", mustFinish(t, j, mustClaim(t, j, claim("5")), rejected), order.Unknown)
	})
}

func TestOneOfManyClaimsWins(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		journals := []*book{open(), open()}
		var tickets [20]atomic.Int64
		var wait sync.WaitGroup
		for worker := range 8 {
			wait.Go(func() {
				j := journals[worker%2]
				for i := range tickets {
					ticket, err := j.Claim(t.Context(), claim(fmt.Sprint(i)))
					if errors.Is(err, Exists) {
						continue
					}
					if err != nil {
						t.Error(err)
						continue
					}
					tickets[i].Add(1)
					if _, err := j.Finish(t.Context(), ticket, accepted(fmt.Sprint("w", i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		for i := range tickets {
			if n := tickets[i].Load(); n != 1 {
				t.Errorf("order %d was sent %d times", i, n)
			}
			wantState(t, journals[0], fmt.Sprint(i), order.Accepted)
		}
	})
}

// queue puts writes into one commit.
func queue(t *testing.T, j *book, works ...func(*tx) error) []error {
	t.Helper()
	errs, calls := make([]error, len(works)), make([]func(), len(works))
	for i, work := range works {
		calls[i] = func() { errs[i] = j.write(t.Context(), work) }
	}
	atOnce(j, calls...)
	return errs
}

func TestFailedWriteDoesNotUndoOthers(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		note := func(key string) func(*tx) error {
			return func(tx *tx) error {
				tx.exec(`INSERT INTO keys (fingerprint, account, noted, how, user_name, host, answered) VALUES (?1, `+
					`?2, '', '', '', '', 'now')`, key, shopNumber(tx))
				return nil
			}
		}
		keys := func() []string {
			s, err := j.Status(t.Context())
			must(t, err)
			slices.Sort(s.Keys)
			return s.Keys
		}
		refusal := &Error{Kind: NotFound, OrderID: "1"}
		errs := queue(t, j, note("a"), func(*tx) error { return refusal }, note("b"))
		if errs[0] != nil || errs[1] != refusal || errs[2] != nil {
			t.Errorf("with a refusal: %v", errs)
		}
		if got := keys(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("with a refusal: %v", got)
		}
		// A failure undoes everything, and then the other writes are repeated without it.
		want := []string{"a", "b"}
		for name, bad := range map[string]func(*tx) error{
			"a failure":   func(*tx) error { return errors.New("broken") },
			"a statement": func(tx *tx) error { tx.exec("INSERT INTO nowhere (x) VALUES (1)"); return nil },
		} {
			changed := func(tx *tx) error { return errors.Join(note("undone by "+name)(tx), bad(tx)) }
			errs = queue(t, j, note("c"+name), func(*tx) error { return refusal }, changed, note("d"+name))
			if errs[0] != nil || errs[1] != refusal || !errors.Is(errs[2], Broken) || errs[3] != nil {
				t.Errorf("with %s: %v", name, errs)
			}
			want = append(want, "c"+name, "d"+name)
			slices.Sort(want)
			if got := keys(); !slices.Equal(got, want) {
				t.Errorf("with %s: %v, want %v", name, got, want)
			}
		}
	})
}

// TestPanicInAWrite checks that no other write counts as done after a panic in one write.
func TestPanicInAWrite(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		nothing := func(*tx) error { return nil }
		for _, err := range queue(t, j, nothing, func(*tx) error { panic("on purpose") }, nothing) {
			if !errors.Is(err, errNotWritten) {
				t.Errorf("got %v", err)
			}
		}
		mustClaim(t, j, claim("1")) // the journal still works
	})
}

func TestClosedJournalRefusesClaims(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		mustClaim(t, j, claim("1"))
		j.Close()
		wantErr(t, "on a closed journal", Broken, "closed")(j.Claim(t.Context(), claim("2")))
	})
}

// TestFailedOutcomeDoesNotBlockOthers checks that an outcome that cannot be recorded does not prevent others.
func TestFailedOutcomeDoesNotBlockOthers(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		good, bad := mustClaim(t, j, claim("1")), mustClaim(t, j, claim("2"))
		bad.order.row = 999
		ends := func(ticket Ticket, out Outcome) func(*tx) error {
			return func(tx *tx) error { _, err := tx.finish(ticket, out); return err }
		}
		errs := queue(t, j, ends(good, accepted("w1")), ends(bad, accepted("w2")))
		if errs[0] != nil || !errors.Is(errs[1], Broken) {
			t.Errorf("got %v", errs)
		}
		wantState(t, j, "1", order.Accepted)
	})
}

// blind is a dialect that cannot find out whether a process lives.
type blind struct{ dialect }

var errBlind = errors.New("the lock cannot be seen")

func (blind) holds(t *tx, _ int64) bool {
	t.fail(errBlind)
	return false
}

func TestUnseenProcessIsNotDead(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		ticket := mustClaim(t, other, claim("1"))
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, row("2"))
		must(t, other.Alone(t.Context(), "cafe"))
		sees := j.dialect
		j.dialect = blind{sees}
		twin := claim("1")
		twin.OrderID = "3"
		rename := func() error {
			return j.Rename(t.Context(), shop, order.Account{Address: "http://new.test", Name: "shop"})
		}
		for name, call := range map[string]func() error{
			"claim":     func() error { _, err := j.Claim(t.Context(), claim("1")); return err },
			"duplicate": func() error { _, err := j.Claim(t.Context(), twin); return err },
			"settle": func() error {
				_, err := j.Settle(t.Context(), Evidence{OrderID: "1", Withdrawal: "w1", Content: ticket.order.Content})
				return err
			},
			"decide": func() error {
				_, err := j.Decide(t.Context(), Decision{OrderID: "1", NotSent: true, Reason: "x"})
				return err
			},
			"reap":      func() error { return j.Ledger.Reap(t.Context()) },
			"rename":    rename,
			"alone":     func() error { return j.Alone(t.Context(), "cafe") },
			"appliers":  func() error { _, err := j.Appliers(t.Context()); return err },
			"begin run": func() error { return beginWhileAnotherBegins(t, j, other) },
		} {
			wantErr(t, name, errBlind)(nil, call())
		}
		j.dialect = sees
		wantState(t, j, "1", order.Sending)
		if got := whats(story(t, j, "1")); !slices.Equal(got, []string{"sending>sending"}) {
			t.Errorf("the story is %v", got)
		}
		wantAppliers(t, j, "cafe by ann on till1")
		mustFinish(t, other, ticket, accepted("w1"))
		j.dialect = blind{sees}
		wantErr(t, "rename, when only a plan is applied", errBlind)(nil, rename())
	})
}

// beginWhileAnotherBegins begins a run in the middle of the recording of another one, which must not be
// disturbed.
func beginWhileAnotherBegins(t *testing.T, j, other *book) (err error) {
	_, begun := other.BeginRun(t.Context(), Run{Name: "beef", Digest: "beef"}, func(yield func(Row, error) bool) {
		for i := range rowsInAPiece + 1 {
			if !yield(row(fmt.Sprint("beef", i)), nil) {
				return
			}
		}
		_, err = j.BeginRun(t.Context(), Run{Name: "tea", Digest: "tea"}, rows(row("4")))
	})
	if begun != nil {
		t.Errorf("the other run: %v", begun)
	}
	return err
}

// TestPostgresLocksTheAccount checks that a claim and an outcome wait for the lock on the account's row in
// PostgreSQL, so that what they were decided on does not change before their commit. The other session holds
// a lock that foreign keys do not take.
func TestPostgresLocksTheAccount(t *testing.T) {
	opened, err := Open(t.Context(), pgtest.Shared(t).Database(t),
		Options{Now: time.Now, User: "ann", wait: 50 * time.Millisecond})
	must(t, err)
	j := bookOf(opened)
	defer j.Close()
	bring(t, j, "1", order.Planned)
	ticket := mustClaim(t, j, claim("2"))
	held := otherHolds(t, j, "SELECT id FROM accounts FOR NO KEY UPDATE")
	const locked = "is locked by another program"
	wantErr(t, "a claim", Broken, locked)(j.Claim(t.Context(), claim("1")))
	wantErr(t, "an outcome", Broken, locked)(j.Finish(t.Context(), ticket, accepted("w2")))
	must(t, held.Rollback())
	mustFinish(t, j, ticket, accepted("w2"))
	mustClaim(t, j, claim("1"))
}

// failingCommit is a dialect whose commits fail.
type failingCommit struct{ dialect }

var errNoCommit = errors.New("no commit")

func (failingCommit) commit(context.Context, *sql.Conn) error { return errNoCommit }

// TestRefusalWithoutItsCommit checks that a refusal whose transaction could not be committed is an error of
// the journal, because the refusal may be based on records that do not exist.
func TestRefusalWithoutItsCommit(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Accepted)
		whole := j.dialect
		j.dialect = failingCommit{whole}
		if _, err := j.Claim(t.Context(), claim("1")); errors.Is(err, Exists) || !errors.Is(err, errNoCommit) {
			t.Errorf("got %v", err)
		}
		j.dialect = whole
		wantErr(t, "with its commit", Exists)(j.Claim(t.Context(), claim("1")))
	})
}

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
		two.Content, two.Callback, two.Kept = one.Content, one.Callback, one.Kept
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe"}, one, two, row("3"))
		ask := func(place int, r Row) (Ticket, error) {
			known := rowClaims(t, j.Ledger, run)[place].Known
			return j.Claim(t.Context(), Claim{Row: r, Run: run.Name, SameContent: true, Known: known})
		}
		ticket, err := ask(0, one)
		must(t, err)
		mustFinish(t, j, ticket, accepted("w1"))
		wantErr(t, "order 1 at the place of 2", Exists)(ask(1, one)) // the second row now says 1 too
		wantState(t, j, "2", order.Planned)

		third := rowClaims(t, j.Ledger, run)[2]
		mustFinish(t, j, mustClaim(t, j, third), unknown)
		mustDecide(t, j, Decision{OrderID: "3", NotSent: true, Reason: "the provider said so"})
		mustFinish(t, j, mustClaim(t, j, third), accepted("w4")) // with the order as it was at first
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
		mustDo(t)(j.in(t, elsewhere).Claim(t.Context(), c))
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
