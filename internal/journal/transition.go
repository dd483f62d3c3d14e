package journal

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"example.com/till/pkg/payout/order"
)

// The life of an order. An arrow leads from a state to the next one, and its labels are the events that take
// the order there. What an event does also depends on the order's earlier attempts, so one label may be on
// several arrows of a state.
//
//	 (new)   planned  sending rejected  unknown accepted conflict
//	   o------->|        |        |        |        |        |  begin run
//	   o---------------->|        |        |        |        |  claim
//	   o------------------------------------------->|        |  listed
//	   o---------------------------------------------------->|  differs
//	   |        |        |        |        |        |        |
//	   |        o------->|        |        |        |        |  claim
//	   |        o------------------------->|        |        |  listed, differs, shown
//	   |        o---------------------------------->|        |  accepted, listed, paid as
//	   |        o------------------------------------------->|  accepted, differs
//	   |        |        |        |        |        |        |
//	   |        |<-------o        |        |        |        |  said nothing
//	   |        |        o------->|        |        |        |  rejected
//	   |        |        o---------------->|        |        |  accepted, rejected, said nothing, uncertain, died
//	   |        |        o------------------------->|        |  accepted
//	   |        |        o---------------------------------->|  accepted
//	   |        |        |        |        |        |        |
//	   |        |        |<-------o        |        |        |  claim
//	   |        |        |        o------->|        |        |  listed, differs, shown
//	   |        |        |        o---------------->|        |  accepted, listed
//	   |        |        |        o------------------------->|  accepted, differs
//	   |        |        |        |        |        |        |
//	   |        |<-------------------------o        |        |  said nothing, not sent
//	   |        |        |        |<-------o        |        |  rejected
//	   |        |        |        |        o------->|        |  accepted, listed, paid as
//	   |        |        |        |        o---------------->|  accepted, listed, differs
//	   |        |        |        |        |        |        |
//	   |        |<----------------------------------o        |  not sent
//	   |        |        |        |        |<-------o        |  missing
//	   |        |        |        |        |        o------->|  accepted, listed, differs
//	   |        |        |        |        |        |        |
//	   |        |        |        |        |        |<-------o  paid as
//	   |        |        |        |        |        |        |
//
// BeginRun makes the step begin run, for all rows of a plan at once. The other labels are the events below:
//
//	claim          claimed: a sender takes the right to send the order once
//	accepted       ended: the service took it and gave it an id (late: its sender was taken for dead)
//	rejected       ended: the service refused it
//	said nothing   ended: it never left, or the answer was about the key or the number of calls
//	uncertain      ended: the service may have taken it
//	died           senderDied: the process that was sending it is gone
//	listed         listed: the service shows it as it was sent
//	differs        listed: the service shows something else than was sent
//	shown          shown: the service shows it in a scan that settles nothing
//	missing        missing: the service does not have the withdrawal whose id it gave
//	paid as        decided: a person names the withdrawal that it is
//	not sent       decided: a person says that it was not sent
//
// TestPicture compares the picture with what next does.

// next returns what an order becomes when an event happens to it, or an error that says why the event cannot
// happen. It is the only place that decides this. It is a pure function: it reads and writes nothing but its
// arguments. happen makes the change durable, if the order has not changed meanwhile.
//
// If there is nothing to record, next returns the order unchanged. An order that does not exist yet has an
// empty state.
func next(o Record, e event) (Record, error) {
	n := o
	n.Attempts, n.origins = slices.Clone(o.Attempts), slices.Clone(o.origins)
	n, err := e.changes(n)
	switch {
	case err != nil:
		return o, err
	case n.State != o.State && !slices.Contains(steps(o.State), n.State):
		return o, fmt.Errorf("there is no step from %q to %q (order %s)", o.State, n.State, o.OrderID)
	}
	n.Reason = keepable(n.Reason) // it may contain an id, which can be any text
	return n, nil
}

// steps returns all states that may follow a state. The empty state is that of an order which does not exist
// yet.
func steps(from order.State) []order.State {
	switch from {
	case "":
		return []order.State{order.Planned, order.Sending, order.Accepted, order.Conflict}
	case order.Planned, order.Rejected:
		return []order.State{order.Sending, order.Unknown, order.Accepted, order.Conflict}
	case order.Sending:
		return []order.State{order.Accepted, order.Rejected, order.Planned, order.Unknown, order.Conflict}
	case order.Unknown:
		return []order.State{order.Accepted, order.Rejected, order.Planned, order.Conflict}
	case order.Accepted:
		return []order.State{order.Conflict, order.Unknown, order.Planned} // planned only if accepted was a person's decision
	case order.Conflict:
		return []order.State{order.Accepted, order.Planned}
	}
	return nil
}

