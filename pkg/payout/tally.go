package payout

import (
	"context"
	"slices"

	"example.com/till/internal/journal"
)

// Stand counts the orders of a run by state, from the journal alone.
func Stand(ctx context.Context, l *journal.Ledger, r journal.Run) (Tally, error) {
	sums, err := l.Sums(ctx, r.Name)
	t := newTally()
	for _, s := range sums {
		t.left(s)
	}
	return t, err
}

// StandByUnit is Stand for each unit in which orders of the run are paid, in the order of first appearance: each of the
// tallies has one total. A run without rows has one tally, without a total.
func StandByUnit(ctx context.Context, l *journal.Ledger, r journal.Run) ([]Tally, error) {
	sums, err := l.Sums(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	var units []Tally
	for _, s := range sums {
		i := slices.IndexFunc(units, func(t Tally) bool { return sameUnit(t.Totals[0].Amount, amountOf(s)) })
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

// left adds orders as this process leaves them.
func (t *Tally) left(s journal.Sum) {
	if s.Claimed { // see AsLeft
		s.State = journal.Unknown
	}
	t.add(s, s.State == journal.Planned)
}

// AsLeft is an order as this process leaves it, now that it sends nothing any more. What it has claimed and could not record the
// end of, since the journal did not answer, is unknown to the next process.
func AsLeft(j *journal.Journal, o journal.Order) journal.Order {
	if j.Claims(o) {
		o.State = journal.Unknown
	}
	return o
}
