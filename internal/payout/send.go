package payout

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Withdrawal is what Send is asked to send.
type Withdrawal struct {
	Request        api.CreateWithdrawal // with its order id
	Made           bool                 // the order id was made for it, so nobody has ever used it
	AllowDuplicate bool
	Window         time.Duration // in which the same content is not sent again where the order id was made
	// Accepted, if set, is called when the service has accepted it and that is recorded, before it is read back.
	Accepted func(journal.Order)
}

// Sent is what has become of a withdrawal.
type Sent struct {
	Order journal.Order
	Was   bool   // it stood there before, and nothing was sent
	Note  string // something that a person should know all the same; empty: nothing
}

// slowest is how much time may pass between the record and the first byte. A process that was asleep for longer cannot know
// what others have made of its record meanwhile.
const slowest = 5 * time.Second

// Standing returns what the journal says about a withdrawal before anything is done: that it is accepted already, or an
// *Error that says why it cannot be sent. found tells whether there was anything to say.
func (b *Book) Standing(ctx context.Context, w Withdrawal) (sent Sent, found bool, err error) {
	if _, err := b.Journal.Reap(ctx, b.Account); err != nil {
		return Sent{}, false, err
	}
	o, err := b.Journal.Order(ctx, b.Account, w.Request.ExternalOrderID)
	if gone := (*journal.GoneError)(nil); errors.As(err, &gone) {
		return Sent{}, false, nil
	}
	if err != nil {
		return Sent{}, false, err
	}
	same := o.Content == ContentOf(w.Request)
	if o.State == journal.Planned && (same || !o.InDoubt()) || o.State == journal.Rejected {
		return Sent{Order: o}, false, nil
	}
	sent, err = b.stands(w, &journal.StandsError{Order: o, Same: same, Alive: o.State == journal.Sending})
	return sent, true, err
}

// stands is what becomes of a withdrawal whose order stands in the way.
func (b *Book) stands(w Withdrawal, e *journal.StandsError) (Sent, error) {
	o, note := e.Order, ""
	if o.Attempts() && o.Callback != w.Request.Callback {
		note = fmt.Sprintf("order %s was sent with another callback (%q), and that stays", o.OrderID, o.Callback)
	}
	if o.State == journal.Accepted && e.Same {
		return Sent{Order: o, Was: true, Note: note}, nil
	}
	if !e.Same {
		if o.State == journal.Planned {
			return Sent{}, refused(RuleOrderID, fmt.Sprintf("order %s was sent with other content, and a person said that it was not taken: %s", o.OrderID, b.describe(o.Content)),
				"use another order id, or see what it was: till journal show "+o.OrderID)
		}
		return Sent{}, refused(RuleOrderID, fmt.Sprintf("order %s is %s in the journal with other content: %s", o.OrderID, inWords(o.State), b.describe(o.Content)),
			"use another order id, or see what it was: till journal show "+o.OrderID)
	}
	return Sent{Note: note}, b.standing(o, e.Alive)
}

// inWords is a state as a sentence has it.
func inWords(s journal.State) string {
	if s == journal.Conflict {
		return "in conflict"
	}
	return string(s)
}

// standing is the error about an order that is not settled.
func (b *Book) standing(o journal.Order, alive bool) *Error {
	switch {
	case o.State == journal.Conflict:
		return &Error{Kind: Conflict, Msg: fmt.Sprintf("order %s is in conflict: %s", o.OrderID, o.Reason),
			Hint: "see what happened with till journal show " + o.OrderID + ", and settle it with: till withdraw resolve " + o.OrderID}
	case alive:
		return &Error{Kind: Busy, Msg: fmt.Sprintf("another process is sending order %s (%s on %s)", o.OrderID, o.User, o.Host), Hint: "wait for it, and run this again"}
	}
	return &Error{Kind: Unknown, Msg: fmt.Sprintf("nobody knows whether order %s was taken", o.OrderID), Hint: "do not send it again: till withdraw reconcile " + o.OrderID}
}

