// Package webhook posts deliveries to the callbacks of withdrawals, in order, until they are accepted or
// given up.
package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

type Limits struct {
	Targets          string
	Attempts         int64
	Backoff, Timeout time.Duration
}

// A Sender posts the deliveries of a server. Those of one withdrawal form a round: a goroutine posts them one
// after the other, rests between attempts, and ends when none is pending. The store is never locked during a
// request.
type Sender struct {
	store  *store.Store
	limits func() Limits // as the settings are now
	frozen bool          // the sandbox's clock does not move by itself, and retries wait for it
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	slots  chan struct{} // limits the number of requests at a time

	// The store may be locked while mu is taken, never the other way round. mu is held while ctx ends, so
	// that no goroutine starts later.
	mu      sync.Mutex
	rounds  map[string]*round // by withdrawal
	news    chan struct{}     // closed and replaced when a round changes
	running sync.WaitGroup
}

// A round is protected by Sender.mu.
type round struct {
	cause   string // the delivery that started the round
	more    bool   // a delivery became pending since the last look
	resting bool   // it waits before the next attempt; ends when this becomes false
	posting bool   // a request is under way
}

const (
	maxOut       = 64
	maxAnswer    = 1 << 10
	maxRest      = time.Hour   // between two attempts
	pendingEvery = time.Second // how often Serve looks for deliveries without a round
)

func New(s *store.Store, limits func() Limits, frozen bool) *Sender {
	c := &Sender{store: s, limits: limits, frozen: frozen, slots: make(chan struct{}, maxOut),
		rounds: map[string]*round{}, news: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(context.Background())
	dialer := &net.Dialer{Control: c.checkDialled}
	c.client = &http.Client{
		// A proxy would be another target. A connection that is kept open would keep a goroutine.
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.Made = c.began
	return c
}

var (
	errGone   = refusal.New(refusal.NotFound, "The delivery is gone; the sandbox was reset meanwhile.")
	errClosed = errors.New("the sandbox is closed")
	errEnding = refusal.New(refusal.InternalError,
		"The sandbox ends; its list of callbacks will say what came of the attempt.")
)

func (c *Sender) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.news)
	c.news = make(chan struct{})
}

// await returns true when ready does, and false when ctx is done earlier. It asks ready at first and after
// each change.
func (c *Sender) await(ctx context.Context, ready func() bool) bool {
	for {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		if ready() {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

func (c *Sender) attempt(d store.Delivery, r *round) (store.Delivery, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.ctx.Done():
	}
	if c.ctx.Err() != nil {
		return d, errClosed
	}
	var begun string
	c.store.Read(func(st *store.State) { begun = st.ID })
	wasPending := d.State == store.Pending
	if d, _ = c.store.Delivery(d.ID); d.ID == "" || wasPending && d.State != store.Pending {
		return d, errGone
	}
	at := c.timeOf(&d)
	c.change(func() { r.posting = true })
	a, refused := c.post(d.URL, d.Body)
	c.change(func() { r.posting = false }) // before the result can be seen: who sees it does not meet a busy round
	a.At = at
	err := c.store.Write(func(st *store.State) (store.Change, error) {
		old := st.Deliveries[d.ID]
		if old == nil || st.ID != begun { // a new state has begun meanwhile
			return store.Change{}, errGone
		}
		d = *old
		d.Attempts = append(append([]store.Attempt{}, old.Attempts...), a)
		switch {
		case a.Status >= 200 && a.Status < 300:
			d.State = store.Delivered
		case old.State == store.Delivered:
		case refused:
			d.State = store.Refused
		case old.State != store.Pending || c.ctx.Err() == nil && int64(len(d.Attempts)) >= c.limits().Attempts:
			d.State = store.Failed
		}
		if d.State == store.Pending && c.frozen {
			d.Due = at.Add(c.rest(len(d.Attempts)))
		}
		return store.Change{Delivery: &d}, nil
	})
	return d, err
}

// timeOf returns the time of the attempt that begins now. If a frozen clock was moved past the time of a
// retry, that is when the retry is made.
func (c *Sender) timeOf(d *store.Delivery) time.Time {
	now := c.store.Now()
	if n := len(d.Attempts); c.frozen && n > 0 && d.State == store.Pending {
		if due := d.Attempts[n-1].At.Add(c.rest(n)); due.Before(now) {
			return due
		}
	}
	return now
}

func (c *Sender) Busy() map[*round]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	busy := map[*round]bool{}
	for _, r := range c.rounds {
		busy[r] = r.posting
	}
	return busy
}

// AwaitOthers returns when the rounds that are not in busy have ended. The clock must be frozen, because such
// a round does not rest.
func (c *Sender) AwaitOthers(ctx context.Context, busy map[*round]bool) {
	c.await(ctx, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range c.rounds {
			if !busy[r] {
				return false
			}
		}
		return true
	})
}

func (c *Sender) rest(attempts int) time.Duration {
	rest := c.limits().Backoff
	for range attempts - 1 {
		rest = min(2*rest, maxRest)
	}
	return rest
}

// began starts the rounds for the deliveries in a change. Those of a seed wait for DeliverPending.
func (c *Sender) began(made store.Change) {
	if made.Begin != nil {
		return
	}
	if d := made.Delivery; d != nil && d.State == store.Pending && d.Due.IsZero() {
		c.start(d.Withdrawal, d.ID)
	}
	for _, next := range made.Then {
		c.began(next)
	}
}

// start starts a round for a withdrawal, unless the server is closed. If there is a round already, start
// returns it.
func (c *Sender) start(withdrawal, cause string) *round {
	return c.startAs(withdrawal, cause, func(r *round) { c.deliver(withdrawal, r) })
}

