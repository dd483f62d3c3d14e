package payout

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"example.com/till/internal/journal"
	"example.com/till/pkg/payout/approval"
)

// An Applier applies a plan step by step, for a program that asks a person in between. Sender.Apply takes all
// steps at once. Sender.Applier checks everything that could keep the plan from being sent, Begin records the
// rows, LookUp finds out what the service already has, and Send sends the rest. Applied again, a plan
// continues where it stopped.
//
// Begin records the rows of the plan. If others are recorded for it, nothing is sent.
type Applier struct {
	sender  *Sender
	plan    *Plan
	options ApplyOptions
	run     journal.Run // its digest is empty until the run has begun
	found   answer      // what Preview has found on the list
	looked  bool        // LookUp has succeeded since the run began
	sent    atomic.Int64

	approvals approval.Status // if approvals are required
	demand    int64           // number of the demand that they meet
}

// Sent returns the number of rows for which this process has made the call.
func (a *Applier) Sent() int { return int(a.sent.Load()) }

// note passes on what a person should know.
func (a *Applier) note(text string) {
	if a.options.Note != nil {
		a.options.Note(text)
	}
}

// ApplyOptions change how a plan is applied. With the zero ApplyOptions, rows are sent one at a time.
type ApplyOptions struct {
	Concurrency    int     // most calls in flight at a time; 0 is 1
	Rate           float64 // calls in a second, of which as many may go at once; 0: no limit
	KeepGoing      bool    // send the rest even if an outcome is unknown
	RetryRejected  bool    // send again what the service has rejected
	AllowDuplicate bool    // send a row even if an unknown order has the same content
	DryRun         bool    // only for Due: nothing is recorded but that a process has died
	AlreadyPaid    int     // how many orders may have been accepted before, other than by this run; for Apply
	// Approvals are the files of signatures over the plan; empty: all files next to the plan whose names begin
	// with its name and end with .sig. If the run has begun, the signatures in the journal count too.
	Approvals []string
	// called with the states of the orders from time to time, and at the end; may be nil
	Progress func(Tally)
	Note     func(text string) // called with what a person should know; may be nil
}

// Apply sends the rows of a plan, each at most once. It returns the states of the orders afterwards, even if
// there is an error, unless the run has not begun. Applied again, also by another process after a crash, the
// plan continues where it stopped. A row that the service rejects is not an error: see Tally.States.
//
// An order that was accepted before, and not by this run, comes from another run that was half done, or its
// order id is an old one that is used again. If there are more such orders than ApplyOptions.AlreadyPaid,
// nothing is sent and the error is ErrRefused.
//
// When ctx ends, nothing more is sent, and Apply waits for the calls in flight. Apply also stops at the first
// order whose outcome is unknown, when the service refuses the key or the rate of calls, and when it cannot
// be reached.
func (s *Sender) Apply(ctx context.Context, plan *Plan, o ApplyOptions) (t Tally, err error) {
	defer toError(&err)
	if plan == nil {
		return Tally{}, errNoPlan
	}
	var applier *Applier
	if err = cmp.Or(plan.CheckAccount(s.Account()), plan.checkDecimals(s.money)); err == nil {
		applier, err = s.Applier(ctx, plan, o)
	}
	if err == nil {
		if t, err = applier.prepare(ctx); err == nil {
			err = applier.Send(ctx, context.WithoutCancel(ctx), t)
		} else {
			applier.endApplying(ctx)
		}
	}
	after, lost := s.Tally(context.WithoutCancel(ctx), plan.Digest)
	if lost != nil {
		return t, cmp.Or(err, lost)
	}
	return after, err
}

// prepare does what comes before Send.
func (a *Applier) prepare(ctx context.Context) (Tally, error) {
	t, err := a.Tally(ctx)
	if err == nil {
		err = a.checkPaid(t)
	}
	if err == nil {
		err = a.Begin(ctx, max(a.options.AlreadyPaid, a.Approved()))
	}
	if err == nil {
		t, err = a.LookUp(ctx)
	}
	if err == nil {
		err = a.checkPaid(t)
	}
	return t, err
}

var errNoPlan error = failed(Invalid, "the plan is nil").hint("open one with payout.OpenPlan")

