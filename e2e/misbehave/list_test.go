//go:build unix

package misbehave

import (
	"fmt"
	"strings"
	"testing"
)

// unprovable are services whose list cannot prove for good that an order is not on it. Two orders are
// paid before.
var unprovable = map[string]faults{
	"forgets its newest":                {forgetNewest: true},
	"shows recent ones only":            {recentOnly: 1},
	"counts more than it shows":         {totalTooLarge: 1},
	"ignores pages":                     {pageIgnored: true, pageCap: 1},
	"has no list":                       {list: 404},
	"shows records without an order id": {},
}

// beginUnprovable returns a merchant who has paid the orders 1 and 2, at a service that has become one of
// these.
func beginUnprovable(t *testing.T, name string) *world {
	w := begin(t, faults{})
	w.pay("1", 1).want(t, 0, "")
	w.pay("2", 2).want(t, 0, "")
	switch name {
	case "shows recent ones only":
		w.book("91", 91)
	case "shows records without an order id":
		w.book("", 91)
	}
	w.become(unprovable[name])
	return w
}

func TestListThatCannotProve(t *testing.T) {
	t.Parallel()
	for name, is := range unprovable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("create", func(t *testing.T) {
				w := beginUnprovable(t, name)
				w.pay("4", 4, "--lookup", "always").want(t, 12, "list")
				w.persist(4, pay("4", 4, "--lookup", "always")...)
			})
			t.Run("apply", func(t *testing.T) {
				w := beginUnprovable(t, name)
				apply := w.plan("4", 4)
				w.till(apply...).want(t, 12, "list")
				w.persist(4, apply...)
			})
			t.Run("unknown", func(t *testing.T) {
				w := beginUnprovable(t, name)
				w.become(faults{create: "drop before"})
				w.pay("4", 4).want(t, 20, "")
				w.become(is)
				r := w.till("withdraw", "reconcile", "4").want(t, 20, "")
				if commands, _ := w.ways(r, 4); len(commands) == 0 {
					t.Errorf("no way out: %s", r)
				}
				w.persist(4, pay("4", 4)...)
			})
			t.Run("accepted by a person", func(t *testing.T) {
				w := beginUnprovable(t, name)
				if is.list != 0 {
					return // no list, no differences
				}
				if r := w.till("journal", "check"); r.exit != 21 && r.failure.Rule != "list" {
					t.Errorf("21, or 12 with the rule list, expected: %s", r)
				}
				w.till("journal", "check", "--accept", "the shop knows all of these", "--yes").want(t, 0, "")
				w.till("journal", "check").want(t, 0, "")
				w.pay("4", 4, "--lookup", "always").want(t, 0, "")
				w.paid(4)
			})
		})
	}
}

func TestLookupNeverHasAWayOut(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]faults{
		"cannot be reached":         {create: "drop before"},
		"answers OK":                {create: "OK"},
		"drops order ids":           {dropOrderIDs: "always"},
		"has no list":               {create: "drop before", list: 404},
		"shows recent ones only":    {create: "drop before", recentOnly: 1},
		"counts more than it shows": {create: "drop before", totalTooLarge: 1},
		"is another merchant's":     {create: "drop before", merchant: "m-2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, faults{})
			w.configure("lookup: never\n")
			w.pay("1", 1).want(t, 0, "")
			w.book("91", 91)
			w.become(is)
			w.pay("2", 2)
			if is.create == "OK" { // it is accepted, and a person misses the payment
				r := w.till("withdraw", "get", "--order-id", "2")
				if r.want(t, 30, ""); !strings.Contains(r.failure.Hint.Text, "till withdraw reconcile 2") {
					t.Error(r)
				}
				w.till("withdraw", "reconcile", "2").want(t, 20, "")
			}
			is.create = ""
			w.become(is)
			w.persist(2, pay("2", 2)...)
			w.persist(3, pay("3", 3)...)
		})
	}
}

