package payout

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// An Applier applies a plan step by step, for a program that asks a person in between. Sender.Apply takes all
// steps at once. Sender.Applier checks everything that could keep the plan from being sent, Begin records the
// rows, LookUp finds out what the service already has, and Send sends the rest. Applied again, a plan
// continues where it stopped.
//
// Begin records the rows of the plan. From then on the journal is the only source of rows.
type Applier struct {
	sender  *Sender
	plan    *Plan
	options ApplyOptions
	run     journal.Run // its digest is empty until the run has begun
	found   answer      // what Preview has found on the list
	sent    atomic.Int64

	approvals ApprovalStatus // if approvals are required
	demand    int64          // number of the demand that they meet
}

// Sent returns the number of rows that this process has claimed, and so has taken the right to send.
func (a *Applier) Sent() int { return int(a.sent.Load()) }

// ApplyOptions change how a plan is applied. With the zero ApplyOptions, rows are sent one at a time.
type ApplyOptions struct {
	Concurrency    int     // most calls in flight at a time; 0 is 1
	Rate           float64 // most calls in a second; 0: no limit
	KeepGoing      bool    // send the rest even if an outcome is unknown
	RetryRejected  bool    // send again what the service has rejected
	AllowDuplicate bool    // send a row even if an unknown order has the same content
	AlreadyPaid    int     // how many orders may have been accepted before, other than by this run; for Apply
	// Approvals are the files of signatures over the plan; nil: all files next to the plan whose names begin
	// with its name and end with .sig. If the run has begun, the signatures in the journal count too.
	Approvals []string
	// called with the states of the orders from time to time, and at the end; may be nil
	Progress func(Tally)
	Note     func(text string) // called with what a person should know; may be nil
}

// Apply sends the rows of a plan, each at most once. It returns the states of the orders afterwards, even if
// there is an error. Applied again, also by another process after a crash, the plan continues where it
// stopped. A row that the service rejects is not an error: see Tally.States.
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
	if err := plan.CheckDecimals(s.options.Currencies); err != nil {
		return Tally{}, err
	}
	applier, err := s.Applier(ctx, plan, o)
	if err != nil {
		return Tally{}, err
	}
	if t, err = applier.prepare(ctx); err == nil {
		err = applier.Send(ctx, context.WithoutCancel(ctx), t)
	} else if applier.leave(ctx); !applier.Begun() {
		return t, err
	}
	after, lost := s.Tally(context.WithoutCancel(ctx), plan.Name())
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
	if err != nil {
		return t, err
	}
	if t, err = a.LookUp(ctx); err == nil {
		err = a.checkPaid(t)
	}
	return t, err
}

var errNoPlan error = &Error{Kind: Invalid, Msg: "the plan is nil", Hint: NewHint("open one with payout.OpenPlan")}

// checkPaid refuses a run if more of its orders were accepted before than a person has said.
func (a *Applier) checkPaid(t Tally) error {
	if known := max(a.options.AlreadyPaid, a.Approved()); t.Before > known {
		return refused(RulePaidBefore,
			fmt.Sprintf("%d of %d orders were accepted before, and not by this run, and not more than %d are known of",
				t.Before, t.Rows, known),
			"if only the rest is to be sent, say how many there are: ApplyOptions.AlreadyPaid")
	}
	return nil
}

// A Tally counts the orders of a run by state.
type Tally struct {
	Rows   int
	States map[State]int
	// Totals are the totals of all rows, one for each unit. Accepted and Left are the totals of the rows that
	// were accepted, and of those that are still to be sent.
	Totals, Accepted, Left []Total
	// Before is how many accepted orders were not sent by this run. Found is how many of these are known only
	// from the service's list. First and Last are when the first and the last of the others were sent.
	Before, Found int
	First, Last   time.Time
	// DatedFirst and DatedLast are the earliest and the latest date of the orders that LookUp found on the
	// list, in the list's format; empty: there are none.
	DatedFirst, DatedLast string
	Ended                 int    // how many calls have ended since the orders were counted
	Unknown               string // the first order that is unknown; empty: there is none
	Conflict              string // the first order in conflict; empty: there is none
}

func newTally() Tally { return Tally{States: map[State]int{}} }

