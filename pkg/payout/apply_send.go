package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// manyUnknown is how many unknown outcomes one after the other stop a run that keeps going.
const manyUnknown = 5

// Send sends every row that is left, as many at a time as the options say, and returns why it stopped before the end: nil
// where it did not. What was under way then has ended, and is recorded.
//
// Until the first row was accepted, and was read back, they are sent one by one: a service that does not keep order ids is
// found out before there are many.
func (a *Applier) Send(ctx, calls context.Context, t Tally) (err error) {
	defer toError(&err)
	if t.States[journal.Unknown] > 0 && !a.options.KeepGoing {
		which, them := fmt.Sprintf("order %s of the run is", t.Unknown), "it"
		if n := t.States[journal.Unknown]; n > 1 {
			which, them = fmt.Sprintf("%d orders of the run are", n), "them"
		}
		return &Error{Kind: Unknown, Msg: which + " unknown, and nothing more was sent",
			Hint: NewHint("send the rest with --keep-going, or settle "+them+" first", "payout", "reconcile", a.plan.Name())}
	}
	given := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &sending{Applier: a, ctx: ctx, calls: calls, end: stop, tally: t, tried: a.sender.options.Lookup == LookupNever, limit: rate.NewLimiter(rate.Inf, 1), news: make(chan struct{}, 1), known: t.States[journal.Unknown]}
	if r := a.options.Rate; r > 0 {
		s.limit = rate.NewLimiter(rate.Limit(r), max(1, int(r)))
	}
	many := max(1, a.options.Concurrency)
	queue := make(chan journal.RunRow, many) // a worker that has an answer finds the next row there
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
	if s.why != nil && s.why == s.doubt {
		return s.inDoubt()
	}
	return cmp.Or(s.why, given.Err())
}

// sending is a Send under way.
type sending struct {
	*Applier
	ctx, calls context.Context
	end        context.CancelFunc
	limit      *rate.Limiter
	known      int // unknown orders that there were before
	news       chan struct{}

	mu    sync.Mutex
	tally Tally
	tried bool            // a row was accepted and read back
	inRow int             // how many outcomes were unknown, one after the other
	lost  map[string]bool // rows that another process was quicker to claim

	doubt error // for which it was stopped: an outcome that is unknown

	stopping sync.Mutex
	why      error
}

// inDoubt is how a run has ended that an unknown outcome has stopped, with all that are unknown by then.
func (s *sending) inDoubt() error {
	why, them := s.doubt.Error(), "it"
	if n := s.tally.States[journal.Unknown]; n > 1 {
		why, them = fmt.Sprintf("%d orders of the run are unknown: %s", n, why), "them"
	}
	if s.inRow >= manyUnknown {
		why = fmt.Sprintf("%d outcomes in a row were unknown; %s", s.inRow, why)
	}
	return &Error{Kind: Unknown, Err: s.doubt, Msg: why, Hint: NewHint("do not send "+them+" again", "payout", "reconcile", s.plan.Name())}
}

// stop ends the run, and keeps why. Of several reasons the first counts, but that a key is refused, or that there are too many
// calls, is what a person has to know first.
func (s *sending) stop(err error) {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	if s.why == nil || weight(err) > weight(s.why) {
		s.why = err
	}
	s.end()
}

func weight(err error) int {
	var call *api.Error
	switch {
	case !errors.As(err, &call) || call.Outcome != api.Rejected:
		return 0
	case call.Status == 429:
		return 1
	case keyOrRate(call.Status):
		return 2
	}
	return 0
}

// feed hands every row that is to be sent to the workers. Several processes that share a journal each begin somewhere else,
// so that they seldom reach for the same row; and since one of them may stop, each goes on until nothing is left.
func (s *sending) feed(queue chan<- journal.RunRow) {
	if !s.sender.ledger.Journal().Shared() {
		s.pass(queue, 0, nil)
		return
	}
	handed := map[string]bool{}
	s.pass(queue, rand.IntN(max(1, s.plan.Rows)), handed)
	for s.ctx.Err() == nil {
		n, busy := s.pass(queue, 0, handed)
		if n > 0 {
			continue
		}
		if !busy {
			return
		}
		select { // others are at the rest
		case <-s.ctx.Done():
		case <-time.After(betweenPasses):
		}
		if err := s.sender.ledger.Reap(s.ctx); err != nil {
			s.stop(err)
		}
	}
}

// betweenPasses is how long a process that has nothing left to do waits for the others.
const betweenPasses = 200 * time.Millisecond

// pass goes through the plan once, from a row on. It leaves out what was handed over before, and reports how many rows it
// handed over, and whether others are sending some.
func (s *sending) pass(queue chan<- journal.RunRow, from int, handed map[string]bool) (n int, busy bool) {
	unknown := 0
	for part, err := range s.rows(s.ctx, from) {
		if err != nil {
			s.stop(err)
		}
		for _, r := range part {
			if s.ctx.Err() != nil {
				return n, false
			}
			switch r.Order.State {
			case journal.Sending:
				busy = true
			case journal.Unknown:
				unknown++
			}
			if !s.sendable(r.Order) || handed[r.OrderID] && !s.comesBack(r.Order) {
				continue
			}
			if handed != nil {
				handed[r.OrderID] = true
			}
			n++
			s.hand(queue, r)
		}
		if unknown > s.known && !s.options.KeepGoing { // another process's
			s.stop(s.becameUnknown())
		}
	}
	return n, busy && handed != nil
}