func TestOrderIDsOnTheList(t *testing.T) {
	t.Parallel()
	for name, spell := range map[string]func(int64) [2]any{
		"zeros":     func(n int64) [2]any { return [2]any{"000" + fmt.Sprint(n), absent} },
		"space":     func(n int64) [2]any { return [2]any{fmt.Sprint(n) + " ", absent} },
		"words":     func(int64) [2]any { return [2]any{"two", absent} },
		"null":      func(int64) [2]any { return [2]any{nil, nil} },
		"absent":    func(int64) [2]any { return [2]any{absent, absent} },
		"truncated": func(n int64) [2]any { return [2]any{fmt.Sprint(int32(n)), int32(n)} },
	} {
		long, sameNumber := "2", name == "zeros" || name == "space"
		if name == "truncated" {
			long = "4294967298"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("known", func(t *testing.T) {
				w := begin(t, faults{})
				w.pay(long, 2).want(t, 0, "")
				w.become(faults{spell: spell})
				if r := w.pay("3", 3, "--lookup", "always"); !sameNumber {
					r.want(t, 12, "list")
				}
				w.persist(3, pay("3", 3, "--lookup", "always")...)
			})
			t.Run("new journal", func(t *testing.T) {
				w := begin(t, faults{spell: spell})
				w.service.book(long, 2)
				// It may find the order, or be refused because it cannot tell.
				if r := w.pay(long, 2); r.exit != 0 && r.failure.Rule != "list" {
					t.Errorf("exit 0, or 12 with the rule list, expected: %s", r)
				}
				w.paid(2)
				if name != "truncated" && !sameNumber { // an order id of 32 bits looks like any other
					w.pay("3", 3).want(t, 12, "list")
				}
				w.persist(3, pay("3", 3)...)
			})
		})
	}
}

// TestRecordThatMayBeTheOrder checks that the message about an unknown order names the record without an
// order id that pays the same, and how to record that it is the order.
func TestRecordThatMayBeTheOrder(t *testing.T) {
	w := begin(t, faults{})
	w.pay("1", 1).want(t, 0, "")
	w.become(faults{create: "drop after"})
	w.pay("7", 2).want(t, 20, "")
	other := w.service.book("", 3)
	w.become(faults{spell: func(int64) [2]any { return [2]any{nil, nil} }})
	for _, args := range [][]string{{"reconcile", "7"},
		{"resolve", "7", "--not-sent", "--reason", "support said so", "--yes"}} {
		r := w.till(append([]string{"withdraw"}, args...)...)
		if text := r.failure.Message +
			r.failure.Hint.Text; !strings.Contains(text, "till withdraw resolve 7 --paid-as "+w.ids(2)[0]) ||
			strings.Contains(text, other) {
			t.Errorf("%v: %s", args, r)
		}
	}
	w.persist(2, pay("7", 2)...)
}

func TestMarkOfFoundOrdersEnds(t *testing.T) {
	w := begin(t, faults{})
	w.book("1", 1)
	w.pay("1", 1).want(t, 0, "")
	w.till("journal", "check").want(t, 0, "")
	_, before := w.count()
	w.pay("2", 2).want(t, 0, "")
	if _, after := w.count(); after != before {
		t.Errorf("after a clean check, the list is read %d times", after-before)
	}
}

func TestOneIDWithTwoContents(t *testing.T) {
	t.Parallel()
	for name, different := range map[string]int{"first differs": 0, "last differs": 1} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, faults{create: "drop after"})
			w.pay("1", 1).want(t, 20, "")
			w.become(faults{twice: func(all []shown) []shown {
				both := []shown{{}, {}}
				for i := range both {
					for field, value := range all[0] {
						both[i][field] = value
					}
				}
				both[different]["amount"] = shown{"Crypto": shown{"Btc": 999}}
				return append(both, all[1:]...)
			}})
			w.till("withdraw", "reconcile", "1").want(t, 21, "")
			w.pay("1", 1).want(t, 21, "")
			w.persist(1, pay("1", 1)...)
		})
	}
}