// An event is something that happens to an order.
type event interface {
	changes(Record) (Record, error)
	told(old, now Record) order.Event // the line for the order's history
}

// claimed is the event that a sender takes the right to send the order once.
type claimed struct {
	Claim
	at     time.Time
	moment Moment
	by     Person
	sender int64
}

func (e claimed) changes(o Record) (Record, error) {
	same := o.State == "" || o.Content.Same(e.Content)
	sendable := o.State == "" || o.State == order.Planned || o.State == order.Rejected && !e.NotRejected
	switch {
	case !sendable:
		return o, &Error{Kind: Exists, Order: o, Same: same, Alive: o.State == order.Sending}
	case !same && (e.SameContent || o.InDoubt()): // what may have been taken is sent again with the same content, or not at all
		return o, &Error{Kind: Exists, Order: o}
	}
	o.State, o.Content, o.Callback, o.Note, o.Reference = order.Sending, e.Content, e.Callback, e.Note, e.Reference
	o.Key, o.Run = e.Key, e.Run
	o.User, o.Host, o.Sent, o.Code, o.Reason = e.by.User, e.by.Host, e.at, 0, ""
	a := order.Attempt{Number: o.Last().Number + 1, Began: e.at, Decimals: e.Decimals, Demand: e.Demand, Consent: e.Consent}
	from := origin{sender: e.sender, boot: e.moment.boot, since: e.moment.since}
	if e.Skew != nil {
		from.skew = e.Skew.String()
	}
	o.Attempts, o.origins = append(o.Attempts, a), append(o.origins, from)
	return o, nil
}

func (e claimed) told(_, _ Record) order.Event { return order.Event{What: eventSending, Key: e.Key} }

// ended is the event that the sender of an attempt records how it ended. It can come late: the order has
// become unknown because its sender was taken for dead, and a person or another attempt may have changed it
// since.
type ended struct {
	attempt int64
	content order.Content // of the attempt
	Outcome
	holder string // the other order that has the withdrawal's id; empty: none
	at     time.Time
}

func (e ended) changes(o Record) (Record, error) {
	if e.Ending == order.WasAccepted && e.holder != "" { // an id that belongs to another order says nothing about this one
		e.Outcome = Outcome{Ending: order.WasUncertain, Status: e.Status,
			Reason: fmt.Sprintf("the service answered with the id %s, which order %s has", e.Withdrawal, e.holder)}
	}
	i := slices.IndexFunc(o.Attempts, func(a order.Attempt) bool { return a.Number == e.attempt })
	if i < 0 {
		return o, errors.New("the record of the attempt is gone")
	}
	mine := i == len(o.Attempts)-1 && o.Attempts[i].Ended.IsZero() && (o.State == order.Sending || o.State == order.Unknown)
	if e.Ending == order.WasAccepted {
		o.show(e.Withdrawal)
	}
	laterDoubt := slices.ContainsFunc(o.Attempts[i+1:], func(a order.Attempt) bool { return a.Outcome == order.WasUncertain })
	if e.Ending == order.WasAccepted { // also if it was recorded before, and the service has denied it since
		o.Attempts[i].Outcome = order.WasAccepted
	}
	if o.Attempts[i].Ended.IsZero() {
		o.Attempts[i].Ended, o.Attempts[i].Outcome = e.at, e.Ending
		if e.Skew != nil {
			o.origins[i].skew = e.Skew.String()
		}
	}
	if !mine {
		return e.afterAll(o, laterDoubt), nil
	}
	o.Code, o.Reason = e.Code, e.Reason
	if e.Ending != order.SaidNothing { // SaidNothing adds no knowledge, so a person's decision still holds
		o.Resolved = nil
	}
	switch e.Ending {
	case order.WasAccepted:
		o.State, o.ID = order.Accepted, e.Withdrawal
		if o.Shown != e.Withdrawal {
			o.State, o.Reason = order.Conflict, "accepted as "+e.Withdrawal+e.otherwise(o)
		}
	case order.WasUncertain:
		o.State = order.Unknown
	case order.SaidNothing:
		o.State = order.Planned
	case order.WasRejected:
		if o.State = order.Rejected; o.InDoubt() {
			o.State, o.Reason = order.Unknown,
				"this attempt was rejected, and the outcome of an earlier one is unknown: "+e.Reason
		}
	}
	if o.Shown != "" && (o.State == order.Planned || o.State == order.Rejected) { // perhaps another sender's withdrawal
		o.State, o.Reason = order.Unknown,
			fmt.Sprintf("this attempt was not accepted, and the service has shown the order as %s: %s",
				o.Shown, e.Reason)
	}
	return o, nil
}

