package journal

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/payout/order"
)

// The life of an order: from each state, the next states, and the events that take the order there. What an
// event does also depends on the order's earlier attempts, so one event can lead to several states.
//
//	(new)     planned (begin run); sending (claim); accepted (listed); conflict (differs)
//	planned   sending (claim); accepted (accepted, listed, paid as);
//	          unknown (listed, differs, shown); conflict (accepted, differs)
//	sending   planned (said nothing); accepted (accepted); rejected (rejected);
//	          unknown (accepted, rejected, said nothing, uncertain, died); conflict (accepted)
//	accepted  planned (not sent); unknown (missing); conflict (accepted, listed, differs)
//	rejected  sending (claim); accepted (accepted, listed); unknown (listed, differs, shown);
//	          conflict (accepted, differs)
//	unknown   planned (said nothing, not sent); accepted (accepted, listed, paid as);
//	          rejected (rejected); conflict (accepted, listed, differs)
//	conflict  accepted (paid as)
//
// BeginRun makes the step begin run, for all rows of a plan at once. The other steps are made by the events below:
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
// TestTable compares the table with what next does.

// next returns what an order becomes when an event happens to it, and the line for its history, or an error that
// says why the event cannot happen. It is the only place that decides this. It is a pure function: it reads and
// writes nothing but its arguments. happen makes the change durable, if the order has not changed meanwhile.
//
// If there is nothing to record, next returns the order unchanged. An order that does not exist yet has an
// empty state.
func next(o Record, e event) (Record, order.Event, error) {
	n := o
	n.Attempts, n.origins = slices.Clone(o.Attempts), slices.Clone(o.origins)
	line, err := e.happens(&n)
	switch {
	case err != nil:
		return o, line, err
	case n.State != o.State && !slices.Contains(steps[o.State], n.State):
		return o, line, fmt.Errorf("there is no step from %q to %q (order %s)", o.State, n.State, o.OrderID)
	}
	n.Reason = keepable(n.Reason) // it may contain an id, which can be any text
	return n, line, nil
}

// steps has all states that may follow a state. The empty state is that of an order which does not exist yet.
var steps = map[order.State][]order.State{
	"":             {order.Planned, order.Sending, order.Accepted, order.Conflict},
	order.Planned:  {order.Sending, order.Unknown, order.Accepted, order.Conflict},
	order.Rejected: {order.Sending, order.Unknown, order.Accepted, order.Conflict},
	order.Sending:  {order.Accepted, order.Rejected, order.Planned, order.Unknown, order.Conflict},
	order.Unknown:  {order.Accepted, order.Rejected, order.Planned, order.Conflict},
	order.Accepted: {order.Conflict, order.Unknown, order.Planned}, // planned only if accepted was a person's decision
	order.Conflict: {order.Accepted, order.Planned},
}

// An event is something that happens to an order.
type event interface {
	happens(*Record) (order.Event, error)
}

// claimed is the event that a sender takes the right to send the order once.
type claimed struct {
	Claim
	at     time.Time
	moment Moment
	by     Person
	sender int64
}

func (e claimed) happens(o *Record) (line order.Event, err error) {
	same := o.State == "" || o.Content.Same(e.Content)
	sendable := o.State == "" || o.State == order.Planned || o.State == order.Rejected && !e.NotRejected
	switch {
	case !sendable:
		return line, &Error{Kind: Exists, Order: *o, Same: same, Alive: o.State == order.Sending}
	case !same && (e.SameContent || o.InDoubt() || o.Run != ""): // what may have been taken, or is a run's, is sent as it was, or not at all
		return line, &Error{Kind: Exists, Order: *o}
	}
	o.State, o.Content, o.Callback = order.Sending, e.Content, e.Callback
	if e.Run != "" { // a single attempt has none
		o.Kept = e.Kept
	}
	o.Key, o.Run = e.Key, e.Run
	o.User, o.Host, o.Sent, o.Code, o.Reason = e.by.User, e.by.Host, e.at, 0, ""
	a := order.Attempt{Number: o.Last().Number + 1, Began: e.at, Decimals: e.Decimals, Demand: e.Demand, Consent: e.Consent}
	from := origin{sender: e.sender, boot: e.moment.boot, since: e.moment.since}
	if e.Skew != nil {
		from.skew = e.Skew.String()
	}
	o.Attempts, o.origins = append(o.Attempts, a), append(o.origins, from)
	return order.Event{What: eventSending, Key: e.Key}, nil
}

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

