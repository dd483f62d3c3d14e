package payout

import (
	"context"
	"slices"

	"example.com/till/internal/journal"
)

// StandByUnit is Stand for each unit in which orders of the run are paid, in the order of first appearance: each of the
// tallies has one total. A run without rows has one tally, without a total.
func StandByUnit(ctx context.Context, j *journal.Journal, a journal.Account, r journal.Run) ([]Tally, error) {
	var units []Tally
	for o, err := range j.Orders(ctx, a, journal.Filter{Run: r.Name}) {
		if err != nil {
			return nil, err
		}
		amount := Amount(o.Content)
		i := slices.IndexFunc(units, func(t Tally) bool { return sameUnit(t.Totals[0].Amount, amount) })
		if i < 0 {
			i = len(units)
			units = append(units, newTally())
		}
		units[i].add(AsLeft(j, o), r.Name, o.State == journal.Planned)
	}
	if len(units) == 0 {
		units = append(units, newTally())
	}
	return units, nil
}
