package payout

import (
	"context"
	"maps"

	"example.com/till/internal/journal"
)

// sightings maps the order ids of orders that were sent, and that the service had not shown before, to the id
// under which its list has shown each of them; empty: it has not.
type sightings map[string]string

// look adds the orders that were sent and that the service has not shown yet.
func (s sightings) look(ctx context.Context, l *journal.Ledger) error {
	for o, err := range l.Orders(ctx, journal.Filter{Unshown: true}) {
		if err != nil {
			return err
		}
		if _, known := s[o.OrderID]; !known {
			s[o.OrderID] = ""
		}
	}
	return nil
}

// see notes a record of the list, if its order was not shown before.
func (s sightings) see(w listed) {
	for _, id := range bears(w.Withdrawal) {
		if seen, sought := s[id]; sought && seen == "" && w.ID != "" {
			s[id] = w.ID
		}
	}
}

// record records what the scans have shown. So it is not lost if they settle nothing, or if their caller ends
// before it has settled everything.
func (s sightings) record(ctx context.Context, l *journal.Ledger) error {
	shown := maps.Clone(s)
	maps.DeleteFunc(shown, func(_, id string) bool { return id == "" })
	return accountChanged(l.Show(ctx, shown))
}
