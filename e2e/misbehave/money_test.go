//go:build unix

package misbehave

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

func TestStrayReadingClosesNothing(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]faults{
		"list without order ids": {dropOrderIDs: "always", times: 1},
		"list without newest":    {forgetNewest: true, times: 1},
		"total too large":        {totalTooLarge: 1, times: 1},
		"another merchant":       {merchant: "m-2", times: 1},
		"no list":                {list: 404, times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, faults{})
			w.pay("1", 1).want(t, 0, "")
			w.become(is)
			w.pay("2", 2, "--lookup", "always") // may be refused, once
			w.pay("2", 2).want(t, 0, "")
			w.pay("3", 3).want(t, 0, "")
			w.paid(2)
		})
	}
	t.Run("record not there yet", func(t *testing.T) {
		w := begin(t, faults{missing: 1})
		w.pay("1", 1).want(t, 0, "")
		w.pay("1", 1).want(t, 0, "")
		w.pay("2", 2).want(t, 0, "")
	})
	t.Run("record without order id", func(t *testing.T) {
		w := begin(t, faults{dropOrderIDs: "once"})
		w.pay("1", 1).want(t, 0, "")
		w.pay("2", 2).want(t, 0, "")
		w.become(faults{dropOrderIDs: "once"})
		w.till(w.plan("3", 3)...).want(t, 0, "")
		w.till(w.plan("4", 4)...).want(t, 0, "")
		w.till("journal", "check").want(t, 0, "")
	})
}

func TestServiceDropsOrderIDs(t *testing.T) {
	w := begin(t, faults{dropOrderIDs: "always"})
	if r := w.pay("1", 1).want(t, 21, ""); r.failure.ID != "w-1" && !strings.Contains(r.stdout, "w-1") {
		t.Errorf("the id w-1 is not printed: %s", r)
	}
	w.pay("2", 2).want(t, 12, "list")
	w.persist(2, pay("2", 2)...)
	w.pay("3", 3).want(t, 12, "list")
	w.become(faults{})
	w.pay("3", 3).want(t, 0, "")
	w.pay("1", 1).want(t, 0, "")
	w.till("journal", "check").want(t, 0, "")
	w.paid(1)
}

// hold starts to send an order, which the service does not answer. The function that it returns sends the
// process a signal, if there is one, and waits for its end.
func (w *world) hold(orderID string, amount int64) (end func(os.Signal)) {
	was := w.become(faults{create: "hang"})
	cmd := w.command(pay(orderID, amount)...)
	w.must(cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	select {
	case <-w.held:
	case <-ended:
		w.t.Fatal("it ends before it sends the order")
	}
	w.become(was)
	return func(signal os.Signal) {
		if signal != nil {
			cmd.Process.Signal(signal)
		}
		<-ended
	}
}

// loseLog kills a process that sends an order, and removes the log of its journal.
func (w *world) loseLog(orderID string, amount int64) {
	w.hold(orderID, amount)(os.Kill)
	if err := os.Remove(w.journal() + "-wal"); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
}

// restore writes a backup of the journal over it, which was made before something happened.
func (w *world) restore(happens func()) {
	w.t.Helper()
	backup, err := os.ReadFile(w.journal())
	w.must(err)
	happens()
	w.must(os.WriteFile(w.journal(), backup, 0o600))
}

func TestLostLog(t *testing.T) {
	t.Parallel()
	for name, stranger := range map[string]func(*world){
		"paid in the panel":         func(w *world) { w.book("", 100) },
		"paid by another program":   func(w *world) { w.book("77", 100) },
		"total counts what is gone": func(w *world) { w.become(faults{totalTooLarge: 1}) },
		"nothing":                   func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, faults{})
			w.pay("1", 1).want(t, 0, "")
			stranger(w)
			w.loseLog("2", 2)
			w.persist(2, pay("2", 2)...)
			w.till("journal", "check", "--accept", "the shop knows all of these", "--yes").want(t, 0, "")
			w.till("journal", "check").want(t, 0, "")
			_, before := w.count()
			w.pay("3", 3).want(t, 0, "")
			w.pay("", 4).want(t, 0, "")
			if _, after := w.count(); after != before {
				t.Errorf("after the check, the list is read %d times", after-before)
			}
		})
	}
}

func (w *world) open() *sql.DB {
	db, err := sql.Open("sqlite", w.journal())
	w.must(err)
	w.t.Cleanup(func() { db.Close() })
	return db
}

// exec changes the journal and closes it.
func (w *world) exec(db *sql.DB, statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
	w.must(db.Close())
}

func TestKeysHideNoData(t *testing.T) {
	w := begin(t, faults{merchant: "merchant-0001-aaaa"})
	w.key = "sk-merchant-0001-aaaa-1"
	w.pay("1", 1).want(t, 0, "")
	if r := w.till("withdraw", "get", "w-1").want(t, 0, ""); !strings.Contains(r.stdout, `"merchant-0001-aaaa"`) {
		t.Errorf("the merchant is hidden: %s", r)
	}
}

var newJournal = regexp.MustCompile(`(?i)\bnew\b.*\bjournal\b|\bjournal\b.*\bnew\b`)

func TestNewJournal(t *testing.T) {
	t.Parallel()
	t.Run("is said once", func(t *testing.T) {
		w := begin(t, faults{})
		for i, said := range []bool{true, false} {
			if r := w.pay("", int64(i+1)).want(t, 0, ""); newJournal.MatchString(r.notes) != said {
				t.Errorf("a note about a new journal: %v expected: %s", said, r)
			}
		}
		w.write("state/till/journal.db", "")
		if r := w.pay("4", 4).want(t, 0, ""); !newJournal.MatchString(r.notes) {
			t.Errorf("no note about a new journal: %s", r)
		}
	})
	t.Run("refuses what was just paid", func(t *testing.T) {
		w := begin(t, faults{})
		w.pay("", 1).want(t, 0, "")
		other := w.elsewhere()
		r := other.pay("", 1).want(t, 12, "duplicate")
		w.check()
		if !strings.Contains(r.failure.Hint.Text, "--allow-duplicate") {
			t.Errorf("no way out: %s", r)
		}
		other.pay("", 2).want(t, 0, "")
		w.allowed[1] = 2
		other.pay("", 1, "--allow-duplicate").want(t, 0, "")
	})
}
