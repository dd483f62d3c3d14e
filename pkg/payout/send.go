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

// Sent is the result of a Send.
type Sent struct {
	Order   Order
	Already bool   // the order was accepted before, and nothing was sent
	Note    string // what a person should know although the withdrawal was accepted; empty: nothing
}

// A SendOption changes one Send.
type SendOption func(*withdrawal)

// AllowDuplicate sends a withdrawal even if another order has the same content and its outcome is unknown,
// or, with NewOrderID, may have been lost.
func AllowDuplicate() SendOption { return func(w *withdrawal) { w.allowDuplicate = true } }

// NewOrderID says that the order id was generated for this withdrawal and was never used before. Send does
// not look for it on the service's list. The withdrawal is refused if one with the same content was accepted
// under another order id within the window, and if the journal has lost records: it may have been one of
// them.
func NewOrderID(window time.Duration) SendOption {
	return func(w *withdrawal) { w.newOrderID, w.window = true, window }
}

// OnAccepted calls f after the service has accepted the withdrawal and that is recorded, and before it is
// read back.
func OnAccepted(f func(Order)) SendOption { return func(w *withdrawal) { w.accepted = f } }

// CallUnder makes the call under another context. Without it, a call in flight continues when Send's context
// ends.
func CallUnder(ctx context.Context) SendOption { return func(w *withdrawal) { w.calls = ctx } }

// A withdrawal is the input of one Send.
type withdrawal struct {
	request        api.CreateWithdrawal // with its order id
	newOrderID     bool
	dry            bool
	row            bool // of a plan
	window         time.Duration
	allowDuplicate bool
	accepted       func(Order) // nil: no function is called
	calls          context.Context
	demand         int64          // number of the demand under which it needs no approval
	before         journal.Record // that the journal has under its id; its state is empty: none
}

func newWithdrawal(ctx context.Context, r api.CreateWithdrawal, options []SendOption) (withdrawal, error) {
	w := withdrawal{request: r, calls: context.WithoutCancel(ctx)}
	for i, option := range options {
		if option == nil {
			return w, failed(Invalid, "option %d of a withdrawal is nil", i+1).hint("leave it out")
		}
		option(&w)
	}
	if w.calls == nil {
		return w, failed(Invalid, "CallUnder: the context is nil").hint("leave it out")
	}
	if err := r.Validate(); err != nil {
		return w, err
	}
	if err := api.CheckOrderID(r.ExternalOrderID); err != nil {
		return w, &api.InvalidError{Field: "external_order_id", Why: err.Error()}
	}
	return w, nil
}

// Send sends a withdrawal once, under the order id in its request. If the journal or the service's list says
// that it was accepted before, nothing is sent and Sent.Already is true. So a Send with an unknown outcome
// can be repeated any number of times with the same request. If the order id was used with other content, the
// error is ErrRefused.
//
// If the error is ErrUnknown, the withdrawal may have been paid. Do not send it under another order id: call
// Reconcile.
//
// When ctx ends, nothing more is sent. Send waits for a call in flight, because without its answer the
// outcome is unknown.
//
// Sent is valid if the error is nil. It is also valid if the withdrawal was accepted and the error is about
// something else: then Sent.Order has its id.
//
// Send calls POST /api/merchant_withdrawal/create at most once and, unless LookupNever is set, GET
// /api/merchant_withdrawal after it. If the key is new, it calls that before, and POST /api/merchant_withdrawal/list
// if Options.Lookup requires it.
func (s *Sender) Send(ctx context.Context, r api.CreateWithdrawal, options ...SendOption) (sent Sent, err error) {
	defer toError(&err)
	w, err := newWithdrawal(ctx, r, options)
	if err != nil {
		return Sent{}, err
	}
	return s.send(ctx, w)
}

// send takes the steps of a plan for one withdrawal. It looks less often at the list, and it knows no run.
func (s *Sender) send(ctx context.Context, w withdrawal) (sent Sent, err error) {
	if sent, found, err := s.existing(ctx, &w); found || err != nil {
		return sent, err
	}
	if err := s.verifyKey(ctx); err != nil {
		return Sent{}, err
	}
	if sent, found, err := s.lookup(ctx, w); found || err != nil {
		return sent, err
	}
	if err := s.ledger.Enter(ctx); err != nil {
		return Sent{}, err
	}
	var order journal.Record
	var failed error
	err = s.deliver(ctx, w.calls, s.claim(w), nil, func(o journal.Record, err error) { order, failed = o, err })
	if err != nil {
		return s.notClaimed(w, err)
	}
	sent.Order = order.Order
	if failed != nil {
		return sent, failed
	}
	if w.accepted != nil {
		w.accepted(sent.Order)
	}
	order, sent.Note, err = s.readBack(ctx, order)
	sent.Order = order.Order
	return sent, err
}

