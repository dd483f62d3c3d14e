package payout

import (
	"context"

	"example.com/till/internal/journal"
)

// sightings maps the order ids of orders that were sent, and that the service had not shown before, to the id
// under which its list has shown each of them; empty: it has not.
type sightings map[string]string

// sightings returns the orders that were sent and that the service has not shown yet.
func (s *Sender) sightings(ctx context.Context) (sightings, error) {
	seen := sightings{}
	for o, err := range s.ledger.Orders(ctx, journal.Filter{Unshown: true}) {
		if err != nil {
			return nil, err
		}
		seen[o.OrderID] = ""
	}
	return seen, nil
}

// see notes a record of the list, if its order was not shown before.
func (s sightings) see(w listed) {
	for _, id := range bears(w.Withdrawal) {
		if seen, sought := s[id]; sought && seen == "" && w.ID != "" {
			s[id] = w.ID
		}
	}
}

// settled removes the orders that were sought: what was found of them is recorded as evidence.
func (s sightings) settled(sought func(orderID string) bool) {
	for id := range s {
		if sought(id) {
			delete(s, id)
		}
	}
}

// record records what the scans have shown, so that it is not lost when they settle nothing.
func (s sightings) record(ctx context.Context, l *journal.Ledger) error {
	for orderID, id := range s {
		if id == "" {
			continue
		}
		if err := l.Show(ctx, orderID, id); err != nil {
			return accountChanged(err)
		}
	}
	return nil
}
