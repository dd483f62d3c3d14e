package journal

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

func perDay(most int64) []Budget {
	return []Budget{{Most: api.CryptoAmount("Btc", most), Zone: time.UTC}}
}

// spentOn returns what the journal keeps as spent by an account, and what its orders come to.
func spentOn(t *testing.T, j *book, a order.Account) (kept, counted int64) {
	t.Helper()
	q := j.read(t.Context())
	const ofAccount = ` account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2 AND counting = 1)`
	for what, to := range map[string]*int64{
		`high * 4294967296 + low), 0) AS BIGINT) FROM spent WHERE` + ofAccount: &kept,
		`minor * CASE WHEN state <> 'conflict' AND decided <> 'paid-as' OR taken = 0 THEN 1 ELSE taken END), 0) AS BIGINT)
			FROM (SELECT *, (SELECT count(*) FROM attempts WHERE order_row = o.id AND outcome IN ('', 'accepted', 'unknown'))
			AS taken FROM orders o) o WHERE` + ofAccount +
			` AND sent <> '' AND state IN ('sending', 'unknown', 'accepted', 'conflict')`: &counted,
	} {
		if *to = one[int64](q, `SELECT CAST(COALESCE(sum(`+what, a.Address, a.Name); q.err != nil {
			t.Fatal(q.err)
		}
	}
	return kept, counted
}

func paying(id string, minor int64, budgets []Budget) Claim {
	c := claim(id)
	c.Amount.Minor, c.Budgets = minor, budgets
	return c
}

func TestBudget(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		must(t, err)
		azores, err := time.LoadLocation("Atlantic/Azores")
		must(t, err)
		gap := time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC) // from midnight to 1:00
		if _, to := (Budget{Zone: azores}).Period(gap.Add(-1)); !to.Equal(gap) {
			t.Errorf("the day before ends at %v", to)
		}
		at := clock{time.Date(2026, 10, 31, 22, 59, 0, 0, time.UTC)} // 23:59 in Berlin
		j := open(func(o *Options) { o.Now = at.now })
		budgets := []Budget{{Most: api.CryptoAmount("BTC", 150), Month: true, Zone: berlin},
			{Most: api.CryptoAmount("btc", 100), Zone: berlin}, {Most: api.FiatAmount("Btc", 1), Zone: berlin}}
		claims := func(id string, minor int64, left int64, until time.Time) Ticket {
			t.Helper()
			ticket, err := j.Claim(t.Context(), paying(id, minor, budgets))
			switch e := AsError(err); {
			case until.IsZero() && err != nil:
				t.Fatalf("order %s: %v", id, err)
			case until.IsZero():
			case !errors.Is(err, OverBudget) || e.Over.Left != api.SumOf(left) || !e.Over.Until.Equal(until):
				t.Fatalf("order %s: %v (%+v), want %d left until %v", id, err, e, left, until)
			}
			return ticket
		}
		ends := func(ticket Ticket, out Outcome) { mustFinish(t, j, ticket, out) }
		yes, midnight := time.Time{}, time.Date(2026, 11, 1, 0, 0, 0, 0, berlin)
		ends(mustClaim(t, j, paying("1", 30, nil)), accepted("w1"))                // before there was a budget
		ends(mustClaim(t, j, paying("0", 30, nil)), rejected)                      // and is not taken
		mustSettle(t, j, Evidence{OrderID: "90", Withdrawal: "w90", Content: tea}) // and what others have sent
		claims("2", 71, 70, midnight)
		second := claims("2", 70, 0, yes)
		claims("3", 1, 0, midnight)
		ends(second, rejected) // gives back
		second = claims("2", 70, 0, yes)
		ends(second, notLeft) // gives back
		claims("3", 71, 70, midnight)
		third := claims("3", 60, 0, yes)
		ends(third, unknown) // does not
		claims("4", 11, 10, midnight)
		mustDo(t)(j.Decide(t.Context(), Decision{OrderID: "3", NotSent: true, Reason: "x"}))
		claims("4", 20, 0, yes)
		at.Time = at.Add(time.Minute) // the next day and month in Berlin
		claims("5", 101, 100, midnight.AddDate(0, 0, 1))
		claims("5", 100, 0, yes)
		at.Time = at.Add(24 * time.Hour)
		claims("6", 51, 50, time.Date(2026, 12, 1, 0, 0, 0, 0, berlin))
		claims("6", 50, 0, yes)
		at.Time = at.Add(-24 * time.Hour) // a clock that was set back: what is dated later is no day's of today
		claims("7", 1, 0, time.Date(2026, 12, 1, 0, 0, 0, 0, berlin))
		budgets = budgets[1:]
		budgets[0].Most.Minor = 40 // less than was spent
		claims("7", 1, -60, midnight.AddDate(0, 0, 1))
		copied := filepath.Join(t.TempDir(), "copy.db")
		must(t, j.Copy(t.Context(), copied))
		for _, j := range []*book{j, mustOpenFile(t, copied)} {
			if kept, counted := spentOn(t, j, shop); kept != counted || kept == 0 {
				t.Errorf("%d is kept as spent, and the orders come to %d", kept, counted)
			}
		}
	})
}

