//go:build unix

package misbehave

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/exit"
	"golang.org/x/crypto/ssh"
)

// waysOut has a scenario for each row of the table: it brings the state or refusal about, and carries out the
// commands of the row until the merchant gets on.
var waysOut = map[string]func(*world){
	"`planned`": func(w *world) {
		w.become(faults{create: "drop after"})
		apply := w.plan("1", 1, "2", 2)
		w.till(apply...).want(w.t, 20, "")
		w.shows("2", "planned")
		w.become(faults{})
		w.persist(2, apply...)
	},
	"`unknown`": func(w *world) {
		w.become(faults{create: "drop after"})
		w.pay("1", 1).want(w.t, 20, "")
		w.persist(1, pay("1", 1)...)
		apply := w.plan("2", 2)
		w.till("payout", "reconcile", w.till(apply...).want(w.t, 20, "").failure.Run).want(w.t, 0, "")
		w.persist(2, apply...)
		w.pay("3", 3).want(w.t, 20, "")
		w.become(faults{forgetNewest: true})
		w.till("withdraw", "reconcile", "3").want(w.t, 20, "")
		w.till("withdraw", "resolve", "3", "--paid-as", w.ids(3)[0], "--yes").want(w.t, 0, "")
		w.persist(3, pay("3", 3)...)
		w.become(faults{create: "drop before"})
		w.pay("4", 4).want(w.t, 20, "")
		w.become(faults{})
		w.persist(4, pay("4", 4)...)
	},
	"`conflict`": func(w *world) {
		w.become(faults{create: "drop before"})
		w.pay("1", 1).want(w.t, 20, "")
		w.book("1", 2)
		w.till("withdraw", "reconcile", "1").want(w.t, 21, "")
		w.shows("1", "conflict")
		w.persist(2, pay("1", 1)...)
	},
	"`rejected`": func(w *world) {
		w.become(faults{create: "400"})
		w.pay("1", 1).want(w.t, 30, "")
		w.shows("1", "rejected")
		apply := w.plan("2", 2)
		w.till(apply...).want(w.t, 30, "")
		w.become(faults{})
		w.pay("1", 1).want(w.t, 0, "")
		w.till(append(apply, "--retry-rejected")...).want(w.t, 0, "")
		w.paid(1)
		w.paid(2)
	},
	"`sending`, and its process is dead": func(w *world) {
		w.hold("1", 1)(os.Kill)
		w.till("withdraw", "reconcile", "1").want(w.t, 20, "")
		w.persist(1, pay("1", 1)...)
	},
	"`list`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.become(faults{forgetNewest: true})
		w.pay("2", 2, "--lookup", "always").want(w.t, 12, "list")
		w.persist(2, pay("2", 2, "--lookup", "always")...)
	},
	"`duplicate`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.allowed[1] = 2
		w.pay("", 1).want(w.t, 12, "duplicate")
		w.shows("1", "accepted")
		w.pay("", 1, "--allow-duplicate").want(w.t, 0, "")
	},
	"`order_id_reused`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.pay("1", 2).want(w.t, 12, "order_id_reused")
		w.shows("1", "accepted")
		w.persist(2, pay("2", 2)...)
	},
	"`account`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		apply := w.plan("2", 2)
		w.till("profile", "set", "other", "base_url="+w.URL, "account=other").want(w.t, 0, "")
		w.till("currency", "set", "Btc", "--decimals", "8", "--profile", "other").want(w.t, 0, "")
		w.till(append(apply, "--profile", "other")...).want(w.t, 12, "account")
		w.persist(2, append(apply, "--profile", "w")...)
		w.till("profile", "set", "w", "account=moved").want(w.t, 0, "")
		w.pay("3", 3).want(w.t, 12, "account")
		w.persist(3, pay("3", 3)...)
	},
	"`key`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.key = "new-key-of-the-merchant"
		w.become(faults{missing: 99}) // it is no key of the account, as far as the service says
		w.pay("2", 2, "--lookup", "never").want(w.t, 12, "key")
		w.persist(2, pay("2", 2, "--lookup", "never")...)
	},
	"`decision`": func(w *world) {
		w.become(faults{create: "drop after"})
		w.pay("1", 1).want(w.t, 20, "")
		w.become(faults{})
		w.till("withdraw", "resolve", "1", "--not-sent", "--reason", "a guess", "--yes").want(w.t, 12, "decision")
		w.shows("1", "accepted")
		w.persist(1, pay("1", 1)...)
	},
	"`clock`": func(w *world) {
		for i, offset := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
			orderID, amount := fmt.Sprint(i+1), int64(i+1)
			w.become(faults{clockOffset: offset, create: "drop before"})
			w.pay(orderID, amount).want(w.t, 20, "")
			w.become(faults{clockOffset: offset})
			w.till("withdraw", "resolve", orderID, "--not-sent", "--reason", "the panel", "--yes").want(w.t, 12, "clock")
			w.persist(amount, pay(orderID, amount)...)
		}
	},
	"`limit`, `allow_list`": func(w *world) {
		w.configure("max_per_withdrawal: [0.00000001 Btc]\nallow_addresses: [bc1qother]\n")
		w.pay("1", 2).want(w.t, 12, "allow_list")
		w.till("profile", "set", "w", "allow_addresses=bc1qexample").want(w.t, 0, "")
		w.pay("1", 2).want(w.t, 12, "limit")
		w.till("profile", "set", "w", "max_per_withdrawal=1 Btc", "max_per_day=0.00000003 Btc").want(w.t, 0, "")
		w.persist(2, pay("1", 2)...)
		w.pay("2", 3).want(w.t, 12, "limit")
		w.till("profile", "set", "w", "max_per_day=1 Btc").want(w.t, 0, "")
		w.persist(3, pay("2", 3)...)
	},
	"`address`": func(w *world) {
		mistyped := pay("1", 1)
		mistyped[slices.Index(mistyped, "--address")+1] = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5md"
		w.till(mistyped...).want(w.t, 12, "address")
		w.till(append(mistyped, "--allow-bad-address")...).want(w.t, 0, "")
		w.paid(1)
	},
	"`frozen`": func(w *world) {
		apply := w.plan("1", 1)
		w.till("journal", "freeze", "--reason", "a leak").want(w.t, 0, "")
		w.pay("2", 2).want(w.t, 12, "frozen")
		w.persist(1, apply...)
	},
	"`read_only`": func(w *world) {
		w.configure("read_only: true\n")
		w.pay("1", 1).want(w.t, 12, "read_only")
		w.persist(1, pay("1", 1)...)
	},
	"`confirmation`": func(w *world) {
		unanswered := slices.DeleteFunc(pay("1", 1), func(arg string) bool { return arg == "--yes" })
		w.till(unanswered...).want(w.t, 12, "confirmation")
		w.persist(1, append(unanswered, "--yes")...)
	},
	"`plan_changed`": func(w *world) {
		file := w.plan("1", 1)[2]
		text, _ := os.ReadFile(file)
		w.write(filepath.Base(file), strings.Replace(string(text), "bc1qexample", "bc1qthief", 1))
		w.till("payout", "apply", file, "--yes").want(w.t, 12, "plan_changed")
		w.persist(1, w.plan("1", 1)...)
	},
	"`plan_expired`": func(w *world) {
		apply := w.plan("1", 1)
		w.till("payout", "plan", strings.TrimSuffix(apply[2], ".plan"), "--out", apply[2], "--expires",
			"1ns").want(w.t, 0, "")
		w.till(apply...).want(w.t, 12, "plan_expired")
		w.persist(1, w.plan("1", 1)...)
	},
	"`batch_changed`": func(w *world) {
		batch := func(rows string, flags ...string) *result {
			return w.till(append([]string{"payout", "plan", w.write("b.csv", "currency,amount_minor,address\n"+rows),
				"--out", "b.plan", "--auto-order-id", "may"}, flags...)...)
		}
		batch("Btc,1,bc1qexample\n").want(w.t, 0, "")
		w.persist(1, "payout", "apply", "b.plan", "--yes")
		batch("Btc,1,bc1qexample\nBtc,2,bc1qexample\n").want(w.t, 12, "batch_changed")
		batch("Btc,1,bc1qexample\nBtc,2,bc1qexample\n", "--batch-changed").want(w.t, 0, "")
		w.persist(2, "payout", "apply", "b.plan", "--yes")
	},
	"`warning`": func(w *world) {
		file := w.write("twice.csv", "order_id,currency,amount_minor,address\n1,Btc,1,bc1qexample\n2,Btc,1,bc1qexample\n")
		w.till("payout", "plan", file, "--out", "twice.plan", "--fail-on-warning").want(w.t, 12, "warning")
		w.till("payout", "plan", file, "--out", "twice.plan").want(w.t, 0, "")
		w.allowed[1] = 2
		w.till("payout", "apply", "twice.plan", "--yes").want(w.t, 0, "")
	},
	"`decimals`": func(w *world) {
		apply := w.plan("1", 1)
		w.till("currency", "set", "Btc", "--decimals", "6").want(w.t, 0, "")
		w.till(apply...).want(w.t, 12, "decimals")
		w.till("currency", "set", "Btc", "--decimals", "8").want(w.t, 0, "")
		w.persist(1, w.plan("1", 1)...)
	},
	"`approval`": func(w *world) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		public, _ := ssh.NewPublicKey(key.Public())
		private, _ := ssh.MarshalPrivateKey(key, "")
		w.configure("approvals: 1\napprovers: " +
			w.write("approvers", "ana "+string(ssh.MarshalAuthorizedKey(public))) + "\n")
		apply := w.plan("1", 1)
		w.till(apply...).want(w.t, 12, "approval")
		w.till("journal", "approvals").want(w.t, 0, "")
		w.till("payout", "approve", apply[2], "--key", w.write("key", string(pem.EncodeToMemory(private))),
			"--yes").want(w.t, 0, "")
		w.persist(1, apply...)
	},
	"`paid_before`": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		apply := w.plan("1", 1, "2", 2)
		w.till(apply...).want(w.t, 12, "paid_before")
		w.persist(2, apply...)
	},
	"busy (13)": func(w *world) {
		end := w.hold("1", 1)
		w.pay("1", 1).want(w.t, 13, "")
		w.release <- struct{}{}
		end(nil)
		w.persist(1, pay("1", 1)...)
	},
	"read failed (41)": func(w *world) {
		w.become(faults{list: 500})
		w.pay("1", 1, "--lookup", "always").want(w.t, 41, "")
		w.become(faults{})
		w.persist(1, pay("1", 1, "--lookup", "always")...)
	},
	"a journal without its log": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.book("77", 100)
		w.loseLog("2", 2)
		w.till(pay("", 3)...).want(w.t, 12, "duplicate")
		w.persist(3, pay("", 3)...)
	},
	"a journal that is a copy": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.book("77", 100)
		w.restore(func() { w.pay("2", 2).want(w.t, 0, "") })
		w.pay("2", 2).want(w.t, 0, "")
		w.paid(2)
		w.till(pay("", 3)...).want(w.t, 12, "duplicate")
		w.persist(3, pay("", 3)...)
	},
	"a journal of a newer version": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.exec(w.open(), "UPDATE till_journal SET version = version + 1")
		w.pay("2", 2).want(w.t, 14, "")
		w.till("version").want(w.t, 0, "")
		w.exec(w.open(), "UPDATE till_journal SET version = version - 1") // that version's journal is read by that version
		w.persist(2, pay("2", 2)...)
	},
	"another merchant (21)": func(w *world) {
		w.pay("1", 1).want(w.t, 0, "")
		w.become(faults{create: "drop after"})
		w.pay("2", 2).want(w.t, 20, "")
		w.become(faults{merchant: "m-2"})
		w.till("withdraw", "reconcile", "2").want(w.t, 20, "") // it settles nothing
		if r := w.pay("3", 3, "--lookup", "always").want(w.t, 21, ""); !strings.Contains(r.stderr, "m-1") ||
			!strings.Contains(r.stderr, "m-2") {
			w.t.Errorf("it does not name both merchants: %s", r)
		}
		w.persist(2, pay("2", 2)...)
		w.pay("3", 3, "--lookup", "always").want(w.t, 0, "")
	},
	"a phantom (20)": func(w *world) {
		for i, noun := range []string{"withdraw", "payout"} {
			orderID, amount := fmt.Sprint(i+1), int64(i+1)
			send := pay(orderID, amount)
			if noun == "payout" {
				send = w.plan(orderID, amount)
			}
			w.become(faults{create: "OK"})
			w.till(send...).want(w.t, 20, "")
			w.till(noun, "reconcile").want(w.t, 20, "")
			w.till(send...).want(w.t, 20, "")
			w.configure("settle_after: 15m\n")
			w.till(noun, "resolve", orderID, "--not-sent", "--reason", "the panel", "--yes").want(w.t, 12, "decision")
			w.configure("")
			w.become(faults{})
			w.persist(amount, send...)
		}
	},
}

