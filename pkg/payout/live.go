package payout

import (
	"context"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// Live returns the service's status of the orders that a filter chooses, by withdrawal id, from one complete
// scan of the list. It leaves out orders that have no withdrawal, or that are not on the list. If no scan was
// complete, the error is an *Error.
func (s *Sender) Live(ctx context.Context, f Filter) (statuses map[string]string, err error) {
	defer toError(&err)
	sought, from := map[string]bool{}, s.options.Since
	for o, err := range s.ledger.Orders(ctx, f.journal()) {
		if err != nil {
			return nil, err
		}
		if o.Withdrawal != "" {
			sought[o.Withdrawal] = true
			from = s.since(from, o)
		}
	}
	if err := s.VerifyKey(ctx); err != nil || len(sought) == 0 {
		return nil, err
	}
	err = s.untilComplete(ctx, func(ctx context.Context, seen sightings) (incomplete string, enough bool, err error) {
		newest, err := s.witness(ctx, from, func(journal.Order) bool { return true })
		if err != nil {
			return "", false, err
		}
		statuses = map[string]string{}
		incomplete, err = s.scan(ctx, seen, api.WithdrawalFilter{From: from}, newest, func(w listed) bool {
			if sought[w.ID] {
				statuses[w.ID] = w.Current
			}
			return true
		})
		return incomplete, true, err
	})
	if err != nil {
		return nil, err
	}
	return statuses, nil
}

// since returns how far back the list must be read so that it includes an order: from or, if the order is
// older than SinceTime, the beginning.
func (s *Sender) since(from string, o journal.Order) string {
	if o.Created.Before(s.options.SinceTime) {
		return ""
	}
	return from
}

// Glance reads the list until it has seen all withdrawals in sought, and returns the service's status of
// those that it saw. It is for polling: a single Glance may miss some.
func (s *Sender) Glance(ctx context.Context, sought map[string]bool) (statuses map[string]string, err error) {
	defer toError(&err)
	statuses = make(map[string]string, len(sought))
	if len(sought) == 0 {
		return statuses, nil
	}
	err = s.glance(ctx, func(w listed) bool {
		if sought[w.ID] {
			statuses[w.ID] = w.Current
		}
		return len(statuses) < len(sought)
	})
	return statuses, err
}