// LeftRows returns how many rows are still to be sent.
func (t Tally) LeftRows() (n int) {
	for _, total := range t.Left {
		n += total.Rows
	}
	return n
}

// Applier checks that a plan fits the account, the time and the journal, and that it is approved. If the
// journal is a file, it also checks that no other process applies a plan. It changes nothing permanently,
// except that the journal remembers how many approvals were required.
//
// From then on this process counts as applying the plan: until Send returns and all outcomes are recorded, until
// Applier is called again, or until it ends.
func (s *Sender) Applier(ctx context.Context, plan *Plan, o ApplyOptions) (applier *Applier, err error) {
	defer toError(&err)
	if plan == nil {
		return nil, errNoPlan
	}
	if account := s.Account(); plan.Account != account {
		return nil, refused(RuleAccount, fmt.Sprintf("the plan is for %s, and this is %s", plan.Account, account),
			"apply it there, or make a plan for this account")
	}
	applier = &Applier{sender: s, plan: plan, options: o}
	if err := s.ledger.Alone(ctx, plan.Name(), true); err != nil {
		return nil, err
	}
	if err = s.ledger.Reap(ctx); err == nil {
		err = applier.newest(ctx)
	}
	if err == nil {
		err = s.within(func(yield func(api.CreateWithdrawal) bool) {
			for i := 0; i < len(plan.Rows) && yield(plan.Rows[i].CreateWithdrawal); i++ {
			}
		})
	}
	if err == nil {
		err = applier.approve(ctx)
	}
	if err != nil {
		applier.leave(ctx)
		return nil, err
	}
	return applier, nil
}

// leave lets other processes apply their plans, although this one goes on. If the journal fails, they have to wait
// for its end: that is no reason to report a run as failed.
func (a *Applier) leave(ctx context.Context) {
	a.sender.ledger.Leave(ctx, a.plan.Name())
}

// newest finds the plan's run, and refuses the plan if its batch has gone on without it, or if it has expired.
func (a *Applier) newest(ctx context.Context) error {
	s, plan := a.sender, a.plan
	runs, err := s.ledger.Runs(ctx)
	if err != nil {
		return err
	}
	newest := ""               // the newest run of the plan's batch
	batch := map[string]bool{} // names of all runs of the batch
	for _, r := range runs {
		if r.Name == plan.Name() && r.Digest == plan.Digest {
			newest = r.Name
			if !a.Begun() {
				a.run = r
			}
		}
		if plan.Batch != "" && r.Batch == plan.Batch {
			batch[r.Name], newest = true, r.Name
		}
	}
	again := fmt.Sprintf("make a new plan from the file, and look at what has changed since run %s", newest)
	switch {
	case a.Begun() && newest != a.run.Name:
		return refused(RuleBatchChanged,
			fmt.Sprintf("the batch %q has gone on without this plan, with run %s", plan.Batch, newest), again)
	case !a.Begun() && plan.Batch != "" && newest != plan.Since:
		return refused(RuleBatchChanged,
			fmt.Sprintf("run %s of the batch %q has begun since this plan was made", newest, plan.Batch), again)
	case !a.Begun() && !s.now().Before(plan.Expires):
		return refused(RulePlanExpired,
			fmt.Sprintf("the plan has expired at %s, before it was begun", plan.Expires.UTC().Format(time.RFC3339)),
			"make a new plan, and look at it again")
	}
	return s.quiet(ctx, batch, plan.Name())
}

// quiet refuses a plan while another plan of its batch is being applied: a row that differs between the two
// would be paid under both.
func (s *Sender) quiet(ctx context.Context, batch map[string]bool, run string) error {
	if len(batch) == 0 {
		return nil
	}
	appliers, err := s.ledger.Journal().Appliers(ctx)
	for _, a := range appliers {
		if batch[a.Run] && a.Run != run {
			return &journal.Error{Kind: journal.Busy, Run: a.Run, User: a.User, Host: a.Host}
		}
	}
	return err
}

// Begun reports whether the plan was begun before.
func (a *Applier) Begun() bool { return a.run.Digest != "" }

