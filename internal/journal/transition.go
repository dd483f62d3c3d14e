package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// steps are all the ways that there are from one state to another. The empty state is that of an order which is not there.
// move looks here, so a step that is not in this table cannot be made. What happens to an order may also leave it where it is.
func steps(from State) []State {
	switch from {
	case "":
		return []State{Planned, Sending, Accepted, Conflict}
	case Planned, Rejected:
		return []State{Sending, Accepted, Conflict}
	case Sending:
		return []State{Accepted, Rejected, Planned, Unknown, Conflict}
	case Unknown:
		return []State{Accepted, Rejected, Planned, Conflict}
	case Accepted:
		return []State{Conflict, Planned} // planned only where it was a person who said accepted
	case Conflict:
		return []State{Accepted, Planned}
	}
	return nil
}

// move takes an order from where it stands to where next says, together with the event that tells of it, if it still stands
// there, and returns it. It is the only place that changes an order.
func (t *tx) move(old, next Order, e Event) (Order, error) {
	if !slices.Contains(steps(old.State), next.State) && old.State != next.State {
		return old, fmt.Errorf("there is no step from %q to %q (order %s)", old.State, next.State, old.OrderID)
	}
	e.State = next.State
	event, err := t.addEvent(old.id, next, e)
	if err != nil {
		return old, err
	}
	if next.State == Sending {
		next.attempt = event
	}
	next.Changed = unstamp(t.now)
	now, was := next.changing(), old.changing()
	set, args := "changed = ?4", []any{old.id, string(old.State), old.attempt, t.now}
	for i, c := range now { // an index is written anew for every column that is named
		if c.value != was[i].value {
			args = append(args, c.value)
			set += fmt.Sprintf(", %s = ?%d", c.name, len(args))
		}
	}
	n, err := t.exec(`UPDATE orders SET `+set+` WHERE id = ?1 AND state = ?2 AND attempt = ?3`, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("order %s was changed by another process meanwhile", old.OrderID)
	}
	return next, err
}

type column struct {
	name  string
	value any
}

// changing are the columns of an order that a step can change.
func (o Order) changing() []column {
	d := Decided{}
	if o.Decided != nil {
		d = *o.Decided
	}
	return []column{
		{"state", string(o.State)}, {"run", o.Run}, {"currency", o.Currency}, {"unit", o.Unit}, {"minor", o.Minor}, {"address", o.Address}, {"memo", o.Memo},
		{"callback", o.Callback}, {"note", o.Note}, {"withdrawal", o.Withdrawal}, {"attempt", o.attempt}, {"sender", o.sender}, {"doubt", o.doubt}, {"last_doubt", o.lastDoubt},
		{"sent", stamp(o.Sent)}, {"code", o.Code}, {"reason", o.Reason}, {"user_name", o.User}, {"host", o.Host}, {"fingerprint", o.Key},
		{"decided", d.As}, {"decided_at", stamp(d.At)}, {"decided_user", d.User}, {"decided_host", d.Host}, {"decided_why", d.Reason},
	}
}

// A Claim asks for the right to send a withdrawal.
type Claim struct {
	OrderID string
	Content
	Callback string
	Note     string // kept, and never sent
	Key      string // fingerprint
	// AllowDuplicate lets the same content be sent under several order ids while one of them is unknown.
	AllowDuplicate bool
	// Window is how long an accepted withdrawal, or one under way, stands in the way of another with the same content. It is
	// for orders whose id nobody has chosen; 0 is for the others.
	Window time.Duration
	// NotRejected keeps an order that was rejected from being sent again.
	NotRejected bool
	// SameContent keeps an order that the journal has from being sent with another content.
	SameContent bool
	Run         string // the run that sends it; empty: none does
}

// A Ticket is the right to send one withdrawal once.
type Ticket struct {
	OrderID string
	Began   time.Time // when it was recorded
	account int64
	order   int64
	attempt int64
	content Content
}

