package payout

import (
	"context"
	"errors"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// endingOf returns what is known of an attempt after its create has ended with err, which may be nil.
func endingOf(err error) order.Ending {
	var call *api.Error
	switch {
	case err == nil:
		return order.WasAccepted
	case neverLeft(err):
		return order.SaidNothing
	case !errors.As(err, &call) || call.Outcome != api.Rejected:
		return order.WasUncertain // any other error: assume the worst
	case keyOrRate(call.Status):
		return order.SaidNothing
	}
	return order.WasRejected
}

// neverLeft reports whether a create ended with an error before a byte of it was written.
func neverLeft(err error) bool {
	var call *api.Error
	return errors.As(err, new(*api.InvalidError)) || errors.As(err, &call) && call.Outcome == api.NotSent
}

// outcomeOf returns the outcome to record for a call.
func (s *Sender) outcomeOf(c call) journal.Outcome {
	err := c.err
	out := journal.Outcome{Ending: endingOf(err), Withdrawal: c.id, Status: 200, Skew: s.skew.Load()}
	if err == nil {
		return out
	}
	out.Withdrawal, out.Status, out.Reason = "", 0, err.Error()
	if call := (*api.Error)(nil); errors.As(err, &call) {
		out.Status, out.Code = int64(call.Status), call.Code
		if why := call.Why(); why != "" {
			out.Reason = why
		}
	}
	if neverLeft(err) && errors.Is(err, context.Canceled) {
		out.Reason = "not sent: it was stopped before it left"
	}
	return out
}

// A call is the result of a call that has ended.
type call struct {
	id   string // the id in the service's answer
	err  error
	left bool // counted in underWay until its outcome is recorded
}