// UnderWay reports whether a call is in flight, or its outcome is not recorded yet.
func (a *Applier) UnderWay() bool { return a.sender.UnderWay() > 0 }

// Approved returns how many orders may be paid already, as a person has said before.
func (a *Applier) Approved() int { return a.run.Before }

// chunk is how many rows are read at a time.
const chunk = 128

// rows yields the rows of the run as they were recorded, starting at a place. Each row has its order in its
// current state. Only the plan's own rows are sent: if others are recorded, somebody has changed the journal, and rows
// ends with an error.
func (a *Applier) rows(ctx context.Context, from int) iter.Seq2[[]journal.RunRow, error] {
	return func(yield func([]journal.RunRow, error) bool) {
		for place := from; ; place += chunk {
			part, err := a.sender.ledger.RunRows(ctx, a.run, place, chunk)
			for i, r := range part {
				switch {
				case err != nil:
				case r.Place != place+i || r.Place >= len(a.plan.Rows) || r.Row != a.plan.Rows[r.Place].row():
					err = a.otherRows()
				default:
					err = a.unchanged(r.Order, r.Row.Content)
				}
			}
			if err == nil && len(part) != min(chunk, max(0, len(a.plan.Rows)-place)) {
				err = a.otherRows()
			}
			if err == nil && len(part) == 0 || !yield(part, err) || err != nil {
				return
			}
		}
	}
}

func (a *Applier) otherRows() error {
	return refused(RulePlanChanged,
		fmt.Sprintf("the rows that the journal recorded for run %s are not those of the plan %s", a.plan.Name(), a.plan.Path),
		"find out who has changed the journal, and make a new plan of what is still to be paid", "payout", "plan", "FILE", "--out", "PLAN")
}

// unchanged refuses an order whose content in the journal is not what the run is to send.
func (a *Applier) unchanged(o journal.Order, c journal.Content) error {
	if o.Content.Same(c) {
		return nil
	}
	return a.sender.otherContent(o, c, "make a plan that gives this row another order id, or see what it was")
}

// sendable reports whether this run sends a row in the state of its order.
func (a *Applier) sendable(o journal.Order) bool {
	return o.State == journal.Planned || o.State == journal.Rejected && a.options.RetryRejected
}

// Tally counts the orders by state: the rows of the recorded run or, before it has begun, the rows of the
// plan.
func (a *Applier) Tally(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	if !a.Begun() {
		return a.tallyPlan(ctx)
	}
	t = newTally()
	for part, err := range a.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			t.count(r.Order, a.plan.Name(), a.sendable(r.Order))
		}
	}
	return t, nil
}

// tallyPlan counts the rows of a plan by the states of their orders.
func (a *Applier) tallyPlan(ctx context.Context) (Tally, error) {
	t := newTally()
	err := a.planOrders(ctx, func(o journal.Order) { t.count(o, a.plan.Name(), a.sendable(o)) })
	if err != nil {
		return Tally{}, err
	}
	return t, nil
}

// planOrders calls each with the order of every row of a plan. An order that the journal does not have is
// planned.
func (a *Applier) planOrders(ctx context.Context, each func(journal.Order)) error {
	part := make([]journal.Row, 0, chunk)
	count := func() error {
		ids := make([]string, len(part))
		for i, r := range part {
			ids[i] = r.OrderID
		}
		held, err := a.sender.ledger.Held(ctx, ids)
		if err != nil {
			return err
		}
		for _, r := range part {
			o, found := held[r.OrderID]
			if !found {
				o = journal.Order{OrderID: r.OrderID, State: journal.Planned, Content: r.Content}
			}
			if err := a.unchanged(o, r.Content); err != nil {
				return err
			}
			each(o)
		}
		part = part[:0]
		return nil
	}
	for _, r := range a.plan.Rows {
		if part = append(part, r.row()); len(part) == chunk {
			if err := count(); err != nil {
				return err
			}
		}
	}
	return count()
}

