package payout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// TestEndingOf checks what every status and outcome of a call says of the attempt. It follows from the rules
// of sending at most once: only a definite refusal lets an order be sent again, and what may have been taken
// is unknown.
func TestEndingOf(t *testing.T) {
	const taken, no, unknown, nothing = order.WasAccepted, order.WasRejected, order.WasUncertain, order.SaidNothing
	check := func(name string, err error, want order.Ending) {
		t.Helper()
		wrapped := error(nil)
		if err != nil {
			wrapped = fmt.Errorf("around it: %w", err)
		}
		if got, around := endingOf(err), endingOf(wrapped); got != want || around != want {
			t.Errorf("%s: %s, and %s when it is wrapped, want %s", name, got, around, want)
		}
	}
	check("no error", nil, taken)
	check("an error of another kind", errors.New("x"), unknown)
	check("given up", context.Canceled, unknown)
	check("too late", context.DeadlineExceeded, unknown)
	check("no request", &api.InvalidError{Field: "memo", Why: "x"}, nothing)
	for status := range 600 {
		for outcome, w := range map[api.Outcome]order.Ending{api.Rejected: no, api.Unknown: unknown, api.NotSent: nothing,
			api.Failed: unknown} {
			if outcome == api.Rejected && (status == 401 || status == 403 || status == 429) {
				w = nothing
			}
			check(fmt.Sprint(outcome, " ", status), &api.Error{Outcome: outcome, Status: status}, w)
		}
	}
	check("stopped before it left", &api.Error{Outcome: api.NotSent, Err: context.Canceled}, nothing)
	after := &api.Error{Outcome: api.Unknown, Err: context.Canceled}
	check("stopped after it left", after, unknown)
	if out := newDesk(t).outcomeOf(call{err: after}); strings.Contains(out.Reason, "not sent") {
		t.Errorf("stopped after it left, and the reason is %q", out.Reason)
	}
}
