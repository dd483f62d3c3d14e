package money

import (
	"fmt"
	"math"
	"slices"

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
	for i, p := range payments {
		if len(l.AllowAddresses) > 0 && !slices.Contains(l.AllowAddresses, p.Address) {
			return &LimitError{RuleAllowList, i, fmt.Sprintf("the address %q is not one that the profile allows", p.Address),
				"if it should be paid, add it to allow_addresses of the profile"}
		}
		if err := checkUnit(l.MaxPerWithdrawal, "max_per_withdrawal", p, i); err != nil {
			return err
		}
		if most, ok := limitOn(l.MaxPerWithdrawal, p.Amount.Kind, p.Amount.Code); ok && p.Amount.Minor > most.Minor {
			return &LimitError{RuleLimit, i,
				fmt.Sprintf("%s is more than the %s that the profile allows for one withdrawal", r.Format(p.Amount), r.Format(most)),
				"send less, or raise max_per_withdrawal of the profile"}
		}
		if err := checkUnit(l.MaxPerRun, "max_per_run", p, i); err != nil {
			return err
		}
	}
	for _, limit := range l.MaxPerRun {
		total, fits := api.Amount{Kind: limit.Kind, Code: limit.Code}, true
		for _, p := range payments {
			if p.Amount.Minor < 0 || !sameUnit(p.Amount.Kind, p.Amount.Code, limit.Kind, limit.Code) {
				continue // nothing that should not be there makes room for more
			}
			if p.Amount.Minor > math.MaxInt64-total.Minor {
				fits = false
				break
			}
			total.Minor += p.Amount.Minor
		}
		if fits && total.Minor <= limit.Minor {
			continue
		}
		sum := r.Format(total)
		if !fits {
			sum = "the total in " + limit.Code
		}
		return &LimitError{RuleLimit, -1,
			fmt.Sprintf("%s is more than the %s that the profile allows for one run", sum, r.Format(limit)),
			"send less in one run, or raise max_per_run of the profile"}
	}
	return nil
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

// limitOn finds the limit on a unit; where there are several, the lowest.
func limitOn(limits []api.Amount, kind api.Kind, code string) (lowest api.Amount, found bool) {
	for _, l := range limits {
		if sameUnit(l.Kind, l.Code, kind, code) && (!found || l.Minor < lowest.Minor) {
			lowest, found = l, true
		}
	}
	return lowest, found
}
