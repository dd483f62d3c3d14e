package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A Flow is the statuses of a withdrawal and the steps between them.
type Flow struct {
	First    string
	Statuses []string            // in the order of the text
	Next     map[string][]string // the next statuses of each
	Refunds  map[string]bool     // statuses that return the money to the balance
}

// ParseFlow parses chains such as A>B>C,B>D*. A star marks a status that returns the money to the balance. No
// step may lead out of it, or the money could be returned twice.
func ParseFlow(text string) (Flow, error) {
	f := Flow{Next: map[string][]string{}, Refunds: map[string]bool{}}
	for chain := range strings.SplitSeq(text, ",") {
		from := ""
		for step := range strings.SplitSeq(chain, ">") {
			name, refund := strings.CutSuffix(strings.TrimSpace(step), "*")
			if !refusal.IsName(name) {
				return Flow{}, fmt.Errorf("%q is not a status name; use letters, digits, - and _", name)
			}
			if !slices.Contains(f.Statuses, name) {
				f.Statuses = append(f.Statuses, name)
			}
			if refund {
				f.Refunds[name] = true
			}
			if from != "" && !slices.Contains(f.Next[from], name) {
				f.Next[from] = append(f.Next[from], name)
			}
			from = name
		}
	}
	f.First = f.Statuses[0]
	for name := range f.Refunds {
		if len(f.Next[name]) > 0 || name == f.First {
			return Flow{},
				fmt.Errorf("%s gives the money back, so it can be neither the first status nor lead to another", name)
		}
	}
	return f, nil
}

func (f *Flow) check(from, to string) error {
	if slices.Contains(f.Next[from], to) {
		return nil
	}
	if !slices.Contains(f.Statuses, to) {
		if i := slices.IndexFunc(f.Statuses, func(s string) bool { return strings.EqualFold(s, to) }); i >= 0 {
			return refusal.New(refusal.WrongStatus, "There is no status %q; did you mean %s?", refusal.Shorten(to),
				f.Statuses[i])
		}
		return refusal.New(refusal.WrongStatus,
			"There is no status %q; there are %s, as the setting withdrawal_flow has it.", refusal.Shorten(to),
			strings.Join(f.Statuses, ", "))
	}
	if len(f.Next[from]) == 0 {
		return refusal.New(refusal.WrongStatus, "The withdrawal is %s, which is its last status; it cannot become %q.",
			from, refusal.Shorten(to))
	}
	return refusal.New(refusal.WrongStatus, "The withdrawal is %s and cannot become %q; the next status is %s.", from,
		refusal.Shorten(to), strings.Join(f.Next[from], " or "))
}

// Way returns the shortest path from the first status to another, including both, or nil if there is none.
func (f *Flow) Way(to string) []string {
	ways := map[string][]string{f.First: {f.First}}
	for queue := []string{f.First}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		if from == to {
			return ways[from]
		}
		for _, next := range f.Next[from] {
			if ways[next] == nil {
				ways[next] = append(slices.Clone(ways[from]), next)
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// A Pace is the steps that the clock makes: at most one from each status, after a time in that status.
type Pace map[string]pacedStep

type pacedStep struct {
	to    string
	after time.Duration
}

// ParsePace parses steps such as A>B=30s,B>C=2m. Each must be a step of the flow. They must not form a cycle,
// so that the moves end when the clock is set far ahead.
func ParsePace(text string, f *Flow) (Pace, error) {
	p := Pace{}
	if text == "none" {
		return p, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		step, wait, found := strings.Cut(one, "=")
		from, to, arrow := strings.Cut(strings.TrimSpace(step), ">")
		after, ok := ParseWait(strings.TrimSpace(wait))
		switch {
		case !found || !arrow:
			return nil, fmt.Errorf("%q is no step; write FROM>TO=DURATION, such as New>Processing=30s, or none",
				refusal.Shorten(one))
		case !ok:
			return nil, fmt.Errorf("%q is no duration of whole seconds; write it like 30s, 15m, 36h or 7d",
				refusal.Shorten(wait))
		case !slices.Contains(f.Next[from], to):
			return nil, fmt.Errorf("withdrawal_flow has no step from %q to %q", refusal.Shorten(from),
				refusal.Shorten(to))
		case p[from].to != "":
			return nil, fmt.Errorf("%s would go on to two statuses; name one", from)
		}
		p[from] = pacedStep{to, after}
	}
	for from := range maps.Keys(p) {
		status := from
		for range p {
			if status = p[status].to; status == from {
				return nil, fmt.Errorf("the steps from %s lead back to it, and would never end", from)
			}
		}
	}
	return p, nil
}

// ParseWait parses a duration of at least a second, in whole seconds, because the clock ticks in seconds. The
// unit d is a day of 24 hours.
func ParseWait(text string) (time.Duration, bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, ok := money.ParseInteger(days)
		return time.Duration(n) * 24 * time.Hour, ok && n > 0 && n <= int64(MaxOffset/(24*time.Hour))
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d%time.Second == 0 && d <= MaxOffset
}

// Terms are the settings that affect money, withdrawals and their callbacks, invoices and invites.
type Terms struct {
	money.Market
	Flow                                        Flow
	Pace                                        Pace
	InvoiceExpiry                               time.Duration // 0: never
	IDFormat, OrderIDFormat                     string
	DuplicateOrderIDs, DuplicateInvoiceOrderIDs string
	InvoiceStatuses                             [3]string // by phase
	PaidIn                                      string    // a code, or empty for the invoice's own
	PaymentFails                                string
	InviteUUID, InviteLabel, InviteReuse        string
	MerchantSees                                string
	RebatePercent                               int64 // in steps of 1/PercentScale percent
	CallbackOnCreate, CallbackTargets           string
	CallbackAttempts                            int64
	CallbackBackoff, CallbackTimeout            time.Duration
}

// PercentScale allows four decimals in rebate_percent.
const PercentScale = 10_000