// becameUnknown is about an order that another process has sent meanwhile.
func (s *sending) becameUnknown() error {
	return &Error{Kind: Unknown, Msg: "an order of the run has become unknown", Hint: NewHint("settle it first", "payout", "reconcile", s.plan.Name())}
}

// comesBack reports whether a row was lost to another process which did not send it after all.
func (s *sending) comesBack(o journal.Order) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.State != journal.Planned || !s.lost[o.OrderID] {
		return false
	}
	delete(s.lost, o.OrderID)
	return true
}

// hand gives a row to a worker or, until one was accepted and read back, sends it itself.
func (s *sending) hand(queue chan<- journal.RunRow, r journal.RunRow) {
	if !s.tried {
		s.send(r, nil)
		return
	}
	select {
	case queue <- r:
	case <-s.ctx.Done():
	}
}

// send sends a row, and goes on with the next as long as there are more: the outcome of one and the claim of the next are one
// commit.
func (s *sending) send(r journal.RunRow, more <-chan journal.RunRow) {
	if err := s.limit.Wait(s.ctx); err != nil || s.ctx.Err() != nil {
		return
	}
	ticket, err := s.sender.ledger.Claim(s.ctx, s.claim(r))
	for err == nil {
		s.sent.Add(1)
		call := s.sender.call(s.ctx, s.calls, ticket)
		next, goesOn := s.next(call, more)
		var order journal.Order
		var recording error
		var following journal.Ticket
		if goesOn {
			order, recording, following, err = s.sender.ledger.FinishAndClaim(s.ctx, ticket, outcomeOf(call.id, call.err), s.claim(next))
		}
		if !goesOn || recording != nil {
			order, recording = s.sender.finish(s.ctx, s.calls, ticket, outcomeOf(call.id, call.err))
		}
		order, ended := s.sender.recorded(ticket, call, order, recording)
		s.count(r, order, ended)
		if ended == nil && !s.tried {
			s.try(order)
		}
		if !goesOn {
			return
		}
		r, ticket = next, following // or next was not claimed
	}
	s.notClaimed(r, err)
}

func (s *sending) claim(r journal.RunRow) journal.Claim {
	c := r.Claim(s.plan.Name(), s.sender.key, s.sender.decimals(amountOf(r.Row.Content)))
	c.AllowDuplicate, c.NotRejected = s.options.AllowDuplicate, !s.options.RetryRejected
	return c
}

// next is the row that is claimed together with an outcome, if there is one already and nothing speaks against it. If it turns
// out afterwards that something does, the call is not made.
func (s *sending) next(c call, more <-chan journal.RunRow) (r journal.RunRow, found bool) {
	ending := Observe(c.err).Ending
	if s.options.Rate > 0 || s.ctx.Err() != nil || ending != journal.WasAccepted && ending != journal.WasRejected {
		return journal.RunRow{}, false
	}
	select {
	case r, found = <-more:
	default:
	}
	return r, found
}

// try reads back what was accepted first. Only one row is under way until it has.
func (s *sending) try(o journal.Order) {
	note, err := s.sender.readBack(s.ctx, o)
	switch {
	case err != nil:
		s.stop(err)
	case note != "":
		s.stop(&Error{Kind: Partial, Msg: note, Hint: NewHint("the run stopped there: apply the plan again when it can be read")})
	default:
		s.tried = true
	}
}

// notClaimed is about a row that could not be had. That another process was quicker is nothing to stop for.
func (s *sending) notClaimed(r journal.RunRow, err error) {
	var exists *journal.ExistsError
	var duplicate *journal.DuplicateError
	switch {
	case errors.As(err, &exists) && exists.Same && exists.Order.State == journal.Unknown && !s.options.KeepGoing:
		s.stop(s.becameUnknown())
	case errors.As(err, &exists) && exists.Same:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lost == nil {
			s.lost = map[string]bool{}
		}
		s.lost[exists.Order.OrderID] = true
	case errors.As(err, &exists):
		o := exists.Order
		s.stop(refused(RuleOrderID, fmt.Sprintf("order %s was given other content since the run began: %s", o.OrderID, s.sender.describe(o.Content)), "see what happened", "journal", "show", o.OrderID))
	case errors.As(err, &duplicate) && s.options.KeepGoing:
		if s.options.Note != nil {
			s.options.Note(fmt.Sprintf("order %s was not sent: %v", r.OrderID, duplicateOf(duplicate)))
		}
	case errors.As(err, &duplicate):
		s.stop(duplicateOf(duplicate))
	default:
		s.stop(accountChanged(err))
	}
}

// count counts an outcome, and stops the run where it has to.
func (s *sending) count(r journal.RunRow, o journal.Order, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case o.State == journal.Unknown:
		if s.inRow++; !s.options.KeepGoing || s.inRow == manyUnknown {
			s.doubt = cmp.Or(s.doubt, err)
			s.stop(err)
		}
	case o.State == journal.Rejected:
		s.inRow = 0
	case o.State == "": // it was sent, and the journal could not take the outcome: the id is nowhere else
		if s.options.Note != nil {
			s.options.Note(err.Error())
		}
		s.stop(err)
	case err != nil:
		s.stop(err) // the key, too many calls, no way to the service, no journal
	default:
		s.inRow = 0
	}
	s.tally.Ended++
	if o.State != "" {
		s.tally.States[r.Order.State]--
		s.tally.States[o.State]++
	}
	select {
	case s.news <- struct{}{}:
	default: // what is shown next has this, too
	}
}

// show tells of progress until there is no more news. It has a goroutine of its own: a terminal that does not take output must not hold
// up a row that is claimed already.
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
