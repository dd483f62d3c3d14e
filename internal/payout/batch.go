package payout

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Batch is a plan that is applied: Open holds it against everything that speaks against sending it, Begin records it,
// LookUp asks the service what it has of it already, and Send sends the rest. Applied again, it goes on where it stopped.
type Batch struct {
	book    *Book
	plan    *Plan
	options Options
	run     journal.Run // its digest is empty until it has begun
	fresh   bool        // the orders that it has made are as it has made them
	sent    atomic.Int64
}

// Sent is for how many rows this process has taken the right to send them.
func (x *Batch) Sent() int { return int(x.sent.Load()) }

// Options are how a batch is sent.
type Options struct {
	Concurrency    int // how many calls are under way at a time
	Rate           float64
	KeepGoing      bool              // past an order of whose outcome nobody knows
	RetryRejected  bool              // what was rejected is sent once more
	AllowDuplicate bool              // what has the same content as an unknown order is sent all the same
	Progress       func(Tally)       // is told now and then where the orders stand, and in the end
	Note           func(text string) // is told what must not be lost
}

// A Tally says where the orders of a run stand.
type Tally struct {
	Rows   int
	States map[journal.State]int
	// Totals are of all rows, Accepted of those that the service took, and Left of those that are to be sent, by unit.
	Totals, Accepted, Left []Total
	// Before is how many of the accepted ones were not sent by this run. Found of them are known from the service's list alone,
	// and First and Last are when the others were sent.
	Before, Found int
	First, Last   time.Time
	// DatedFirst and DatedLast are how the list dates what was just found on it; empty: nothing was, or it has no dates.
	DatedFirst, DatedLast string
	Ended                 int    // how many calls have ended since it was counted
	Unknown               string // one of the unknown orders, to name it; empty: there is none
	Conflict              string
}

func newTally() Tally { return Tally{States: map[journal.State]int{}} }

// LeftRows is how many rows are to be sent.
func (t Tally) LeftRows() (n int) {
	for _, total := range t.Left {
		n += total.Rows
	}
	return n
}

// Open holds a plan against the account, the time, the journal and, in a file, other processes that apply a plan. It changes
// nothing that stays.
func (b *Book) Open(ctx context.Context, plan *Plan, o Options) (*Batch, error) {
	if plan.Account != b.Account {
		return nil, refused(RuleAccount, fmt.Sprintf("the plan is for %s, and this is %s", plan.Account, b.Account), "apply it there, or make a plan for this account")
	}
	if err := b.Journal.Alone(ctx, plan.Name()); err != nil {
		return nil, err
	}
	if _, err := b.Journal.Reap(ctx, b.Account); err != nil {
		return nil, err
	}
	x := &Batch{book: b, plan: plan, options: o}
	runs, err := b.Journal.Runs(ctx, b.Account)
	if err != nil {
		return nil, err
	}
	newest := ""               // run of the plan's batch
	batch := map[string]bool{} // all of them
	for _, r := range runs {
		if r.Name == plan.Name() && r.Digest == plan.Digest {
			x.run, newest = r, r.Name
		}
		if plan.Batch != "" && r.Batch == plan.Batch {
			batch[r.Name], newest = true, r.Name
		}
	}
	again := fmt.Sprintf("make the plan anew from its file, and look at what has changed since run %s", newest)
	switch {
	case x.Begun() && newest != x.run.Name:
		return nil, refused(RuleBatchChanged, fmt.Sprintf("the batch %q has gone on without this plan, with run %s", plan.Batch, newest), again)
	case !x.Begun() && plan.Batch != "" && newest != plan.Since:
		return nil, refused(RuleBatchChanged, fmt.Sprintf("run %s of the batch %q has begun since this plan was made", newest, plan.Batch), again)
	case !x.Begun() && !b.Now().Before(plan.Expires):
		return nil, refused(RulePlanExpired, fmt.Sprintf("the plan has expired at %s, before it was begun", plan.Expires.UTC().Format(time.RFC3339)), "make it anew, and look at it again")
	}
	return x, b.quiet(ctx, batch, plan.Name())
}