func (c *Sender) startAs(key, cause string, run func(*round)) *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rounds[key]; r != nil {
		r.more = true
		return r
	}
	if c.ctx.Err() == nil {
		r := &round{cause: cause}
		c.rounds[key] = r
		c.running.Go(func() { run(r) })
	}
	return nil
}

func (c *Sender) deliver(withdrawal string, r *round) {
	for {
		var d store.Delivery
		c.store.Read(func(st *store.State) {
			if queue := st.Pending[withdrawal]; len(queue) > 0 {
				d = *queue[0]
			}
		})
		if d.ID == "" || !d.Due.IsZero() {
			if c.leave(withdrawal, r, false) {
				return
			}
			continue
		}
		d, err := c.attempt(d, r)
		c.change(func() {}) // what the attempt has changed is in the store
		switch {
		case err == errGone, err == nil && d.State != store.Pending:
			continue // with the delivery that is now the first
		case err != nil: // the state cannot be written; the deliveries stay pending
			c.leave(withdrawal, r, true)
			return
		case c.frozen:
			continue // if it is due already; else the clock starts another round
		}
		c.change(func() { r.resting = true })
		pause, end := context.WithTimeout(c.ctx, c.rest(len(d.Attempts)))
		c.await(pause, func() bool { return !c.roundOf(withdrawal).resting })
		end()
		c.change(func() { r.resting = false })
		if c.ctx.Err() != nil {
			c.leave(withdrawal, r, true)
			return
		}
	}
}

func (c *Sender) leave(key string, r *round, whatever bool) (left bool) {
	c.change(func() {
		if left = whatever || !r.more; left {
			delete(c.rounds, key)
		}
		r.more = false
	})
	return left
}

// roundOf returns the round of a withdrawal as it is now. Without one, it rests.
func (c *Sender) roundOf(withdrawal string) round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rounds[withdrawal]; r != nil {
		return *r
	}
	return round{resting: true}
}

// AwaitFirst waits for the first attempt of a new delivery, and returns the delivery as it is then. It does
// not wait if an earlier delivery of the same withdrawal is already in progress: that may take long, and the
// caller may be the receiver of that delivery.
func (c *Sender) AwaitFirst(ctx context.Context, made *store.Delivery) (d store.Delivery) {
	c.await(ctx, func() bool {
		r := c.roundOf(made.Withdrawal)
		var first string
		d, first = c.store.Delivery(made.ID)
		return len(d.Attempts) > 0 || d.State != store.Pending || r.resting || first != d.ID && r.cause != made.ID
	})
	if d.ID == "" {
		return *made
	}
	return d
}

func (c *Sender) Resend(ctx context.Context, id string) (now store.Delivery, err error) {
	d, first := c.store.Delivery(id)
	key, before := d.Withdrawal, len(d.Attempts)
	var r *round // under way already
	switch {
	case d.ID == "":
		return d, refusal.New(refusal.NotFound, "There is no delivery %q; check the id.", refusal.Shorten(id))
	case d.State != store.Pending: // a round of its own, because it does not wait for others
		key = id
		r = c.startAs(key, id, func(r *round) {
			_, _ = c.attempt(d, r) // the log tells
			c.leave(key, r, true)
		})
	case first != id:
		return d, refusal.New(refusal.WrongStatus,
			"The delivery %s of the same withdrawal is pending, and goes first; resend that one.", first)
	case d.Due.IsZero():
		r = c.start(key, id)
	default:
		err = c.makeDue(id)
	}
	if err == nil && r != nil && !c.wake(r) {
		err = refusal.New(refusal.WrongStatus,
			"The delivery %s is being posted at this moment; look at the list of callbacks for what comes of it.", id)
	}
	if err != nil {
		return d, err
	}
	over := c.await(ctx, func() bool {
		r := c.roundOf(key)
		now, _ = c.store.Delivery(id)
		switch {
		case now.ID == "":
			err = errGone
		case len(now.Attempts) > before:
		case c.ctx.Err() != nil:
			err = errClosed
		case r.resting:
			err = refusal.New(refusal.InternalError, "What came of the attempt could not be saved; try again.")
		default:
			return false
		}
		return true
	})
	if !over {
		err = errEnding
	}
	return now, err
}

// wake ends the rest of a round. It returns false if the round does not rest, or another caller has woken it.
func (c *Sender) wake(r *round) (woken bool) {
	c.change(func() {
		woken = r.resting || c.frozen && !r.posting // a round that does not rest looks for more before it ends
		r.resting = false
	})
	return woken
}

func (c *Sender) makeDue(id string) error {
	return c.store.Write(func(st *store.State) (store.Change, error) {
		d := st.Deliveries[id]
		if d == nil {
			return store.Change{}, errGone
		}
		due := *d // it may have become due, and been posted, meanwhile
		due.Due = time.Time{}
		return store.Change{Delivery: &due}, nil
	})
}

// DeliverPending starts the rounds that are missing, until ctx is done: of what was pending when the state
// was opened or begun, and of rounds that ended because the state could not be written.
func (c *Sender) DeliverPending(ctx context.Context) {
	tick := time.NewTicker(pendingEvery)
	defer tick.Stop()
	for {
		c.store.Refresh()
		c.store.Read(func(st *store.State) {
			for withdrawal, queue := range st.Pending {
				if queue[0].Due.IsZero() {
					c.start(withdrawal, queue[0].ID)
				}
			}
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Forget ends every rest, after a new state has begun: its deliveries may have the ids of those that are
// gone.
func (c *Sender) Forget() {
	c.change(func() {
		for _, r := range c.rounds {
			r.resting = false
		}
	})
}

func (c *Sender) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}