func (b *Book) describe(c journal.Content) string {
	text := fmt.Sprintf("%d minor units of %s", c.Minor, Amount(c).Code)
	if b.Format != nil {
		text = b.Format(Amount(c))
	}
	if c.Unit != c.Currency {
		text += ", withdrawn in " + Currency(c.Currency).Code + ","
	}
	text += " to " + c.Address
	if c.Memo != "" {
		text += ", memo " + c.Memo
	}
	return text
}

// Send sends a withdrawal, unless the journal or the service's list says that it is there already. It is the only place
// that does.
//
// Everything that it reads, it reads under ctx, and when that has ended it sends nothing any more. The call itself is made
// under calls, which may live on: whoever wants to stop should wait for the answer to what is on its way.
//
// Sent is right where the error is nil, and where the withdrawal was accepted although something is wrong with it: then
// Sent.Order has its id.
func (b *Book) Send(ctx, calls context.Context, w Withdrawal) (Sent, error) {
	if err := w.Request.Validate(); err != nil {
		return Sent{}, err
	}
	if err := api.CheckOrderID(w.Request.ExternalOrderID); err != nil {
		return Sent{}, &api.InvalidError{Field: "external_order_id", Why: err.Error()}
	}
	if sent, found, err := b.Standing(ctx, w); found || err != nil {
		return sent, err
	}
	if err := b.Admit(ctx); err != nil {
		return Sent{}, err
	}
	if sent, found, err := b.lookUp(ctx, w); found || err != nil {
		return sent, err
	}
	claim := journal.Claim{
		OrderID: w.Request.ExternalOrderID, Content: ContentOf(w.Request), Callback: w.Request.Callback, Key: b.Key, AllowDuplicate: w.AllowDuplicate,
	}
	if w.Made {
		claim.Window = w.Window
	}
	if err := ctx.Err(); err != nil {
		return Sent{}, err
	}
	ticket, err := b.Journal.Claim(ctx, b.Account, claim)
	if err != nil {
		return b.notClaimed(w, err)
	}
	order, err := b.sendOnce(ctx, calls, w.Request, ticket)
	sent := Sent{Order: order}
	if err == nil {
		if w.Accepted != nil {
			w.Accepted(order)
		}
		sent.Note, err = b.readBack(ctx, order)
	}
	return sent, err
}

// sendOnce makes the call that a ticket is for, and records how it ended. The error is nil where it was accepted.
func (b *Book) sendOnce(ctx, calls context.Context, r api.CreateWithdrawal, ticket journal.Ticket) (journal.Order, error) {
	call := b.call(ctx, calls, r, ticket)
	var err error
	call.order, err = b.finish(ctx, calls, ticket, call.outcome)
	return b.ended(call, err)
}

// ended is how a call has ended, once that is recorded or could not be.
func (b *Book) ended(c called, recorded error) (journal.Order, error) {
	if c.left {
		atomic.AddInt32(&b.underWay, -1)
	}
	order := c.order
	if recorded != nil {
		return journal.Order{OrderID: c.orderID, Withdrawal: c.outcome.Withdrawal}, unrecorded(c.orderID, c.outcome, recorded)
	}
	switch order.State {
	case journal.Accepted:
		return order, nil
	case journal.Unknown:
		return order, &Error{Kind: Unknown, Err: c.err, Msg: fmt.Sprintf("nobody knows whether order %s was taken: %s", order.OrderID, order.Reason), Hint: "do not send it again: till withdraw reconcile " + order.OrderID}
	case journal.Conflict:
		return order, b.standing(order, false)
	}
	return order, c.err
}

// finish records an outcome. A database that was started anew, or has moved, is asked for a while: what it does not learn now,
// somebody has to find out later.
func (b *Book) finish(ctx, calls context.Context, ticket journal.Ticket, outcome journal.Outcome) (journal.Order, error) {
	for tries := 1; ; tries++ {
		order, err := b.Journal.Finish(ctx, ticket, outcome)
		if err == nil || !b.Journal.Shared() || tries == mostTries || !errors.As(err, new(*journal.Error)) || b.pause(calls) != nil {
			return order, err
		}
	}
}

// mostTries is how often an outcome is recorded, with a pause after each try, before it is given up.
const mostTries = 30