// Preview returns what LookUp would, before the run has begun. It reads the list and settles nothing, so that a
// wrong number of orders that were accepted before leaves no run. As in every scan, an order that counted as not
// taken becomes unknown if the list has it. LookUp reads the list again, and decides about a row with what either
// of them has found.
func (a *Applier) Preview(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	if a.Begun() {
		return a.Tally(ctx)
	}
	if err := a.sender.VerifyKey(ctx); err != nil {
		return Tally{}, err
	}
	w, err := a.wanted(ctx)
	if err != nil {
		return Tally{}, err
	}
	if err := a.planOrders(ctx, w.add); err != nil {
		return Tally{}, err
	}
	listed, err := a.look(ctx, w)
	if err != nil {
		return Tally{}, err
	}
	listed = listed.with(a.found)
	a.found = listed
	t = newTally()
	err = a.planOrders(ctx, func(o journal.Order) {
		if records := listed.records[o.OrderID]; len(records) > 0 {
			e := a.sender.evidence(o.OrderID, o.Content, records)
			if o.State = journal.Accepted; e.Differs != "" {
				o.State = journal.Conflict
			} else if o.Sent.IsZero() {
				t.dated(e.Dated)
			}
		}
		t.count(o, a.plan.Name(), a.sendable(o))
	})
	if err != nil {
		return Tally{}, err
	}
	return t, nil
}

func (t *Tally) count(o journal.Order, run string, sendable bool) {
	t.add(journal.Sum{State: o.State, Unit: o.Unit, SentBy: o.SentBy(run), Rows: 1, Minor: money.SumOf(o.Minor), OrderID: o.OrderID,
		First: o.Sent, Last: o.Sent}, sendable)
}

// dated notes the date of an order that was just found on the service's list.
func (t *Tally) dated(at string) {
	if at == "" {
		return
	}
	if t.DatedFirst == "" || at < t.DatedFirst {
		t.DatedFirst = at
	}
	t.DatedLast = max(t.DatedLast, at)
}

func (t *Tally) add(s journal.Sum, sendable bool) {
	t.Rows += s.Rows
	t.States[s.State] += s.Rows
	total := Total{sumOf(s), s.Rows}
	t.Totals = addTotal(t.Totals, total)
	if sendable {
		t.Left = addTotal(t.Left, total)
	}
	switch {
	case s.State == journal.Unknown && t.Unknown == "":
		t.Unknown = s.OrderID
	case s.State == journal.Conflict && t.Conflict == "":
		t.Conflict = s.OrderID
	case s.State == journal.Accepted:
		t.Accepted = addTotal(t.Accepted, total)
		if s.SentBy {
			break
		}
		t.Before += s.Rows
		if s.First.IsZero() {
			t.Found += s.Rows
			break
		}
		if t.First.IsZero() || s.First.Before(t.First) {
			t.First = s.First
		}
		if s.Last.After(t.Last) {
			t.Last = s.Last
		}
	}
}

func sumOf(s journal.Sum) BigAmount {
	u := currencyOf(s.Unit)
	return BigAmount{Kind: u.Kind, Code: u.Code, Minor: s.Minor}
}

// addTotal adds to the total of a unit.
func addTotal(totals []Total, more Total) []Total {
	for i := range totals {
		if totals[i].Amount.SameUnit(more.Amount) {
			totals[i].Amount.Minor.Plus(more.Amount.Minor)
			totals[i].Rows += more.Rows
			return totals
		}
	}
	return append(totals, more)
}

// Begin records the run, its rows, and how many of them may be paid already. From here on the plan can be
// applied again even after it has expired.
func (a *Applier) Begin(ctx context.Context, before int) (err error) {
	defer toError(&err)
	if err := a.sender.VerifyKey(ctx); err != nil {
		return err
	}
	p := a.plan
	run, err := a.sender.ledger.BeginRun(ctx,
		journal.Run{Name: p.Name(), Digest: p.Digest, Plan: p.Path, Batch: p.Batch, Since: p.Since, Before: before,
			Required: int64(a.approvals.Required), Approvals: a.approvals.recorded()},
		func(yield func(journal.Row, error) bool) {
			for _, r := range p.Rows {
				if !yield(r.row(), nil) {
					return
				}
			}
		})
	if err != nil {
		return accountChanged(err)
	}
	a.run = run
	return nil
}