func (e ended) happens(o *Record) (order.Event, error) {
	line := order.Event{What: eventAnswered, ID: e.Withdrawal, HTTPStatus: e.Status, Code: e.Code, Reason: e.Reason}
	if o.State != order.Sending || o.Last().Number != e.attempt {
		line.What = eventLate
	}
	if e.Ending == order.WasAccepted && e.holder != "" { // an id that belongs to another order says nothing about this one
		e.Outcome = Outcome{Ending: order.WasUncertain, Status: e.Status,
			Reason: fmt.Sprintf("the service answered with the id %s, which order %s has", e.Withdrawal, e.holder)}
	}
	i := slices.IndexFunc(o.Attempts, func(a order.Attempt) bool { return a.Number == e.attempt })
	if i < 0 {
		return line, errors.New("the record of the attempt is gone")
	}
	mine := i == len(o.Attempts)-1 && o.Attempts[i].Ended.IsZero() && (o.State == order.Sending || o.State == order.Unknown)
	laterDoubt := slices.ContainsFunc(o.Attempts[i+1:], func(a order.Attempt) bool { return a.Outcome == order.WasUncertain })
	if e.Ending == order.WasAccepted { // also if it was recorded before, and the service has denied it since
		o.show(e.Withdrawal)
		o.Attempts[i].Outcome = order.WasAccepted
	}
	if o.Attempts[i].Ended.IsZero() {
		o.Attempts[i].Ended, o.Attempts[i].Outcome = e.at, e.Ending
		if e.Skew != nil {
			o.origins[i].skew = e.Skew.String()
		}
	}
	if !mine {
		e.afterAll(o, laterDoubt)
	} else {
		e.inTime(o)
	}
	return line, nil
}

// inTime is the outcome of the last attempt, when the order has not changed without it.
func (e ended) inTime(o *Record) {
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
}

