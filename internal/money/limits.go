package money

import (
	"fmt"
	"math"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
)

// Limits are what a profile allows. The zero Limits allow everything.
//
// A limit counts in the unit in which an amount is given. Where a currency has a limit and an amount of it is given in
// another unit, which has none, the amount is refused, or naming its fiat equivalent would evade the limit.
type Limits struct {
	MaxPerWithdrawal []api.Amount `json:"max_per_withdrawal,omitempty"` // the most that one withdrawal may be, by unit
	MaxPerRun        []api.Amount `json:"max_per_run,omitempty"`        // the most that one run may come to, by unit
	AllowAddresses   []string     `json:"allow_addresses,omitempty"`    // the only addresses that may be paid; empty: any
}

// The rules that a LimitError can name.
const (
	RuleLimit     = "limit"
	RuleAllowList = "allow_list"
)

// LimitError says which rule refuses a payment.
type LimitError struct {
	Rule   string // RuleLimit or RuleAllowList
	Index  int    // which of the payments breaks it; -1: their total does
	What   string // one sentence: what breaks the rule
	Advice string // what to do
}

// Error returns the sentence, without the advice.
func (e *LimitError) Error() string { return e.What }

// Hint returns what to do.
func (e *LimitError) Hint() string { return e.Advice }

// Payment is what limits look at.
type Payment struct {
	Currency api.Currency // what is withdrawn
	Amount   api.Amount   // how much, in its own unit
	Address  string
}

// Check holds all payments of a run against the limits, each by itself and then their totals. A single withdrawal is a
// run of one. The error is a *LimitError. The registry is for printing amounts.
func (l Limits) Check(r Registry, payments ...Payment) error {
	t := l.Tally(r)
	for _, p := range payments {
		if err := t.Add(p); err != nil {
			return err
		}
	}
	if all := t.Done(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// A Tally holds the payments of a run against the limits one after the other, in memory that does not grow with them.
type Tally struct {
	limits   Limits
	allowed  map[string]bool // in their canonical form; nil: any
	registry Registry
	count    int
	sums     []int64 // of MaxPerRun; -1: it does not fit into 64 bits
}

// Tally begins a run. The registry is for printing amounts.
func (l Limits) Tally(r Registry) *Tally {
	t := &Tally{limits: l, registry: r, sums: make([]int64, len(l.MaxPerRun))}
	if len(l.AllowAddresses) > 0 {
		t.allowed = make(map[string]bool, len(l.AllowAddresses))
		for _, text := range l.AllowAddresses {
			t.allowed[address.Canonical(text)] = true
		}
	}
	return t
}

// Add takes the next payment. The error is the *LimitError of the first rule that it breaks by itself; it counts for the
// totals all the same.
func (t *Tally) Add(p Payment) error {
	i := t.count
	t.count++
	for n, limit := range t.limits.MaxPerRun {
		if p.Amount.Minor < 0 || t.sums[n] < 0 || !sameUnit(p.Amount.Kind, p.Amount.Code, limit.Kind, limit.Code) {
			continue // nothing that should not be there makes room for more
		}
		if p.Amount.Minor > math.MaxInt64-t.sums[n] {
			t.sums[n] = -1
			continue
		}
		t.sums[n] += p.Amount.Minor
	}
	if t.allowed != nil && !t.allowed[address.Canonical(p.Address)] {
		return &LimitError{RuleAllowList, i, fmt.Sprintf("the address %q is not one that the profile allows", p.Address),
			"if it should be paid, add it to allow_addresses of the profile"}
	}
	if err := checkUnit(t.limits.MaxPerWithdrawal, "max_per_withdrawal", p, i); err != nil {
		return err
	}
	if most, ok := limitOn(t.limits.MaxPerWithdrawal, p.Amount.Kind, p.Amount.Code); ok && p.Amount.Minor > most.Minor {
		return &LimitError{RuleLimit, i,
			fmt.Sprintf("%s is more than the %s that the profile allows for one withdrawal", t.registry.Format(p.Amount), t.registry.Format(most)),
			"send less, or raise max_per_withdrawal of the profile"}
	}
	return checkUnit(t.limits.MaxPerRun, "max_per_run", p, i)
}

// Done returns what the totals break, one error for each limit.
func (t *Tally) Done() (all []*LimitError) {
	for n, limit := range t.limits.MaxPerRun {
		if t.sums[n] >= 0 && t.sums[n] <= limit.Minor {
			continue
		}
		sum := t.registry.Format(api.Amount{Kind: limit.Kind, Code: limit.Code, Minor: t.sums[n]})
		if t.sums[n] < 0 {
			sum = "the total in " + limit.Code
		}
		all = append(all, &LimitError{RuleLimit, -1,
			fmt.Sprintf("%s is more than the %s that the profile allows for one run", sum, t.registry.Format(limit)),
			"send less in one run, or raise max_per_run of the profile"})
	}
	return all
}

// checkUnit refuses an amount in a unit without a limit, where the withdrawn currency has one.
func checkUnit(limits []api.Amount, name string, p Payment, index int) error {
	if _, ok := limitOn(limits, p.Amount.Kind, p.Amount.Code); ok {
		return nil
	}
	if _, ok := limitOn(limits, p.Currency.Kind, p.Currency.Code); !ok {
		return nil
	}
	return &LimitError{RuleLimit, index,
		fmt.Sprintf("the amount is in %s, for which %s of the profile has no limit, and for %s, which is withdrawn, it has one", p.Amount.Code, name, p.Currency.Code),
		fmt.Sprintf("give the amount in %s, or add a limit in %s to %s of the profile", amountSpelling(p.Currency.Kind, p.Currency.Code), p.Amount.Code, name)}
}

// Without says which currencies of a registry have no limit, a sentence for each of the two lists that is not empty:
// where a list is, it is plain that it limits nothing.
func (l Limits) Without(r Registry) (all []string) {
	for _, limits := range []struct {
		name string
		on   []api.Amount
	}{{"max_per_withdrawal", l.MaxPerWithdrawal}, {"max_per_run", l.MaxPerRun}} {
		if len(limits.on) == 0 {
			continue
		}
		var named []string
		more := 0
		for _, e := range r.Entries() {
			if _, ok := limitOn(limits.on, e.Kind, e.Code); ok {
				continue
			}
			if _, own := search(r.own, e.Code); e.Kind == fiat && !own { // there are some 160 of them
				more++
				continue
			}
			named = append(named, e.Code)
		}
		switch {
		case more == 1:
			named = append(named, "1 fiat currency")
		case more > 1:
			named = append(named, fmt.Sprintf("%d fiat currencies", more))
		}
		if n := len(named); n > 1 {
			named = []string{strings.Join(named[:n-1], ", ") + " and " + named[n-1]}
		}
		if len(named) > 0 {
			all = append(all, fmt.Sprintf("%s sets no limit on %s", limits.name, named[0]))
		}
	}
	return all
}

// limitOn finds the limit on a unit; where there are several, the lowest.
func limitOn(limits []api.Amount, kind api.Kind, code string) (lowest api.Amount, found bool) {
	for _, l := range limits {
		if sameUnit(l.Kind, l.Code, kind, code) && (!found || l.Minor < lowest.Minor) {
			lowest, found = l, true
		}
	}
	return lowest, found
}
