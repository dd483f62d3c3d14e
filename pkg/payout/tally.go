package payout

import (
	"context"
	"slices"

	"example.com/till/internal/journal"
)

// Tally counts the orders of a run by state, using the journal alone.
func (l *Ledger) Tally(ctx context.Context, run string) (Tally, error) {
	sums, err := l.ledger.Sums(ctx, run)
	t := newTally()
	for _, s := range sums {
		t.left(s)
	}
	return t, asError(err)
}

// TallyByUnit is Tally for each unit in the run, in the order of first appearance. Each tally has one total.
// A run without rows has one tally without a total.
func (l *Ledger) TallyByUnit(ctx context.Context, run string) ([]Tally, error) {
	sums, err := l.ledger.Sums(ctx, run)
	if err != nil {
		return nil, asError(err)
	}
	var units []Tally
	for _, s := range sums {
		i := slices.IndexFunc(units, func(t Tally) bool { return t.Totals[0].Amount.SameUnit(sumOf(s)) })
		if i < 0 {
			i = len(units)
			units = append(units, newTally())
		}
		units[i].left(s)
	}
	if len(units) == 0 {
		units = append(units, newTally())
	}
	return units, nil
}

// left adds the orders of a Sum to the tally.
func (t *Tally) left(s journal.Sum) {
	if s.Claimed { // their outcome could not be recorded: the next process makes them unknown
		s.State = journal.Unknown
	}
	t.add(s, s.State == journal.Planned)
}