// TestWaysOut carries out the commands that the documentation names for every state and refusal.
func TestWaysOut(t *testing.T) {
	page, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Every state and refusal, and the way out\n")
	table, _, _ = strings.Cut(table, "\n## ")
	ways, code := map[string]string{}, regexp.MustCompile("`([^`]+)`")
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?): .* \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		ways[row[1]] = row[2]
	}
	for _, rule := range exit.Rules() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(ways)),
			func(row string) bool { return strings.Contains(row, "`"+rule.Name+"`") }) {
			t.Errorf("the table has no row for the rule %s", rule.Name)
		}
	}
	for row := range waysOut {
		if ways[row] == "" {
			t.Errorf("the table has no row %s", row)
		}
	}
	for row, way := range ways {
		t.Run(row, func(t *testing.T) {
			scenario := waysOut[row]
			if scenario == nil {
				t.Fatal("it has no scenario")
			}
			w := begin(t, faults{})
			scenario(w)
			ran := w.ran[slices.IndexFunc(w.ran, func(r *result) bool { return r.exit != 0 }):]
			for _, command := range code.FindAllStringSubmatch(way, -1) {
				if !slices.ContainsFunc(ran, func(r *result) bool { return r.runs(command[1]) }) {
					t.Errorf("%s is not carried out", command[1])
				}
			}
			again := func(r *result) bool { return slices.Equal(r.args, ran[0].args) }
			if strings.Contains(way, "the same command again") && !slices.ContainsFunc(ran[1:], again) {
				t.Error("the same command is not run again")
			}
		})
	}
}

// runs reports whether a command that ran has the words of one that the documentation names. Those in
// capitals are placeholders.
func (r *result) runs(command string) bool {
	for _, word := range strings.Fields(strings.TrimPrefix(command, "till ")) {
		if word != strings.ToUpper(word) && !slices.Contains(r.args, word) {
			return false
		}
	}
	return true
}

// shows fails the test unless an order is in a state.
func (w *world) shows(orderID, state string) {
	w.t.Helper()
	if r := w.till("journal", "show", orderID).want(w.t, 0, ""); !strings.Contains(r.stdout, `"`+state+`"`) {
		w.t.Fatalf("the state %s expected: %s", state, r)
	}
}