// show notes the id under which the service first showed an order.
func (o *Record) show(id string) {
	o.Shown = cmp.Or(o.Shown, id)
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
func (e ended) otherwise(o *Record) string {
	if o.Shown == e.Withdrawal {
		return ""
	}
	return fmt.Sprintf(", and the service has shown the order as %s", o.Shown)
}

// afterAll is the late outcome of an attempt, when the order has changed without it. Only an acceptance has an
// effect.
func (e ended) afterAll(o *Record, laterDoubt bool) {
	if e.Ending != order.WasAccepted {
		return
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
		o.ID = cmp.Or(o.ID, e.Withdrawal)
	}
}

// senderDied is the event that the process that was sending the order is gone. The outcome of its attempt is
// unknown.
type senderDied struct{}

func (senderDied) happens(o *Record) (order.Event, error) {
	if o.State == order.Sending {
		o.State, o.Reason = order.Unknown, "the process that was sending it died"
		o.Attempts[len(o.Attempts)-1].Outcome = order.WasUncertain
	}
	return order.Event{What: eventDied, Reason: o.Reason}, nil
}

// listed is the event that the service shows a record of the order, on its list or by itself.
type listed struct {
	Evidence
	holder string // the other order that has the record's id; empty: none
}

func (e listed) happens(o *Record) (order.Event, error) {
	line := order.Event{What: eventShown, ID: e.Withdrawal}
	if o.State == order.Sending || o.State != "" && !o.Content.Same(e.Content) { // its sender decides, or it was sent with other content since
		o.doubt(e.Withdrawal)
		return line, nil
	}
	differs := e.differs(o)
	accepted, decided := o.State == order.Accepted, o.Resolved != nil
	although := accepted && decided && differs != "" && strings.Contains(o.Resolved.Reason, differs)
	if o.State == order.Conflict || accepted && differs == "" && !decided || although { // a person decides or has decided, or nothing is new
		return line, nil
	}
	o.show(e.Withdrawal)
	o.Code, o.Resolved = 0, nil
	if differs == "" {
		o.State, o.ID, o.Reason = order.Accepted, e.Withdrawal, "found on the service's list"
		if e.Dated != "" {
			o.Reason += ", dated " + e.Dated
		}
		line.What = eventFound
		return line, nil
	}
	o.State, o.Reason = order.Conflict, differs
	if o.ID == "" && e.holder == "" {
		o.ID = e.Withdrawal
	}
	line.What, line.Reason = eventDiffers, keepable(differs)
	return line, nil
}

// differs says how the record differs from the order; empty: it does not.
func (e listed) differs(o *Record) string {
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

// shown is the event that a scan which settles nothing has shown a record of the order.
type shown struct{ withdrawal string }

func (e shown) happens(o *Record) (order.Event, error) {
	if o.State != "" {
		o.doubt(e.withdrawal)
	}
	return order.Event{What: eventShown, ID: e.withdrawal}, nil
}

// missing is the event that the service does not have the withdrawal whose id it has given the order: it may
// have taken the order or not. If it has shown it without an answer, that is not forgotten.
type missing struct {
	withdrawal string
	seen       bool // it was shown after the answer
}

func (e missing) happens(o *Record) (line order.Event, err error) {
	if o.State != order.Accepted || o.ID != e.withdrawal || o.Resolved != nil {
		return line, nil
	}
	o.State, o.ID = order.Unknown, ""
	o.Reason = "the service has no withdrawal " + e.withdrawal + ", which is the id that it gave"
	for i, a := range o.Attempts {
		if a.Outcome == order.WasAccepted {
			o.Attempts[i].Outcome = order.WasUncertain
			if !e.seen { // perhaps only in its answer
				o.Shown = ""
			}
		}
	}
	return order.Event{What: eventMissing, ID: e.withdrawal, Reason: keepable(o.Reason)}, nil
}

// decided is the event that a person decides what became of the order.
type decided struct {
	Decision
	holder string // the other order that has the id; empty: none
	at     time.Time
	by     Person
}

func (e decided) happens(o *Record) (line order.Event, err error) {
	open := o.State == order.Unknown || o.State == order.Conflict || o.Resolved != nil && o.State != order.Sending
	switch {
	case !open:
		return line, &Error{Kind: OrderChanged, Order: *o}
	case e.NotSent && o.Shown != "":
		return line, &Error{Kind: Shown, Order: *o}
	case e.About != nil && o.movedOn(*e.About): // a decision about one attempt says nothing about a later one
		return line, &Error{Kind: OrderChanged, Order: *o}
	case e.PaidAs != "" && e.holder != "" && !e.AlthoughDifferent:
		return line, &Error{Kind: HeldByOther, Withdrawal: e.PaidAs, OrderID: e.holder}
	}
	o.Code, o.Reason = 0, e.Reason
	o.State, o.ID = order.Planned, ""
	as := eventNotSent
	if e.PaidAs != "" {
		o.State, o.ID, as = order.Accepted, e.PaidAs, eventPaidAs
	}
	o.Resolved = &order.Resolution{At: e.at, User: e.by.User, Host: e.by.Host, As: as, Reason: e.Reason}
	return order.Event{What: as, ID: e.PaidAs, Reason: e.Reason}, nil
}

// movedOn reports whether the order has changed, apart from being shown by a scan.
func (r Record) movedOn(since Record) bool {
	since.Shown, since.Changed, since.version = r.Shown, r.Changed, r.version
	return !reflect.DeepEqual(r, since)
}

// errStale is the error for an order that is not as it was read any more.
var errStale = errors.New("was changed by another process meanwhile")

// happen makes the change that an event causes, and returns the order after that. It is the only place that
// changes orders and attempts.
func (t *tx) happen(old Record, e event) (Record, error) {
	now, story, err := next(old, e)
	if err != nil || reflect.DeepEqual(old, now) {
		return old, err
	}
	now.Changed, now.version = t.at, old.version+1
	set, args := "", []any{old.row, old.version, old.OrderID, now.version, t.now}
	before, after := changeable(old), changeable(now)
	for i, name := range changeableColumns { // only those that change: naming a column rewrites its indexes
		if before[i] != after[i] {
			args = append(args, after[i])
			set += fmt.Sprintf(", %s = ?%d", name, len(args))
		}
	}
	n := t.exec(`UPDATE orders SET version = ?4, changed = ?5`+set+` WHERE id = ?1 AND version = ?2 AND order_id = ?3`, args...)
	if n != 1 {
		return old, fmt.Errorf("order %s %w", old.OrderID, errStale)
	}
	if now.Content != old.Content {
		t.exec(`UPDATE orders SET currency = ?2, unit = ?3, minor = ?4, address = ?5, memo = ?6, content = ?7, payee = ?8 WHERE id = ?1`,
			old.row, order.UnitText(now.Currency), order.UnitText(now.Amount.Unit()), now.Amount.Minor, now.Address, now.Memo, now.Content.Key().String(), payee(now.Address))
	}
	if now.Kept != old.Kept {
		t.exec(updateKept, append([]any{old.row}, keptFields(&now.Kept)...)...)
	}
	for i, a := range now.Attempts {
		switch o := now.origins[i]; {
		case i >= len(old.Attempts):
			t.exec(`INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals, demand, consent, boot, since_boot, skew)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
				old.row, a.Number, o.sender, stamp(a.Began), stamp(a.Ended), string(a.Outcome), a.Decimals, a.Demand, a.Consent, o.boot, int64(o.since), o.skew)
		case a != old.Attempts[i] || o != old.origins[i]:
			t.exec(`UPDATE attempts SET ended = ?3, outcome = ?4, skew = ?5 WHERE order_row = ?1 AND number = ?2`,
				old.row, a.Number, stamp(a.Ended), string(a.Outcome), o.skew)
		}
	}
	t.spend(old, now)
	t.exec(`INSERT INTO events (order_row, at, user_name, host, state, currency, unit, minor, address, memo, callback, what, fingerprint, withdrawal, status, code, reason)
		SELECT id, ?2, ?3, ?4, state, currency, unit, minor, address, memo, callback, ?5, ?6, ?7, CAST(?8 AS BIGINT), CAST(?9 AS BIGINT), ?10 FROM orders WHERE id = ?1`,
		old.row, t.now, t.j.options.User, t.j.options.Host, story.What, story.Key, storable(story.ID), story.HTTPStatus,
		story.Code, story.Reason)
	return now, nil
}

// changeableColumns are those that an event can change, apart from the content and what is kept.
var changeableColumns = [...]string{"state", "run", "callback", "withdrawal", "shown", "sent", "code", "reason", "user_name", "host",
	"fingerprint", "decided", "decided_at", "decided_user", "decided_host", "decided_why"}

// changeable returns what these columns have for an order.
func changeable(r Record) [len(changeableColumns)]any {
	var d order.Resolution
	if r.Resolved != nil {
		d = *r.Resolved
	}
	return [...]any{string(r.State), r.Run, r.Callback, storable(r.ID), storable(r.Shown), stamp(r.Sent), r.Code, r.Reason, r.User, r.Host,
		r.Key, d.As, stamp(d.At), d.User, d.Host, d.Reason}
}