// Claim records that a withdrawal is being sent, and returns the right to do so. When it returns a ticket, the record is on
// the disk. A *StandsError or a *DuplicateError says why there is none.
func (j *Journal) Claim(ctx context.Context, a Account, c Claim) (Ticket, error) {
	ticket := Ticket{OrderID: c.OrderID, content: c.Content}
	err := j.write(ctx, func(t *tx) error {
		account, err := t.account(a)
		if err != nil {
			return err
		}
		old, err := t.order(account, c.OrderID)
		if err != nil {
			return err
		}
		if err := t.reap(&old); err != nil {
			return err
		}
		free := old.State == "" || old.State == Planned || old.State == Rejected && !c.NotRejected
		if other := old.State != "" && old.Content != c.Content; !free || c.SameContent && other {
			return &StandsError{old, old.Content == c.Content, old.State == Sending} // reap has left it alone
		}
		if old.InDoubt() && old.Content != c.Content {
			return &StandsError{Order: old}
		}
		if err := t.duplicates(account, c); err != nil {
			return err
		}
		if err := t.holdLock(); err != nil {
			return err
		}
		if old.State == "" {
			if old, err = t.insert(account, Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback}); err != nil {
				return err
			}
		}
		next := old
		next.State, next.Content, next.Callback, next.Note, next.Key, next.Run = Sending, c.Content, c.Callback, c.Note, c.Key, c.Run
		next.User, next.Host, next.Sent, next.sender = t.j.options.User, t.j.options.Host, unstamp(t.now), t.j.sender
		next.Code, next.Reason = 0, ""
		now, err := t.move(old, next, Event{What: eventSending, Key: c.Key})
		ticket.account, ticket.order, ticket.attempt, ticket.Began = account, now.id, now.attempt, t.j.options.Now()
		return err
	})
	if err != nil {
		return Ticket{}, err
	}
	return ticket, nil
}

// duplicates looks for another order with the same content that stands in the way.
func (t *tx) duplicates(account int64, c Claim) error {
	if c.AllowDuplicate {
		return nil
	}
	others, err := t.orders(`account = ?1 AND address = ?2 AND minor = ?3 AND currency = ?4 AND unit = ?5 AND memo = ?6 AND order_id <> ?7 AND state IN ('unknown', 'sending', 'accepted') ORDER BY id`,
		account, c.Address, c.Minor, c.Currency, c.Unit, c.Memo, c.OrderID)
	if err != nil {
		return err
	}
	since := t.j.options.Now().Add(-c.Window)
	for _, o := range others {
		if err := t.reap(&o); err != nil {
			return err
		}
		when := o.Sent
		if when.IsZero() {
			when = o.Changed
		}
		switch {
		case o.State == Unknown:
			return &DuplicateError{Order: o}
		case c.Window == 0:
		case o.State == Sending:
			return &DuplicateError{Order: o, Alive: true}
		case o.State == Accepted && when.After(since):
			return &DuplicateError{Order: o}
		}
	}
	return nil
}

// reap moves an order whose sender has died while it was sending to unknown.
func (t *tx) reap(o *Order) error {
	if o.State != Sending {
		return nil
	}
	alive, err := t.j.alive(t.ctx, t, o.sender)
	if err != nil || alive {
		return err
	}
	next := *o
	next.State, next.Reason = Unknown, "the process that was sending it died"
	next.lastDoubt = next.attempt
	if next.doubt == 0 {
		next.doubt = next.attempt
	}
	*o, err = t.move(*o, next, Event{What: eventDied, Reason: next.Reason})
	return err
}

