package sandbox

import (
	"errors"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// The store keeps the sandbox's state behind one lock. It has two methods: read,
// and write, the only place where state changes. What a write changes is a
// value, a change, made of plain records. A state is nothing but its changes, in
// order: a file holds them, and applying them all gives the state.
type store struct {
	mu    sync.RWMutex
	state state
	file  *file        // nil: the state is in memory only
	seen  func(change) // where the changes themselves are wanted
	made  func(change) // told of what each write has changed, with no lock held

	terms    *terms
	clock    func() time.Time            // the machine's
	announce func(*withdrawal) *delivery // what a callback is to be told of a withdrawal; nil: nothing
	schedule schedule

	// What every request needs to know, so that it need not wait for the lock.
	merchant atomic.Pointer[string]
	offset   atomic.Int64 // of the sandbox's clock, in nanoseconds
	faults   atomic.Pointer[[]fault]

	queueing sync.Mutex
	queue    []*pending
}

// pending is a write that waits for its commit.
type pending struct {
	decide  func(*state) (change, error)
	done    bool // like the rest, under store.mu
	refused bool // by decide itself
	err     error
}

// newStore makes one that holds nothing yet. The deliveries of its withdrawals are what announce returns.
func newStore(t *terms, clock func() time.Time, announce func(*withdrawal) *delivery) *store {
	return &store{terms: t, clock: clock, announce: announce,
		schedule: schedule{pace: t.pace, expiry: t.invoiceExpiry, wake: make(chan struct{}, 1)}}
}

// newDraft makes a store in memory in which nothing happens by itself. It is told what each write changes.
func newDraft(t *terms, clock func() time.Time, b beginning, seen func(change)) *store {
	return &store{terms: t, clock: clock, state: newState(b), seen: seen, announce: func(*withdrawal) *delivery { return nil }}
}

// open finds the state in a file, or begins it with first. Without a path it is in memory. What is wrong with the file is
// said by failed, then and later on.
func (s *store) open(path string, first change, failed func(path string, err error) error) (err error) {
	if path != "" {
		if s.file, err = openFile(path, failed); err != nil {
			return err
		}
	}
	err = s.refresh()
	if err == nil && s.state.id == "" {
		err = s.write(func(st *state) (change, error) {
			if st.id != "" { // another process was quicker
				return change{}, errBegun
			}
			return first, nil
		})
	}
	if err == errBegun {
		return nil
	}
	return err
}

// close lets go of the file.
func (s *store) close() error {
	if s.file == nil {
		return nil
	}
	s.mu.Lock() // no commit is cut off
	defer s.mu.Unlock()
	return s.file.close()
}

// read runs look while nothing changes. What look keeps must be copied by
// value: records are overwritten in place.
func (s *store) read(look func(*state)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(&s.state)
}

// write asks decide what should change and makes it so, or changes nothing at
// all when decide returns an error. Where there is a file, the change is in it
// when write returns. What the clock has to do is done before, and what is due
// because of the change, after it; without a decide it is all there is to do.
func (s *store) write(decide func(*state) (change, error)) error {
	if decide == nil {
		return s.put(nil)
	}
	var made change
	err := s.put(func(st *state) (c change, err error) {
		made, err = decide(st)
		return made, err
	})
	if err == nil && s.made != nil {
		s.made(made)
	}
	return err
}

// put is a write that nothing follows from.
func (s *store) put(decide func(*state) (change, error)) error {
	if s.file == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settle()
		if decide == nil {
			return nil
		}
		c, err := decide(&s.state)
		if err == nil {
			s.apply(c)
			s.settle()
		}
		return err
	}
	p := &pending{decide: decide, err: errors.New("a write beside this one broke off before anything was saved")}
	s.queueing.Lock()
	s.queue = append(s.queue, p)
	s.queueing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.done { // the first to get here commits for all that wait
		s.queueing.Lock()
		batch := s.queue
		s.queue = nil
		s.queueing.Unlock()
		s.commit(batch)
	}
	return p.err
}