// Existing returns what the journal knows about a withdrawal before Send is called: it is accepted already,
// or an *Error says why it cannot be sent. found reports whether there was such an answer.
func (s *Sender) Existing(
	ctx context.Context, r api.CreateWithdrawal, options ...SendOption,
) (sent Sent, found bool, err error) {
	defer toError(&err)
	w, err := newWithdrawal(ctx, r, options)
	if err != nil {
		return Sent{}, false, err
	}
	return s.existing(ctx, &w)
}

// Try returns what Send would find in the journal, and found as Existing does. It sends nothing, does not call
// the service, and records nothing but that a process has died.
func (s *Sender) Try(
	ctx context.Context, r api.CreateWithdrawal, options ...SendOption,
) (sent Sent, found bool, err error) {
	defer toError(&err)
	w, err := newWithdrawal(ctx, r, options)
	if w.dry = true; err == nil {
		sent, found, err = s.existing(ctx, &w)
	}
	if !found && err == nil {
		err = s.try(ctx, w)
	}
	return sent, found, err
}

// try returns the error for a withdrawal that the journal does not let be sent.
func (s *Sender) try(ctx context.Context, w withdrawal) error {
	if s.key != "" {
		if _, err := s.keyKnown(ctx); err != nil {
			return err
		}
	}
	err := s.ledger.Try(ctx, s.claim(w))
	if err != nil {
		_, err = s.notClaimed(w, err)
	}
	return err
}

// existing is Existing. It notes in w under which demand of approvals the withdrawal may be sent.
func (s *Sender) existing(ctx context.Context, w *withdrawal) (sent Sent, found bool, err error) {
	o, err := s.order(ctx, w.request.ExternalOrderID)
	if err != nil && !errors.Is(err, journal.NotFound) {
		return Sent{}, false, err
	}
	w.before = o
	// an order that was in doubt once is only sent with the same content
	mayBeSent := (o.State == StatePlanned || o.State == StateRejected) && (!o.InDoubt() || o.Content.Same(contentOf(w.request)))
	if err != nil || mayBeSent {
		return Sent{Order: o.Order}, false, s.approveSingle(ctx, w)
	}
	sent, err = s.exists(*w, o)
	return sent, true, err
}

// exists returns the result for a withdrawal whose order has a state that does not allow sending it.
func (s *Sender) exists(w withdrawal, o journal.Record) (Sent, error) {
	same, note := o.Content.Same(contentOf(w.request)), ""
	if o.Attempted() && o.Callback != w.request.Callback {
		note = fmt.Sprintf("the callback of order %s stays %q, as it was sent", o.OrderID, o.Callback)
	}
	const another = "use another order id"
	switch {
	case o.State == StateAccepted && same:
		already := fmt.Sprintf("order %s was accepted before, as %s: nothing was sent", o.OrderID, o.ID)
		if note != "" {
			already += "; " + note
		}
		return Sent{Order: o.Order, Already: true, Note: already}, nil
	case same:
		return Sent{Note: note}, unsettled(o)
	case o.State == StatePlanned && o.InDoubt():
		return Sent{}, refused(RuleOrderID,
			"order %s was sent with other content, and a person said that it was not taken: %s",
			o.OrderID, describeSent(s.money, o.Order)).hint(another+", or see what it was", "journal", "show", o.OrderID)
	}
	return Sent{}, s.otherContent(o, contentOf(w.request), another)
}

func (s *Sender) claim(w withdrawal) journal.Claim {
	c := journal.Claim{
		Row: PlanRow{CreateWithdrawal: w.request}.row(), Key: s.key, AllowDuplicate: w.allowDuplicate, SameContent: w.row, Decimals: s.decimals(w.request.Amount), Demand: w.demand, Skew: s.skew.Load(), Budgets: s.budgets(),
	}
	if w.newOrderID {
		c.Window = w.window
	}
	return c
}

