package journal

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// TestSettleIsAboutTheSameContent checks that evidence about other content does not put an order in conflict.
// While one process reads the service's list, another process may send the order with other content.
func TestSettleIsAboutTheSameContent(t *testing.T) {
	ctx := context.Background()
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	a := order.Account{Address: "https://pay.example.com", Name: "acme"}
	old := order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1), Address: "x"}
	now := old
	now.Amount.Minor = 2
	for _, step := range []struct {
		content order.Content
		ending  order.Ending
	}{{old, order.SaidNothing}, {now, order.WasUncertain}} {
		ticket, err := j.in(t, a).Claim(ctx, Claim{OrderID: "1", Content: step.content})
		must(t, err)
		mustDo(t)(j.Finish(ctx, ticket, Outcome{Ending: step.ending}))
	}
	for _, f := range []struct {
		finding Evidence
		want    order.State
	}{
		{Evidence{OrderID: "1", Withdrawal: "w", Differs: "its amount is 2, and 1 was sent", Content: old}, order.Unknown},
		{Evidence{OrderID: "1", Withdrawal: "w", Content: old}, order.Unknown},
		{Evidence{OrderID: "1", Withdrawal: "w", Content: now}, order.Accepted},
	} {
		o, err := j.of(a).Settle(ctx, f.finding)
		if err != nil || o.State != f.want {
			t.Errorf("%+v: %s, %v, want %s", f.finding, o.State, err, f.want)
		}
		// But the order id is on the list.
		if _, err := j.in(t, a).Decide(ctx, Decision{OrderID: "1", NotSent: true, Reason: "x"}); o.State == order.Accepted &&
			!errors.Is(err, OrderChanged) || o.State == order.Unknown &&
			(!errors.Is(err, Shown) || AsError(err).Order.Shown != "w") {
			t.Errorf("after %+v, a person says that it was not sent: %v", f.finding, err)
		}
	}
}

// TestSettleConfirmsAPerson checks that a person's decision that the list confirms counts as the service's
// word from then on.
func TestSettleConfirmsAPerson(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Unknown)
		mustDecide(t, j, Decision{OrderID: "1", PaidAs: "w1"})
		if o := mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"}); o.State != order.Accepted ||
			o.ID != "w1" || o.Resolved != nil {
			t.Errorf("the order is %+v", o)
		}
		wantErr(t, "undone by a person", OrderChanged)(j.Decide(t.Context(), Decision{OrderID: "1", NotSent: true, Reason: "it was a mistake"}))
	})
}

// TestMissing checks that an accepted order becomes unknown if the service does not have its withdrawal, and
// that what has happened to it since counts.
func TestMissing(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	for id, state := range map[string]order.State{"1": order.Unknown, "2": order.Accepted} {
		ticket := mustClaim(t, j, claim(id))
		was := mustFinish(t, j, ticket, accepted("w"+id))
		if state == order.Accepted {
			mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w" + id, Differs: "its amount is 2"})
			mustDecide(t, j, Decision{OrderID: id, PaidAs: "w" + id, AlthoughDifferent: true, Reason: "it is this one"})
		}
		mustDo(t)(j.Missing(t.Context(), was))
		wantState(t, j, id, state)
		if state == order.Accepted {
			continue
		}
		again := mustFinish(t, j, ticket, accepted("w"+id)) // its sender does not know that this is recorded
		mustDo(t)(j.Missing(t.Context(), again))
		wantState(t, j, id, state)
	}
}

// TestAge checks that the clock of a machine that somebody sets does not count, unless the machine has
// started again.
func TestAge(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	skew := func(d time.Duration) *time.Duration { return &d }
	last := origin{boot: "a", since: time.Minute, skew: "-1h0m0s"}
	for name, tt := range map[string]struct {
		boot string
		skew *time.Duration
		want time.Duration
	}{
		"the same start":                        {"a", skew(0), time.Minute},
		"another start":                         {"b", skew(0), time.Hour},
		"another start, and no date of service": {"b", nil, 2 * time.Hour},
		"no clock since the start":              {"", skew(0), 2 * time.Hour},
	} {
		o := Record{Order: order.Order{Sent: noon}, origins: []origin{last}}
		m := Moment{At: noon.Add(2 * time.Hour), boot: tt.boot, since: 2 * time.Minute}
		if got := o.Age(m, tt.skew); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
