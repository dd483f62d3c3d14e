package money

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
)

// Limits says what a profile allows. The zero Limits allows everything but addresses that look mistyped.
//
// A limit applies to amounts given in its own unit. As soon as there is one, an amount in a unit without a
// limit is refused, unless the withdrawn currency is unlimited: otherwise, a limit on Btc would let any sum
// of USD pass.
type Limits struct {
	// MaxPerWithdrawal is the most that one withdrawal may be, by unit.
	MaxPerWithdrawal []api.Amount `json:"max_per_withdrawal,omitempty"`
	// MaxPerRun is the most that one run may come to, by unit.
	MaxPerRun []api.Amount `json:"max_per_run,omitempty"`
	// MaxPerDay and MaxPerMonth are the most that may be sent in a day and in a month, by unit. The journal
	// adds up.
	MaxPerDay   []api.Amount `json:"max_per_day,omitempty"`
	MaxPerMonth []api.Amount `json:"max_per_month,omitempty"`
	// Unlimited are the currencies without a limit that may be withdrawn although others have one.
	Unlimited []api.Currency `json:"unlimited,omitempty"`
	// AllowAddresses are the only addresses that may be paid; empty: any.
	AllowAddresses []string `json:"allow_addresses,omitempty"`
	// AllowBadAddress allows addresses that look mistyped, see Registry.AddressMistake, and memos that look
	// rounded.
	AllowBadAddress bool `json:"allow_bad_address,omitempty"`
}

// The rules that a LimitError can name.
const (
	RuleLimit     = "limit"
	RuleAllowList = "allow_list"
	RuleAddress   = "address"
)

// LimitError says which rule refuses a payment, or the total of all, and what to do.
type LimitError struct {
	Rule    string   // RuleLimit, RuleAllowList or RuleAddress
	Field   string   // of the payment
	What    string   // one sentence: what breaks the rule
	Advice  string   // what to do
	Command []string // the arguments of a till command that does it, or nil
}

// Error returns the sentence, without the advice.
func (e *LimitError) Error() string { return e.What }

// Check checks all payments of a run: each by itself, and then their totals. A single withdrawal is a run of
// one. The error is a *LimitError. The registry formats the amounts in it.
func (l Limits) Check(r Registry, payments ...api.CreateWithdrawal) error {
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
	allowed  map[string]bool // in their canonical form; empty: any
	registry Registry
	lists    []limitList
}

// A limitList is the limits on one withdrawal, or on the total of a run, a day or a month.
type limitList struct {
	name, in string // of the limits, and what they are on
	limits   []api.Amount
	sums     []api.Sum // in the unit of each limit; nil: they are on one withdrawal
}

// Tally begins a run. The registry formats the amounts in errors.
func (l Limits) Tally(r Registry) *Tally {
	t := &Tally{limits: l, registry: r, allowed: map[string]bool{}, lists: []limitList{
		{"max_per_withdrawal", "withdrawal", l.MaxPerWithdrawal, nil},
		{"max_per_run", "run", l.MaxPerRun, make([]api.Sum, len(l.MaxPerRun))},
		{"max_per_day", "day", l.MaxPerDay, make([]api.Sum, len(l.MaxPerDay))},
		{"max_per_month", "month", l.MaxPerMonth, make([]api.Sum, len(l.MaxPerMonth))},
	}}
	for _, text := range l.AllowAddresses {
		t.allowed[address.Canonical(text)] = true
	}
	return t
}

// Add checks the next payment. The error is the *LimitError of the first rule that the payment breaks by
// itself. The payment counts in the totals even then.
func (t *Tally) Add(p api.CreateWithdrawal) error {
	var exceeds *LimitError
	for _, list := range t.lists {
		for n, most := range list.limits {
			switch {
			case p.Amount.Minor <= 0 || !sameUnit(p.Amount.Unit(), most.Unit()): // it makes no room for more
			case list.sums != nil:
				list.sums[n].Add(p.Amount.Minor)
			case p.Amount.Minor > most.Minor:
				exceeds = cmp.Or(exceeds, t.exceeded(list, most, api.SumOf(p.Amount.Minor)))
			}
		}
	}
	if err := t.checkAddress(p); err != nil {
		return err
	}
	if exceeds != nil {
		return exceeds
	}
	for _, list := range t.lists {
		if err := t.limits.checkUnit(list, p); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress checks where a payment goes: its address and its memo.
func (t *Tally) checkAddress(p api.CreateWithdrawal) error {
	if why := t.registry.AddressMistake(p.Currency, p.Address); why != "" && !t.limits.AllowBadAddress {
		return &LimitError{RuleAddress, "address", fmt.Sprintf("the address %s: %s", quote(p.Address), why),
			"if it is right all the same, add --allow-bad-address to withdraw create or payout plan; if " +
				p.Currency.Code + " has other addresses", []string{"currency", "set", p.Currency.Code, "--address-format", "none"}}
	}
	for _, f := range [][2]string{{"address", p.Address}, {"memo", p.Memo}} {
		if Rounded(f[1]) && !t.limits.AllowBadAddress {
			return &LimitError{RuleAddress, f[0], fmt.Sprintf("the %s %s %s", f[0], quote(f[1]), RoundedWhy),
				"take it from where the receiver wrote it; if it is right all the same, add --allow-bad-address to withdraw create or payout plan", nil}
		}
	}
	if len(t.allowed) > 0 && !t.allowed[address.Canonical(p.Address)] {
		return &LimitError{RuleAllowList, "address", fmt.Sprintf("the address %q is not one that the profile allows", p.Address),
			"if it should be paid, add it to allow_addresses of the profile", nil}
	}
	return nil
}

// Done returns one error for each limit that the totals exceed.
func (t *Tally) Done() (all []*LimitError) {
	for _, list := range t.lists {
		for n, sum := range list.sums {
			if most := list.limits[n]; sum.Compare(api.SumOf(most.Minor)) > 0 {
				all = append(all, t.exceeded(list, most, sum))
			}
		}
	}
	return all
}

func (t *Tally) exceeded(list limitList, most api.Amount, sum api.Sum) *LimitError {
	return &LimitError{RuleLimit, "amount", fmt.Sprintf("%s is more than the %s that the profile allows for one %s",
		t.registry.FormatBig(api.BigAmount{Kind: most.Kind, Code: most.Code, Minor: sum}), t.registry.Format(most), list.in),
		fmt.Sprintf("send less in one %s, or raise %s of the profile", list.in, list.name), nil}
}

// checkUnit refuses an amount that none of the limits of a list is on.
func (l Limits) checkUnit(list limitList, p api.CreateWithdrawal) error {
	on := func(unit api.Currency) bool {
		return slices.ContainsFunc(list.limits, func(a api.Amount) bool { return sameUnit(a.Unit(), unit) })
	}
	code := amountSpelling(p.Currency.Kind, p.Currency.Code)
	switch {
	case len(list.limits) == 0 || on(p.Amount.Unit()):
		return nil
	case on(p.Currency):
		return &LimitError{RuleLimit, "amount",
			fmt.Sprintf("%s limits %s but not %s, so this amount cannot be checked", list.name, p.Currency.Code, p.Amount.Code),
			fmt.Sprintf("give it in %s, or add a limit in %s", code, p.Amount.Code), nil}
	case slices.ContainsFunc(l.Unlimited, func(c api.Currency) bool { return sameUnit(c, p.Currency) }):
		return nil
	}
	return &LimitError{RuleLimit, "amount", fmt.Sprintf("%s of the profile has no limit in %s", list.name, code),
		fmt.Sprintf("add one or, to send %s without a limit, name it in unlimited", code), nil}
}
