package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// manyUnknown is how many unknown outcomes in a row stop a run, even with KeepGoing.
const manyUnknown = 5

// Send sends every row that is left, with as many calls in flight as the options allow. LookUp must have succeeded
// since Begin. Send returns why it stopped before the end; nil: it did not. When it returns, all calls have ended and
// their outcomes are recorded, as far as the journal could be written.
//
// A plan is refused while another plan of its batch is being sent, and after a newer one of it has begun. If
// the journal is a file, it is also refused while another process applies a plan.
//
// Until the first row is accepted and read back, rows are sent one at a time. So if the service does not keep
// order ids, this is found out before many rows are sent.
func (a *Applier) Send(ctx, calls context.Context, t Tally) (err error) {
	defer toError(&err)
	if a.options.DryRun {
		return errDry
	}
	defer a.endApplying(ctx)
	if t.States[StateUnknown] > 0 && !a.options.KeepGoing {
		return a.nothingMore(t)
	}
	ledger := a.sender.ledger
	defer ledger.Journal().Sending(a.plan.Name())()
	if err := ledger.Alone(ctx, a.plan.Name(), false); err != nil { // it may have left, or prepared another plan since
		return err
	}
	if err := a.checkBatch(ctx); err != nil {
		return err
	}
	if !a.looked {
		return failed(Invalid, "the orders of the plan have not been looked up since its run began").hint("call Begin and LookUp first")
	}
	if t.States = maps.Clone(t.States); t.States == nil {
		t.States = map[State]int{}
	}
	given := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &sending{Applier: a, ctx: ctx, calls: calls, end: stop, tally: t,
		tried: a.sender.options.Lookup == LookupNever, limit: rate.NewLimiter(rate.Inf, 1),
		news: make(chan struct{}, 1)}
	if r := a.options.Rate; r > 0 {
		s.limit = rate.NewLimiter(rate.Limit(r), max(1, int(r)))
	}
	many := max(1, min(a.options.Concurrency, len(a.plan.Rows)))
	queue := make(chan dueRow, many) // buffered, so that a worker with an answer finds the next row at once
	var workers, shown sync.WaitGroup
	shown.Go(s.show)
	for range many {
		workers.Go(func() {
			for r := range queue {
				s.send(r, queue)
			}
		})
	}
	s.feed(queue)
	close(queue)
	workers.Wait()
	close(s.news)
	shown.Wait()
	if s.doubt != nil {
		return s.inDoubt()
	}
	return cmp.Or(s.why, given.Err())
}

// nothingMore returns the error for a run with unknown orders, of which nothing more is sent.
func (a *Applier) nothingMore(t Tally) error {
	which, them := fmt.Sprintf("order %s of the run is", t.Unknown), "it"
	if n := t.States[StateUnknown]; n > 1 {
		which, them = fmt.Sprintf("%d orders of the run are", n), "them"
	}
	return failed(Unknown, "%s unknown, and nothing more was sent", which).
		hint("send the rest with --keep-going, or settle "+them+" first", "payout", "reconcile", a.plan.Name())
}

// sending is the state of one Send.
type sending struct {
	*Applier
	ctx, calls context.Context
	end        context.CancelFunc
	limit      *rate.Limiter
	news       chan struct{}

	mu    sync.Mutex
	tally Tally
	tried bool // a row was accepted and read back, or LookupNever is set
	inRow int  // how many outcomes in a row were unknown

	shared bool
	handed sync.Map // rows of a shared journal that were given to a worker, by order id; true: another process claimed it first

	doubt error // the first outcome that is unknown, or could not be recorded

	stopping sync.Mutex
	why      error
}

// inDoubt returns the error of a run with an unknown outcome, whatever has stopped it first. It counts all
// orders that are unknown by then.
func (s *sending) inDoubt() error {
	why, them := s.doubt.Error(), "it"
	if n := s.tally.States[StateUnknown]; n > 1 {
		why, them = fmt.Sprintf("%d orders of the run are unknown: %s", n, why), "them"
	}
	if s.inRow >= manyUnknown {
		why = fmt.Sprintf("%d outcomes in a row were unknown; %s", s.inRow, why)
	}
	if s.why != s.doubt && !errors.Is(s.why, context.Canceled) {
		why += "; " + s.why.Error()
	}
	return failed(Unknown, "%s", why).because(s.doubt).hint("do not send "+them+" again", "payout", "reconcile", s.plan.Name())
}

// stop ends the run and keeps the reason. Of several reasons it keeps the first, except that a refused key,
// or too many calls, replaces any other: a person has to know that first.
func (s *sending) stop(err error) {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	if s.why == nil || weight(err) > weight(s.why) {
		s.why = err
	}
	s.end()
}

