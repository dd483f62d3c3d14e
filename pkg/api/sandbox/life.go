package sandbox

import (
	"container/heap"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A pace is the steps that withdrawals take by themselves: from each status at
// most one, after a time in that status.
type pace map[string]pacedStep

type pacedStep struct {
	to    string
	after time.Duration
}

// parsePace reads steps such as A>B=30s,B>C=2m. Each must be one of the flow's,
// and they must not lead in a circle: a clock that is set far ahead has to come
// to an end.
func parsePace(text string, f *flow) (pace, error) {
	p := pace{}
	if text == "none" {
		return p, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		step, wait, found := strings.Cut(one, "=")
		from, to, arrow := strings.Cut(strings.TrimSpace(step), ">")
		after, ok := parseWait(strings.TrimSpace(wait))
		switch {
		case !found || !arrow:
			return nil, fmt.Errorf("%q is no step; write FROM>TO=DURATION, such as New>Processing=30s, or none", shorten(one))
		case !ok:
			return nil, fmt.Errorf("%q is no duration of whole seconds; write it like 30s, 15m, 36h or 7d", shorten(wait))
		case !slices.Contains(f.next[from], to):
			return nil, fmt.Errorf("withdrawal_flow has no step from %q to %q", shorten(from), shorten(to))
		case p[from].to != "":
			return nil, fmt.Errorf("%s would go on to two statuses; name one", from)
		}
		p[from] = pacedStep{to, after}
	}
	for from := range maps.Keys(p) {
		status := from
		for range p {
			if status = p[status].to; status == from {
				return nil, fmt.Errorf("the steps from %s lead back to it, and would never end", from)
			}
		}
	}
	return p, nil
}

// parseWait reads a duration of at least a second, in whole seconds, because the
// clock ticks in those; d is a day of 24 hours.
func parseWait(text string) (time.Duration, bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, ok := parseInteger(days)
		return time.Duration(n) * 24 * time.Hour, ok && n > 0 && n <= int64(maxOffset/(24*time.Hour))
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d%time.Second == 0 && d <= maxOffset
}

// A timetable holds what the clock will do, the next first. It is made from the
// changes of the state, as the state itself is, and goes with it.
type timetable struct {
	pace   pace
	expiry time.Duration // of a waiting invoice; 0: never
	queue  appointments
	turns  int64
	next   atomic.Pointer[time.Time] // when the first is due; nil: nothing is
	wake   chan struct{}             // is sent to when next has changed, for who waits for it
}

// An appointment is one thing to do. It is void when its record has gone another
// way by then.
type appointment struct {
	at         time.Time
	turn       int64  // of two at the same time, who came first goes first
	withdrawal string // its id, or that of an invoice
	statuses   int    // how many the withdrawal had
	invoice    string
}

// note takes down what follows from a change.
func (t *timetable) note(c change) {
	if len(t.pace) == 0 && t.expiry == 0 {
		return
	}
	t.take(c)
	t.announce()
}

func (t *timetable) take(c change) {
	if c.Begin != nil {
		t.queue = nil
	}
	if w := c.Withdrawal; w != nil {
		if step, paced := t.pace[w.current()]; paced {
			t.add(appointment{at: w.Statuses[len(w.Statuses)-1].At.Add(step.after), withdrawal: w.ID, statuses: len(w.Statuses)})
		}
	}
	if v := c.Invoice; v != nil && v.Phase == awaiting && t.expiry > 0 {
		t.add(appointment{at: v.Created.Add(t.expiry), invoice: v.ID})
	}
	for _, next := range c.Then {
		t.take(next)
	}
}

func (t *timetable) add(a appointment) {
	t.turns++
	a.turn = t.turns
	heap.Push(&t.queue, a)
}

// announce lets those who do not hold the lock know when the next is due.
func (t *timetable) announce() {
	var next *time.Time
	if len(t.queue) > 0 {
		at := t.queue[0].at
		next = &at
	}
	old := t.next.Swap(next)
	if next != nil && (old == nil || !old.Equal(*next)) {
		t.poke()
	}
}

func (t *timetable) poke() {
	select {
	case t.wake <- struct{}{}:
	default: // no one waits, or all were told already
	}
}

func (t *timetable) isDue(now func() time.Time) bool {
	next := t.next.Load()
	return next != nil && !now().Before(*next)
}

// settle makes every move that is due, in the order in which they were due, and
// returns them. The store must be locked. A move that is refused, because money
// that it gives back does not fit into the balance, is tried again with the next
// look at the clock.
func (s *store) settle() (made []change) {
	t := &s.timetable
	if !t.isDue(s.now) {
		return nil
	}
	now := s.now()
	var refused []appointment
	for len(t.queue) > 0 && !t.queue[0].at.After(now) {
		a := heap.Pop(&t.queue).(appointment)
		c, err := s.move(&s.state, a)
		switch {
		case err == errVoid:
		case err != nil:
			refused = append(refused, a)
		default:
			s.apply(c)
			made = append(made, c)
			if s.made != nil {
				s.made(c) // which must wait for the lock before it looks
			}
		}
	}
	for _, a := range refused {
		heap.Push(&t.queue, a)
	}
	t.announce()
	return made
}

// errVoid is what move says of an appointment that is no longer awaited.
var errVoid = fail(wrongStatus, "It has gone another way.")

// move is the change for an appointment. It is the one that the control would
// make, at the time when it was due.
func (s *Server) move(st *state, a appointment) (change, error) {
	if a.invoice != "" {
		v, err := st.waiting(a.invoice)
		if err != nil {
			return change{}, errVoid
		}
		return v.expire(a.at), nil
	}
	w := st.withdrawals[a.withdrawal]
	if w == nil || len(w.Statuses) != a.statuses {
		return change{}, errVoid
	}
	return s.proceed(st, w, s.settings.pace[w.current()].to, a.at)
}

// keepTime makes what is due happen when it is, whether anybody asks or not. It
// sleeps until then.
func (s *Server) keepTime(ctx context.Context) {
	t := &s.store.timetable
	for ctx.Err() == nil {
		s.store.refresh() // what is wrong with the file, the next request says
		timer := time.NewTimer(s.untilDue())
		select {
		case <-ctx.Done():
		case <-t.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// keepTimeBeside keeps time until the function that it returns is called.
func (s *Server) keepTimeBeside(ctx context.Context) (end func()) {
	if len(s.settings.pace) == 0 && s.settings.invoiceExpiry == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.keepTime(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// untilDue is how long the sandbox can sleep. Another process does not tell what
// it puts into a file, so a file is looked at in every second, in which the clock
// ticks; and the machine's own clock may be set.
func (s *Server) untilDue() time.Duration {
	longest := time.Minute
	if s.store.file != nil {
		longest = time.Second
	}
	next := s.store.timetable.next.Load()
	if next == nil {
		return longest
	}
	wait := next.Sub(s.clock().Add(time.Duration(s.store.offset.Load())))
	if wait <= 0 { // it was refused a moment ago
		return time.Second
	}
	return min(wait, longest)
}

// appointments are a heap, as container/heap wants it.
type appointments []appointment

func (q appointments) Len() int      { return len(q) }
func (q appointments) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q appointments) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].turn < q[j].turn
	}
	return q[i].at.Before(q[j].at)
}
func (q *appointments) Push(a any) { *q = append(*q, a.(appointment)) }
func (q *appointments) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	*q = (*q)[:last]
	return a
}