// checkPaid refuses a run if more of its orders were accepted before than a person has said.
func (a *Applier) checkPaid(t Tally) error {
	if known := max(a.options.AlreadyPaid, a.Approved()); t.Before > known {
		return refused(RulePaidBefore,
			"%d of %d orders were accepted before, and not by this run, and not more than %d are known of",
			t.Before, t.Rows, known).
			hint("if only the rest is to be sent, say how many there are: ApplyOptions.AlreadyPaid")
	}
	return nil
}

// Applier checks that a plan fits the account, the time and the journal, and that it is approved. If the
// journal is a file, it also checks that no other process applies a plan. It changes nothing permanently,
// except that the journal remembers how many approvals were required.
//
// From then on this process counts as applying the plan: until Send returns and all outcomes are recorded,
// until Applier is called again, or until it ends.
func (s *Sender) Applier(ctx context.Context, plan *Plan, o ApplyOptions) (applier *Applier, err error) {
	defer toError(&err)
	if plan == nil {
		return nil, errNoPlan
	}
	if err := plan.CheckAccount(s.Account()); err != nil {
		return nil, err
	}
	applier = &Applier{sender: s, plan: plan, options: o}
	if err := applier.alone(ctx); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context) error{s.ledger.Reap, applier.checkBatch, applier.checkRows, applier.mayLeave, applier.approve} {
		if err := check(ctx); err != nil {
			applier.endApplying(ctx)
			return nil, err
		}
	}
	return applier, nil
}

var errDry = failed(Invalid, "ApplyOptions.DryRun sends nothing").hint("use Due, or leave it out")

// Begun reports whether the plan was begun before.
func (a *Applier) Begun() bool { return a.run.Digest != "" }

// UnderWay reports whether a call is in flight, or its outcome is not recorded yet.
func (a *Applier) UnderWay() bool { return a.sender.UnderWay() > 0 }

// Approved returns how many orders may be paid already, as a person has said before.
func (a *Applier) Approved() int { return a.run.Before }

// A dueRow is a row of the plan, and its order as the journal has it.
type dueRow struct {
	*PlanRow
	order journal.Record
}

// chunk is how many rows are read at a time.
const chunk = 128