// LookUp settles the unknown orders and asks the service's list for all orders that are to be sent. It
// returns the states of the orders then. Any conflict, new or old, is an *Error.
func (a *Applier) LookUp(ctx context.Context) (t Tally, err error) {
	defer toError(&err)
	w, err := a.wanted(ctx)
	if err != nil {
		return Tally{}, err
	}
	t = newTally()
	for part, err := range a.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			if r.Order.State == journal.Conflict {
				return Tally{}, a.conflict(r.Order)
			}
			w.add(r.Order)
			t.count(r.Order, a.plan.Name(), a.sendable(r.Order))
		}
	}
	listed, err := a.look(ctx, w)
	if err != nil {
		return Tally{}, err
	}
	listed = listed.with(a.found)
	if len(listed.records) == 0 && !w.unasked && !a.sender.ledger.Journal().Shared() {
		return t, nil
	}
	t = newTally()
	for part, err := range a.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			if records := listed.records[r.Order.OrderID]; len(records) > 0 {
				e := a.sender.evidence(r.Order.OrderID, r.Order.Content, records)
				if r.Order, err = a.sender.recordEvidence(ctx, e); err != nil {
					return Tally{}, err
				}
				if more := a.sender.uncompared(e.Content, records[0]); more != "" && r.Order.State == journal.Accepted &&
					a.options.Note != nil {
					a.options.Note(fmt.Sprintf("order %s: %s", r.Order.OrderID, more))
				}
				if r.Order.Sent.IsZero() {
					t.dated(e.Dated)
				}
			}
			t.count(r.Order, a.plan.Name(), a.sendable(r.Order))
		}
	}
	a.found = answer{} // all of it is recorded
	if t.Conflict == "" {
		return t, nil
	}
	o, err := a.sender.ledger.Order(ctx, t.Conflict)
	if err != nil {
		return Tally{}, err
	}
	return t, a.conflict(o)
}

// conflict returns the error for an order that keeps the run from being sent.
func (a *Applier) conflict(o journal.Order) error {
	e := a.sender.unsettled(o, false)
	e.Hint.Text = "where the service is right, make a plan without this row; where it is not, " + e.Hint.Text
	return e
}

// wanted are the orders of a run that the list is asked about.
type wanted struct {
	applier *Applier
	status  journal.AccountStatus
	never   bool // only what is unknown is looked up
	unasked bool // an order that counts as not taken is not asked about; if the list has it, it becomes unknown
	unknown []journal.Order
	sends   []string                 // the order ids that are to be sent
	sought  map[string]journal.Order // these and the unknown ones
	from    string                   // how far back the list is read for them
}

// wanted decides how the options apply. If the journal has lost records, the whole list is read.
func (a *Applier) wanted(ctx context.Context) (*wanted, error) {
	w := &wanted{applier: a, never: a.sender.options.Lookup == LookupNever, sought: map[string]journal.Order{},
		from: a.sender.options.Since}
	var err error
	if w.status, err = a.sender.ledger.Status(ctx); w.status.Restored {
		w.never, w.from = false, ""
	}
	return w, err
}

func (w *wanted) add(o journal.Order) {
	sender := w.applier.sender
	switch {
	case o.State == journal.Unknown:
		w.unknown = append(w.unknown, o)
		w.sought[o.OrderID], w.from = o, sender.since(w.from, o)
	case w.applier.sendable(o) && !w.never:
		w.sends = append(w.sends, o.OrderID)
		w.sought[o.OrderID] = o
		if o.InDoubt() { // the attempt in doubt is as old as the order
			w.from = sender.since(w.from, o)
		}
	case o.State == journal.Rejected, o.State == journal.Planned && len(o.Attempts) > 0:
		w.unasked = true
	}
}

// look asks the list about the wanted orders. If there are none, it reads nothing.
func (a *Applier) look(ctx context.Context, w *wanted) (found answer, err error) {
	if len(w.sends) > 0 {
		err = a.sender.keepsOrderIDs(ctx, w.status)
	}
	if err == nil && len(w.sought) > 0 {
		if found, err = a.sender.ask(a.sender.observeDate(ctx), w.sought, w.from); err == nil {
			err = found.undecided(w.sends...)
		}
	}
	if err != nil {
		return answer{}, unsettled(w.unknown, err)
	}
	return found, nil
}