// TestBudgetOfDoubles checks that what was paid twice counts twice, because a person said that it was not sent.
func TestBudgetOfDoubles(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		for name, budgets := range map[string][]Budget{"sums made at the end": nil, "sums kept": perDay(100)} {
			shop := order.Account{Name: name}
			j := open()
			l := j.in(t, shop)
			left := func(want int64) {
				t.Helper()
				_, err := l.Claim(t.Context(), paying("9", 100, perDay(100)))
				if e := AsError(err); !errors.Is(err, OverBudget) || e.Over.Left != api.SumOf(want) {
					t.Fatalf("it is %v (%+v), want %d left", err, e, want)
				}
				if kept, counted := spentOn(t, j, shop); kept != counted {
					t.Fatalf("%d is kept as spent, and the orders come to %d", kept, counted)
				}
			}
			does := mustDo(t)
			for _, out := range []Outcome{unknown, rejected, accepted("w2")} { // the second is not known either, because of the first
				ticket, err := l.Claim(t.Context(), paying("1", 30, budgets))
				does(nil, err)
				does(l.Finish(t.Context(), ticket, out))
				if out.Ending != order.WasAccepted {
					does(l.Decide(t.Context(), Decision{OrderID: "1", NotSent: true, Reason: "a mistake"}))
				}
			}
			if budgets != nil {
				left(70)
			}
			does(l.Settle(t.Context(), Evidence{OrderID: "1", Withdrawal: "w1", Content: paying("1", 30, nil).Content}))
			if budgets != nil {
				left(40)
			}
			does(l.Decide(t.Context(), Decision{OrderID: "1", PaidAs: "w2", Reason: "the other is being returned"}))
			left(40)
		}
	})
}

// TestBudgetOfLargeAmounts checks sums that an int64 does not hold.
func TestBudgetOfLargeAmounts(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for i := range 3 {
			mustDo(t)(j.Claim(t.Context(), paying(fmt.Sprint(i), math.MaxInt64, nil)))
		}
		_, err := j.Claim(t.Context(), paying("4", 1, perDay(math.MaxInt64)))
		left := api.SumOf(math.MaxInt64)
		for range 3 {
			left.Add(-math.MaxInt64)
		}
		if e := AsError(err); !errors.Is(err, OverBudget) || e.Over.Left != left {
			t.Errorf("it is %v (%+v), want %v left", err, e, left)
		}
		for i := range 3 {
			id := fmt.Sprint(10 + i)
			_, err = j.in(t, order.Account{Name: "another"}).Claim(t.Context(), paying(id, 1<<40, perDay(3<<40-1)))
			if i < 2 {
				must(t, err)
			}
		}
		if !errors.Is(err, OverBudget) {
			t.Errorf("the third is %v", err)
		}
	})
}