// notClaimed turns the journal's refusal into this package's.
func (b *Book) notClaimed(w Withdrawal, err error) (Sent, error) {
	var stands *journal.StandsError
	var duplicate *journal.DuplicateError
	switch {
	case errors.As(err, &stands):
		return b.stands(w, stands)
	case errors.As(err, &duplicate):
		return Sent{}, duplicateOf(duplicate)
	}
	return Sent{}, err
}

func duplicateOf(e *journal.DuplicateError) error {
	o := e.Order
	switch {
	case o.State == journal.Unknown:
		return &Error{Kind: Unknown, Rule: RuleDuplicate, Msg: fmt.Sprintf("order %s has the same content, and nobody knows whether it was taken: this would perhaps pay twice", o.OrderID),
			Hint: "settle that one first: till withdraw reconcile " + o.OrderID + ", or, if both are meant: --allow-duplicate"}
	case e.Alive:
		return &Error{Kind: Busy, Rule: RuleDuplicate, Msg: fmt.Sprintf("another process is sending the same content as order %s (%s on %s)", o.OrderID, o.User, o.Host), Hint: "wait for it, or, if both are meant: --allow-duplicate"}
	}
	return refused(RuleDuplicate, fmt.Sprintf("the same was accepted at %s as order %s, withdrawal %s", sentAt(o).UTC().Format(time.RFC3339), o.OrderID, o.Withdrawal),
		"if it is to be paid once more, say so with --allow-duplicate, or give an --order-id of its own")
}

// UnderWay returns how many withdrawals have left, or are just leaving, whose outcome is not recorded yet.
func (b *Book) UnderWay() int { return int(atomic.LoadInt32(&b.underWay)) }

// called is a call that has ended.
type called struct {
	orderID string
	outcome journal.Outcome
	err     error         // of the call
	left    bool          // it counts as under way until ended
	order   journal.Order // once the outcome is recorded
}

