package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Finish records how the attempt of a ticket ended, and returns the order as it then stands, which need not be what the
// outcome says: after a rejection, an order of which an earlier attempt is in doubt is unknown, and so is one that was
// accepted under an id that another order has. When it returns without an error, the record is on the disk.
//
// An outcome that comes after the order was given up for unknown, because this process was taken for dead, is recorded too.
func (j *Journal) Finish(ctx context.Context, ticket Ticket, out Outcome) (Order, error) {
	p, err := ticket.ends(out)
	if err != nil {
		return Order{}, err
	}
	j.do(ctx, p)
	return p.finish.now, p.err
}

// ends is the end of a ticket's attempt.
func (ticket Ticket) ends(out Outcome) (*pending, error) {
	switch {
	case !ticket.order.Attempts():
		return nil, errors.New("an outcome needs the ticket of an attempt")
	case out.State != Accepted && out.State != Rejected && out.State != Unknown && out.State != Planned:
		return nil, fmt.Errorf("an attempt cannot end as %q (order %s)", out.State, ticket.OrderID)
	case out.State == Accepted && out.Withdrawal == "":
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

// alone records an outcome after having read its order.
func (f *finishing) alone(t *tx) error {
	account, out := f.ticket.order.account, f.out
	if err := t.lockAccount(account); err != nil { // which may have another name by now
		return err
	}
	old, err := t.orderRow(f.ticket.order.id)
	if err != nil {
		return err
	}
	if out.State == Accepted {
		other, err := t.holder(account, out.Withdrawal, old.id)
		if err != nil {
			return err
		}
		if other != "" {
			out = Outcome{Unknown, "", out.Status, 0, fmt.Sprintf("the service answered with the id %s, which order %s has", out.Withdrawal, other)}
		}
	}
	next, late := settled(old, f.ticket, out)
	f.now, err = t.move(old, next, out.event(late))
	return err
}

func (out Outcome) event(late bool) Event {
	e := Event{What: eventAnswered, Withdrawal: out.Withdrawal, Status: out.Status, Code: out.Code, Reason: out.Reason}
	if late {
		e.What = eventLate
	}
	return e
}

// finishTogether records those of some outcomes whose orders still are as their claims have left them, unless another order has
// the withdrawal's id. That is so nearly always; the rest are left to alone.
func (t *tx) finishTogether(all []*pending) error {
	account := all[0].finish.ticket.order.account // of a process, nearly always of all
	if err := t.lockAccount(account); err != nil {
		return err
	}
	times := map[string]int{} // which only a service could say that is wrong
	for _, p := range all {
		times[p.finish.out.Withdrawal]++
	}
	var some []*pending
	var changes []*change
	for _, p := range all {
		old, out := p.finish.ticket.order, p.finish.out
		if old.account != account || old.Withdrawal != "" || out.Withdrawal != "" && times[out.Withdrawal] > 1 {
			continue
		}
		next, late := settled(old, p.finish.ticket, out)
		some = append(some, p)
		changes = append(changes, &change{old: old, next: next, event: out.event(late)})
	}
	if err := t.moveAll(changes, noHolder); err != nil {
		return err
	}
	for i, p := range some {
		p.made, p.finish.now = changes[i].made, changes[i].next
	}
	return nil
}

// noHolder is that no order of the account has the withdrawal's id.
const noHolder = `NOT EXISTS (SELECT 1 FROM orders holder WHERE holder.account = orders.account AND holder.withdrawal <> '' AND holder.withdrawal = {withdrawal})`

// keepable is a text of the service's as every database takes it: PostgreSQL refuses a zero byte and what is not UTF-8, and
// with it the whole record.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// settled is where an outcome of one attempt takes an order, and whether it came after that attempt was given up.
func settled(old Order, ticket Ticket, out Outcome) (next Order, late bool) {
	next = old
	attempt := ticket.order.attempt
	own := old.attempt == attempt && old.sender != 0 && (old.State == Sending || old.State == Unknown)
	late = !own || old.State != Sending
	if !own { // a person has decided meanwhile, or another attempt is under way or over, or this one has ended before
		switch {
		case out.State != Accepted:
		case old.State == Accepted && old.Withdrawal == out.Withdrawal:
			next.Decided = nil // now the service has said it too
		case (old.State == Planned || old.State == Rejected || old.State == Unknown && old.lastDoubt == attempt) && old.Content == ticket.order.Content:
			next.State, next.Withdrawal, next.Decided, next.Code = Accepted, out.Withdrawal, nil, 0
			next.Reason = "accepted late"
		default:
			next.State, next.Reason = Conflict, fmt.Sprintf("an attempt was accepted late, as %s", out.Withdrawal)
			if old.State == Unknown {
				next.Reason += ", and nobody knows what became of a later one"
			}
			if old.State == Conflict && old.Reason != "" {
				next.Reason = old.Reason + "; " + next.Reason
			}
			if next.Withdrawal == "" {
				next.Withdrawal = out.Withdrawal
			}
		}
		return next, late
	}
	next.sender = 0
	next.State, next.Code, next.Reason = out.State, out.Code, out.Reason
	if out.State != Planned { // where nothing was learnt, a person's decision stands
		next.Decided = nil
	}
	elsewhere := old.doubt != 0 && old.doubt != attempt // an earlier attempt may have been taken
	switch out.State {
	case Accepted:
		next.Withdrawal = out.Withdrawal
	case Unknown:
		next.lastDoubt = attempt
		if old.doubt == 0 {
			next.doubt = attempt
		}
	case Rejected:
		if elsewhere {
			next.State = Unknown
			next.Reason = "this attempt was rejected, and an earlier one is in doubt: " + out.Reason
		} else {
			next.doubt, next.lastDoubt = 0, 0
		}
	case Planned:
		if !elsewhere {
			next.doubt, next.lastDoubt = 0, 0
		}
	}
	return next, late
}

// holder returns which other order of the account has a withdrawal's id.
func (t *tx) holder(account int64, withdrawal string, but int64) (orderID string, err error) {
	others, err := t.orders(`account = ?1 AND withdrawal <> '' AND withdrawal = ?2 AND id <> ?3 ORDER BY id`, account, withdrawal, but)
	if err != nil || len(others) == 0 {
		return "", err
	}
	return others[0].OrderID, nil
}

var errNoID = errors.New("a withdrawal without an id cannot be recorded")
