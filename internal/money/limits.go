package money

import (
	"fmt"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
)

// Limits says what a profile allows. The zero Limits allows everything.
//
// A limit applies to amounts given in its own unit. If the withdrawn currency has a limit, an amount in a
// unit without a limit is refused: otherwise, naming the fiat equivalent would evade the limit.
type Limits struct {
	// MaxPerWithdrawal is the most that one withdrawal may be, by unit.
	MaxPerWithdrawal []api.Amount `json:"max_per_withdrawal,omitempty"`
	// MaxPerRun is the most that one run may come to, by unit.
	MaxPerRun []api.Amount `json:"max_per_run,omitempty"`
	// AllowAddresses are the only addresses that may be paid; empty: any.
	AllowAddresses []string `json:"allow_addresses,omitempty"`
}

// The rules that a LimitError can name.
const (
	RuleLimit     = "limit"
	RuleAllowList = "allow_list"
)

// LimitError says which rule refuses a payment.
type LimitError struct {
	Rule   string // RuleLimit or RuleAllowList
	Index  int    // the payment that breaks it; -1: their total does
	What   string // one sentence: what breaks the rule
	Advice string // what to do
}

// Error returns the sentence, without the advice.
func (e *LimitError) Error() string { return e.What }

// Hint returns what to do.
func (e *LimitError) Hint() string { return e.Advice }

// Payment is a payment as limits see it.
type Payment struct {
	Currency api.Currency // what is withdrawn
	Amount   api.Amount   // how much, in its own unit
	Address  string
}

// Check checks all payments of a run: each by itself, and then their totals. A single withdrawal is a run of
// one. The error is a *LimitError. The registry formats the amounts in it.
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

// A Tally checks the payments of a run one after the other. Its memory does not grow with their number.
type Tally struct {
	limits   Limits
	allowed  map[string]bool // in their canonical form; nil: any
	registry Registry
	count    int
	sums     []api.Sum // of MaxPerRun
}

// Tally begins a run. The registry formats the amounts in errors.
func (l Limits) Tally(r Registry) *Tally {
	t := &Tally{limits: l, registry: r, sums: make([]api.Sum, len(l.MaxPerRun))}
	if len(l.AllowAddresses) > 0 {
		t.allowed = make(map[string]bool, len(l.AllowAddresses))
		for _, text := range l.AllowAddresses {
			t.allowed[address.Canonical(text)] = true
		}
	}
	return t
}

// Add checks the next payment. The error is the *LimitError of the first rule that the payment breaks by
// itself. The payment counts in the totals even then.
func (t *Tally) Add(p Payment) error {
	i := t.count
	t.count++
	for n, limit := range t.limits.MaxPerRun {
		// a negative amount makes no room for more
		if p.Amount.Minor > 0 && sameUnit(p.Amount.Kind, p.Amount.Code, limit.Kind, limit.Code) {
			t.sums[n].Add(p.Amount.Minor)
		}
	}
	if t.allowed != nil && !t.allowed[address.Canonical(p.Address)] {
		return &LimitError{RuleAllowList, i,
			fmt.Sprintf("the address %q is not one that the profile allows", p.Address),
			"if it should be paid, add it to allow_addresses of the profile"}
	}
	if err := checkUnit(t.limits.MaxPerWithdrawal, "max_per_withdrawal", p, i); err != nil {
		return err
	}
	if most, ok := limitOn(t.limits.MaxPerWithdrawal, p.Amount.Kind, p.Amount.Code); ok && p.Amount.Minor > most.Minor {
		return &LimitError{RuleLimit, i,
			fmt.Sprintf("%s is more than the %s that the profile allows for one withdrawal",
				t.registry.Format(p.Amount), t.registry.Format(most)),
			"send less, or raise max_per_withdrawal of the profile"}
	}
	return checkUnit(t.limits.MaxPerRun, "max_per_run", p, i)
}

// Done returns one error for each limit that the totals exceed.
func (t *Tally) Done() (all []*LimitError) {
	for n, limit := range t.limits.MaxPerRun {
		if t.sums[n].Compare(api.SumOf(limit.Minor)) <= 0 {
			continue
		}
		all = append(all, &LimitError{RuleLimit, -1,
			fmt.Sprintf("%s is more than the %s that the profile allows for one run",
				t.registry.FormatBig(api.BigAmount{Kind: limit.Kind, Code: limit.Code, Minor: t.sums[n]}), t.registry.Format(limit)),
			"send less in one run, or raise max_per_run of the profile"})
	}
	return all
}

// checkUnit refuses an amount in a unit without a limit if the withdrawn currency has a limit.
func checkUnit(limits []api.Amount, name string, p Payment, index int) error {
	if _, ok := limitOn(limits, p.Amount.Kind, p.Amount.Code); ok {
		return nil
	}
	if _, ok := limitOn(limits, p.Currency.Kind, p.Currency.Code); !ok {
		return nil
	}
	return &LimitError{RuleLimit, index,
		fmt.Sprintf("%s limits %s but not %s, so this amount cannot be checked", name, p.Currency.Code, p.Amount.Code),
		fmt.Sprintf("give it in %s, or add a limit in %s",
			amountSpelling(p.Currency.Kind, p.Currency.Code), p.Amount.Code)}
}

// Without says which currencies of a registry have no limit, in a sentence for each of the two lists that is
// not empty. An empty list clearly limits nothing.
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
			if _, own := search(r.own, e.Code); e.Kind == fiat && !own { // there are about 160
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

// limitOn returns the limit on a unit, the lowest if there are several.
func limitOn(limits []api.Amount, kind api.Kind, code string) (lowest api.Amount, found bool) {
	for _, l := range limits {
		if sameUnit(l.Kind, l.Code, kind, code) && (!found || l.Minor < lowest.Minor) {
			lowest, found = l, true
		}
	}
	return lowest, found
}