func weight(err error) int {
	switch call, _ := errors.AsType[*api.Error](err); {
	case call == nil || call.Outcome != api.Rejected || !keyOrRate(call.Status):
		return 0
	case call.Status == 429:
		return 1
	}
	return 2
}

// feed gives every row that is to be sent to the workers. If several processes share the journal, each of
// them starts at a random row, so that two seldom try to claim the same row. Each of them continues until no
// row is left, because any of the others may stop.
func (s *sending) feed(queue chan<- dueRow) {
	if s.shared = s.sender.ledger.Journal().Shared(); !s.shared {
		s.pass(queue, 0)
		return
	}
	if t, err := s.sender.Tally(s.ctx, s.plan.Name()); err != nil {
		s.stop(err)
	} else if t.States[StateUnknown] > 0 && !s.options.KeepGoing { // the first pass begins after some rows
		s.stop(s.becameUnknown())
	}
	s.pass(queue, rand.IntN(max(1, len(s.plan.Rows))))
	for s.ctx.Err() == nil {
		n, busy := s.pass(queue, 0)
		if n > 0 {
			continue
		}
		if !busy {
			return
		}
		select { // other processes are sending the rest
		case <-s.ctx.Done():
		case <-time.After(betweenPasses):
		}
		if err := s.sender.ledger.Reap(s.ctx); err != nil {
			s.stop(err)
		}
	}
}

// betweenPasses is how long a process with nothing left to send waits before it looks again what the others
// have left.
const betweenPasses = 200 * time.Millisecond

// pass goes through the plan once, starting at a row. It returns how many rows it gave to the workers, and
// whether other processes are sending some.
func (s *sending) pass(queue chan<- dueRow, from int) (n int, busy bool) {
	states := map[State]int{}
	for some := range slices.Chunk(s.plan.Rows[from:], chunk) {
		part, err := s.withOrders(s.ctx, some)
		if err != nil {
			s.stop(err)
		}
		for _, r := range part {
			states[r.order.State]++
		}
		unknown := states[StateUnknown]
		if unknown > 0 && !s.options.KeepGoing { // some became unknown in another process, or were found dead
			s.stop(s.becameUnknown())
		}
		for _, r := range part {
			if s.ctx.Err() != nil {
				return n, false
			}
			if s.sendable(r.order) && s.takes(r.order) {
				n++
				s.hand(queue, r)
			}
		}
	}
	return n, states[StateSending] > 0 && s.shared
}

// takes reports whether a row is sent: once or, if another process claimed it first and did not send it, once
// more.
func (s *sending) takes(o journal.Record) bool {
	if !s.shared {
		return true
	}
	lost, handed := s.handed.Load(o.OrderID)
	if handed && (lost == false || o.State != StatePlanned) {
		return false
	}
	s.handed.Store(o.OrderID, false)
	return true
}

// hand gives a row to a worker. Until one row was accepted and read back, it sends the row itself.
func (s *sending) hand(queue chan<- dueRow, r dueRow) {
	if !s.tried {
		s.send(r, nil)
		return
	}
	select {
	case queue <- r:
	case <-s.ctx.Done():
	}
}

// becameUnknown returns the error for an order that another process was sending.
func (s *sending) becameUnknown() error {
	return failed(Unknown, "an order of the run has become unknown").
		hint("settle it first", "payout", "reconcile", s.plan.Name())
}

// send sends a row and then continues with rows from more. It records the outcome of one row and the claim of
// the next together, see deliver.
func (s *sending) send(r dueRow, more <-chan dueRow) {
	if err := s.limit.Wait(s.ctx); err != nil {
		if s.ctx.Err() == nil { // it will end before it is the row's turn
			s.stop(context.DeadlineExceeded)
		}
		return
	}
	next := r
	err := s.sender.deliver(s.ctx, s.calls, s.claim(r), func(c call) *journal.Claim {
		s.sent.Add(1)
		var found bool
		if next, found = s.next(c, more); !found {
			return nil
		}
		claim := s.claim(next)
		return &claim
	}, func(o journal.Record, err error) {
		s.count(r, o, err)
		if err == nil && !s.tried {
			s.try(o)
		}
		r = next
	})
	if err != nil {
		s.notClaimed(r, err)
	}
}

func (s *sending) claim(r dueRow) journal.Claim {
	return journal.Claim{Row: r.row(),
		Key: s.sender.key, Decimals: s.sender.decimals(r.Amount), SameContent: true, Run: s.plan.Name(), Known: r.order,
		AllowDuplicate: s.options.AllowDuplicate, NotRejected: !s.options.RetryRejected, Demand: s.demand,
		Consent: s.run.Consent, Batch: s.plan.Batch, Skew: s.sender.skew.Load(), Budgets: s.sender.budgets()}
}

