// Package store holds the state of the sandbox and the rules by which it changes: withdrawals, invoices,
// invites, accounts and the clock. The state is in memory or in an SQLite file.
package store

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Store protects the state of the sandbox with one lock. Read only looks at the state; Write is the only
// way to change it. A write changes the state by a value, a Change, made of plain records. The state is the
// result of its changes, in order: a file stores them, and applying them all gives the state.
type Store struct {
	mu    sync.RWMutex
	state State
	file  *file        // nil: in memory only
	Made  func(Change) // called with each change after it is saved; the store is locked meanwhile

	terms    atomic.Pointer[Terms]
	ids      atomic.Pointer[IDs]
	clock    func() time.Time // the machine's
	announce Announce
	schedule schedule

	// Every request needs these, so they can be read without the lock.
	Merchant atomic.Pointer[string]
	Offset   atomic.Int64 // of the sandbox's clock, in nanoseconds
	Faults   atomic.Pointer[[]Fault]

	queueing sync.Mutex
	queue    []*pending
}

// pending is a write that waits for its commit.
type pending struct {
	decide  func(*State) (Change, error) // nil: make only the moves that are due
	done    bool                         // like the rest, protected by Store.mu
	refused bool                         // by decide itself
	err     error
}

// Announce returns the delivery for a change of status, or nil, and what else changes with it.
type Announce func(*State, *Withdrawal) (*Delivery, []Change)

func New(t *Terms, clock func() time.Time, announce Announce) *Store {
	s := &Store{clock: clock, announce: announce}
	s.setTerms(t)
	s.ids.Store(NewIDs(""))
	s.Faults.Store(new([]Fault))
	return s
}

func (s *Store) IDs() *IDs { return s.ids.Load() }

func (s *Store) Terms() *Terms { return s.terms.Load() }

func (s *Store) setTerms(t *Terms) {
	s.terms.Store(t)
	s.schedule.pace, s.schedule.expiry = t.Pace, t.InvoiceExpiry
}

// Follow changes the settings. The state is neither read nor changed while changed runs. Follow returns after the
// moves that are due by the new settings.
func (s *Store) Follow(t *Terms, changed func()) error {
	s.mu.Lock()
	s.setTerms(t)
	s.renewSchedule()
	changed()
	s.mu.Unlock()
	return s.Write(nil)
}

// Begin begins a new state with its settings. The state is neither read nor changed while changed runs.
func (s *Store) Begin(first Change, t *Terms, changed func()) error {
	return s.Write(func(*State) (Change, error) {
		s.setTerms(t)
		changed()
		return first, nil
	})
}

// Open loads the state from a file, or begins it with first. Without a path the state is in memory. No other
// store may have the file open, unless all share it.
func (s *Store) Open(path string, shared bool, first Change) (err error) {
	if path != "" {
		if s.file, err = openFile(path, shared); err != nil {
			return &FileError{path, err}
		}
	}
	if err := s.Refresh(); err != nil || s.state.ID != "" {
		return err
	}
	return s.Write(func(st *State) (Change, error) {
		if st.ID != "" { // another process was faster
			return Change{}, nil
		}
		return first, nil
	})
}

func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	s.mu.Lock() // do not cut off a commit
	defer s.mu.Unlock()
	return s.file.close()
}

// Read calls look while nothing changes. look must copy by value what it keeps, because records are
// overwritten in place.
func (s *Store) Read(look func(*State)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(&s.state)
}

// Write applies the change that decide returns, or changes nothing if decide returns an error. With a file,
// the change is in it when Write returns. Moves of the clock that are due are made before decide, and those
// that are due because of the change, after it. Without decide, Write makes only the moves that are due.
func (s *Store) Write(decide func(*State) (Change, error)) error {
	p := &pending{decide: decide, err: errors.New("another write of the same batch failed before anything was saved")}
	s.queueing.Lock()
	s.queue = append(s.queue, p)
	s.queueing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.done { // the first goroutine commits for all that wait
		runtime.Gosched() // those that are about to wait come along: a commit takes far longer
		s.queueing.Lock()
		batch := s.queue
		s.queue = nil
		s.queueing.Unlock()
		s.commit(batch)
	}
	return p.err
}

// commit saves all writes of a batch in one transaction. No request sees any of them earlier, because the
// lock is held. If the transaction fails, memory differs from the file and is discarded. Changes before a new
// beginning are not saved, because a reader of the file starts there.
func (s *Store) commit(batch []*pending) {
	var changes []Change
	err := s.file.append(s.apply, func() []Change {
		for _, p := range batch {
			changes = append(changes, s.settle()...)
			p.err = nil
			if p.decide == nil {
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
		changes = append(changes, s.settle()...)
		return changes
	})
	for _, p := range batch {
		p.done = true
		if err != nil && !p.refused {
			p.err = err
		}
	}
	if err == nil && s.Made != nil {
		for _, c := range changes {
			s.Made(c)
		}
	}
}

// Refresh applies what other processes have added to the file, and makes the moves of the clock that are due.
// After it, the state is up to date.
func (s *Store) Refresh() error {
	if s.file != nil {
		s.mu.Lock()
		err := s.file.read(s.apply)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if !s.schedule.isDue(s.Now()) {
		return nil
	}
	return s.Write(nil)
}

func (s *Store) apply(c Change) {
	s.state.apply(c)
	if c.Begin != nil {
		s.Merchant.Store(&c.Begin.Merchant)
		if c.Begin.IDs != nil {
			s.ids.Store(c.Begin.IDs)
		}
	}
	s.Offset.Store(int64(s.state.Offset))
	s.plan(c)
	s.schedule.announce()
	list := s.state.Faults
	s.Faults.Store(&list)
}
