package payout

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// TestObserve checks that every status and outcome of a call leads to the right row of the table. The
// expected rows follow from the rules of sending at most once: only a definite refusal lets an order be sent
// again, and what may have been taken is unknown.
func TestObserve(t *testing.T) {
	type want struct {
		ending Ending
		state  State
		exit   string
	}
	var (
		taken   = want{order.WasAccepted, StateAccepted, ""}
		no      = want{order.WasRejected, StateRejected, "rejected"}
		unknown = want{order.WasUncertain, StateUnknown, "unknown"}
		key     = want{order.SaidNothing, StatePlanned, "unauthorized"}
		many    = want{order.SaidNothing, StatePlanned, "rate_limited"}
		unsent  = want{order.SaidNothing, StatePlanned, "unreachable"}
		stopped = want{order.SaidNothing, StatePlanned, "interrupted"}
		usage   = want{order.SaidNothing, StatePlanned, "usage"}
	)
	check := func(name string, err error, w want) {
		t.Helper()
		if o := Observe(err); o.Ending != w.ending || o.State != w.state || o.Exit != w.exit {
			t.Errorf("%s: %+v, want %+v", name, o, w)
		}
		wrapped := error(nil)
		if err != nil {
			wrapped = fmt.Errorf("around it: %w", err)
		}
		if Observe(wrapped) != Observe(err) {
			t.Errorf("%s: it is another one when it is wrapped", name)
		}
	}
	check("no error", nil, taken)
	check("an error of another kind", errors.New("x"), unknown)
	check("given up", context.Canceled, unknown)
	check("too late", context.DeadlineExceeded, unknown)
	check("no request", &api.InvalidError{Field: "memo", Why: "x"}, usage)
	for status := range 600 {
		for outcome, w := range map[api.Outcome]want{api.Rejected: no, api.Unknown: unknown, api.NotSent: unsent, api.Failed: unknown} {
			switch {
			case outcome == api.Rejected && (status == 401 || status == 403):
				w = key
			case outcome == api.Rejected && status == 429:
				w = many
			}
			check(fmt.Sprint(outcome, " ", status), &api.Error{Outcome: outcome, Status: status}, w)
		}
	}
	check("stopped before it left", &api.Error{Outcome: api.NotSent, Err: context.Canceled}, stopped)
	check("stopped after it left", &api.Error{Outcome: api.Unknown, Err: context.Canceled}, unknown)
}

// TestObservationsAgreeWithTheJournal checks that the state of each row is the state of an order after its
// only attempt has ended in this way.
func TestObservationsAgreeWithTheJournal(t *testing.T) {
	d := newDesk(t)
	for i, o := range Observations() {
		w := asked(fmt.Sprint(100 + i))
		out := journal.Outcome{Ending: o.Ending}
		if o.Ending == order.WasAccepted {
			out.Withdrawal = fmt.Sprint("w", i)
		}
		d.bring(w, out)
		if got := d.wantState(w.request.ExternalOrderID, o.State); got.InDoubt() != (o.State == StateUnknown) {
			t.Errorf("%s: %+v", o.Seen, got)
		}
	}
}
