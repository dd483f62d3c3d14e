package payout

import (
	"context"
	"errors"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// An Observation is what till can see of a create that has ended, and what follows from it.
type Observation struct {
	Seen   string // on the wire
	Ending Ending // of the attempt
	State  State  // of the order, if no other attempt of it is in doubt
	Exit   string // kind of the exit code of a command that sends one withdrawal
}

// Observations returns the table of everything that till can see of a create. Observe chooses the row.
func Observations() []Observation {
	return []Observation{
		sawAccepted: {"a 200 with one id", order.WasAccepted, StateAccepted, ""},
		sawRejected: {"a refusal with a well-formed envelope", order.WasRejected, StateRejected, "rejected"},
		sawUnauthorized: {"401 or 403 with a well-formed envelope", order.SaidNothing, StatePlanned,
			"unauthorized"},
		sawRateLimited: {"429 with a well-formed envelope", order.SaidNothing, StatePlanned, "rate_limited"},
		sawNeverLeft: {"a failure before the first byte was written", order.SaidNothing, StatePlanned,
			"unreachable"},
		sawStopped: {"an interruption before the first byte was written", order.SaidNothing, StatePlanned,
			"interrupted"},
		sawNoRequest: {"a withdrawal that cannot be asked for", order.SaidNothing, StatePlanned, "usage"},
		sawUncertain: {"anything else", order.WasUncertain, StateUnknown, "unknown"},
	}
}

// The rows of Observations.
const (
	sawAccepted = iota
	sawRejected
	sawUnauthorized
	sawRateLimited
	sawNeverLeft
	sawStopped
	sawNoRequest
	sawUncertain
)

// Observe returns the row for a create that ended with err, which may be nil.
func Observe(err error) Observation { return Observations()[observed(err)] }

func observed(err error) int {
	var call *api.Error
	switch {
	case err == nil:
		return sawAccepted
	case errors.As(err, new(*api.InvalidError)):
		return sawNoRequest
	case !errors.As(err, &call):
		return sawUncertain // any other error: assume the worst
	case call.Outcome == api.NotSent && errors.Is(err, context.Canceled):
		return sawStopped
	case call.Outcome == api.NotSent:
		return sawNeverLeft
	case call.Outcome != api.Rejected:
		return sawUncertain
	case call.Status == 401 || call.Status == 403:
		return sawUnauthorized
	case call.Status == 429:
		return sawRateLimited
	}
	return sawRejected
}

// neverLeft reports whether a create ended with an error before a byte of it was written.
func neverLeft(err error) bool {
	seen := observed(err)
	return seen == sawNeverLeft || seen == sawStopped || seen == sawNoRequest
}

// outcomeOf returns the outcome to record for a call.
func (s *Sender) outcomeOf(c call) journal.Outcome {
	out := outcomeOf(c.id, c.err)
	out.Skew = s.skew.Load()
	return out
}

func outcomeOf(id string, err error) journal.Outcome {
	out := journal.Outcome{Ending: Observe(err).Ending, Withdrawal: id, Status: 200}
	if err == nil {
		return out
	}
	out = journal.Outcome{Ending: out.Ending, Reason: err.Error()}
	if call := (*api.Error)(nil); errors.As(err, &call) {
		out.Status, out.Code = int64(call.Status), call.Code
		if why := call.Why(); why != "" {
			out.Reason = why
		}
	}
	if observed(err) == sawStopped {
		out.Reason = "not sent: it was stopped before it left"
	}
	return out
}