// notClaimed turns the journal's refusal into an error of this package.
func (s *Sender) notClaimed(w withdrawal, err error) (Sent, error) {
	switch e := journal.AsError(err); {
	case errors.Is(err, journal.Exists):
		return s.exists(w, e.Order)
	case errors.Is(err, journal.Duplicate):
		return Sent{}, duplicateOf(w.request.ExternalOrderID, e.Order)
	}
	return Sent{}, s.notAllowed(err)
}

// deliver claims an order, makes its one call, records how it ended, and passes that on. From the claim on,
// only the ticket decides what is sent. If following is not nil and returns another claim, it is made
// together with the record, and that order is delivered too. The error is that of a claim. All that this
// package sends, it sends here.
func (s *Sender) deliver(
	ctx, calls context.Context, c journal.Claim, following func(call) *journal.Claim, ended func(journal.Record, error),
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ticket, err := s.ledger.Claim(ctx, c)
	for err == nil {
		call := s.call(ctx, calls, ticket)
		out := s.outcomeOf(call)
		var order journal.Record
		var recording error
		var another journal.Ticket
		var next *journal.Claim
		if following != nil {
			next = following(call)
		}
		if next != nil {
			order, recording, another, err = s.ledger.FinishAndClaim(ctx, ticket, out, *next)
		}
		if next == nil || recording != nil {
			order, recording = s.finish(ctx, calls, ticket, out)
		}
		ended(s.recorded(ticket, call, order, recording))
		if next == nil {
			return nil
		}
		ticket = another
	}
	return err
}

// latest is the most time that may pass between the record and the first byte. If the process was suspended
// for longer, others may have changed its record meanwhile.
const latest = 5 * time.Second

// call makes the one call that a ticket allows.
func (s *Sender) call(ctx, calls context.Context, ticket journal.Ticket) (made call) {
	var left atomic.Bool // the check runs in the goroutine that writes the request
	defer func() {
		if fault := recover(); fault != nil { // in a middleware: its order must not look as if it were being sent
			made = call{"", fmt.Errorf("the call panicked: %v", fault), left.Load()}
		}
	}()
	calls = api.BeforeSending(calls, func() error {
		if late := s.elapsed(ticket.Began); late > latest {
			return fmt.Errorf("%s have passed since it was recorded, too many to send it still", late.Round(time.Second))
		}
		if err := s.ledger.Journal().Intact(); err != nil {
			return err
		}
		if !left.Swap(true) { // the check runs again on every new connection, but the call counts once
			// before ctx is checked: after a caller ends ctx, a call either does not leave or is counted here
			atomic.AddInt32(&s.underWay, 1)
		}
		if err := ctx.Err(); err != nil {
			left.Store(false)
			atomic.AddInt32(&s.underWay, -1)
			return err
		}
		return nil
	})
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	return call{id, err, left.Load()}
}

// observeDate returns a context under which the difference between this machine's clock and the service's is
// noted for the attempts that follow. Later, it tells how long ago they were made.
func (s *Sender) observeDate(ctx context.Context) context.Context {
	return api.ObserveDate(ctx, func(service time.Time) {
		skew := s.now().Sub(service)
		s.skew.Store(&skew)
	})
}

