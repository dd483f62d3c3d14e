package payout

import (
	"context"
	"fmt"
	"strings"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Difference is a withdrawal on which the journal and the service's list disagree.
type Difference struct {
	What   string          // OnlyThere, OnlyHere or Different
	Order  *Order          // nil: the journal does not have it
	Record *api.Withdrawal // nil: it is not on the list
	Why    string
}

// Missing reports whether the service has accepted a withdrawal that is not accepted in the journal.
func (d Difference) Missing() bool {
	return d.Record != nil && (d.Order == nil || d.Order.State != journal.Accepted && d.Order.State != journal.Conflict)
}

// The kinds of a Difference.
const (
	OnlyThere = "only there" // missing in the journal
	OnlyHere  = "only here"  // missing at the service
	Different = "different"
)

// Compare compares the journal with the service's list. filter restricts the list to a period, and f
// restricts the journal to the same period. An order of the journal is compared if the service has accepted
// it. If the list cannot be read completely, the error is ErrReadFailed. Compare settles no order. But as in every
// scan, an order that counted as not taken becomes unknown if the list has it.
func (s *Sender) Compare(ctx context.Context, filter api.WithdrawalFilter, f Filter) (found []Difference, err error) {
	defer toError(&err)
	if err := s.VerifyKey(ctx); err != nil {
		return nil, err
	}
	index, err := s.checkIndex(ctx)
	if err != nil {
		return nil, err
	}
	var all []Difference
	var ids map[uint64]struct{} // hashes of the ids on the list
	var broken error
	err = s.untilComplete(ctx, func(ctx context.Context, seen sightings) (incomplete string, enough bool, err error) {
		all, ids = nil, map[uint64]struct{}{}
		incomplete, err = s.scan(ctx, seen, filter, nil, func(w listed) bool {
			if w.err != nil {
				broken = &Error{Kind: ReadFailed,
					Msg:  "the service's list has a record that cannot be read: " + w.String(),
					Hint: NewHint("ask the service's provider about this record")}
				return false
			}
			id := hashText(w.ID)
			if _, again := ids[id]; again { // rows move while the list is read
				return true
			}
			ids[id] = struct{}{}
			if index.agrees(w.Withdrawal) {
				return true
			}
			d, found, err := s.compare(ctx, w.Withdrawal, index)
			if found {
				all = append(all, d)
			}
			broken = err
			return err == nil
		})
		return incomplete, true, err
	})
	if err != nil {
		return nil, err
	}
	if broken != nil {
		return nil, broken
	}
	listed := func(id string) bool {
		_, found := ids[hashText(id)]
		return found
	}
	for i, d := range all {
		if own := d.Order; own != nil && (own.State == journal.Rejected || own.State == journal.Planned) {
			o, err := s.ledger.Order(ctx, own.OrderID) // as the scan has left it
			if err != nil {
				return nil, err
			}
			all[i] = notAccepted(o, d.Record)
		}
		if own := d.Order; own != nil && own.ID != d.Record.ID && listed(own.ID) {
			all[i].Why = fmt.Sprintf("order id %s is there twice: as %s, and as %s, which the journal has", own.OrderID,
				d.Record.ID, own.ID)
		}
	}
	for o, err := range s.ledger.Orders(ctx, f.journal()) {
		if err != nil {
			return nil, err
		}
		if index.takes(o.Withdrawal) && !listed(o.Withdrawal) {
			own := orderOf(o)
			all = append(all,
				Difference{What: OnlyHere, Order: &own,
					Why: "the service's list does not have withdrawal " + o.Withdrawal})
		}
	}
	return all, nil
}

// conflictNow says that an order in conflict now agrees with the list.
func conflictNow(o journal.Order) string {
	return fmt.Sprintf("it was in conflict because %s; the list agrees with the order now, which a person settles with till withdraw resolve %s --paid-as %s", o.Reason, o.OrderID, o.Withdrawal)
}

// compare compares a record of the list with the journal, and reports whether there is a difference.
func (s *Sender) compare(ctx context.Context, w api.Withdrawal, index *checkIndex) (Difference, bool, error) {
	o, found, err := index.order(ctx, s.ledger, w.ID)
	if err != nil {
		return Difference{}, false, err
	}
	if found {
		r := recordOf(w)
		why := s.differs(o.Content, r)
		named := len(r.orderIDs) == 0 && o.Decided != nil // a person has said which withdrawal it is
		if why == "" && !r.bearsOnly(o.OrderID) && !named {
			why = fmt.Sprintf("its order id is %q, and %s was sent", strings.Join(r.orderIDs, ""), o.OrderID)
		}
		if why == "" && o.State == journal.Conflict {
			why = conflictNow(o)
		}
		own := orderOf(o)
		return Difference{Different, &own, &w, why}, why != "", nil
	}
	for _, id := range bears(w) {
		o, found, err := index.orderWith(ctx, s.ledger, id)
		if err != nil {
			return Difference{}, false, err
		}
		if found {
			return notAccepted(o, &w), true, nil
		}
	}
	return Difference{OnlyThere, nil, &w, "the journal does not have it"}, true, nil
}

func notAccepted(o journal.Order, w *api.Withdrawal) Difference {
	own := orderOf(o)
	return Difference{Different, &own, w,
		fmt.Sprintf("order %s is %s in the journal, and the service has it as %s", o.OrderID, stateText(o.State), w.ID)}
}