// show notes the id under which the service first showed an order.
func (o *Record) show(id string) {
	if o.Shown == "" {
		o.Shown = id
	}
}

// doubt is show for a record that settles nothing. An order that counted as not taken is unknown from then
// on.
func (o *Record) doubt(id string) {
	o.show(id)
	if o.State == order.Planned || o.State == order.Rejected {
		o.State, o.Code, o.Resolved = order.Unknown, 0, nil
		o.Reason = fmt.Sprintf("the service has shown it, as %s", o.Shown)
	}
}

// otherwise says that the service has shown the order under another id than that of its answer. The order may
// be paid twice.
func (e ended) otherwise(o Record) string {
	if o.Shown == e.Withdrawal {
		return ""
	}
	return fmt.Sprintf(", and the service has shown the order as %s", o.Shown)
}

// afterAll returns the order after the late outcome of an attempt, when the order has changed without it.
// Only an acceptance has an effect.
func (e ended) afterAll(o Record, laterDoubt bool) Record {
	if e.Ending != order.WasAccepted {
		return o
	}
	untouched := o.State == order.Planned || o.State == order.Rejected || o.State == order.Unknown && !laterDoubt
	switch {
	case o.State == order.Accepted && o.ID == e.Withdrawal:
		o.Resolved = nil // the service has confirmed it now
	case untouched && o.Content.Same(e.content) && o.Shown == e.Withdrawal:
		o.State, o.ID, o.Resolved, o.Code, o.Reason = order.Accepted, e.Withdrawal, nil, 0, "accepted late"
	default:
		why := "an attempt was accepted late, as " + e.Withdrawal + e.otherwise(o)
		if o.State == order.Unknown {
			why += ", and the outcome of a later one is unknown"
		}
		if o.State == order.Conflict && o.Reason != "" {
			why = o.Reason + "; " + why
		}
		o.State, o.Reason = order.Conflict, why
		if o.ID == "" {
			o.ID = e.Withdrawal
		}
	}
	return o
}

func (e ended) told(old, _ Record) order.Event {
	t := order.Event{What: eventAnswered, ID: e.Withdrawal, HTTPStatus: e.Status, Code: e.Code, Reason: e.Reason}
	if last := old.Last(); old.State != order.Sending || last.Number != e.attempt {
		t.What = eventLate
	}
	return t
}

// senderDied is the event that the process that was sending the order is gone. The outcome of its attempt is
// unknown.
type senderDied struct{}

func (senderDied) changes(o Record) (Record, error) {
	if o.State != order.Sending {
		return o, nil
	}
	o.State, o.Reason = order.Unknown, "the process that was sending it died"
	o.Attempts[len(o.Attempts)-1].Outcome = order.WasUncertain
	return o, nil
}

func (senderDied) told(_, now Record) order.Event {
	return order.Event{What: eventDied, Reason: now.Reason}
}

// listed is the event that the service shows a record of the order, on its list or by itself.
type listed struct {
	Evidence
	holder string // the other order that has the record's id; empty: none
}

func (e listed) changes(o Record) (Record, error) {
	if o.State == order.Sending || o.State != "" && !o.Content.Same(e.Content) { // its sender decides, or it was sent with other content since
		o.doubt(e.Withdrawal)
		return o, nil
	}
	differs := e.differs(o)
	confirmed := o.State == order.Accepted && differs == ""
	if o.State == order.Conflict || confirmed && o.Resolved == nil { // a person decides, or nothing is new
		return o, nil
	}
	o.show(e.Withdrawal)
	o.Code, o.Resolved = 0, nil
	if differs == "" {
		o.State, o.ID, o.Reason = order.Accepted, e.Withdrawal, "found on the service's list"
		if e.Dated != "" {
			o.Reason += ", dated " + e.Dated
		}
		return o, nil
	}
	o.State, o.Reason = order.Conflict, differs
	if o.ID == "" && e.holder == "" {
		o.ID = e.Withdrawal
	}
	return o, nil
}