// call makes the one call, and says how it ended. A call that has left counts as under way until its outcome is recorded.
func (b *Book) call(ctx, calls context.Context, r api.CreateWithdrawal, t journal.Ticket) called {
	var leaves atomic.Bool // the check is made by whoever writes the request
	calls = api.BeforeSending(calls, func() error {
		if late := b.elapsed(t.Began); late > slowest {
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
		atomic.AddInt32(&b.underWay, 1) // before the last look, so that whoever stops it finds one or the other
		if err := ctx.Err(); err != nil {
			atomic.AddInt32(&b.underWay, -1)
			return err
		}
		leaves.Store(true)
		return nil
	})
	id, err := b.Client.Withdrawals.Create(calls, r)
	c := called{orderID: t.OrderID, err: err, left: leaves.Load()}
	if err == nil {
		c.outcome = journal.Outcome{State: journal.Accepted, Withdrawal: id, Status: 200}
		return c
	}
	out := journal.Outcome{State: journal.Unknown, Reason: err.Error()}
	var call *api.Error
	var invalid *api.InvalidError
	switch {
	case errors.As(err, &invalid):
		out.State = journal.Planned // it was never a request
	case !errors.As(err, &call): // whatever it is
	default:
		out.Status, out.Code = int64(call.Status), call.Code
		if why := call.Why(); why != "" {
			out.Reason = why
		}
		switch {
		case call.Outcome == api.NotSent, call.Outcome == api.Rejected && keyOrRate(call.Status):
			out.State = journal.Planned
		case call.Outcome == api.Rejected:
			out.State = journal.Rejected
		}
	}
	if out.State == journal.Planned && errors.Is(err, context.Canceled) {
		out.Reason = stoppedBefore
	}
	c.outcome = out
	return c
}

// stoppedBefore is the reason of an order that a signal, or what stopped its run, kept from being sent.
const stoppedBefore = "not sent: it was stopped before it left"

// elapsed counts the time asleep as well, which a monotonic clock leaves out on some systems.
func (b *Book) elapsed(since time.Time) time.Duration {
	now := b.Now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func unrecorded(orderID string, out journal.Outcome, err error) error {
	what := "its outcome"
	if out.Reason != "" {
		what = "its outcome (" + out.Reason + ")"
	}
	if out.Withdrawal != "" {
		what = "that the service accepted it as " + out.Withdrawal
	}
	return &Error{Kind: Unknown, Err: err, Msg: fmt.Sprintf("order %s was sent, and %s could not be recorded: %v", orderID, what, err),
		Hint: "do not send it again: when the journal can be written, till withdraw reconcile " + orderID}
}

// lookUp asks the service's list for an order that may be there without the journal knowing: where it was on its way before,
// or where the journal has nothing accepted for the account, and may be new, lost or restored. Where it has found something
// there before that it did not know, it was lost or is not the only one, and every order may be another of that kind.
func (b *Book) lookUp(ctx context.Context, w Withdrawal) (sent Sent, found bool, err error) {
	if b.NoLookup {
		return Sent{}, false, nil
	}
	standing, err := b.Journal.Standing(ctx, b.Account)
	if err != nil {
		return Sent{}, false, err
	}
	if standing.OrderIDs == journal.Dropped {
		return Sent{}, false, dropsOrderIDs()
	}
	if w.Made {
		return Sent{}, false, nil
	}
	orderID := w.Request.ExternalOrderID
	before, err := b.Journal.Order(ctx, b.Account, orderID)
	if gone := (*journal.GoneError)(nil); err != nil && !errors.As(err, &gone) {
		return Sent{}, false, err
	}
	if standing.Newest != nil && standing.Found == 0 && !before.Attempts() {
		return Sent{}, false, nil
	}
	from := b.Since
	if before.InDoubt() { // what is in doubt is as old as the order
		from = b.since(from, before)
	}
	listed, err := b.readings(ctx, map[string]bool{orderID: true}, from, once)
	if err != nil || len(listed[orderID]) == 0 {
		return Sent{}, false, err
	}
	content := ContentOf(w.Request)
	mine := content // what the record should be: of an order that the journal has, what was sent then
	if before.OrderID != "" {
		mine = before.Content
	}
	o, err := b.Journal.Settle(ctx, b.Account, finding(orderID, mine, listed[orderID]))
	if err != nil {
		return Sent{}, false, err
	}
	if o.State == journal.Conflict {
		return Sent{Order: o}, true, b.standing(o, false)
	}
	sent, err = b.stands(w, &journal.StandsError{Order: o, Same: o.Content == content, Alive: o.State == journal.Sending})
	if err == nil {
		sent.Note = fmt.Sprintf("order %s was on the service's list already, as %s: nothing was sent", o.OrderID, o.Withdrawal)
		if more := uncompared(mine, listed[orderID][0]); more != "" {
			sent.Note += "; " + more
		}
	}
	return sent, true, err
}

// readBack reads a withdrawal that was just accepted, to see that it bears the order id that it was sent with. The note says
// why that could not be seen.
func (b *Book) readBack(ctx context.Context, o journal.Order) (note string, err error) {
	if b.NoLookup || ctx.Err() != nil {
		return "", nil
	}
	w, err := b.Client.Withdrawals.Get(ctx, o.Withdrawal)
	if err == nil && w.ID != o.Withdrawal {
		err = fmt.Errorf("the answer is about withdrawal %q, and not about %q", w.ID, o.Withdrawal)
	}
	if ctx.Err() != nil {
		return fmt.Sprintf("order %s was accepted as %s; the interruption kept it from being read back", o.OrderID, o.Withdrawal), nil
	}
	if err != nil {
		return fmt.Sprintf("order %s was accepted, but could not be read back: %v", o.OrderID, err), nil
	}
	keeping := journal.Kept
	if !recordOf(w).bearsOnly(o.OrderID) {
		keeping = journal.Dropped
	}
	if err := b.Journal.NoteService(ctx, b.Account, w.MerchantID, keeping); err != nil {
		note = fmt.Sprintf("what the record of order %s shows could not be noted: %v", o.OrderID, err)
	}
	if keeping == journal.Dropped {
		return note, dropsOrderIDs()
	}
	return note, nil
}

func dropsOrderIDs() error {
	return &Error{Kind: Conflict, Msg: "this service does not keep order ids as they were sent: what it has cannot be looked up, so nothing protects against paying twice when a record is lost",
		Hint: "ask its provider; to send all the same, relying on this journal alone: --lookup never"}
}
