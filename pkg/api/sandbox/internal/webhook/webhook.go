// Package webhook posts deliveries to the callbacks of withdrawals, in order, until
// they are accepted or given up.
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

// Limits are the settings for posting callbacks.
type Limits struct {
	Targets          string
	Attempts         int64
	Backoff, Timeout time.Duration
}

// A Sender posts the deliveries of a server. Those of one withdrawal form a round: a
// goroutine posts them one after the other, rests between attempts, and ends when
// none is pending. The store is never locked during a request.
type Sender struct {
	store  *store.Store
	limits func() Limits // as the settings are now
	frozen bool          // the sandbox's clock stands still, and retries wait for it
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	slots  chan struct{} // limits the number of requests at a time

	mu      sync.Mutex        // held while ctx ends, so that no goroutine starts later
	rounds  map[string]*round // by withdrawal
	running sync.WaitGroup
}

// A round is protected by Sender.mu, except for wake.
type round struct {
	cause   string        // the delivery that started the round
	more    bool          // a delivery became pending since the last look
	resting bool          // it waits before the next attempt
	posting bool          // a request is under way
	news    chan struct{} // closed and replaced at every change
	wake    chan struct{} // ends a rest
}

const (
	maxOut       = 64
	maxAnswer    = 1 << 10
	maxRest      = time.Hour   // between two attempts
	pendingEvery = time.Second // how often Serve looks for deliveries without a round
)

// New makes a sender of the deliveries in a store.
func New(s *store.Store, limits func() Limits, frozen bool) *Sender {
	c := &Sender{store: s, limits: limits, frozen: frozen, slots: make(chan struct{}, maxOut),
		rounds: map[string]*round{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	dialer := &net.Dialer{Control: c.checkDialled}
	c.client = &http.Client{
		// A proxy would be another target. A connection that is kept open would keep
		// a goroutine.
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.Made = c.began
	return c
}

// NewDelivery returns the delivery of a withdrawal's current status to its callback.
func (c *Sender) NewDelivery(w *store.Withdrawal, body string) *store.Delivery {
	return &store.Delivery{ID: c.store.IDs().UUID("delivery"), Withdrawal: w.ID, Status: w.Current(), URL: w.Callback, Body: body,
		State: store.Pending}
}

var (
	errGone   = refusal.New(refusal.NotFound, "The delivery is gone; the sandbox was reset meanwhile.")
	errClosed = errors.New("the sandbox is closed")
	errEnding = refusal.New(refusal.InternalError,
		"The sandbox ends; its list of callbacks will say what came of the attempt.")
)

// attempt posts a delivery, records the result, and returns the delivery as it is
// then. A delivery that is posted again has no round.
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
	c.setPosting(r, true)
	a, refused := c.post(d.URL, d.Body)
	c.setPosting(r, false) // before the result can be seen: who sees it does not meet a busy round
	a.At = at
	err := c.store.Put(func(st *store.State) (store.Change, error) {
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

// timeOf returns the time of the attempt that begins now. If a frozen clock was moved
// past the time of a retry, that is when the retry is made.
func (c *Sender) timeOf(d *store.Delivery) time.Time {
	now := c.store.Now()
	if n := len(d.Attempts); c.frozen && n > 0 && d.State == store.Pending {
		if due := d.Attempts[n-1].At.Add(c.rest(n)); due.Before(now) {
			return due
		}
	}
	return now
}

func (c *Sender) setPosting(r *round, posting bool) {
	if r == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.posting = posting
}

// Busy returns the rounds in which something is being posted.
func (c *Sender) Busy() map[*round]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	busy := map[*round]bool{}
	for _, r := range c.rounds {
		busy[r] = r.posting
	}
	return busy
}

// AwaitOthers returns when the rounds that are not in busy have ended or rest.
func (c *Sender) AwaitOthers(ctx context.Context, busy map[*round]bool) {
	c.mu.Lock()
	others := map[string]*round{}
	for withdrawal, r := range c.rounds {
		if !busy[r] {
			others[withdrawal] = r
		}
	}
	c.mu.Unlock()
	for withdrawal, r := range others {
		for {
			c.mu.Lock()
			news, goesOn := r.news, c.rounds[withdrawal] == r && !r.resting
			c.mu.Unlock()
			if !goesOn {
				break
			}
			select {
			case <-news:
			case <-ctx.Done():
				return
			}
		}
	}
}

// rest returns how long to wait after so many attempts.
func (c *Sender) rest(attempts int) time.Duration {
	rest := c.limits().Backoff
	for range attempts - 1 {
		rest = min(2*rest, maxRest)
	}
	return rest
}

// began starts the rounds for the deliveries in a change. Those of a seed wait for
// DeliverPending.
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

// start starts a round for a withdrawal, unless the server is closed. If there is a
// round already, start returns it.
func (c *Sender) start(withdrawal, cause string) *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rounds[withdrawal]; r != nil {
		r.more = true
		return r
	}
	if c.ctx.Err() != nil {
		return nil
	}
	r := &round{cause: cause, news: make(chan struct{}), wake: make(chan struct{}, 1)}
	c.rounds[withdrawal] = r
	c.running.Go(func() { c.deliver(withdrawal, r) })
	return nil
}

// deliver runs a round.
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
		c.mu.Lock()
		r.renew()
		c.mu.Unlock()
		switch {
		case err == errGone, err == nil && d.State != store.Pending:
			continue // with the delivery that is now the first
		case err != nil: // the state cannot be written; the deliveries stay pending
			c.leave(withdrawal, r, true)
			return
		case c.frozen:
			continue // if it is due already; else the clock starts another round
		}
		if !c.sleep(r, c.rest(len(d.Attempts))) {
			c.leave(withdrawal, r, true)
			return
		}
	}
}

// leave ends a round, unless it has more to do.
func (c *Sender) leave(withdrawal string, r *round, whatever bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.more && !whatever {
		r.more = false
		return false
	}
	delete(c.rounds, withdrawal)
	close(r.news)
	return true
}

func (r *round) renew() {
	close(r.news)
	r.news = make(chan struct{})
}

// sleep rests until the pause is over or the round is woken. It returns false when
// the server is closed.
func (c *Sender) sleep(r *round, pause time.Duration) bool {
	set := func(resting bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		select {
		case <-r.wake: // a signal for a rest that has just ended
		default:
		}
		r.resting = resting
		r.renew()
	}
	set(true)
	defer set(false)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.wake:
	case <-c.ctx.Done():
	}
	return c.ctx.Err() == nil
}

