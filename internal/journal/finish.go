package journal

import (
	"context"
	"errors"
)

// Finish records how the attempt of a ticket ended, and returns the order as it is then, which need not be what the outcome
// says: after a rejection, an order of which an earlier attempt is in doubt is unknown, and so is one that was accepted under
// an id that another order has. When it returns without an error, the record is on the disk.
//
// An outcome that comes after the order was given up for unknown, because this process was taken for dead, is recorded too,
// and so is one of an account that has another name by now.
func (l *Ledger) Finish(ctx context.Context, ticket Ticket, out Outcome) (Order, error) {
	p, err := l.ends(ticket, out)
	if err != nil {
		return Order{}, err
	}
	l.j.do(ctx, p)
	return p.finish.now, p.err
}

// ends is the end of a ticket's attempt.
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

// finishing is a Finish under way.
type finishing struct {
	ticket Ticket
	out    Outcome
	now    Order
}

func (f *finishing) event(t *tx, holder string) ended {
	return ended{attempt: f.ticket.order.last().Number, content: f.ticket.order.Content, Outcome: f.out, holder: holder, at: t.at}
}

// alone records an outcome after having read its order.
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

// untie takes note of a call that never left.
func (f *finishing) untie(t *tx) error {
	if f.out.Ending != SaidNothing || f.out.Status != 0 {
		return nil
	}
	return t.untieKey(f.ticket.order.account, f.ticket.order.Key)
}

// finishMany records those of some outcomes whose orders still are as their claims have left them, unless another order
// has the withdrawal's id. That is so nearly always; the rest are left to alone.
func (t *tx) finishMany(all []*pending) error {
	account := all[0].finish.ticket.order.account // of a process, nearly always of all
	if _, err := t.lockNumber(account); err != nil {
		return err
	}
	times := map[string]int{} // which only a service could say that is wrong
	for _, p := range all {
		times[p.finish.out.Withdrawal]++
	}
	var some []*pending
	var changes []*change
	for _, p := range all {
		f := p.finish
		if f.ticket.order.account != account || f.ticket.order.Withdrawal != "" || f.out.Withdrawal != "" && times[f.out.Withdrawal] > 1 {
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

// noHolder is that no order of the account has the withdrawal's id.
const noHolder = `NOT EXISTS (SELECT 1 FROM orders holder WHERE holder.account = orders.account AND holder.withdrawal <> '' AND substr(holder.withdrawal, 1, 200) = substr({withdrawal}, 1, 200)
	AND holder.withdrawal = {withdrawal})`