// differs says how the record differs from the order; empty: it does not.
func (e listed) differs(o Record) string {
	switch {
	case e.Differs != "":
		return e.Differs
	case e.holder != "":
		return fmt.Sprintf("the service's record %s belongs to order %s in the journal", e.Withdrawal, e.holder)
	case o.State == order.Accepted && o.ID != e.Withdrawal:
		return fmt.Sprintf("the service's record is %s, and the journal has %s", e.Withdrawal, o.ID)
	case o.State != order.Accepted && o.Shown != "" && o.Shown != e.Withdrawal:
		return fmt.Sprintf("the service's record is %s, and it has shown the order as %s before", e.Withdrawal, o.Shown)
	}
	return ""
}

func (e listed) told(_, now Record) order.Event {
	t := order.Event{What: eventFound, ID: e.Withdrawal}
	switch now.State {
	case order.Conflict:
		t.What, t.Reason = eventDiffers, now.Reason
	case order.Sending, order.Unknown:
		t.What = eventShown
	}
	return t
}

// shown is the event that a scan which settles nothing has shown a record of the order.
type shown struct{ withdrawal string }

func (e shown) changes(o Record) (Record, error) {
	if o.State != "" {
		o.doubt(e.withdrawal)
	}
	return o, nil
}

func (e shown) told(_, _ Record) order.Event {
	return order.Event{What: eventShown, ID: e.withdrawal}
}

// missing is the event that the service does not have the withdrawal whose id it has given the order: it may
// have taken the order or not.
type missing struct{ withdrawal string }

func (e missing) changes(o Record) (Record, error) {
	answered := func(a order.Attempt) bool { return a.Outcome == order.WasAccepted }
	if o.State != order.Accepted || o.ID != e.withdrawal || !slices.ContainsFunc(o.Attempts, answered) {
		return o, nil
	}
	o.State, o.ID, o.Shown = order.Unknown, "", ""
	o.Reason = "the service has no withdrawal " + e.withdrawal + ", which is the id that it gave"
	o.Resolved = nil
	for i, a := range o.Attempts {
		if answered(a) {
			o.Attempts[i].Outcome = order.WasUncertain
		}
	}
	return o, nil
}

func (e missing) told(_, now Record) order.Event {
	return order.Event{What: eventMissing, ID: e.withdrawal, Reason: now.Reason}
}

// decided is the event that a person decides what became of the order.
type decided struct {
	Decision
	holder string // the other order that has the id; empty: none
	at     time.Time
	by     Person
}

func (e decided) changes(o Record) (Record, error) {
	open := o.State == order.Unknown || o.State == order.Conflict || o.Resolved != nil && o.State != order.Sending
	switch {
	case !open:
		return o, &Error{Kind: OrderChanged, Order: o}
	case e.NotSent && o.Shown != "":
		return o, &Error{Kind: Shown, Order: o}
	case e.About != nil && o.movedOn(*e.About): // a decision about one attempt says nothing about a later one
		return o, &Error{Kind: OrderChanged, Order: o}
	case e.PaidAs != "" && e.holder != "" && !e.AlthoughDifferent:
		return o, &Error{Kind: HeldByOther, Withdrawal: e.PaidAs, OrderID: e.holder}
	}
	o.Code, o.Reason = 0, e.Reason
	o.State, o.ID = order.Planned, ""
	as := eventNotSent
	if e.PaidAs != "" {
		o.State, o.ID, as = order.Accepted, e.PaidAs, eventPaidAs
	}
	o.Resolved = &order.Resolution{At: e.at, User: e.by.User, Host: e.by.Host, As: as, Reason: e.Reason}
	return o, nil
}

// movedOn reports whether the order has changed, apart from being shown by a scan.
func (o Record) movedOn(since Record) bool {
	since.Shown, since.Changed, since.version = o.Shown, o.Changed, o.version
	return !reflect.DeepEqual(o, since)
}

func (e decided) told(_, now Record) order.Event {
	return order.Event{What: now.Resolved.As, ID: e.PaidAs, Reason: e.Reason}
}