// underWay returns a channel that closes at the next change of a withdrawal's round,
// and the delivery that started the round. The channel is nil while nothing is being
// posted.
func (c *Sender) underWay(withdrawal string) (news chan struct{}, cause string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rounds[withdrawal]; r != nil && !r.resting {
		return r.news, r.cause
	}
	return nil, ""
}

// AwaitFirst waits for the first attempt of a new delivery, and returns the delivery
// as it is then. It does not wait if an earlier delivery of the same withdrawal is
// already in progress: that may take long, and the caller may be the receiver of
// that delivery.
func (c *Sender) AwaitFirst(ctx context.Context, made *store.Delivery) store.Delivery {
	for {
		news, cause := c.underWay(made.Withdrawal)
		d, first := c.store.Delivery(made.ID)
		switch {
		case d.ID == "":
			return *made
		case len(d.Attempts) > 0, d.State != store.Pending, news == nil, first != d.ID && cause != made.ID:
			return d
		}
		select {
		case <-news:
		case <-ctx.Done():
			return d
		}
	}
}

// Resend posts a delivery again, whatever its state, and returns it as it is after
// the attempt.
func (c *Sender) Resend(ctx context.Context, id string) (store.Delivery, error) {
	d, first := c.store.Delivery(id)
	switch {
	case d.ID == "":
		return d, refusal.New(refusal.NotFound, "There is no delivery %q; check the id.", refusal.Shorten(id))
	case d.State != store.Pending:
		return c.again(ctx, d)
	case first != id:
		return d, refusal.New(refusal.WrongStatus,
			"The delivery %s of the same withdrawal is pending, and goes first; resend that one.", first)
	}
	return c.deliverNow(ctx, d)
}

// again posts a delivery that is no longer pending.
func (c *Sender) again(ctx context.Context, d store.Delivery) (store.Delivery, error) {
	after, err := d, errClosed
	done := make(chan struct{})
	c.mu.Lock()
	if c.ctx.Err() == nil {
		c.running.Go(func() {
			defer close(done)
			after, err = c.attempt(d, nil)
		})
	} else {
		close(done)
	}
	c.mu.Unlock()
	select {
	case <-done:
		return after, err
	case <-ctx.Done():
		return d, errEnding
	}
}

// deliverNow posts a pending delivery now. It must be the first of its withdrawal.
func (c *Sender) deliverNow(ctx context.Context, d store.Delivery) (store.Delivery, error) {
	if !d.Due.IsZero() {
		if err := c.makeDue(d.ID); err != nil {
			return d, err
		}
	}
	before := len(d.Attempts)
	if r := c.start(d.Withdrawal, d.ID); r != nil {
		c.mu.Lock()
		goesOn := r.resting || c.frozen && !r.posting // a round that does not rest looks for more before it ends
		if r.resting {
			r.resting = false // only the first caller wakes it
			r.signal()
		}
		c.mu.Unlock()
		if !goesOn {
			return d, refusal.New(refusal.WrongStatus,
				"The delivery %s is being posted at this moment; look at the list of callbacks for what comes of it.",
				d.ID)
		}
	}
	for {
		news, _ := c.underWay(d.Withdrawal)
		now, _ := c.store.Delivery(d.ID)
		switch {
		case now.ID == "":
			return now, errGone
		case len(now.Attempts) > before:
			return now, nil
		case c.ctx.Err() != nil:
			return now, errClosed
		case news == nil:
			return now, refusal.New(refusal.InternalError, "What came of the attempt could not be saved; try again.")
		}
		select {
		case <-news:
		case <-ctx.Done():
			return now, errEnding
		}
	}
}

// makeDue lets a delivery be posted before it is due.
func (c *Sender) makeDue(id string) error {
	return c.store.Put(func(st *store.State) (store.Change, error) {
		d := st.Deliveries[id]
		if d == nil {
			return store.Change{}, errGone
		}
		due := *d // it may have become due, and been posted, meanwhile
		due.Due = time.Time{}
		return store.Change{Delivery: &due}, nil
	})
}

// DeliverPending starts the rounds that are missing, until ctx is done: of what was
// pending when the state was opened or begun, and of rounds that ended because the
// state could not be written.
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

// Forget ends every rest, after a new state has begun: its deliveries may have the ids
// of those that are gone.
func (c *Sender) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rounds {
		if r.resting {
			r.resting = false
			r.signal()
		}
	}
}

// signal ends a rest, or lets it look at the time again.
func (r *round) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // a signal is already waiting
	}
}

// Close ends all rounds and cuts off the requests in flight.
func (c *Sender) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}