// Reap moves every order of the account whose sender has died while it was sending to unknown, and returns how many.
func (j *Journal) Reap(ctx context.Context, a Account) (n int, err error) {
	waiting := 0
	if err := (reading{j, ctx}).row(`SELECT count(*) FROM orders WHERE account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2) AND state = 'sending'`,
		a.Address, a.Name).Scan(&waiting); err != nil || waiting == 0 {
		return 0, j.failed(err)
	}
	err = j.write(ctx, func(t *tx) error {
		n = 0
		account, err := t.knownAccount(a)
		if err != nil || account == 0 {
			return err
		}
		sending, err := t.orders(`account = ?1 AND state = 'sending' ORDER BY id`, account)
		if err != nil {
			return err
		}
		for _, o := range sending {
			if err := t.reap(&o); err != nil {
				return err
			}
			if o.State == Unknown {
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Finish records how the attempt of a ticket ended, and returns the order as it then stands, which need not be what the
// outcome says: after a rejection, an order of which an earlier attempt is in doubt is unknown, and so is one that was
// accepted under an id that another order has. When it returns without an error, the record is on the disk.
//
// An outcome that comes after the order was given up for unknown, because this process was taken for dead, is recorded too.
func (j *Journal) Finish(ctx context.Context, ticket Ticket, out Outcome) (o Order, err error) {
	switch {
	case ticket.attempt == 0:
		return Order{}, errors.New("an outcome needs the ticket of an attempt")
	case out.State != Accepted && out.State != Rejected && out.State != Unknown && out.State != Planned:
		return Order{}, fmt.Errorf("an attempt cannot end as %q (order %s)", out.State, ticket.OrderID)
	case out.State == Accepted && out.Withdrawal == "":
		return Order{}, errNoID
	}
	out.Reason = keepable(out.Reason)
	err = j.write(ctx, func(t *tx) error {
		out := out
		if err := t.lockAccount(ticket.account); err != nil { // which may have another name by now
			return err
		}
		old, err := t.orderRow(ticket.order)
		if err != nil {
			return err
		}
		if out.State == Accepted {
			other, err := t.holder(ticket.account, out.Withdrawal, ticket.order)
			if err != nil {
				return err
			}
			if other != "" {
				out = Outcome{Unknown, "", out.Status, 0, fmt.Sprintf("the service answered with the id %s, which order %s has", out.Withdrawal, other)}
			}
		}
		e := Event{What: eventAnswered, Withdrawal: out.Withdrawal, Status: out.Status, Code: out.Code, Reason: out.Reason}
		next, late := settled(old, ticket, out)
		if late {
			e.What = eventLate
		}
		o, err = t.move(old, next, e)
		return err
	})
	return o, err
}

// keepable is a text of the service's as every database takes it: PostgreSQL refuses a zero byte and what is not UTF-8, and
// with it the whole record.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// settled is where an outcome of one attempt takes an order, and whether it came after that attempt was given up.
func settled(old Order, ticket Ticket, out Outcome) (next Order, late bool) {
	next = old
	attempt := ticket.attempt
	own := old.attempt == attempt && old.sender != 0 && (old.State == Sending || old.State == Unknown)
	late = !own || old.State != Sending
	if !own { // a person has decided meanwhile, or another attempt is under way or over, or this one has ended before
		switch {
		case out.State != Accepted:
		case old.State == Accepted && old.Withdrawal == out.Withdrawal:
			next.Decided = nil // now the service has said it too
		case (old.State == Planned || old.State == Rejected || old.State == Unknown && old.lastDoubt == attempt) && old.Content == ticket.content:
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

// A Finding is what the service's list, or a single record of it, says about an order.
type Finding struct {
	OrderID    string
	Withdrawal string
	Differs    string // how the record differs from the order; empty: it does not
	// Content is what the record was held against: that of the order, or what an order that the journal does not have is to
	// have.
	Content
}

// Settle records a finding, and returns the order as it then stands. An order that a living process is sending is left
// alone, and so is one in conflict: a person decides about that. An order that is accepted under another id than the one
// found is in conflict. An order that has been sent with other content since the record was held against it is left alone, too:
// the finding is about something else.
func (j *Journal) Settle(ctx context.Context, a Account, f Finding) (o Order, err error) {
	if f.Withdrawal == "" {
		return Order{}, errNoID
	}
	f.Differs = keepable(f.Differs)
	err = j.write(ctx, func(t *tx) error {
		f := f
		account, err := t.account(a)
		if err != nil {
			return err
		}
		old, err := t.order(account, f.OrderID)
		if err != nil {
			return err
		}
		if err := t.reap(&old); err != nil {
			return err
		}
		if old.State != "" && old.Content != f.Content {
			o = old
			return nil
		}
		other, err := t.holder(account, f.Withdrawal, old.id)
		if err != nil {
			return err
		}
		if f.Differs == "" {
			if other != "" {
				f.Differs = fmt.Sprintf("the service's record %s belongs to order %s in the journal", f.Withdrawal, other)
			} else if old.State == Accepted && old.Withdrawal != f.Withdrawal {
				f.Differs = fmt.Sprintf("the service's record is %s, and the journal has %s", f.Withdrawal, old.Withdrawal)
			}
		}
		confirmed := old.State == Accepted && f.Differs == ""
		if old.State == Sending || old.State == Conflict || confirmed && old.Decided == nil {
			o = old
			return nil
		}
		if old.State == "" {
			if old, err = t.insert(account, Order{OrderID: f.OrderID, Content: f.Content}); err != nil {
				return err
			}
		}
		next := old
		next.Code, next.Decided = 0, nil
		e := Event{What: eventFound, Withdrawal: f.Withdrawal}
		if f.Differs == "" {
			next.State, next.Withdrawal, next.Reason = Accepted, f.Withdrawal, "found on the service's list"
		} else {
			next.State, next.Reason, e.What, e.Reason = Conflict, f.Differs, eventDiffers, f.Differs
			if next.Withdrawal == "" && other == "" {
				next.Withdrawal = f.Withdrawal
			}
		}
		o, err = t.move(old, next, e)
		return err
	})
	return o, err
}

// A Decision is what a person says about an order: one of PaidAs and NotSent. An empty id says neither.
type Decision struct {
	OrderID string
	PaidAs  string // the service's id of the withdrawal
	NotSent bool   // which needs a reason
	Reason  string
	// About is the order as it was when the decision was made; nil: whatever it is by now. A decision about an attempt says
	// nothing about one that was made since.
	About *Order
}

// Decide records a person's decision about an order that is unknown or in conflict, or about which a person has decided
// before. What the service has accepted is not a person's to undo, though it came to be in conflict: that is a *GoneError, and
// so is an order that has moved on since the decision was made.
func (j *Journal) Decide(ctx context.Context, a Account, d Decision) (o Order, err error) {
	if (d.PaidAs != "") == d.NotSent || d.NotSent && d.Reason == "" {
		return Order{}, fmt.Errorf("a decision about order %s is either the id it was paid as, or that it was not sent and why", d.OrderID)
	}
	err = j.write(ctx, func(t *tx) error {
		account, err := t.account(a)
		if err != nil {
			return err
		}
		old, err := t.order(account, d.OrderID)
		if err != nil {
			return err
		}
		if err := t.reap(&old); err != nil {
			return err
		}
		if old.State != Unknown && old.State != Conflict && (old.Decided == nil || old.State == Sending) {
			return &GoneError{OrderID: d.OrderID, State: old.State, Alive: old.State == Sending}
		}
		if d.About != nil && (d.About.State != old.State || d.About.attempt != old.attempt) {
			return &GoneError{OrderID: d.OrderID, State: old.State}
		}
		if d.NotSent {
			taken, err := t.taken(old.id)
			if err != nil {
				return err
			}
			if taken != "" {
				return &GoneError{OrderID: d.OrderID, State: old.State, Taken: taken}
			}
		}
		next := old
		next.Code = 0
		next.Decided = &Decided{At: unstamp(t.now), User: t.j.options.User, Host: t.j.options.Host, As: eventNotSent, Reason: d.Reason}
		e := Event{What: eventNotSent, Reason: d.Reason}
		next.State, next.Withdrawal, next.Reason = Planned, "", d.Reason
		if d.PaidAs != "" {
			other, err := t.holder(account, d.PaidAs, old.id)
			if err != nil {
				return err
			}
			if other != "" {
				return &HolderError{d.PaidAs, other}
			}
			e.What, e.Withdrawal, next.Decided.As = eventPaidAs, d.PaidAs, eventPaidAs
			next.State, next.Withdrawal = Accepted, d.PaidAs
		}
		o, err = t.move(old, next, e)
		return err
	})
	return o, err
}

// holder returns which other order of the account has a withdrawal's id.
func (t *tx) holder(account int64, withdrawal string, but int64) (orderID string, err error) {
	others, err := t.orders(`account = ?1 AND withdrawal = ?2 AND id <> ?3 ORDER BY id`, account, withdrawal, but)
	if err != nil || len(others) == 0 {
		return "", err
	}
	return others[0].OrderID, nil
}

// taken returns the id under which the service has said that it took an order, in an answer or on its list; empty where it
// never has.
func (t *tx) taken(order int64) (withdrawal string, err error) {
	err = t.row(`SELECT withdrawal FROM events WHERE order_row = ?1 AND what IN ('answered', 'answered late', 'found') AND withdrawal <> '' ORDER BY id DESC LIMIT 1`, order).Scan(&withdrawal)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return withdrawal, err
}

var errNoID = errors.New("a withdrawal without an id cannot be recorded")
