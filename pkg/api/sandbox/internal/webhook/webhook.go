// Package webhook posts deliveries to the callbacks of withdrawals, in order, until they are accepted or
// given up.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// A Sender posts the deliveries of a server. Those of one withdrawal form a round: a goroutine posts them one
// after the other, until none is pending or one has to rest. The store is never locked during a request.
type Sender struct {
	store  *store.Store
	frozen bool // the sandbox's clock does not move by itself, and retries wait for it
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	slots  chan struct{} // limits the number of requests at a time

	// The store may be locked while mu is taken, never the other way round. mu is held while ctx ends, so
	// that no goroutine starts later.
	mu      sync.Mutex
	rounds  map[string]*round // by withdrawal, or by the delivery that is resent
	news    chan struct{}     // closed and replaced when a round changes
	running sync.WaitGroup
}

// A round is protected by Sender.mu.
type round struct {
	cause   string      // the delivery that started the round, or empty
	rest    *time.Timer // ends with another round; nil: a goroutine posts
	more    bool        // a delivery became pending since the last look
	posting bool        // a request is under way
}

const (
	maxOut    = 64
	maxAnswer = 1 << 10
	maxRest   = time.Hour // between two attempts
)

func New(s *store.Store, frozen bool) *Sender {
	c := &Sender{store: s, frozen: frozen, slots: make(chan struct{}, maxOut),
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

	errUnknown = refusal.New(refusal.InternalError,
		"The sandbox ends, is closed or cannot save its state: the list of callbacks says whether the delivery was posted.")
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
	c.change(func() { r.posting = false }) // before the result can be seen: the next move of the clock waits
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
		case old.State != store.Pending || c.ctx.Err() == nil && int64(len(d.Attempts)) >= c.store.Terms().CallbackAttempts:
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
	rest := c.store.Terms().CallbackBackoff
	for range attempts - 1 {
		rest = min(2*rest, maxRest)
	}
	return rest
}

// began starts the rounds for the deliveries in a change. Those of a seed wait for StartMissing.
func (c *Sender) began(made store.Change) {
	if made.Begin != nil {
		return
	}
	if d := made.Delivery; d != nil && d.State == store.Pending && d.Due.IsZero() {
		c.start(d.Withdrawal, d.ID, false, c.deliver)
	}
	for _, next := range made.Then {
		c.began(next)
	}
}

// start starts a round, unless there is one already or the server is closed. It ends the rest of one only if wake
// is true.
func (c *Sender) start(key, cause string, wake bool, run func(string, *round)) (started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch old := c.rounds[key]; {
	case old != nil && (old.rest == nil || !wake):
		old.more = true
		return false
	case old != nil:
		old.rest.Stop()
	}
	if c.ctx.Err() != nil {
		return false
	}
	r := &round{cause: cause}
	c.rounds[key] = r
	c.running.Go(func() { run(key, r) })
	return true
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
		switch {
		case err == errGone, err == nil && d.State != store.Pending, err == nil && c.frozen:
			c.change(func() {}) // what the attempt has changed is in the store
			continue            // with the delivery that is now the first; with a frozen clock it may be due already
		case err != nil: // the state cannot be written; the deliveries stay pending
			c.leave(withdrawal, r, true)
			return
		}
		c.change(func() {
			r.rest = time.AfterFunc(c.rest(len(d.Attempts)), func() { c.start(withdrawal, "", true, c.deliver) })
		})
		return
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

// look returns a copy of a round in which a goroutine posts. If there is none, running is false.
func (c *Sender) look(key string) (r round, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.rounds[key]; now != nil && now.rest == nil {
		return *now, true
	}
	return r, false
}

// AwaitFirst waits for the first attempt of a new delivery, and returns the delivery as it is then. It does
// not wait if an earlier delivery of the same withdrawal is already in progress: that may take long, and the
// caller may be the receiver of that delivery.
func (c *Sender) AwaitFirst(ctx context.Context, made *store.Delivery) (d store.Delivery) {
	c.await(ctx, func() bool {
		r, running := c.look(made.Withdrawal)
		var first string
		d, first = c.store.Delivery(made.ID)
		return len(d.Attempts) > 0 || d.State != store.Pending || !running || first != d.ID && r.cause != d.ID
	})
	if d.ID == "" {
		return *made
	}
	return d
}

func (c *Sender) Resend(ctx context.Context, id string) (now store.Delivery, err error) {
	d, first := c.store.Delivery(id)
	key, before, started := d.Withdrawal, len(d.Attempts), true
	switch {
	case d.ID == "":
		return d, refusal.New(refusal.NotFound, "There is no delivery %q; check the id.", refusal.Shorten(id))
	case d.State != store.Pending: // a round of its own, because it does not wait for others
		key = id
		started = c.start(id, id, false, func(_ string, r *round) {
			_, _ = c.attempt(d, r) // the log tells
			c.leave(id, r, true)
		})
	case first != id:
		return d, refusal.New(refusal.WrongStatus,
			"The delivery %s of the same withdrawal is pending, and goes first; resend that one.", first)
	case d.Due.IsZero():
		c.await(ctx, func() bool { // after an attempt, a round soon rests or ends
			started = c.start(key, id, true, c.deliver)
			r, _ := c.look(key)
			return started || r.posting || c.ctx.Err() != nil
		})
	default:
		err = c.store.Write(func(st *store.State) (store.Change, error) { // this starts a round
			if d := st.Deliveries[id]; d != nil {
				return d.DueNow(), nil
			}
			return store.Change{}, errGone
		})
	}
	if !started && c.ctx.Err() == nil {
		err = refusal.New(refusal.WrongStatus,
			"The delivery %s is being posted at this moment; look at the list of callbacks for what comes of it.", id)
	}
	if err != nil {
		return d, err
	}
	c.await(ctx, func() bool {
		_, running := c.look(key)
		now, _ = c.store.Delivery(id)
		return now.ID == "" || len(now.Attempts) > before || !running
	})
	switch {
	case now.ID == "":
		return now, errGone
	case len(now.Attempts) > before:
		return now, nil
	}
	return now, errUnknown
}

// StartMissing starts the rounds that are missing: of what was pending when the state was opened or begun, and of
// rounds that ended because the state could not be written.
func (c *Sender) StartMissing() {
	c.store.Read(func(st *store.State) {
		for withdrawal, queue := range st.Pending {
			if queue[0].Due.IsZero() {
				c.start(withdrawal, "", false, c.deliver)
			}
		}
	})
}

// Forget ends every rest, after a new state has begun: its deliveries may have the ids of those that are
// gone.
func (c *Sender) Forget() {
	c.mu.Lock()
	keys := slices.Collect(maps.Keys(c.rounds))
	c.mu.Unlock()
	for _, key := range keys {
		c.start(key, "", true, c.deliver)
	}
}

func (c *Sender) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
	c.Forget() // no timer keeps the state in memory
}

type targetError struct{ address string }

func (e *targetError) Error() string {
	return e.address + " is not a loopback address; the setting callback_targets=any lets the sandbox post to others"
}

// isLocalName reports whether a host is an address or a name of this machine. An address is checked later,
// when it is dialled.
func isLocalName(host string) bool {
	_, err := netip.ParseAddr(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkDialled checks the address that is dialled, whatever name it came from.
func (c *Sender) checkDialled(_, address string, _ syscall.RawConn) error {
	if c.store.Terms().CallbackTargets != "loopback" {
		return nil
	}
	if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
		return &targetError{address}
	}
	return nil
}

func (c *Sender) post(address, body string) (a store.Attempt, refused bool) {
	terms := c.store.Terms()
	ctx, cancel := context.WithTimeout(c.ctx, terms.CallbackTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return store.Attempt{Error: cleaned(err.Error())}, false
	}
	// Refuse here, so that no name server is asked for the address.
	if terms.CallbackTargets == "loopback" && !isLocalName(req.URL.Hostname()) {
		return store.Attempt{Error: (&targetError{req.URL.Host}).Error()}, true
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "till-sandbox")
	answer, err := c.client.Do(req)
	target, refused := errors.AsType[*targetError](err)
	switch {
	case err == nil:
		defer answer.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1)) // the status has arrived, and it decides
		a.Status, a.Answer = answer.StatusCode, cleaned(string(text))
	case c.ctx.Err() != nil:
		a.Error = "the sandbox was closed before an answer came"
	case ctx.Err() != nil:
		a.Error = fmt.Sprintf("no answer came within %s", terms.CallbackTimeout)
	case refused:
		a.Error = target.Error()
	default:
		a.Error = cleaned(errors.Unwrap(err).Error()) // without the URL
	}
	return a, refused
}

// cleaned returns a text from outside as the store keeps it: limited in length and in valid UTF-8.
func cleaned(text string) string { return strings.ToValidUTF8(refusal.Cut(text, maxAnswer), "\uFFFD") }
