// Package store holds the sandbox's state and the rules by which it changes: withdrawals, invoices, invites, accounts and
// the clock, in memory or in an SQLite file that several processes share.
package store

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

// The Store keeps the sandbox's state behind one lock. It has two methods: read,
// and write, the only place where state changes. What a write changes is a
// value, a change, made of plain records. A state is nothing but its changes, in
// order: a file holds them, and applying them all gives the state.
type Store struct {
	mu    sync.RWMutex
	state State
	file  *file        // nil: the state is in memory only
	Made  func(Change) // told of what each write has changed, with no lock held

	Terms    *Terms
	clock    func() time.Time            // the machine's
	announce func(*Withdrawal) *Delivery // what a callback is to be told of a withdrawal; nil: nothing
	schedule schedule

	// What every request needs to know, so that it need not wait for the lock.
	Merchant atomic.Pointer[string]
	Offset   atomic.Int64 // of the sandbox's clock, in nanoseconds
	Faults   atomic.Pointer[[]Fault]

	queueing sync.Mutex
	queue    []*pending
}

// pending is a write that waits for its commit.
type pending struct {
	decide  func(*State) (Change, error) // nil: only what is due
	done    bool                         // like the rest, under store.mu
	refused bool                         // by decide itself
	err     error
}

// New makes one that holds nothing yet. The deliveries of its withdrawals are what announce returns.
func New(t *Terms, clock func() time.Time, announce func(*Withdrawal) *Delivery) *Store {
	return &Store{Terms: t, clock: clock, announce: announce,
		schedule: schedule{pace: t.Pace, expiry: t.InvoiceExpiry, wake: make(chan struct{}, 1)}}
}

// NewDraft makes a store in memory in which nothing happens by itself.
func NewDraft(t *Terms, clock func() time.Time, b Beginning, made func(Change)) *Store {
	return &Store{Terms: t, clock: clock, state: newState(b), Made: made, announce: func(*Withdrawal) *Delivery { return nil }}
}

// Open finds the state in a file, or begins it with first. Without a path it is in memory. What is wrong with the file is
// said by failed, then and later on.
func (s *Store) Open(path string, first Change, failed func(path string, err error) error) (err error) {
	if path != "" {
		if s.file, err = openFile(path, failed); err != nil {
			return err
		}
	}
	err = s.Refresh()
	if err == nil && s.state.ID == "" {
		err = s.Write(func(st *State) (Change, error) {
			if st.ID != "" { // another process was quicker
				return Change{}, errBegun
			}
			return first, nil
		})
	}
	if err == errBegun {
		return nil
	}
	return err
}

// Close lets go of the file.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	s.mu.Lock() // no commit is cut off
	defer s.mu.Unlock()
	return s.file.close()
}

// Read runs look while nothing changes. What look keeps must be copied by
// value: records are overwritten in place.
func (s *Store) Read(look func(*State)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(&s.state)
}

// Write asks decide what should change and makes it so, or changes nothing at
// all when decide returns an error. Where there is a file, the change is in it
// when Write returns. What the clock has to do is done before, and what is due
// because of the change, after it; without a decide it is all there is to do.
func (s *Store) Write(decide func(*State) (Change, error)) error {
	if decide == nil {
		return s.Put(nil)
	}
	var made Change
	err := s.Put(func(st *State) (c Change, err error) {
		made, err = decide(st)
		return made, err
	})
	if err == nil && s.Made != nil {
		s.Made(made)
	}
	return err
}