// rows yields the rows of the plan, each with its order in its current state. An order that the journal does not
// have yet is planned.
func (a *Applier) rows(ctx context.Context) iter.Seq2[dueRow, error] {
	return func(yield func(dueRow, error) bool) {
		for some := range slices.Chunk(a.plan.Rows, chunk) {
			part, err := a.withOrders(ctx, some)
			for _, r := range part {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// withOrders returns rows of the plan with their orders. With an error, it returns as many rows.
func (a *Applier) withOrders(ctx context.Context, rows []PlanRow) (part []dueRow, err error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ExternalOrderID
	}
	var held map[string]journal.Record
	if !a.run.New { // otherwise all of them are planned
		held, err = a.sender.ledger.Held(ctx, ids)
	}
	part = make([]dueRow, len(rows))
	for i := range rows {
		r := &rows[i]
		content := contentOf(r.CreateWithdrawal)
		o, found := held[r.ExternalOrderID]
		switch {
		case err != nil:
		case found && !o.Content.Same(content):
			err = a.sender.otherContent(o, content, "make a plan that gives this row another order id")
		case !found && a.Begun() && !a.run.New:
			err = a.otherRows()
		case !found:
			o = journal.Record{Order: Order{OrderID: r.ExternalOrderID, State: StatePlanned, Content: content}}
		}
		part[i] = dueRow{r, o}
	}
	return part, err
}

// sendable reports whether this run sends a row in the state of its order.
func (a *Applier) sendable(o journal.Record) bool {
	return o.State == StatePlanned || o.State == StateRejected && a.options.RetryRejected
}

// Tally counts the orders of the plan's rows by state, using the journal alone.
func (a *Applier) Tally(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	t = newTally()
	for r, err := range a.rows(ctx) {
		if err != nil {
			return Tally{}, err
		}
		a.count(&t, r.order)
	}
	return t, nil
}

func (a *Applier) count(t *Tally, o journal.Record) {
	t.count(o, o.SentBy(a.plan.Name()), a.sendable(o))
}

// Preview returns what LookUp would, before the run has begun. It reads the list and settles nothing, so that
// a wrong number of orders that were accepted before leaves no run. As in every scan, an order that counted
// as not taken becomes unknown if the list has it. LookUp reads the list again, and decides about a row with
// what either of them has found.
func (a *Applier) Preview(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	if a.Begun() {
		return a.Tally(ctx)
	}
	if err := a.sender.verifyKey(ctx); err != nil {
		return Tally{}, err
	}
	return a.look(ctx)
}

// Begin records the run, its rows, and how many of them may be paid already. From here on the plan can be
// applied again even after it has expired.
func (a *Applier) Begin(ctx context.Context, before int) (err error) {
	defer toError(&err)
	if a.options.DryRun {
		return errDry
	}
	if err := a.sender.verifyKey(ctx); err != nil {
		return err
	}
	p := a.plan
	run, err := a.sender.ledger.BeginRun(ctx,
		journal.Run{Name: p.Name(), Digest: p.Digest, Plan: p.Path, Batch: p.Batch, Since: p.Since, Layout: layoutKey(p.Layout), Before: before,
			Required: int64(a.approvals.Required), Approvals: a.approvals.Approved},
		recorded(p.Rows))
	if err != nil {
		return accountChanged(err)
	}
	if !run.New && !a.Begun() { // another process may have begun it meanwhile
		if err := a.compareRows(ctx, run); err != nil {
			return err
		}
	}
	a.run = run
	return nil
}

// LookUp settles the unknown orders and asks the service's list for all orders that are to be sent. It
// returns the states of the orders then. Any conflict, new or old, is an *Error.
func (a *Applier) LookUp(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	defer func() { a.run.New = false }() // Send reads what others have done since
	a.looked = false
	if t, err = a.look(ctx); err != nil || t.Conflict == "" {
		a.looked = err == nil && a.Begun()
		return t, err
	}
	return t, a.conflictOf(ctx, t.Conflict)
}

// look is LookUp or, before the run has begun, Preview.
func (a *Applier) look(ctx context.Context) (t Tally, err error) {
	l, err := a.sender.newLookup(ctx)
	if err != nil {
		return Tally{}, err
	}
	t = newTally()
	for r, err := range a.rows(ctx) {
		if err != nil {
			return Tally{}, err
		}
		if a.Begun() && r.order.State == StateConflict {
			return Tally{}, conflict(r.order)
		}
		l.addRow(r.order, &r.CreateWithdrawal, a.sendable(r.order))
		a.count(&t, r.order)
	}
	listed, err := l.ask(ctx)
	if err == nil {
		err = a.checkReplaced(ctx) // the list may have shown some of it
	}
	if err != nil {
		return Tally{}, err
	}
	a.found = listed.with(a.found)
	if len(a.found.records) == 0 && !l.unasked && !a.sender.ledger.Journal().Shared() {
		return t, nil
	}
	if t, err = a.settleListed(ctx); err == nil && a.Begun() {
		a.found = answer{} // all of it is recorded
	}
	return t, err
}

// settleListed settles the orders that the list has shown, and counts all of them.
func (a *Applier) settleListed(ctx context.Context) (Tally, error) {
	t := newTally()
	for r, err := range a.rows(ctx) {
		if records := a.found.records[r.order.OrderID]; err == nil && len(records) > 0 {
			r.order, err = a.settle(ctx, r.order, records, &t)
		}
		if err != nil {
			return Tally{}, err
		}
		a.count(&t, r.order)
	}
	return t, nil
}

// settle records what the list says about an order and returns it. Before the run has begun, it records
// nothing.
func (a *Applier) settle(ctx context.Context, o journal.Record, records []record, t *Tally) (journal.Record, error) {
	e := evidence(o, records)
	switch {
	case a.Begun():
		var err error
		if o, err = a.sender.recordEvidence(ctx, e); err != nil {
			return o, err
		}
		more := a.sender.uncompared(e.Content, records[0])
		if more != "" && o.State == StateAccepted {
			a.note(fmt.Sprintf("order %s: %s", o.OrderID, more))
		}
	case e.Differs != "":
		o.State = StateConflict
	default:
		o.State = StateAccepted
	}
	if o.State == StateAccepted && o.Sent.IsZero() {
		t.dated(e.Dated)
	}
	return o, nil
}

// conflict returns the error for an order that keeps the run from being sent.
func conflict(o journal.Record) error {
	e := unsettled(o)
	e.Hint.Text = "if that is another payment with this number, make a plan in which the row has another order id; if it is this one, " + e.Hint.Text
	return e
}

func (a *Applier) conflictOf(ctx context.Context, orderID string) error {
	o, err := a.sender.ledger.Order(ctx, orderID)
	if err != nil {
		return err
	}
	return conflict(o)
}
