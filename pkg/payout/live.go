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
	for o, err := range s.ledger.Orders(ctx, f) {
		if err != nil {
			return nil, err
		}
		if o.ID != "" {
			sought[o.ID] = true
			from = s.since(from, o)
		}
	}
	if err := s.verifyKey(ctx); err != nil || len(sought) == 0 {
		return nil, err
	}
	err = s.readUntil(ctx, func(journal.AccountStatus) (*reading, error) {
		statuses = map[string]string{}
		return &reading{filter: api.WithdrawalFilter{From: from}, see: func(w listed) bool {
			if sought[w.ID] {
				statuses[w.ID] = w.Current
			}
			return true
		}}, nil
	}, completely)
	if err != nil {
		return nil, err
	}
	return statuses, nil
}

// glance reads the list until it has seen all withdrawals in sought, and returns the service's status of
// those that it saw. It is for polling: a single one may miss some.
func (s *Sender) glance(ctx context.Context, sought map[string]bool) (statuses map[string]string, err error) {
	defer toError(&err)
	statuses = make(map[string]string, len(sought))
	if len(sought) == 0 {
		return statuses, nil
	}
	r := &reading{see: func(w listed) bool {
		if sought[w.ID] {
			statuses[w.ID] = w.Current
		}
		return len(statuses) < len(sought)
	}}
	_, err = r.read(ctx, s)
	return statuses, err
}