// next returns a row to be claimed in the same commit as an outcome, if a row is waiting and nothing known
// now forbids it. If something forbids it later, the call is not made.
func (s *sending) next(c call, more <-chan dueRow) (r dueRow, found bool) {
	ending := endingOf(c.err)
	if s.options.Rate > 0 || s.ctx.Err() != nil || ending != order.WasAccepted && ending != order.WasRejected {
		return dueRow{}, false
	}
	select {
	case r, found = <-more:
	default:
	}
	return r, found
}

// try reads back the first withdrawal that was accepted. Until it has succeeded, only one row is in flight.
func (s *sending) try(o journal.Record) {
	now, note, err := s.sender.readBack(s.ctx, o)
	switch {
	case now.State == StateUnknown && o.State != StateUnknown: // the service does not have it
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tally.States[o.State]--
		s.tally.States[now.State]++
		s.doubt = cmp.Or(s.doubt, err)
		s.stop(err)
	case err != nil:
		s.stop(err)
	case note != "":
		s.stop(failed(Partial, "%s", note).hint("the run stopped there: apply the plan again when it can be read"))
	default:
		s.tried = true
	}
}

// notClaimed handles a row that could not be claimed. It does not stop the run if another process claimed it
// first.
func (s *sending) notClaimed(r dueRow, err error) {
	e := journal.AsError(err)
	exists, duplicate := errors.Is(err, journal.Exists), errors.Is(err, journal.Duplicate)
	switch {
	case exists && e.Same && e.Order.State == StateUnknown && !s.options.KeepGoing:
		s.stop(s.becameUnknown())
	case exists && e.Same:
		s.handed.Store(e.Order.OrderID, true)
	case duplicate && s.options.KeepGoing:
		s.note(duplicateOf(r.ExternalOrderID, e.Order).Msg)
	case duplicate:
		s.stop(duplicateOf(r.ExternalOrderID, e.Order))
	default:
		s.stop(s.sender.notAllowed(err))
	}
}

// count counts an outcome, and stops the run if it has to.
func (s *sending) count(r dueRow, o journal.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case o.State == StateUnknown:
		if s.inRow++; !s.options.KeepGoing || s.inRow == manyUnknown {
			s.doubt = cmp.Or(s.doubt, err)
			s.stop(err)
		}
	case o.State == StateRejected:
		s.inRow = 0
	case o.State == "": // sent, but the journal could not record the outcome: the id is nowhere else
		s.note(err.Error())
		if errors.Is(err, Unknown) {
			s.doubt = cmp.Or(s.doubt, err)
		}
		s.stop(err)
	case err != nil:
		s.stop(err) // the key, the rate of calls, the network or the journal
	default:
		s.inRow = 0
	}
	s.tally.Ended++
	if o.State != "" {
		s.tally.States[r.order.State]--
		s.tally.States[o.State]++
	}
	select {
	case s.news <- struct{}{}:
	default: // the news that is waiting includes this
	}
}

// show reports progress until there is no more news. It runs in its own goroutine, because a terminal that
// takes no output must not delay a row that is claimed already.
func (s *sending) show() {
	for range s.news {
		if s.options.Progress == nil {
			continue
		}
		s.mu.Lock()
		t := s.tally
		t.States = maps.Clone(t.States)
		s.mu.Unlock()
		s.options.Progress(t)
	}
}

// Due yields the rows that would be sent now, using the journal alone. It yields an *Error if the journal
// keeps them from being sent, or if an order is unknown, which LookUp may settle. It sends and records
// nothing.
func (a *Applier) Due(ctx context.Context) iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		t, err := a.Tally(ctx)
		switch {
		case err != nil:
		case t.Conflict != "":
			err = a.conflictOf(ctx, t.Conflict)
		case t.Unknown != "" && !a.options.KeepGoing:
			err = unknownOutcome(t.Unknown, "payout apply looks it up, and sends nothing while it is unknown", nil)
		}
		if err != nil {
			yield(PlanRow{}, asError(err))
			return
		}
		for r, err := range a.rows(ctx) {
			due := err != nil
			if err == nil && a.sendable(r.order) {
				due, err = a.due(ctx, r)
			}
			if due && !yield(*r.PlanRow, asError(err)) || err != nil {
				return
			}
		}
	}
}

// due reports whether a row that can be sent would be sent now, or stops the run with an error.
func (a *Applier) due(ctx context.Context, r dueRow) (bool, error) {
	err := a.sender.try(ctx, withdrawal{row: true, request: r.CreateWithdrawal, allowDuplicate: a.options.AllowDuplicate, demand: a.demand})
	if refused, ok := errors.AsType[*Error](err); ok && refused.Rule == RuleDuplicate && a.options.KeepGoing {
		a.note(refused.Msg)
		return false, nil
	}
	return true, err
}
