package store

import (
	"slices"
	"sync/atomic"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A schedule lists what the clock will do, the next first. It is made from the changes of the state and, like
// the state, is discarded at a new beginning.
type schedule struct {
	pace   Pace
	expiry time.Duration             // of a waiting invoice; 0: never
	queue  []appointment             // by time, and by arrival at the same time
	next   atomic.Pointer[time.Time] // when the first is due; nil: nothing is
}

type appointment struct {
	at time.Time

	// move returns the same change as a control, at the time when it is due, or errVoid if the record has changed
	// in another way by then.
	move func(*State) (Change, error)
}

func (a appointment) MadeAt() time.Time { return a.at }

var errVoid = refusal.New(refusal.WrongStatus, "It has gone another way.")

// renewSchedule lists what the clock will do with the state.
func (s *Store) renewSchedule() {
	s.schedule.queue = nil
	for _, id := range append([]string{s.state.Merchant}, s.state.ResellerIDs...) {
		for _, w := range s.state.Accounts[id].Withdrawals {
			s.plan(Change{Withdrawal: w})
		}
		for _, v := range s.state.Accounts[id].Invoices {
			s.plan(Change{Invoice: v})
		}
	}
	for _, d := range s.state.DeliveryOrder {
		s.plan(Change{Delivery: d})
	}
	s.schedule.announce()
}

// plan lists what the clock will do after a change.
func (s *Store) plan(c Change) {
	t := &s.schedule
	add := func(at time.Time, move func(*State) (Change, error)) {
		t.queue = insert(t.queue, appointment{at, move})
	}
	if c.Begin != nil {
		t.queue = nil
	}
	if w := c.Withdrawal; w != nil {
		s.planStep(w, add)
	}
	if v := c.Invoice; v != nil && v.Phase == Awaiting && t.expiry > 0 {
		id, at := v.ID, v.Created.Add(t.expiry)
		add(at, func(st *State) (Change, error) {
			if v, err := st.waiting(id); err == nil {
				return v.expire(at), nil
			}
			return Change{}, errVoid
		})
	}
	if d := c.Delivery; d != nil && d.State == Pending && !d.Due.IsZero() {
		id, at := d.ID, d.Due
		add(at, func(st *State) (Change, error) {
			if d := st.Deliveries[id]; d != nil && d.State == Pending && d.Due.Equal(at) {
				return d.DueNow(), nil
			}
			return Change{}, errVoid
		})
	}
	for _, next := range c.Then {
		s.plan(next)
	}
}

func (s *Store) planStep(w *Withdrawal, add func(time.Time, func(*State) (Change, error))) {
	step, paced := s.schedule.pace[w.Current()]
	if !paced {
		return
	}
	id, statuses, at := w.ID, len(w.Statuses), w.Statuses[len(w.Statuses)-1].At.Add(step.after)
	add(at, func(st *State) (Change, error) {
		if w := st.Withdrawals[id]; w != nil && len(w.Statuses) == statuses {
			return s.proceed(st, w, step.to, at)
		}
		return Change{}, errVoid
	})
}

func (t *schedule) announce() {
	var next *time.Time
	if len(t.queue) > 0 {
		next = new(t.queue[0].at)
	}
	t.next.Store(next)
}

func (t *schedule) isDue(now time.Time) bool {
	next := t.next.Load()
	return next != nil && !now.Before(*next)
}

// settle makes every move that is due, in the order in which they were due, and returns them. The store must
// be locked. A move that is refused, because its refund does not fit into the balance, is tried again at the
// next check of the clock.
func (s *Store) settle() (made []Change) {
	t, now := &s.schedule, s.Now()
	if !t.isDue(now) {
		return nil
	}
	var refused []appointment
	for len(t.queue) > 0 && !t.queue[0].at.After(now) {
		a := t.queue[0]
		t.queue = t.queue[1:]
		c, err := a.move(&s.state)
		switch {
		case err == errVoid:
		case err != nil:
			refused = append(refused, a)
		default:
			s.apply(c)
			made = append(made, c)
		}
	}
	t.queue = append(refused, t.queue...)
	t.announce()
	return made
}

// MaxOffset is how far the sandbox's clock may be from the machine's: a century.
const MaxOffset = 100 * 365 * 24 * time.Hour

// Now returns the sandbox's time. It ticks in whole seconds, so that a time from an answer means the same
// moment when it is sent back as from or to.
func (s *Store) Now() time.Time {
	return s.clock().Add(time.Duration(s.Offset.Load())).UTC().Truncate(time.Second)
}

// MoveClock changes the offset of the sandbox's clock to what to returns for the current one. With stop it
// goes only to the first moment at which something is due. It returns how far it has moved the clock, and
// whether there is more to go.
func (s *Store) MoveClock(to func(offset time.Duration) time.Duration, stop bool) (moved time.Duration, more bool, err error) {
	err = s.Write(func(st *State) (Change, error) {
		target := to(st.Offset)
		if target < -MaxOffset || target > MaxOffset {
			return Change{}, refusal.New(refusal.InvalidBody,
				"The clock would be more than a century off; choose a time that is nearer.")
		}
		next, now := target, s.Now()
		// What is due already was refused.
		first := slices.IndexFunc(s.schedule.queue, func(a appointment) bool { return a.at.After(now) })
		if stop && first >= 0 {
			whole := s.schedule.queue[first].at.Add(time.Second - 1).Truncate(time.Second) // as the clock ticks
			next = min(target, whole.Sub(s.clock()))
		}
		moved, more = next-st.Offset, next < target
		offset := int64(next)
		return Change{Offset: &offset}, nil
	})
	return moved, more, err
}