// commit makes all writes of a batch durable in one transaction. No request sees any
// of them before that, because the lock is held. If it fails, what memory holds
// is not what the file holds, and is forgotten. What comes before a new beginning
// is not worth saving: a reader of the file starts there.
func (s *store) commit(batch []*pending) {
	err := s.file.append(s.apply, func() (changes []change) {
		for _, p := range batch {
			changes = append(changes, s.settle()...)
			if p.decide == nil {
				p.err = nil
				continue
			}
			c, err := p.decide(&s.state)
			if p.err, p.refused = err, err != nil; p.refused {
				continue
			}
			s.apply(c)
			if c.Begin != nil {
				changes = nil
			}
			changes = append(changes, c)
		}
		return append(changes, s.settle()...)
	})
	for _, p := range batch {
		p.done = true
		if err != nil && !p.refused {
			p.err = err
		}
	}
}

// refresh takes in what other processes have put into the file, and does what the
// clock has to do. After it, the state is what it should be now.
func (s *store) refresh() error {
	if err := s.takeIn(); err != nil || !s.schedule.isDue(s.now()) {
		return err
	}
	return s.write(nil)
}

func (s *store) takeIn() error {
	if s.file == nil {
		return nil
	}
	s.mu.RLock()
	stale, err := s.file.changed()
	s.mu.RUnlock()
	if err != nil || !stale {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.read(s.apply)
}

func (s *store) apply(c change) {
	s.state.apply(c)
	if c.Begin != nil {
		s.merchant.Store(&c.Begin.Merchant)
	}
	if now := int64(s.state.offset); s.offset.Swap(now) != now {
		s.schedule.poke()
	}
	s.schedule.note(c)
	s.faults.Store(s.state.faults)
	if s.seen != nil {
		s.seen(c)
	}
}

// A book is one column of an account.
type book string

const (
	balance book = "balance" // what can be withdrawn
	volume  book = "volume"  // paid by customers, all time
	rebates book = "rebates" // earned by a reseller, all time
)

type line struct {
	book book
	code string
}

// An account is what the merchant or one reseller owns.
type account struct {
	ID          string
	books       map[line]int64
	withdrawals []*withdrawal // by time of creation
	orderIDs    map[string]bool
	invoices    []*invoice // by time of creation
	invoiceIDs  map[string]bool
}

type state struct {
	id          string // of the state, not of anybody in it
	merchant    string
	offset      time.Duration // how far the sandbox's clock is ahead
	accounts    map[string]*account
	keys        map[keyHash]string // which reseller's
	withdrawals map[string]*withdrawal
	invoices    map[string]*invoice
	invites     map[string]*invite
	inviteOrder []*invite
	resellers   map[string]*reseller
	resellerIDs []string
	swaps       []swap

	deliveries    map[string]*delivery
	deliveryOrder []*delivery
	pending       map[string][]*delivery // of each withdrawal, the oldest first; no empty ones

	faults    *[]fault // nil: none; replaced as a whole
	lastFault int64    // the number of the newest
}

// A change is everything that one operation alters, and nothing else.
type change struct {
	Begin      *beginning  `json:"begin,omitempty"`
	Offset     *int64      `json:"offset,omitempty"` // nanoseconds
	Withdrawal *withdrawal `json:"withdrawal,omitempty"`
	Delivery   *delivery   `json:"delivery,omitempty"`
	Invoice    *invoice    `json:"invoice,omitempty"`
	Invite     *invite     `json:"invite,omitempty"`
	Reseller   *reseller   `json:"reseller,omitempty"`
	Moves      []move      `json:"moves,omitempty"`
	Swaps      []swap      `json:"swaps,omitempty"`
	Fault      *fault      `json:"fault,omitempty"`  // a new one, or its counters
	Mended     []string    `json:"mended,omitempty"` // faults that are gone
	Then       []change    `json:"then,omitempty"`   // more of the same operation
}

// A beginning ends whatever was before it: it is the first change of every
// state. ID is random, so that no two states are ever taken for one.
type beginning struct {
	ID       string `json:"id"`
	Merchant string `json:"merchant"`
}

// A move adds to one line of an account, or takes from it.
type move struct {
	Account string `json:"account"`
	Book    book   `json:"book"`
	Code    string `json:"code"`
	Delta   int64  `json:"delta"`
}

func newState(b beginning) state {
	st := state{
		id:          b.ID,
		merchant:    b.Merchant,
		accounts:    map[string]*account{},
		keys:        map[keyHash]string{},
		withdrawals: map[string]*withdrawal{},
		invoices:    map[string]*invoice{},
		invites:     map[string]*invite{},
		resellers:   map[string]*reseller{},
		deliveries:  map[string]*delivery{},
		pending:     map[string][]*delivery{},
	}
	st.open(b.Merchant)
	return st
}

func (st *state) open(id string) {
	st.accounts[id] = &account{ID: id, books: map[line]int64{}, orderIDs: map[string]bool{}, invoiceIDs: map[string]bool{}}
}

// account finds an account. One that had a key a moment ago may be gone, because
// another process has begun the state anew.
func (st *state) account(id string) (*account, error) {
	if a := st.accounts[id]; a != nil {
		return a, nil
	}
	return nil, refusal.New(refusal.Unauthorized, "The account of this API key is gone, the sandbox was reset meanwhile; make a new one.")
}

// credit is the move that adds to a line, refused where an int64 would overflow.
func (a *account) credit(b book, code string, minor int64) (move, error) {
	if a.books[line{b, code}] > math.MaxInt64-minor {
		return move{}, refusal.New(refusal.AmountTooLarge, "The %s in %s would grow past what an int64 of minor units can hold; withdraw some first or use a smaller amount.", b, code)
	}
	return move{a.ID, b, code, minor}, nil
}

// apply cannot fail: whether a change is allowed was decided before. It keeps
// copies of the records, which from then on belong to the state alone.
func (st *state) apply(c change) {
	if c.Begin != nil {
		*st = newState(*c.Begin)
	}
	if c.Offset != nil {
		st.offset = time.Duration(*c.Offset)
	}
	if c.Withdrawal != nil {
		st.putWithdrawal(c.Withdrawal)
	}
	if c.Delivery != nil {
		st.putDelivery(c.Delivery)
	}
	if c.Invoice != nil {
		st.putInvoice(c.Invoice)
	}
	if c.Invite != nil {
		st.putInvite(c.Invite)
	}
	if c.Reseller != nil {
		st.putReseller(c.Reseller)
	}
	for _, m := range c.Moves {
		st.accounts[m.Account].books[line{m.Book, m.Code}] += m.Delta
	}
	st.swaps = append(st.swaps, c.Swaps...)
	if c.Fault != nil {
		st.putFault(c.Fault)
	}
	if c.Mended != nil {
		st.mend(c.Mended)
	}
	for _, next := range c.Then {
		st.apply(next)
	}
}

func (st *state) putWithdrawal(w *withdrawal) {
	if old := st.withdrawals[w.ID]; old != nil {
		*old = *w
		return
	}
	kept := *w
	st.withdrawals[w.ID] = &kept
	a := st.accounts[w.Account]
	a.withdrawals = insert(a.withdrawals, &kept)
	if w.OrderID != "" {
		a.orderIDs[w.OrderID] = true
	}
}

func (st *state) putInvoice(v *invoice) {
	if old := st.invoices[v.ID]; old != nil {
		*old = *v
		return
	}
	kept := *v
	st.invoices[v.ID] = &kept
	a := st.accounts[v.Account]
	a.invoices = insert(a.invoices, &kept)
	if v.OrderID != nil {
		a.invoiceIDs[*v.OrderID] = true
	}
}

func (st *state) putInvite(v *invite) {
	if old := st.invites[v.ID]; old != nil {
		*old = *v
		return
	}
	kept := *v
	st.invites[v.ID] = &kept
	st.inviteOrder = append(st.inviteOrder, &kept)
}

func (st *state) putReseller(r *reseller) {
	kept := *r
	st.resellers[r.ID] = &kept
	st.resellerIDs = append(st.resellerIDs, r.ID)
	st.keys[r.Key] = r.ID
	st.open(r.ID)
}

// dated is a record that lists are ordered by.
type dated interface{ created() time.Time }

// insert keeps records in order of creation, equal times in order of arrival. It
// appends, except after the clock was set back; the order is what lets a list
// find its period without looking at every record.
func insert[R dated](records []R, r R) []R {
	at := len(records)
	if at > 0 && records[at-1].created().After(r.created()) {
		at = sort.Search(at, func(i int) bool { return records[i].created().After(r.created()) })
	}
	return slices.Insert(records, at, r)
}

var errBegun = errors.New("there is a state already")
