package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/payout/order"
)

func futureSteps() []string {
	return append(schema(), "CREATE TABLE later (x BIGINT NOT NULL); INSERT INTO later (x) VALUES (1)")
}

// openAtOnce has processes that open a journal at the same moment.
func openAtOnce(t *testing.T, count int, how, place string) {
	t.Helper()
	var all []*process
	for range count {
		all = append(all, start(t, how, place))
	}
	for _, p := range all {
		p.say(t, "go")
	}
	for _, p := range all {
		p.expect(t, "open")
	}
}

func TestMigration(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		o := bring(t, j, "1", order.Unknown)
		// Many processes update it at once.
		openAtOnce(t, 8, "migrate", placeOf(j))
		if times := mustCount(t, j, "SELECT count(*) FROM later"); times != 1 {
			t.Errorf("the step was made %d times", times)
		}
		if n := mustCount(t, j, "SELECT version FROM till_journal"); n != len(futureSteps()) {
			t.Errorf("it is of version %d now", n)
		}
		if now := wantState(t, j, "1", order.Unknown); !reflect.DeepEqual(now, o) {
			t.Errorf("the order became %+v", now)
		}
	})
}

// TestMigrationFails checks that a step that fails changes nothing.
func TestMigrationFails(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		_, err := Open(t.Context(), placeOf(j), Options{Now: j.options.Now, steps: append(schema(),
			"CREATE TABLE later (x BIGINT NOT NULL); INSERT INTO nowhere (x) VALUES (1)")})
		if err == nil {
			t.Fatal("it was opened")
		}
		if n := mustCount(t, j, "SELECT version FROM till_journal"); n != len(schema()) {
			t.Errorf("the version is %d", n)
		}
		r := j.read(t.Context())
		if one[int](r, "SELECT count(*) FROM later"); r.err == nil {
			t.Error("half of the step is there")
		}
		open(func(o *Options) { o.steps = futureSteps() })
	})
}

func TestManyOpenAFreshJournal(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { openAtOnce(t, 10, "open", filepath.Join(t.TempDir(), "deep/er/journal.db")) })
	t.Run("postgres", func(t *testing.T) { openAtOnce(t, 10, "open", pgtest.Shared(t).Database(t)) })
}

// TestOldVersionKnowsWhatWasShown checks that an order that the service has shown, according to the history
// in an older journal, cannot be decided not sent. An order that only a person called paid can.
func TestOldVersionKnowsWhatWasShown(t *testing.T) {
	told := []struct {
		what, withdrawal string
		shown            bool
	}{
		{eventAnswered, "w1", true}, {eventLate, "w2", true}, {eventFound, "w3", true}, {eventDiffers, "w4", true},
		{eventAnswered, "", false}, {eventPaidAs, "w6", false}, {eventDied, "", false},
	}
	eachDialect(t, func(t *testing.T, open opener) {
		old := open(func(o *Options) { o.steps = schema()[:3] })
		must(t, old.write(t.Context(), func(tx *tx) error {
			f := newFilling(tx)
			for i, e := range told {
				f.columns["order_row"] = f.insert("orders", map[string]any{"order_id": fmt.Sprint(i), "state": "unknown",
					"minor": 5, "address": "bc1q", "attempt": 1, "doubt": 1, "last_doubt": 1})
				for _, e := range []struct{ what, withdrawal string }{{eventSending, ""}, {e.what, e.withdrawal},
					{eventNotSent, ""}, {eventPaidAs, "w9"}} {
					f.insert("events", map[string]any{"what": e.what, "state": "unknown", "minor": 5, "address": "",
						"withdrawal": e.withdrawal})
				}
			}
			return nil
		}))
		j := open()
		for i, e := range told {
			_, err := j.Decide(t.Context(), Decision{OrderID: fmt.Sprint(i), NotSent: true, Reason: "x"})
			if refused := errors.Is(err, Shown) && AsError(err).Order.Shown == e.withdrawal; refused != e.shown ||
				!refused && err != nil {
				t.Errorf("%s %q: %v", e.what, e.withdrawal, err)
			}
		}
	})
}
