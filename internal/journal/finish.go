package journal

import (
	"context"
	"errors"

	"example.com/till/pkg/payout/order"
)

// Finish records how the attempt of a ticket ended, and returns the order after that. When it returns without
// an error, the record is on the disk. The state of the order can differ from the outcome. After a rejection,
// the order is unknown if an earlier attempt is in doubt. After an acceptance, it is unknown if the
// withdrawal's id belongs to another order.
//
// Finish also records an outcome that comes late, when the order is already unknown because this process was
// taken for dead. It also does so if the account was renamed meanwhile.
func (l *Ledger) Finish(ctx context.Context, ticket Ticket, out Outcome) (Record, error) {
	if err := ticket.allows(out); err != nil {
		return Record{}, err
	}
	p, order := returning(func(t *tx) (Record, error) { return t.finish(ticket, out) })
	l.j.do(ctx, p)
	return order()
}

// allows returns an error if the attempt of a ticket cannot end in this way.
func (ticket Ticket) allows(out Outcome) error {
	switch {
	case !ticket.order.Attempted():
		return errors.New("an outcome needs the ticket of an attempt")
	case out.Ending == order.UnderWay:
		return errors.New("an attempt that is under way has not ended")
	case out.Ending == order.WasAccepted && out.Withdrawal == "":
		return errNoID
	}
	return nil
}

func (t *tx) finish(ticket Ticket, out Outcome) (Record, error) {
	old := ticket.order
	t.lockNumber(old.account)
	out.Reason = keepable(out.Reason)
	e := ended{attempt: old.Last().Number, content: old.Content, Outcome: out, holder: t.holder(old.account, out.Withdrawal, old.row), at: t.at}
	now, err := t.happen(old, e)
	if errors.Is(err, errStale) {
		found := load(t, `id = ?1`, old.row)
		if len(found) == 0 {
			return Record{}, errors.New("the record of the order is gone")
		}
		now, err = t.happen(found[0], e)
	}
	if err == nil && out.Ending == order.SaidNothing && out.Status == 0 { // the call never left
		t.untieKey(old.account, old.Key)
	}
	return now, err
}
