package payout

import (
	"context"
	"errors"
	"iter"

	"example.com/till/pkg/api"
)

// Try returns what Send would find in the journal, and found as Existing does. It sends nothing, does not call
// the service, and records nothing but that a process has died.
func (s *Sender) Try(
	ctx context.Context, r api.CreateWithdrawal, options ...SendOption,
) (sent Sent, found bool, err error) {
	defer toError(&err)
	w, sent, found, err := s.find(ctx, r, true, options)
	if !found && err == nil {
		err = s.try(ctx, w)
	}
	return sent, found, err
}

// try returns the error for a withdrawal that the journal does not let be sent.
func (s *Sender) try(ctx context.Context, w withdrawal) error {
	if s.key != "" {
		if _, err := s.keyKnown(ctx); err != nil {
			return err
		}
	}
	if err := s.ledger.Try(ctx, s.claim(w)); err != nil {
		_, err = s.notClaimed(w, err)
		return err
	}
	return nil
}

// Due yields the rows that would be sent now, using the journal alone. It yields an *Error if the journal keeps
// them from being sent, or if an order is unknown, which LookUp may settle. It sends and records nothing.
func (a *Applier) Due(ctx context.Context) iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		if err := a.unsettled(ctx); err != nil {
			yield(PlanRow{}, asError(err))
			return
		}
		for part, err := range a.rows(ctx, 0) {
			if err != nil {
				yield(PlanRow{}, asError(err))
				return
			}
			for _, r := range part {
				due, err := a.due(ctx, r)
				if due && !yield(r.PlanRow, asError(err)) || err != nil {
					return
				}
			}
		}
	}
}

// due reports whether a row would be sent now, or stops the run with an error.
func (a *Applier) due(ctx context.Context, r dueRow) (bool, error) {
	if !a.sendable(r.order) {
		return false, nil
	}
	err := a.sender.try(ctx, withdrawal{request: r.CreateWithdrawal, allowDuplicate: a.options.AllowDuplicate, demand: a.demand})
	if refused, ok := errors.AsType[*Error](err); ok && refused.Rule == RuleDuplicate && a.options.KeepGoing {
		if a.options.Note != nil {
			a.options.Note(refused.Error())
		}
		return false, nil
	}
	return true, err
}

// unsettled returns the error for an order that stops the run, or may stop it.
func (a *Applier) unsettled(ctx context.Context) error {
	t, err := a.Tally(ctx)
	if err != nil {
		return err
	}
	if t.Conflict != "" {
		o, err := a.sender.ledger.Order(ctx, t.Conflict)
		if err != nil {
			return err
		}
		return a.conflict(o)
	}
	if t.Unknown != "" && !a.options.KeepGoing {
		return unknownOutcome(t.Unknown, "payout apply looks it up, and sends nothing while it is unknown", nil)
	}
	return nil
}