// elapsed includes the time that the machine was suspended. On some systems, a monotonic clock leaves it out.
func (s *Sender) elapsed(since time.Time) time.Duration {
	now := s.now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// UnderWay returns the number of calls that have left, or are about to leave, and whose outcome is not
// recorded yet.
func (s *Sender) UnderWay() int { return int(atomic.LoadInt32(&s.underWay)) }

// finish records an outcome. It tries for a minute, because a database may be restarting, or another process
// may hold the journal's lock. It tries twice at least: if the machine was suspended during the first try,
// the minute is over, and only the connection has broken. An outcome that is not recorded now has to be found
// out later by a person. If the journal's files are gone, finish gives up at once.
func (s *Sender) finish(ctx, calls context.Context, ticket journal.Ticket, out journal.Outcome) (journal.Record, error) {
	began := s.now()
	for tries := 1; ; tries++ {
		order, err := s.ledger.Finish(ctx, ticket, out)
		if !errors.Is(err, journal.Broken) || tries == mostTries ||
			tries > 1 && s.elapsed(began) > longestTry || s.rest(calls, pauseBetween) != nil {
			return order, err
		}
	}
}

// longestTry is how long finish tries to record an outcome, and mostTries is how often. It pauses for a
// second after each try.
const (
	longestTry = time.Minute
	mostTries  = 60
)

// recorded returns the result of a call, after its outcome was recorded or could not be recorded.
func (s *Sender) recorded(ticket journal.Ticket, c call, o journal.Record, recording error) (journal.Record, error) {
	if c.left {
		atomic.AddInt32(&s.underWay, -1)
	}
	orderID := ticket.Order().OrderID
	none := journal.Record{Order: Order{OrderID: orderID}}
	switch {
	case recording != nil && neverLeft(c.err):
		return none, fmt.Errorf("order %s was not sent, and that could not be recorded: %w; the journal will call it unknown until you settle it with: till withdraw reconcile %s", orderID, recording, orderID)
	case recording != nil:
		none.ID = c.id
		return none, unrecorded(orderID, s.outcomeOf(c), recording)
	case c.err != nil && !o.Content.Same(ticket.Order().Content): // this call failed, and the order was sent with other content since
		return none, c.err
	case o.State == StateAccepted:
		return o, nil
	case o.State == StateUnknown:
		return o, unknownOutcome(o.OrderID, o.Reason, c.err)
	case o.State == StateConflict:
		return o, unsettled(o)
	}
	return o, c.err
}

// mostReadBacks is how often a withdrawal is read back until it is as it was sent: a copy of the service's
// data may be a moment behind.
const mostReadBacks = 3

// readBack reads a withdrawal that was just accepted, and checks that it has the order id that it was sent
// with. If the service does not have it, its order becomes unknown. If that cannot be checked, the note says
// why.
func (s *Sender) readBack(ctx context.Context, o journal.Record) (now journal.Record, note string, err error) {
	if s.options.Lookup == LookupNever || ctx.Err() != nil {
		return o, "", nil
	}
	var w api.UnreadableWithdrawal
	for tries := 1; ; tries++ {
		if w, err = s.client.Withdrawals.GetLenient(ctx, o.ID); err == nil && w.ID != o.ID {
			err = fmt.Errorf("the answer is about withdrawal %q, and not about %q", w.ID, o.ID)
		}
		again := rejects(err) || err == nil && !recordOf(w).bearsOnly(o.OrderID)
		if !again || tries == mostReadBacks || s.rest(ctx, pauseBetween) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return o, fmt.Sprintf("order %s was accepted as %s; the interruption kept it from being read back", o.OrderID,
			o.ID), nil
	}
	if rejects(err) {
		answer := fmt.Sprintf("the service answered with the id %s, and then that it has no such withdrawal: %v", o.ID, err)
		now, broken := s.ledger.Missing(ctx, o, false)
		switch {
		case broken != nil:
			now, answer = o, fmt.Sprintf("%s; and this could not be recorded: %v", answer, broken)
		case now.State == StateAccepted: // the list has shown it meanwhile
			return now, "", nil
		case now.State != StateUnknown:
			return now, "", unsettled(now)
		}
		return now, "", unknownOutcome(o.OrderID, answer, broken)
	}
	if err != nil {
		return o, fmt.Sprintf("order %s was accepted, but could not be read back: %v", o.OrderID, err), nil
	}
	keeping := journal.Kept
	if !recordOf(w).bearsOnly(o.OrderID) {
		keeping = journal.Dropped
	}
	if err := s.ledger.NoteService(ctx, w.MerchantID, keeping); err != nil {
		note = fmt.Sprintf("what the record of order %s shows could not be noted: %v", o.OrderID, err)
	}
	status, err := s.ledger.Status(ctx)
	switch {
	case err != nil:
		return o, fmt.Sprintf("order %s was accepted, and what is known of its merchant cannot be read: %v", o.OrderID, err), nil
	case w.MerchantID != "" && w.MerchantID != status.Merchant:
		return o, note, otherMerchant(o.OrderID, o.ID, w.MerchantID, status.Merchant)
	case keeping == journal.Dropped:
		return o, note, failed(Conflict, "order %s was accepted as %s, and the service does not show its order id as it was sent: what it has cannot be looked up, so nothing protects against paying twice when a record is lost",
			o.OrderID, o.ID).about(o.OrderID, o.ID).
			hint("ask its provider; to send all the same, relying on this journal alone: --lookup never")
	}
	return o, note, nil
}
