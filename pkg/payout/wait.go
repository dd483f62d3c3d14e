package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// RunWait says what WaitRun waits for. Statuses are compared without regard to case, because the interface
// does not show the case that the service uses.
type RunWait struct {
	Statuses []string          // the service's own; the wait for an order ends with one of them
	FailOn   []string          // statuses that end the wait with ErrFailedStatus
	Interval time.Duration     // time between two scans of the list; 0: api.DefaultWaitInterval
	Timeout  time.Duration     // limit for the whole wait; 0: until the context ends
	Progress func(RunProgress) // called after each scan; may be nil
	Trouble  func(error)       // called when a scan fails after one that succeeded; may be nil
}

// RunProgress is the progress of a WaitRun.
type RunProgress struct {
	Tally    Tally             // states of the run's orders when the wait began
	Orders   []Order           // the accepted orders, in the order of the plan: WaitRun waits for these
	Left     int               // how many of Orders have not had one of the statuses
	Statuses map[string]string // the last status that was seen of each, by withdrawal id
	Failed   []Order           // orders with a status of RunWait.FailOn

	left map[string]bool // withdrawal ids of the orders that are left
}

// WaitRun reads the service's list repeatedly until every accepted order of a run has had one of the
// statuses. An accepted order is not paid yet. If an order has a status of FailOn, the error is
// ErrFailedStatus. If the time limit passes, it is ErrNotYet. WaitRun repeats scans that fail, unless the
// service refuses the key. If no scan succeeds, the error is ErrReadFailed. The last progress is returned
// even with an error.
//
// WaitRun does not start if an order of the run is unknown, in conflict or being sent: the error is then
// ErrUnknown, ErrConflict or ErrBusy. If no order was accepted, it is ErrInvalid. WaitRun does not wait for
// rejected and planned orders: see RunProgress.Tally.
func (s *Sender) WaitRun(ctx context.Context, run string, wait RunWait) (p RunProgress, err error) {
	defer toError(&err)
	const advice = "name statuses as the service shows them, see Sender.Live"
	if len(wait.Statuses) == 0 {
		return p, failed(Invalid, "WaitRun: there is no status to wait for").hint(advice)
	}
	if slices.ContainsFunc(wait.FailOn, func(status string) bool { return among(status, wait.Statuses) }) {
		return p, failed(Invalid, "WaitRun: a status is both waited for and in FailOn").hint(advice)
	}
	r, err := s.Run(ctx, run)
	if err != nil {
		return p, err
	}
	if p.Tally, err = s.Tally(ctx, r.Name); err != nil {
		return p, err
	}
	if err := p.Tally.worthWaiting(r.Name); err != nil {
		return p, err
	}
	p.left, p.Statuses = map[string]bool{}, map[string]string{}
	for o, err := range s.Orders(ctx, Filter{Run: r.Name, States: []State{StateAccepted}}) {
		if err != nil {
			return p, err
		}
		p.Orders = append(p.Orders, o)
		p.left[o.ID] = true
	}
	p.Left = len(p.left)
	return p, s.waitRun(ctx, r.Name, wait, &p)
}

func (s *Sender) waitRun(ctx context.Context, run string, wait RunWait, p *RunProgress) error {
	verified := false
	poll := api.Poll{Interval: wait.Interval, Timeout: wait.Timeout, Trouble: wait.Trouble,
		Passes: func(err error) bool { // a scan that failed may succeed later: any answer may come from an outage
			return errors.As(err, new(*api.Error)) || errors.Is(asError(err), ReadFailed)
		}}
	err := api.WaitFor(ctx, poll, func(ctx context.Context) (done bool, err error) {
		if !verified { // another merchant's list has none of the orders
			if err := s.verifyKey(ctx); err != nil {
				return false, err
			}
			verified = true
		}
		if err := s.look(ctx, wait, p); err != nil {
			return false, err
		}
		if wait.Progress != nil {
			wait.Progress(*p)
		}
		return p.Left == 0 || len(p.Failed) > 0, nil
	})
	ended, failed := errors.AsType[*api.WaitError](err)
	switch {
	case failed && ctx.Err() != nil:
		return ctx.Err()
	case failed && ended.Err == context.DeadlineExceeded:
		return p.late(run, wait, ended)
	case failed:
		return ended.Err
	case len(p.Failed) > 0:
		return p.failed(run)
	}
	return err
}

// look reads the list until it has seen all withdrawals that are left, and notes their statuses. A single
// reading may miss some: the next one shows them.
func (s *Sender) look(ctx context.Context, wait RunWait, p *RunProgress) error {
	if len(p.left) == 0 { // the run has no rows
		return nil
	}
	seen := map[string]string{}
	r := &reading{see: func(w listed) bool {
		if p.left[w.ID] {
			seen[w.ID] = w.Current
		}
		return len(seen) < len(p.left)
	}}
	if err := r.read(ctx, s); err != nil && !errors.As(err, new(*lack)) {
		return err
	}
	for _, o := range p.Orders {
		status, found := seen[o.ID]
		if !found {
			continue
		}
		p.Statuses[o.ID] = status
		switch {
		case among(status, wait.FailOn):
			p.Failed = append(p.Failed, o)
		case among(status, wait.Statuses):
			delete(p.left, o.ID)
		}
	}
	p.Left = len(p.left)
	return nil
}

