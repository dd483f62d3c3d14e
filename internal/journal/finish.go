package journal

import (
	"context"
	"errors"
)

// Finish records how the attempt of a ticket ended, and returns the order after that. When it returns without
// an error, the record is on the disk. The state of the order can differ from the outcome. After a rejection,
// the order is unknown if an earlier attempt is in doubt. After an acceptance, it is unknown if the
// withdrawal's id belongs to another order.
//
// Finish also records an outcome that comes late, when the order is already unknown because this process was
// taken for dead. It also does so if the account was renamed meanwhile.
func (l *Ledger) Finish(ctx context.Context, ticket Ticket, out Outcome) (Order, error) {
	p, err := l.ends(ticket, out)
	if err != nil {
		return Order{}, err
	}
	l.j.do(ctx, p)
	return p.finish.now, p.err
}

// ends returns the pending write for the end of a ticket's attempt.
func (l *Ledger) ends(ticket Ticket, out Outcome) (*pending, error) {
	switch {
	case !ticket.order.Attempted():
		return nil, errors.New("an outcome needs the ticket of an attempt")
	case out.Ending == UnderWay:
		return nil, errors.New("an attempt that is under way has not ended")
	case out.Ending == WasAccepted && out.Withdrawal == "":
		return nil, errNoID
	}
	out.Reason = keepable(out.Reason)
	w := &finishing{ticket: ticket, out: out}
	return &pending{work: w.alone, finish: w}, nil
}

// finishing is a Finish in progress.
type finishing struct {
	ticket Ticket
	out    Outcome
	now    Order
}

func (f *finishing) event(t *tx, holder string) ended {
	return ended{attempt: f.ticket.order.last().Number, content: f.ticket.order.Content, Outcome: f.out,
		holder: holder, at: t.at}
}

// alone reads the order of an outcome and then records it.
func (f *finishing) alone(t *tx) error {
	account := f.ticket.order.account
	if _, err := t.lockNumber(account); err != nil {
		return err
	}
	old, err := t.byNumber(f.ticket.order.id)
	if err != nil {
		return err
	}
	holder, err := t.holder(account, f.out.Withdrawal, old.id)
	if err != nil {
		return err
	}
	if f.now, err = t.happen(old, f.event(t, holder)); err != nil {
		return err
	}
	return f.untie(t)
}

// untie unties the key if the call never left.
func (f *finishing) untie(t *tx) error {
	if f.out.Ending != SaidNothing || f.out.Status != 0 {
		return nil
	}
	return t.untieKey(f.ticket.order.account, f.ticket.order.Key)
}

// finishMany records the outcomes of orders that have not changed since they were claimed, unless another
// order has the withdrawal's id. These are nearly always all outcomes. alone records the rest.
func (t *tx) finishMany(all []*pending) error {
	account := all[0].finish.ticket.order.account // nearly always the only one of a process
	if _, err := t.lockNumber(account); err != nil {
		return err
	}
	times := map[string]int{} // an id that occurs twice is a fault of the service, and is left to alone
	for _, p := range all {
		times[p.finish.out.Withdrawal]++
	}
	var some []*pending
	var changes []*change
	for _, p := range all {
		f := p.finish
		if f.ticket.order.account != account || f.ticket.order.Withdrawal != "" ||
			f.out.Withdrawal != "" && times[f.out.Withdrawal] > 1 {
			continue
		}
		c, err := changed(f.ticket.order, f.event(t, ""))
		if c == nil || err != nil {
			continue
		}
		some, changes = append(some, p), append(changes, c)
	}
	if err := t.move(changes, noHolder); err != nil {
		return err
	}
	for i, p := range some {
		p.made, p.finish.now = changes[i].made, changes[i].next
		if !p.made {
			continue
		}
		if err := p.finish.untie(t); err != nil {
			return err
		}
	}
	return nil
}

// noHolder is the condition that no order of the account has the withdrawal's id.
const noHolder = `NOT EXISTS (SELECT 1 FROM orders holder WHERE holder.account = orders.account AND holder.withdrawal <> '' AND substr(holder.withdrawal, 1, 200) = substr({withdrawal}, 1, 200)
	AND holder.withdrawal = {withdrawal})`