// quiet refuses a plan while another one of its batch is being applied: a row that has changed between them would be paid
// under both.
func (b *Book) quiet(ctx context.Context, batch map[string]bool, run string) error {
	if len(batch) == 0 {
		return nil
	}
	appliers, err := b.Journal.Appliers(ctx)
	for _, a := range appliers {
		if batch[a.Run] && a.Run != run {
			return &journal.BusyError{Run: a.Run, User: a.User, Host: a.Host}
		}
	}
	return err
}

// Begun reports whether the plan was begun before.
func (x *Batch) Begun() bool { return x.run.Digest != "" }

// UnderWay reports whether a call has left of which the outcome is not recorded yet.
func (x *Batch) UnderWay() bool { return x.book.UnderWay() > 0 }

// Approved is how many orders may be paid already, as a person has said before.
func (x *Batch) Approved() int { return x.run.Before }

// An entry is a row of the plan and its order. One that the journal does not have is planned.
type entry struct {
	PlanRow
	place int // from 0
	order journal.Order
}

// chunk is how many rows are asked for at a time.
const chunk = 100

// rows goes through the plan, from a row on, with what the journal says about each, as it is at that moment. What the plan
// says is what is sent: an order that has another content by now is an *Error.
func (x *Batch) rows(ctx context.Context, from int) iter.Seq2[[]entry, error] {
	return func(yield func([]entry, error) bool) {
		for part, err := range parts(x.plan.All(), from) {
			if err == nil {
				err = x.hold(ctx, part)
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

func (x *Batch) hold(ctx context.Context, part []entry) error {
	if x.made(part) {
		return nil
	}
	ids := make([]string, len(part))
	for i, r := range part {
		ids[i] = r.ExternalOrderID
	}
	held, err := x.book.Journal.Held(ctx, x.book.Account, ids)
	if err != nil {
		return err
	}
	for i := range part {
		o, found := held[ids[i]]
		if found && o.Content != ContentOf(part[i].CreateWithdrawal) {
			return refused(RuleOrderID, fmt.Sprintf("order %s is %s in the journal with other content: %s", o.OrderID, o.State, x.book.describe(o.Content)), "make a plan that gives this row another order id, or see what it was: till journal show "+o.OrderID)
		}
		if !found {
			o = journal.Order{OrderID: ids[i], State: journal.Planned, Content: ContentOf(part[i].CreateWithdrawal)}
		}
		part[i].order = o
	}
	return nil
}

// made takes orders from Begin, where it has just made all of them. Nobody else applies a plan from a journal in a file
// meanwhile, and a claim finds it out where one of them has become something else all the same.
func (x *Batch) made(part []entry) bool {
	if !x.fresh {
		return false
	}
	for i, r := range part {
		o, made := x.run.Made(r.place, r.Row())
		if !made {
			return false
		}
		part[i].order = o
	}
	return true
}

func parts(all iter.Seq2[PlanRow, error], from int) iter.Seq2[[]entry, error] {
	return func(yield func([]entry, error) bool) {
		part, n := make([]entry, 0, chunk), 0
		for r, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if n++; n <= from {
				continue
			}
			if part = append(part, entry{PlanRow: r, place: n - 1}); len(part) == chunk {
				if !yield(part, nil) {
					return
				}
				part = make([]entry, 0, chunk)
			}
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}

// sendable reports whether a row is one that this run sends.
func (x *Batch) sendable(o journal.Order) bool {
	return o.State == journal.Planned || o.State == journal.Rejected && x.options.RetryRejected
}

// Tally counts where the orders stand.
func (x *Batch) Tally(ctx context.Context) (Tally, error) {
	t := newTally()
	for part, err := range x.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			t.count(r.order, x.plan.Name(), x.sendable(r.order))
		}
	}
	return t, nil
}

// count counts an order.
func (t *Tally) count(o journal.Order, run string, sendable bool) {
	t.add(journal.Sum{State: o.State, Unit: o.Unit, SentBy: o.SentBy(run), Rows: 1, Minor: o.Minor, OrderID: o.OrderID, First: o.Sent, Last: o.Sent}, sendable)
}

// dated takes note of how the service's list dates an order that was just found on it.
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
	total := Total{amountOf(s), s.Rows}
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

func amountOf(s journal.Sum) api.Amount { return Amount(journal.Content{Unit: s.Unit, Minor: s.Minor}) }

// addTotal adds to the total of a unit. Totals of a plan fit, so those of a part of it do.
func addTotal(totals []Total, more Total) []Total {
	for i := range totals {
		if sameUnit(totals[i].Amount, more.Amount) {
			totals[i].Amount.Minor += more.Amount.Minor
			totals[i].Rows += more.Rows
			return totals
		}
	}
	return append(totals, more)
}

// Begin records the run and its rows, and how many of them may be paid already. From here on the plan can be applied again
// though it expires.
func (x *Batch) Begin(ctx context.Context, before int) error {
	if err := x.book.Admit(ctx); err != nil {
		return err
	}
	p := x.plan
	run, err := x.book.Journal.BeginRun(ctx, x.book.Account, journal.Run{Name: p.Name(), Digest: p.Digest, Plan: p.Path, Batch: p.Batch, Since: p.Since, Before: before}, func(yield func(journal.Row, error) bool) {
		for r, err := range p.All() {
			if !yield(r.Row(), err) {
				return
			}
		}
	})
	if err == nil {
		x.run, x.fresh = run, !x.book.Journal.Shared()
	}
	return err
}

// LookUp settles what nobody knows about, asks the service's list for everything that is to be sent, and returns where the
// orders stand then. A conflict, found now or standing from before, is an *Error.
func (x *Batch) LookUp(ctx context.Context) (Tally, error) {
	var unknown []journal.Order
	sought, from := map[string]bool{}, x.book.Since
	t := newTally()
	for part, err := range x.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			switch {
			case r.order.State == journal.Conflict:
				return Tally{}, x.conflict(r.order)
			case r.order.State == journal.Unknown:
				unknown = append(unknown, r.order)
			case x.sendable(r.order) && !x.book.NoLookup:
				sought[r.ExternalOrderID] = true
				if r.order.InDoubt() { // what is in doubt is as old as the order
					from = x.book.since(from, r.order)
				}
			}
			t.count(r.order, x.plan.Name(), x.sendable(r.order))
		}
	}
	listed, err := x.look(ctx, unknown, sought, from)
	if err != nil {
		return Tally{}, unsettled(unknown, err)
	}
	if len(listed) == 0 && !x.book.Journal.Shared() {
		return t, nil
	}
	x.fresh = false
	t = newTally()
	for part, err := range x.rows(ctx, 0) {
		if err != nil {
			return Tally{}, err
		}
		for _, r := range part {
			if records := listed[r.ExternalOrderID]; len(records) > 0 {
				f := finding(r.ExternalOrderID, ContentOf(r.CreateWithdrawal), records)
				if r.order, err = x.book.Journal.Settle(ctx, x.book.Account, f); err != nil {
					return Tally{}, err
				}
				if more := uncompared(f.Content, records[0]); more != "" && r.order.State == journal.Accepted && x.options.Note != nil {
					x.options.Note(fmt.Sprintf("order %s: %s", r.ExternalOrderID, more))
				}
				if r.order.Sent.IsZero() {
					t.dated(f.Dated)
				}
			}
			t.count(r.order, x.plan.Name(), x.sendable(r.order))
		}
	}
	if t.Conflict == "" {
		return t, nil
	}
	o, err := x.book.Journal.Order(ctx, x.book.Account, t.Conflict)
	if err != nil {
		return Tally{}, err
	}
	return t, x.conflict(o)
}

// conflict is about an order which keeps the run from being sent.
func (x *Batch) conflict(o journal.Order) error {
	e := x.book.standing(o, false)
	e.Hint += "; where the service is right, make a plan without this row"
	return e
}

// look reads the list: until two readings agree where orders are unknown, since only then there is something to settle.
func (x *Batch) look(ctx context.Context, unknown []journal.Order, sought map[string]bool, from string) (reading, error) {
	b := x.book
	if !b.NoLookup {
		standing, err := b.Journal.Standing(ctx, b.Account)
		if err != nil {
			return nil, err
		}
		if standing.OrderIDs == journal.Dropped {
			return nil, dropsOrderIDs()
		}
	}
	switch {
	case len(unknown) > 0:
		return b.lookTwice(ctx, unknown, sought, from)
	case len(sought) > 0:
		return b.readings(ctx, sought, from, once)
	}
	return nil, nil
}
