//go:build unix

package misbehave

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

func TestStrayReadingClosesNothing(t *testing.T) {
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
	t.Run("record without order id", func(t *testing.T) {
		w := begin(t, faults{dropOrderIDs: "once"})
		w.pay("1", 1).want(t, 0, "")
		w.pay("2", 2).want(t, 0, "")
		w.till(w.plan("3", 3)...).want(t, 0, "")
		w.till("journal", "check").want(t, 0, "")
	})
	t.Run("record without order id in a run", func(t *testing.T) {
		w := begin(t, faults{dropOrderIDs: "once"})
		w.till(w.plan("1", 1)...).want(t, 0, "")
		w.pay("2", 2).want(t, 0, "")
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

// loseLog kills a process that sends an order, and removes the log of its journal.
func (w *world) loseLog(orderID string, amount int64) {
	was := w.is
	w.become(faults{create: "hang"})
	cmd := w.command(pay(orderID, amount)...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	<-w.held
	cmd.Process.Kill()
	cmd.Wait()
	w.become(was)
	if err := os.Remove(w.journal() + "-wal"); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
}

func TestLostLog(t *testing.T) {
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
		t.Run(name+", no order id", func(t *testing.T) {
			w := begin(t, faults{})
			w.pay("1", 1).want(t, 0, "")
			stranger(w)
			w.loseLog("2", 2)
			w.persist(3, pay("", 3)...)
		})
		t.Run(name+", never looked up", func(t *testing.T) {
			w := begin(t, faults{})
			w.pay("1", 1).want(t, 0, "")
			stranger(w)
			w.loseLog("2", 2)
			w.persist(3, pay("3", 3, "--lookup", "never")...)
		})
	}
}

func TestPhantom(t *testing.T) {
	for _, noun := range []string{"withdraw", "payout"} {
		t.Run(noun, func(t *testing.T) {
			w := begin(t, faults{})
			send := pay("1", 1)
			if noun == "payout" {
				send = w.plan("1", 1)
			}
			w.become(faults{create: "OK"})
			w.till(send...).want(t, 20, "")
			w.till(noun, "reconcile").want(t, 20, "")
			w.till(send...).want(t, 20, "")
			w.configure("settle_after: 15m\n")
			w.till(noun, "resolve", "1", "--not-sent", "--reason", "the panel", "--yes").want(t, 12, "decision")
			w.configure("")
			w.become(faults{})
			w.persist(1, send...)
		})
	}
}

// backdate makes the times of the journal those of a clock that was slow when they were recorded.
func (w *world) backdate(by time.Duration) {
	db := w.open()
	rows, err := db.Query("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.type = 'TEXT'")
	if err != nil {
		w.t.Fatal(err)
	}
	var updates []string
	for rows.Next() {
		var table, column string
		rows.Scan(&table, &column)
		updates = append(updates, fmt.Sprintf(`UPDATE %s SET %[2]s = strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', %[2]s, '-%d seconds') WHERE %[2]s GLOB '20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*Z'`,
			table, column, int(by.Seconds())))
	}
	w.exec(db, updates...)
}

func (w *world) open() *sql.DB {
	db, err := sql.Open("sqlite", w.journal())
	if err != nil {
		w.t.Fatal(err)
	}
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
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func TestSlowClock(t *testing.T) {
	t.Run("settle_after", func(t *testing.T) {
		w := begin(t, faults{create: "drop before"})
		w.configure("settle_after: 15m\n")
		w.pay("1", 1).want(t, 20, "")
		w.become(faults{})
		w.backdate(time.Hour)
		w.till("withdraw", "resolve", "1", "--not-sent", "--reason", "the panel", "--yes").want(t, 12, "decision")
		w.book("1", 1) // it arrives late
		w.persist(1, pay("1", 1)...)
	})
	t.Run("duplicate_window", func(t *testing.T) {
		w := begin(t, faults{})
		w.pay("", 1).want(t, 0, "")
		w.backdate(time.Hour)
		w.pay("", 1).want(t, 12, "duplicate")
	})
}

func TestKeysHideNoData(t *testing.T) {
	w, other := begin(t, faults{merchant: "merchant-0001-aaaa"}), (*world)(nil)
	other = &world{service: newService(t, faults{merchant: "merchant-0002-bbbb"})}
	w.key, other.key = "sk-merchant-0001-aaaa-1", "sk-merchant-0002-bbbb-2"
	other.setUp()
	strict := "approvals: 1\napprovers: " + w.write("approvers", "ana@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n") + "\n"
	shared := "journal: " + w.journal() + "\n"
	for i, m := range []*world{w, other} {
		m.configure(shared)
		m.pay("1", 1).want(t, 0, "")
		if r := m.till("withdraw", "get", "w-1").want(t, 0, ""); !strings.Contains(r.stdout, fmt.Sprintf(`"merchant-000%d-`, i+1)) {
			t.Errorf("the merchant is hidden: %s", r)
		}
		m.configure(shared + strict)
		m.pay("2", 2).want(t, 12, "approval")
	}
	w.configure(shared)
	other.configure(shared)
	w.till("journal", "approvals", "0", "--reason", "one owner", "--yes").want(t, 0, "")
	w.pay("2", 2).want(t, 0, "")
	other.pay("2", 2).want(t, 12, "approval")
}

func TestLimitsHoldForWhatIsSent(t *testing.T) {
	for rule, settings := range map[string]string{"limit": "max_per_withdrawal: [\"0.00000001 Btc\"]\n", "allow_list": "allow_addresses: [bc1qother]\n"} {
		t.Run(rule, func(t *testing.T) {
			w := begin(t, faults{})
			apply := w.plan("1", 2)
			w.configure(settings)
			w.till(apply...).want(t, 12, rule)
			w.pay("2", 2).want(t, 12, rule)
			if creates, _ := w.count(); creates > 0 {
				t.Errorf("%d creates were sent", creates)
			}
		})
	}
	t.Run("from Go", func(t *testing.T) {
		t.Parallel()
		out, err := exec.Command("go", "doc", "example.com/till/pkg/payout.Options").CombinedOutput()
		for _, field := range []string{`(?m)^\s+Limits\b`, `(?m)^\s+Allow\w*\b`} {
			if !regexp.MustCompile(field).Match(out) {
				t.Errorf("%v: a Sender has no option %s:\n%s", err, field, out)
			}
		}
	})
}

// TestForgedRows applies a plan that a person approved, with a journal whose rows for its digest say something
// else.
func TestForgedRows(t *testing.T) {
	const header = "order_id,currency,amount_minor,address\n"
	for name, rows := range map[string]string{
		"other address": "1,Btc,2,bc1qthief\n",
		"other amount":  "1,Btc,5000000000,bc1qexample\n",
		"other order":   "2,Btc,2,bc1qexample\n",
		"one more row":  "1,Btc,2,bc1qexample\n2,Btc,3,bc1qthief\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, faults{create: "429"})
			forged := w.write("forged.csv", header+rows)
			w.till("payout", "plan", forged, "--out", "forged.plan").want(t, 0, "")
			w.till("payout", "apply", "forged.plan", "--yes").want(t, 32, "")
			apply := w.plan("1", 2)
			digest := w.digest(apply[2])
			name := strings.TrimPrefix(digest, "sha256:")[:8]
			w.exec(w.open(), "UPDATE orders SET run = '"+name+"'", "UPDATE runs SET name = '"+name+"', digest = '"+digest+"', plan = '"+apply[2]+"'")
			w.become(faults{})
			before, _ := w.count()
			r := w.till("payout", "apply", apply[2], "--digest", digest)
			if after, _ := w.count(); r.exit != 12 || after != before {
				t.Errorf("%d creates, exit 12 expected: %s", after-before, r)
			}
		})
	}
}

func (w *world) digest(plan string) string {
	text, err := os.ReadFile(plan)
	found := regexp.MustCompile(`sha256:[0-9a-f]{64}`).Find(text)
	if err != nil || found == nil {
		w.t.Fatalf("the plan has no digest: %v", err)
	}
	return string(found)
}

func TestTotalsOfCodesThatDifferInCase(t *testing.T) {
	w := begin(t, faults{})
	file := w.write("big.csv", "order_id,currency,amount_minor,address\n1,crypto:Foo,9000000000000000000,x1\n2,crypto:foo,9000000000000000000,x2\n3,crypto:Foo,9000000000000000000,x3\n")
	w.till("payout", "plan", file, "--out", "big.plan").want(t, 0, "")
	for _, args := range [][]string{{"payout", "show", "big.plan"}, {"payout", "apply", "big.plan"}} {
		if r := w.till(append(args, "-o", "table")...); strings.Contains(r.String(), "8553255926290448384") || !regexp.MustCompile(`(18|27)0{18}`).MatchString(r.String()) {
			t.Errorf("the total is wrong: %s", r)
		}
	}
}

var newJournal = regexp.MustCompile(`(?i)\bnew\b.*\bjournal\b|\bjournal\b.*\bnew\b`)

func TestNewJournal(t *testing.T) {
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
		if !strings.Contains(r.failure.Hint, "--allow-duplicate") {
			t.Errorf("no way out: %s", r)
		}
		w.allowed[1] = 2
		other.pay("", 1, "--allow-duplicate").want(t, 0, "")
	})
	t.Run("pays what was not paid", func(t *testing.T) {
		w := begin(t, faults{})
		w.pay("", 1).want(t, 0, "")
		w.elsewhere().pay("", 2).want(t, 0, "")
	})
}
