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

// AllowDuplicate sends a withdrawal even if another order has the same content and its outcome is unknown, or, with
// NewOrderID, may have been lost.
func AllowDuplicate() SendOption { return func(w *withdrawal) { w.allowDuplicate = true } }

// NewOrderID says that the order id was generated for this withdrawal and was never used before. Send does
// not look for it on the service's list. The withdrawal is refused if one with the same content was accepted
// under another order id within the window, and if the journal has lost records: it may have been one of them.
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
	window         time.Duration
	allowDuplicate bool
	accepted       func(Order) // nil: no function is called
	calls          context.Context
	demand         int64 // number of the demand under which it needs no approval
}

func newWithdrawal(ctx context.Context, r api.CreateWithdrawal, options []SendOption) (withdrawal, error) {
	w := withdrawal{request: r, calls: context.WithoutCancel(ctx)}
	for i, option := range options {
		if option == nil {
			return w, &Error{Kind: Invalid, Msg: fmt.Sprintf("option %d of a withdrawal is nil", i+1),
				Hint: NewHint("leave it out")}
		}
		option(&w)
	}
	return w, w.check()
}

func (w withdrawal) check() error {
	if err := w.request.Validate(); err != nil {
		return err
	}
	if err := api.CheckOrderID(w.request.ExternalOrderID); err != nil {
		return &api.InvalidError{Field: "external_order_id", Why: err.Error()}
	}
	return nil
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
// Send calls POST /api/merchant_withdrawal/create at most once, and GET /api/merchant_withdrawal after it. If
// Options.Lookup requires it, it calls POST /api/merchant_withdrawal/list before.
func (s *Sender) Send(ctx context.Context, r api.CreateWithdrawal, options ...SendOption) (sent Sent, err error) {
	defer toError(&err)
	w, err := newWithdrawal(ctx, r, options)
	if err != nil {
		return Sent{}, err
	}
	return s.send(ctx, w)
}

// send takes all steps for one withdrawal. Rows of a plan are sent by sending.send. There is no third way:
// both claim the order, make the call and record its outcome.
func (s *Sender) send(ctx context.Context, w withdrawal) (Sent, error) {
	if sent, found, err := s.existing(ctx, &w); found || err != nil {
		return sent, err
	}
	if err := s.VerifyKey(ctx); err != nil {
		return Sent{}, err
	}
	if sent, found, err := s.lookup(ctx, w); found || err != nil {
		return sent, err
	}
	ticket, err := s.claim(ctx, w)
	if err != nil {
		return s.notClaimed(w, err)
	}
	call := s.call(ctx, w.calls, ticket)
	order, err := s.record(ctx, w.calls, ticket, call)
	sent := Sent{Order: orderOf(order)}
	if err != nil {
		return sent, err
	}
	if w.accepted != nil {
		w.accepted(sent.Order)
	}
	order, sent.Note, err = s.readBack(ctx, order)
	sent.Order = orderOf(order)
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

// existing is Existing. It notes in w under which demand of approvals the withdrawal may be sent.
func (s *Sender) existing(ctx context.Context, w *withdrawal) (sent Sent, found bool, err error) {
	if err := s.ledger.Reap(ctx); err != nil {
		return Sent{}, false, err
	}
	o, err := s.ledger.Order(ctx, w.request.ExternalOrderID)
	if errors.Is(err, journal.NotFound) {
		return Sent{}, false, s.approveSingle(ctx, w)
	}
	if err != nil {
		return Sent{}, false, err
	}
	same := o.Content.Same(contentOf(w.request))
	if mayBeSent(o, same) {
		return Sent{Order: orderOf(o)}, false, s.approveSingle(ctx, w)
	}
	sent, err = s.exists(*w, &journal.Error{Kind: journal.Exists, Order: o, Same: same, Alive: o.State == journal.Sending})
	return sent, true, err
}

// mayBeSent reports whether the state of an order lets it be sent. An order that was in doubt once is only sent
// with the same content.
func mayBeSent(o journal.Order, same bool) bool {
	return (o.State == journal.Planned || o.State == journal.Rejected) && (same || !o.InDoubt())
}

// exists returns the result for a withdrawal whose order has a state that does not allow sending it.
func (s *Sender) exists(w withdrawal, e *journal.Error) (Sent, error) {
	o, note := e.Order, ""
	if o.Attempted() && o.Callback != w.request.Callback {
		note = fmt.Sprintf("the callback of order %s stays %q, as it was sent", o.OrderID, o.Callback)
	}
	if o.State == journal.Accepted && e.Same {
		already := fmt.Sprintf("order %s was accepted before, as %s: nothing was sent", o.OrderID, o.Withdrawal)
		if note != "" {
			already += "; " + note
		}
		return Sent{Order: orderOf(o), Already: true, Note: already}, nil
	}
	const another = "use another order id, or see what it was"
	switch {
	case !e.Same && o.State == journal.Planned:
		return Sent{},
			refused(RuleOrderID,
				fmt.Sprintf("order %s was sent with other content, and a person said that it was not taken: %s",
					o.OrderID, s.describe(o.Content)), another, "journal", "show", o.OrderID)
	case !e.Same:
		return Sent{}, s.otherContent(o, contentOf(w.request), another)
	}
	return Sent{Note: note}, s.unsettled(o, e.Alive)
}

// otherContent refuses an order that the journal has with other content, with the advice to take another order id.
// For an unknown order that would pay again what may have been paid, so it has to be settled first.
func (s *Sender) otherContent(o journal.Order, c journal.Content, another string) error {
	why := fmt.Sprintf("order %s is %s in the journal with other content: %s, and not %s", o.OrderID,
		stateText(o.State), s.describe(o.Content), s.describe(c))
	if o.State == journal.Unknown {
		return refused(RuleOrderID, why, "find out first what became of it with", "withdraw", "reconcile", o.OrderID)
	}
	return refused(RuleOrderID, why, another, "journal", "show", o.OrderID)
}

// lookup asks the service's list for an order that it may have without the journal's knowledge. It reads the
// list
//
//   - if the order was attempted before,
//   - if the journal has nothing accepted for the account: the journal may be new, or the old one lost,
//   - if the list has had an order that the journal did not know since the two last agreed: there may be more,
//   - if LookupAlways is set,
//   - or if the journal has lost records. Then it reads the whole list, whatever the options say.
//
// An order id that is new cannot be on the list: see checkNew.
func (s *Sender) lookup(ctx context.Context, w withdrawal) (sent Sent, found bool, err error) {
	status, err := s.ledger.Status(ctx)
	if err != nil || s.options.Lookup == LookupNever && !status.Restored {
		return Sent{}, false, err
	}
	if err := s.keepsOrderIDs(ctx, status); err != nil {
		return Sent{}, false, err
	}
	if w.newOrderID {
		return Sent{}, false, s.checkNew(ctx, w, status)
	}
	orderID := w.request.ExternalOrderID
	before, err := s.ledger.Order(ctx, orderID)
	if err != nil && !errors.Is(err, journal.NotFound) {
		return Sent{}, false, err
	}
	if status.Newest != nil && status.Found == 0 && !status.Restored && !before.Attempted() &&
		s.options.Lookup != LookupAlways {
		return Sent{}, false, nil
	}
	from := s.options.Since
	if status.Restored {
		from = ""
	}
	if before.InDoubt() { // the attempt in doubt is as old as the order
		from = s.since(from, before)
	}
	content := contentOf(w.request)
	mine := content // compared with the record: the content in the journal, if the order is there
	if before.OrderID == "" {
		before = journal.Order{OrderID: orderID, Content: content}
	} else {
		mine = before.Content
	}
	listed, err := s.ask(s.observeDate(ctx), map[string]journal.Order{orderID: before}, from)
	if err != nil {
		return Sent{}, false, err
	}
	records := listed.records[orderID]
	if len(records) == 0 {
		return Sent{}, false, listed.undecided(orderID)
	}
	o, err := s.recordEvidence(ctx, s.evidence(orderID, mine, records))
	if err != nil {
		return Sent{}, false, err
	}
	if o.State == journal.Conflict {
		return Sent{Order: orderOf(o)}, true, s.unsettled(o, false)
	}
	sent, err = s.exists(w,
		&journal.Error{Kind: journal.Exists, Order: o, Same: o.Content.Same(content), Alive: o.State == journal.Sending})
	if err == nil {
		sent.Note = fmt.Sprintf("order %s was on the service's list already, as %s with the status %q: nothing was sent",
			o.OrderID, o.Withdrawal, records[0].status)
		if more := s.uncompared(mine, records[0]); more != "" {
			sent.Note += "; " + more
		}
	}
	return sent, true, err
}

// recordEvidence records what the service's list says about an order. Reading the list has tied the key to
// the account.
func (s *Sender) recordEvidence(ctx context.Context, e journal.Evidence) (journal.Order, error) {
	e.Key = s.key
	o, err := s.ledger.Settle(ctx, e)
	return o, accountChanged(err)
}

// claim records that the withdrawal is about to be sent. From here on, only the ticket decides what is sent.
func (s *Sender) claim(ctx context.Context, w withdrawal) (journal.Ticket, error) {
	if err := s.ledger.Enter(ctx); err != nil {
		return journal.Ticket{}, err
	}
	if err := ctx.Err(); err != nil {
		return journal.Ticket{}, err
	}
	c := journal.Claim{
		OrderID: w.request.ExternalOrderID, Content: contentOf(w.request), Callback: w.request.Callback, Key: s.key,
		AllowDuplicate: w.allowDuplicate, Decimals: s.decimals(w.request.Amount), Demand: w.demand, Skew: s.skew.Load(),
	}
	if w.newOrderID {
		c.Window = w.window
	}
	return s.ledger.Claim(ctx, c)
}

// notClaimed turns the journal's refusal into an error of this package.
func (s *Sender) notClaimed(w withdrawal, err error) (Sent, error) {
	switch e := journal.AsError(err); {
	case errors.Is(err, journal.Exists):
		return s.exists(w, e)
	case errors.Is(err, journal.Duplicate):
		return Sent{}, duplicateOf(w.request.ExternalOrderID, e)
	}
	return Sent{}, accountChanged(err)
}

// A call is the result of a call that has ended.
type call struct {
	id   string // the id in the service's answer
	err  error
	left bool // counted in underWay until its outcome is recorded
}

// latest is the most time that may pass between the record and the first byte. If the process was suspended
// for longer, others may have changed its record meanwhile.
const latest = 5 * time.Second

// call makes the one call that a ticket allows.
func (s *Sender) call(ctx, calls context.Context, ticket journal.Ticket) call {
	var left atomic.Bool // the check runs in the goroutine that writes the request
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

// observeDate returns a context under which the difference between this machine's clock and the service's is noted
// for the attempts that follow. Later, it tells how long ago they were made.
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

// record records how a call ended. The error is nil if the withdrawal was accepted.
func (s *Sender) record(ctx, calls context.Context, ticket journal.Ticket, c call) (journal.Order, error) {
	order, err := s.finish(ctx, calls, ticket, s.outcomeOf(c))
	return s.recorded(ticket, c, order, err)
}

// finish records an outcome. It tries for a minute, because a database may be restarting, or another process
// may hold the journal's lock. It tries twice at least: if the machine was suspended during the first try, the
// minute is over, and only the connection has broken. An outcome that is not recorded now has to be found out
// later by a person. If the journal's files are gone, finish gives up at once.
func (s *Sender) finish(ctx, calls context.Context, ticket journal.Ticket, out journal.Outcome) (journal.Order, error) {
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
func (s *Sender) recorded(ticket journal.Ticket, c call, o journal.Order, recording error) (journal.Order, error) {
	if c.left {
		atomic.AddInt32(&s.underWay, -1)
	}
	orderID := ticket.Order().OrderID
	switch {
	case recording != nil && neverLeft(c.err):
		return journal.Order{OrderID: orderID},
			fmt.Errorf("order %s was not sent, and that could not be recorded: %w; the journal will call it unknown until you settle it with: till withdraw reconcile %s", orderID, recording, orderID)
	case recording != nil:
		return journal.Order{OrderID: orderID, Withdrawal: c.id}, unrecorded(orderID, s.outcomeOf(c), recording)
	case c.err != nil && !o.Content.Same(ticket.Order().Content): // this call failed, and the order was sent with other content since
		return journal.Order{OrderID: orderID}, c.err
	case o.State == journal.Accepted:
		return o, nil
	case o.State == journal.Unknown:
		return o, &Error{Kind: Unknown, OrderID: o.OrderID, Err: c.err,
			Msg:  fmt.Sprintf("the outcome of order %s is unknown: %s", o.OrderID, o.Reason),
			Hint: NewHint("do not send it again; find out with", "withdraw", "reconcile", o.OrderID)}
	case o.State == journal.Conflict:
		return o, s.unsettled(o, false)
	}
	return o, c.err
}

func unrecorded(orderID string, out journal.Outcome, err error) error {
	what := "its outcome"
	if out.Reason != "" {
		what = "its outcome (" + out.Reason + ")"
	}
	if out.Withdrawal != "" {
		what = "that the service accepted it as " + out.Withdrawal
	}
	return &Error{Kind: Unknown, OrderID: orderID, ID: out.Withdrawal, Err: err,
		Msg: fmt.Sprintf("order %s was sent, and %s could not be recorded: %v", orderID, what, err),
		Hint: NewHint("do not send it again; when the journal can be written, find out with", "withdraw",
			"reconcile", orderID)}
}

// keepsOrderIDs refuses to go on if the service once did not show an order id as it was sent, and still does not: what
// it has cannot be looked up then.
func (s *Sender) keepsOrderIDs(ctx context.Context, status journal.AccountStatus) error {
	if status.OrderIDs != journal.Dropped || status.Newest == nil {
		return nil
	}
	w, err := s.client.Withdrawals.Get(ctx, status.Newest.Withdrawal)
	switch {
	case err != nil && !rejects(err):
		return err
	case err == nil && recordOf(w).bearsOnly(status.Newest.OrderID):
		return s.ledger.NoteService(ctx, "", journal.Kept)
	}
	return &Error{Kind: Refused, Rule: RuleList, OrderID: status.Newest.OrderID, ID: status.Newest.Withdrawal,
		Msg:  fmt.Sprintf("the service does not show order ids as they were sent (withdrawal %s, order %s), so its list cannot be asked for an order", status.Newest.Withdrawal, status.Newest.OrderID),
		Hint: NewHint("ask its provider; to send all the same, relying on this journal alone: --lookup never")}
}

// checkNew refuses a withdrawal whose order id is new, and so cannot be on the list, if it may have been paid under
// another one that the journal does not know: it has lost records, or is new itself, and the list shows a withdrawal
// with the same content.
func (s *Sender) checkNew(ctx context.Context, w withdrawal, status journal.AccountStatus) error {
	switch {
	case w.allowDuplicate:
		return nil
	case status.Restored:
		return perhapsLost()
	case status.Newest != nil:
		return nil
	}
	var same record
	content, oldest := contentOf(w.request), s.now().Add(-w.window-mostZones)
	err := s.readUntil(ctx, func() (*reading, error) {
		same = record{}
		return &reading{status: status, see: func(l listed) bool {
			r := recordOf(l.Withdrawal)
			r.unread = l.unread
			at := parseTime(r.dated)
			if sameUnit(r.amount, w.request.Amount) && s.differs(content, r) == "" && (at.IsZero() || at.After(oldest)) {
				same = r
			}
			return same.id == ""
		}}, nil
	}, func(*reading, *lack) (bool, error) { return true, nil })
	if err != nil || same.id == "" {
		return s.notShown(err)
	}
	return &Error{Kind: Refused, Rule: RuleDuplicate, ID: same.id,
		Msg: fmt.Sprintf("the journal has nothing accepted for this account, and the service has withdrawal %s with the same content and the status %q",
			same.id, same.status),
		Hint: NewHint("to pay it once more, add --allow-duplicate or an --order-id of its own")}
}

// mostZones is how far apart two local times can be.
const mostZones = 26 * time.Hour

// mostReadBacks is how often a withdrawal is read back until it is as it was sent: a copy of the service's data may
// be a moment behind.
const mostReadBacks = 3

// readBack reads a withdrawal that was just accepted, and checks that it has the order id that it was sent
// with. If the service does not have it, its order becomes unknown. If that cannot be checked, the note says why.
func (s *Sender) readBack(ctx context.Context, o journal.Order) (now journal.Order, note string, err error) {
	if s.options.Lookup == LookupNever || ctx.Err() != nil {
		return o, "", nil
	}
	var w api.Withdrawal
	for tries := 1; ; tries++ {
		if w, err = s.client.Withdrawals.Get(ctx, o.Withdrawal); err == nil && w.ID != o.Withdrawal {
			err = fmt.Errorf("the answer is about withdrawal %q, and not about %q", w.ID, o.Withdrawal)
		}
		again := rejects(err) || err == nil && !recordOf(w).bearsOnly(o.OrderID)
		if !again || tries == mostReadBacks || s.rest(ctx, pauseBetween) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return o, fmt.Sprintf("order %s was accepted as %s; the interruption kept it from being read back", o.OrderID,
			o.Withdrawal), nil
	}
	if rejects(err) {
		answer := fmt.Sprintf("the service answered with the id %s, and then that it has no such withdrawal: %v", o.Withdrawal, err)
		now, broken := s.ledger.Missing(ctx, o)
		switch {
		case broken != nil:
			now, answer = o, fmt.Sprintf("%s; and this could not be recorded: %v", answer, broken)
		case now.State != journal.Unknown: // it has changed meanwhile
			return now, "", nil
		}
		return now, "", &Error{Kind: Unknown, OrderID: o.OrderID, Err: broken,
			Msg:  fmt.Sprintf("the outcome of order %s is unknown: %s", o.OrderID, answer),
			Hint: NewHint("do not send it again; find out with", "withdraw", "reconcile", o.OrderID)}
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
		return o, note, otherMerchant(o.OrderID, o.Withdrawal, w.MerchantID, status.Merchant)
	case keeping == journal.Dropped:
		return o, note, dropsOrderIDs(o)
	}
	return o, note, nil
}

// stateText returns a state as it appears in a sentence.
func stateText(s journal.State) string {
	if s == journal.Conflict {
		return "in conflict"
	}
	return string(s)
}

// unsettled returns the error for an order that is in conflict, unknown or being sent.
func (s *Sender) unsettled(o journal.Order, alive bool) *Error {
	switch {
	case o.State == journal.Conflict:
		return &Error{Kind: Conflict, OrderID: o.OrderID, ID: o.Withdrawal,
			Msg:  fmt.Sprintf("order %s is in conflict: %s", o.OrderID, o.Reason),
			Hint: SettleConflict(o.OrderID, o.Withdrawal)}
	case alive:
		return &Error{Kind: Busy, OrderID: o.OrderID,
			Msg:  fmt.Sprintf("another process is sending order %s (%s on %s)", o.OrderID, o.User, o.Host),
			Hint: NewHint("wait for it, and run this again")}
	}
	return &Error{Kind: Unknown, OrderID: o.OrderID,
		Msg:  fmt.Sprintf("the outcome of order %s is unknown: it may have been paid", o.OrderID),
		Hint: NewHint("do not send it again; find out with", "withdraw", "reconcile", o.OrderID)}
}

// duplicateOf returns the error for an order that is not sent because another one has the same content.
func duplicateOf(orderID string, e *journal.Error) error {
	o := e.Order
	switch {
	case o.State == journal.Unknown:
		return &Error{Kind: Unknown, Rule: RuleDuplicate,
			Msg: fmt.Sprintf("order %s was not sent: order %s has the same content, and its outcome is unknown, so this could pay twice",
				orderID, o.OrderID),
			Hint: NewHint("add --allow-duplicate if both are meant; otherwise find out about order "+o.OrderID+" with",
				"withdraw", "reconcile", o.OrderID)}
	case e.Alive:
		return &Error{Kind: Busy, Rule: RuleDuplicate,
			Msg: fmt.Sprintf("order %s was not sent: another process is sending order %s with the same content (%s on %s)",
				orderID, o.OrderID, o.User, o.Host),
			Hint: NewHint("wait for it, or add --allow-duplicate if both are meant")}
	}
	return refused(RuleDuplicate,
		fmt.Sprintf("order %s was not sent: order %s with the same content was accepted at %s as %s", orderID, o.OrderID,
			sentAt(o).UTC().Format(time.RFC3339), o.Withdrawal),
		"to pay it once more, add --allow-duplicate or an --order-id of its own")
}

// accountChanged explains the error for an account that was changed after the sender found it.
func accountChanged(err error) error {
	if errors.Is(err, journal.DemandChanged) {
		return &Error{Kind: Refused, Rule: RuleApproval, Err: err, Msg: "nothing more is sent: " + err.Error(),
			Hint: NewHint("run it again: it says what must be approved now")}
	}
	if errors.Is(err, journal.AccountChanged) {
		return &Error{Kind: Refused, Rule: RuleAccount, Err: err, Msg: "nothing more is sent: " + err.Error(),
			Hint: NewHint("run it again for the right account, of those that the journal has", "journal", "export")}
	}
	return err
}

func (s *Sender) format(a api.Amount) string { return s.options.Currencies.Format(a) }

func (s *Sender) describe(c journal.Content) string {
	text := s.format(amountOf(c))
	if c.Unit != c.Currency {
		text += ", withdrawn in " + currencyOf(c.Currency).Code + ","
	}
	text += " to " + c.Address
	if c.Memo != "" {
		text += ", memo " + c.Memo
	}
	return text
}

func perhapsLost() error {
	return refused(RuleDuplicate,
		"the journal has lost records, and one of them may be this withdrawal: without its order id, it cannot be looked up",
		"name its --order-id, add --allow-duplicate if it was never sent, or see what is missing", "journal", "check")
}

// dropsOrderIDs returns the error for a withdrawal that was accepted, and is not shown with its order id.
func dropsOrderIDs(o journal.Order) error {
	return &Error{Kind: Conflict, OrderID: o.OrderID, ID: o.Withdrawal,
		Msg: fmt.Sprintf("order %s was accepted as %s, and the service does not show its order id as it was sent: what it has cannot be looked up, so nothing protects against paying twice when a record is lost",
			o.OrderID, o.Withdrawal),
		Hint: NewHint("ask its provider; to send all the same, relying on this journal alone: --lookup never")}
}
