package journal

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal/pgtest"
	"example.com/till/pkg/payout/order"
)

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
	if _, err := j.Claim(t.Context(), claim("1")); err == nil || !strings.Contains(err.Error(), locked) {
		t.Errorf("a claim: %v", err)
	}
	if _, err := j.Finish(t.Context(), ticket, accepted("w2")); err == nil || !strings.Contains(err.Error(), locked) {
		t.Errorf("an outcome: %v", err)
	}
	must(t, held.Rollback())
	mustFinish(t, j, ticket, accepted("w2"))
	mustClaim(t, j, claim("1"))
}

// TestTwinOfADeadSender checks that a row of a run is not claimed if another order with its content was being
// sent by a process that has died, because that one may have been paid.
func TestTwinOfADeadSender(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, dying := open(), open()
		one, two := row("1"), row("2")
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, one, two)
		mustFinish(t, j, mustClaim(t, j, claim("9")), accepted("w9")) // ties the key
		twin := claim("3")
		twin.Content = two.Content
		mustClaim(t, dying, twin)
		mustEnd(t, dying, j)
		if _, err := j.Claim(t.Context(), rowClaims(t, j.Ledger, run)[1]); !errors.Is(err, Duplicate) ||
			AsError(err).Order.OrderID != "3" {
			t.Errorf("got %v", err)
		}
		wantState(t, j, "2", order.Planned)
		wantState(t, j, "3", order.Unknown)
	})
}

// failingCommit is a dialect whose commits fail.
type failingCommit struct{ dialect }

var errNoCommit = errors.New("no commit")

func (failingCommit) commit(context.Context, *sql.Conn) error { return errNoCommit }

// TestRefusalWithoutItsCommit checks that a refusal whose transaction could not be committed is an error of
// the journal, because the refusal may be based on records that do not exist.
func TestRefusalWithoutItsCommit(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		bring(t, j, "1", order.Accepted)
		whole := j.dialect
		j.dialect = failingCommit{whole}
		if _, err := j.Claim(t.Context(), claim("1")); errors.Is(err, Exists) || !errors.Is(err, errNoCommit) {
			t.Errorf("got %v", err)
		}
		j.dialect = whole
		if _, err := j.Claim(t.Context(), claim("1")); !errors.Is(err, Exists) {
			t.Errorf("with its commit: %v", err)
		}
	})
}