// Put is a write that nothing follows from.
func (s *Store) Put(decide func(*State) (Change, error)) error {
	p := &pending{decide: decide, err: errors.New("another write of the same batch failed before anything was saved")}
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
func (s *Store) commit(batch []*pending) {
	err := s.file.append(s.apply, func() (changes []Change) {
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

// Refresh takes in what other processes have put into the file, and does what the
// clock has to do. After it, the state is what it should be now.
func (s *Store) Refresh() error {
	if err := s.takeIn(); err != nil || !s.schedule.isDue(s.Now) {
		return err
	}
	return s.Write(nil)
}

func (s *Store) takeIn() error {
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

func (s *Store) apply(c Change) {
	s.state.apply(c)
	if c.Begin != nil {
		s.Merchant.Store(&c.Begin.Merchant)
	}
	if now := int64(s.state.Offset); s.Offset.Swap(now) != now {
		s.schedule.poke()
	}
	s.schedule.note(c)
	if list := s.state.Faults; len(list) > 0 {
		s.Faults.Store(&list)
	} else {
		s.Faults.Store(nil) // so that requests need not look any further
	}
}

// A Book is one column of an account.
type Book string

const (
	Balance Book = "balance" // what can be withdrawn
	Volume  Book = "volume"  // paid by customers, all time
	Rebates Book = "rebates" // earned by a reseller, all time
)

type Line struct {
	Book Book
	Code string
}

// An Account is what the merchant or one reseller owns.
type Account struct {
	ID          string
	Books       map[Line]int64
	Withdrawals []*Withdrawal // by time of creation
	orderIDs    map[string]bool
	Invoices    []*Invoice // by time of creation
	invoiceIDs  map[string]bool
}

type State struct {
	ID          string // of the state, not of anybody in it
	Merchant    string
	Offset      time.Duration // how far the sandbox's clock is ahead
	Accounts    map[string]*Account
	Keys        map[KeyHash]string // which reseller's
	Withdrawals map[string]*Withdrawal
	Invoices    map[string]*Invoice
	Invites     map[string]*Invite
	InviteOrder []*Invite
	Resellers   map[string]*Reseller
	ResellerIDs []string
	Swaps       []Swap

	Deliveries    map[string]*Delivery
	DeliveryOrder []*Delivery
	Pending       map[string][]*Delivery // of each withdrawal, the oldest first; no empty ones

	Faults    []Fault // replaced as a whole
	lastFault int64   // the number of the newest
}

// A Change is everything that one operation alters, and nothing else.
type Change struct {
	Begin      *Beginning  `json:"begin,omitempty"`
	Offset     *int64      `json:"offset,omitempty"` // nanoseconds
	Withdrawal *Withdrawal `json:"withdrawal,omitempty"`
	Delivery   *Delivery   `json:"delivery,omitempty"`
	Invoice    *Invoice    `json:"invoice,omitempty"`
	Invite     *Invite     `json:"invite,omitempty"`
	Reseller   *Reseller   `json:"reseller,omitempty"`
	Moves      []Move      `json:"moves,omitempty"`
	Swaps      []Swap      `json:"swaps,omitempty"`
	Fault      *Fault      `json:"fault,omitempty"`  // a new one, or its counters
	Mended     []string    `json:"mended,omitempty"` // faults that are gone
	Then       []Change    `json:"then,omitempty"`   // more of the same operation
}

// A Beginning ends whatever was before it: it is the first change of every
// state. ID is random, so that no two states are ever taken for one.
type Beginning struct {
	ID       string `json:"id"`
	Merchant string `json:"merchant"`
}

// A Move adds to one line of an account, or takes from it.
type Move struct {
	Account string `json:"account"`
	Book    Book   `json:"book"`
	Code    string `json:"code"`
	Delta   int64  `json:"delta"`
}

func newState(b Beginning) State {
	st := State{
		ID:          b.ID,
		Merchant:    b.Merchant,
		Accounts:    map[string]*Account{},
		Keys:        map[KeyHash]string{},
		Withdrawals: map[string]*Withdrawal{},
		Invoices:    map[string]*Invoice{},
		Invites:     map[string]*Invite{},
		Resellers:   map[string]*Reseller{},
		Deliveries:  map[string]*Delivery{},
		Pending:     map[string][]*Delivery{},
	}
	st.open(b.Merchant)
	return st
}

func (st *State) open(id string) {
	st.Accounts[id] = &Account{ID: id, Books: map[Line]int64{}, orderIDs: map[string]bool{}, invoiceIDs: map[string]bool{}}
}

// Account finds an account. One that had a key a moment ago may be gone, because
// another process has begun the state anew.
func (st *State) Account(id string) (*Account, error) {
	if a := st.Accounts[id]; a != nil {
		return a, nil
	}
	return nil, refusal.New(refusal.Unauthorized, "The account of this API key is gone, the sandbox was reset meanwhile; make a new one.")
}

// credit is the move that adds to a line, refused where an int64 would overflow.
func (a *Account) credit(b Book, code string, minor int64) (Move, error) {
	if a.Books[Line{b, code}] > math.MaxInt64-minor {
		return Move{}, refusal.New(refusal.AmountTooLarge, "The %s in %s would grow past what an int64 of minor units can hold; withdraw some first or use a smaller amount.", b, code)
	}
	return Move{a.ID, b, code, minor}, nil
}

// apply cannot fail: whether a change is allowed was decided before. It keeps
// copies of the records, which from then on belong to the state alone.
func (st *State) apply(c Change) {
	if c.Begin != nil {
		*st = newState(*c.Begin)
	}
	if c.Offset != nil {
		st.Offset = time.Duration(*c.Offset)
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
		st.Accounts[m.Account].Books[Line{m.Book, m.Code}] += m.Delta
	}
	st.Swaps = append(st.Swaps, c.Swaps...)
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

// put keeps a copy of a record, in the place of the one that has its id, and reports whether there was none.
func put[R any](records map[string]*R, id string, r *R) (kept *R, isNew bool) {
	if old := records[id]; old != nil {
		*old = *r
		return old, false
	}
	kept = new(*r)
	records[id] = kept
	return kept, true
}

func (st *State) putWithdrawal(w *Withdrawal) {
	if kept, isNew := put(st.Withdrawals, w.ID, w); isNew {
		a := st.Accounts[w.Account]
		a.Withdrawals = insert(a.Withdrawals, kept)
		if w.OrderID != "" {
			a.orderIDs[w.OrderID] = true
		}
	}
}

func (st *State) putInvoice(v *Invoice) {
	if kept, isNew := put(st.Invoices, v.ID, v); isNew {
		a := st.Accounts[v.Account]
		a.Invoices = insert(a.Invoices, kept)
		if v.OrderID != nil {
			a.invoiceIDs[*v.OrderID] = true
		}
	}
}

func (st *State) putInvite(v *Invite) {
	if kept, isNew := put(st.Invites, v.ID, v); isNew {
		st.InviteOrder = append(st.InviteOrder, kept)
	}
}

func (st *State) putReseller(r *Reseller) {
	kept := *r
	st.Resellers[r.ID] = &kept
	st.ResellerIDs = append(st.ResellerIDs, r.ID)
	st.Keys[r.Key] = r.ID
	st.open(r.ID)
}

// Dated is a record that lists are ordered by.
type Dated interface{ MadeAt() time.Time }

// insert keeps records in order of creation, equal times in order of arrival. It
// appends, except after the clock was set back; the order is what lets a list
// find its period without looking at every record.
func insert[R Dated](records []R, r R) []R {
	at := len(records)
	if at > 0 && records[at-1].MadeAt().After(r.MadeAt()) {
		at = sort.Search(at, func(i int) bool { return records[i].MadeAt().After(r.MadeAt()) })
	}
	return slices.Insert(records, at, r)
}

var errBegun = errors.New("there is a state already")