// worthWaiting returns an error if an order of the run has to be settled first, or if no order was accepted.
func (t Tally) worthWaiting(run string) error {
	words := func(state State, what string) string {
		orders, are := fmt.Sprintf("%d orders", t.Rows), "are"
		if t.Rows == 1 {
			orders = "1 order"
		}
		if t.States[state] == 1 {
			are = "is"
		}
		return fmt.Sprintf("%d of %s %s %s", t.States[state], orders, are, what)
	}
	var e *Error
	switch {
	case t.States[StateUnknown] > 0:
		e = failed(Unknown, "%s", words(StateUnknown, "unknown, such as "+t.Unknown)).
			hint("find out whether they were taken", "payout", "reconcile", run)
	case t.States[StateConflict] > 0:
		e = failed(Conflict, "%s", words(StateConflict, "in conflict, such as "+t.Conflict))
		e.Hint = settleConflict(t.Conflict, "")
	case t.States[StateSending] > 0:
		e = failed(Busy, "%s", words(StateSending, "being sent by another process")).hint("wait for that first")
	case t.States[StateAccepted] == 0 && t.Rows > 0:
		e = failed(Invalid, "no order of run %s was accepted, so there is nothing to wait for", run).
			hint("see their states", "payout", "status", run)
	default:
		return nil
	}
	e.Run = run
	return e
}

// failed returns the error for orders that have a status of FailOn.
func (p *RunProgress) failed(run string) error {
	first := p.Failed[0]
	e := failed(FailedStatus, "order %s has the status %q", first.OrderID, p.Statuses[first.ID]).
		about(first.OrderID, first.ID).hint("see all of them", "payout", "status", run, "--live")
	if e.Run = run; len(p.Failed) > 1 {
		e.Msg = fmt.Sprintf("%d orders have a status to fail on, such as %s: %q", len(p.Failed), first.OrderID,
			p.Statuses[first.ID])
		e.about("", "").OrderIDs = idsOf(p.Failed)
	}
	return e
}

func idsOf(orders []Order) (ids []string) {
	for _, o := range orders {
		ids = append(ids, o.OrderID)
	}
	return ids
}

// late returns the error for a wait whose time limit has passed. It counts the statuses of the orders that
// are left.
func (p *RunProgress) late(run string, w RunWait, ended *api.WaitError) error {
	trouble := ended.Trouble
	if !ended.Read {
		e := failed(ReadFailed, "run %s could not be read within %s: %v", run, w.Timeout, trouble).because(trouble).
			hint("nothing was changed, run it again")
		e.Run = run
		return e
	}
	var names []string
	counts := map[string]int{}
	left := slices.DeleteFunc(slices.Clone(p.Orders), func(o Order) bool { return !p.left[o.ID] })
	for _, o := range left {
		name, seen := p.Statuses[o.ID]
		if !seen {
			name = "not seen on its list"
		}
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	orders := "accepted orders"
	if len(p.Orders) == 1 {
		orders = "accepted order"
	}
	e := failed(NotYet, "%d of %d %s did not become %s within %s: %s", p.Left, len(p.Orders), orders,
		strings.Join(w.Statuses, " or "), w.Timeout, strings.Join(names, ", ")).because(trouble).
		hint("wait longer with --timeout, or see what the service calls its statuses", "payout", "status", run, "--live")
	if e.Run, e.OrderIDs = run, idsOf(left); len(left) == 1 {
		e.OrderID, e.OrderIDs = left[0].OrderID, nil
	}
	if trouble != nil {
		e.Msg += fmt.Sprintf("; the last reading failed: %v", trouble)
	}
	return e
}

func among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Live returns the service's status of the orders that a filter chooses, by withdrawal id, from one reading of
// the list, which ends once it has shown them all. It leaves out orders that have no withdrawal, or that are not
// on the list. If no reading was complete, the error is an *Error.
func (s *Sender) Live(ctx context.Context, f Filter) (statuses map[string]string, err error) {
	defer toError(&err)
	sought := map[string]bool{}
	for o, err := range s.ledger.Orders(ctx, f) {
		if err != nil {
			return nil, err
		}
		if o.ID != "" {
			sought[o.ID] = true
		}
	}
	if err := s.verifyKey(ctx); err != nil || len(sought) == 0 {
		return nil, err
	}
	var r *reading
	err = s.readUntil(ctx, func(journal.AccountStatus) (*reading, error) {
		statuses = map[string]string{}
		r = &reading{anyTotal: true, see: func(w listed) bool {
			if sought[w.ID] {
				statuses[w.ID] = w.Current
			}
			return len(statuses) < len(sought)
		}}
		return r, nil
	}, completely)
	switch {
	case rejects(err) && r.accepted.NoList:
		return nil, refused(RuleList, "the service does not show its list: %v", err).because(err).hint("leave --live out")
	case err != nil:
		return nil, notShown(err)
	}
	return statuses, nil
}
