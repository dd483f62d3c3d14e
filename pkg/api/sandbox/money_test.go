package sandbox_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/till/pkg/api/sandbox"
)

// A ledger is a second, independent account of what a sandbox holds. It uses exact rationals, and only the
// registry and the rates of the package.
type ledger struct {
	b      box
	price  map[string]*big.Rat // of one minor unit
	moved  map[string]*big.Int // in by funds and refunds, out by withdrawals
	debits map[string]debit
	open   []string
}

func newLedger(b box) *ledger {
	l := &ledger{b: b, price: map[string]*big.Rat{}, moved: map[string]*big.Int{}, debits: map[string]debit{}}
	rates := map[string]string{}
	for _, s := range sandbox.Settings() {
		if s.Name == "rates" {
			for entry := range strings.SplitSeq(s.Default, ",") {
				code, rate, _ := strings.Cut(entry, "=")
				rates[code] = rate
			}
		}
	}
	for _, c := range sandbox.Currencies() {
		rate, _ := new(big.Rat).SetString(rates[c.Code])
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Decimals)), nil)
		l.moved[c.Code] = new(big.Int)
		l.price[c.Code] = rate.Quo(rate, new(big.Rat).SetInt(scale))
	}
	return l
}

// A debit is the cost of a withdrawal.
type debit struct {
	code  string
	minor int64
}

func (l *ledger) move(code string, minor int64) {
	l.moved[code].Add(l.moved[code], big.NewInt(minor))
}

// worth returns the value of n units of one currency in another, not rounded.
func (l *ledger) worth(n int64, from, to string) *big.Rat {
	r := new(big.Rat).Mul(new(big.Rat).SetInt64(n), l.price[from])
	return r.Quo(r, l.price[to])
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Quo(r.Num(), r.Denom()) }

// check checks that funded + swapped in - swapped out - withdrawn is the balance in every currency, and that
// each swap was exact to less than one unit.
func (l *ledger) check(t *rapid.T) {
	expect := map[string]*big.Int{}
	for code, n := range l.moved {
		expect[code] = new(big.Int).Set(n)
	}
	for _, s := range l.b.Swaps() {
		expect[s.From].Sub(expect[s.From], big.NewInt(s.Taken))
		expect[s.To].Add(expect[s.To], big.NewInt(s.Given))
		given := new(big.Rat).SetInt64(s.Given)
		if s.From == s.To || s.Given <= 0 || s.Taken <= 0 ||
			l.worth(s.Taken, s.From, s.To).Cmp(given) < 0 || l.worth(s.Taken-1, s.From, s.To).Cmp(given) >= 0 {
			t.Fatalf("an unfair swap: %+v", s)
		}
	}
	for _, c := range sandbox.Currencies() {
		got := l.b.Balance(c.Code)
		if got < 0 || expect[c.Code].Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%s: balance %d, want %v", c.Code, got, expect[c.Code])
		}
	}
}

func (l *ledger) fund(t *rapid.T) {
	code := rapid.SampledFrom(sandbox.Currencies()).Draw(t, "currency").Code
	minor := rapid.Int64Range(1, math.MaxInt64).Draw(t, "minor") >> rapid.IntRange(0, 60).Draw(t, "shift")
	fits := minor > 0 && l.b.Balance(code) <= math.MaxInt64-minor
	if err := l.b.Fund(code, minor); (err == nil) != fits {
		t.Fatalf("Fund(%s, %d) onto %d: %v", code, minor, l.b.Balance(code), err)
	}
	if fits {
		l.move(code, minor)
	}
}

func (l *ledger) withdraw(t *rapid.T) {
	c := rapid.SampledFrom(sandbox.Currencies()).Draw(t, "currency")
	unit := c
	if c.Kind == sandbox.Fiat || rapid.Bool().Draw(t, "by fiat") {
		unit = rapid.SampledFrom(sandbox.Currencies()[7:]).Draw(t, "unit")
	}
	minor := 1 + rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "minor")>>rapid.IntRange(0, 60).Draw(t, "shift")
	need := l.worth(minor, unit.Code, c.Code) // rounded up below
	cost := floor(need)
	if !need.IsInt() {
		cost.Add(cost, big.NewInt(1))
	}
	reach := big.NewInt(l.b.Balance(c.Code))
	for _, other := range sandbox.Currencies() {
		if other.Code != c.Code {
			reach.Add(reach, floor(l.worth(l.b.Balance(other.Code), other.Code, c.Code)))
		}
	}

	body := fmt.Sprintf(`{"currency":{%q:%q},"amount":{%q:{%q:%d}},"address":"a","memo":"m"}`, c.Kind, c.Code,
		unit.Kind, unit.Code, minor)
	w := l.b.send("POST", createPath, body)
	if enough := cost.IsInt64() && cost.Cmp(reach) <= 0; enough != (w.Code == 200) {
		t.Fatalf("%s with %v within reach: %d %s", body, reach, w.Code, w.Body)
	}
	if w.Code == 200 {
		var id string
		must(t, json.Unmarshal(w.Body.Bytes(), &id))
		l.move(c.Code, -cost.Int64())
		l.debits[id] = debit{c.Code, cost.Int64()}
		l.open = append(l.open, id)
	}
}

func (l *ledger) cancel(t *rapid.T) {
	if len(l.open) == 0 {
		t.Skip("nothing to cancel")
	}
	i := rapid.IntRange(0, len(l.open)-1).Draw(t, "which")
	if err := l.b.AdvanceWithdrawal(l.open[i], "Cancelled"); err != nil {
		return // the refund does not fit: the withdrawal stays as it is
	}
	d := l.debits[l.open[i]]
	l.move(d.code, d.minor)
	l.open = append(l.open[:i], l.open[i+1:]...)
}

// TestNoUnitIsCreatedOrLost checks that no funding, withdrawal, swap or refund creates or loses a unit.
func TestNoUnitIsCreatedOrLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLedger(newBox(t, sandbox.WithSeed("none")))
		rt.Repeat(map[string]func(*rapid.T){
			"fund": l.fund, "withdraw": l.withdraw, "cancel": l.cancel, "": l.check,
		})
	})
}
