package store

import (
	"math"
	"slices"
	"sort"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A Book is one column of an account.
type Book string

const (
	Balance Book = "balance" // what can be withdrawn
	Volume  Book = "volume"  // paid by customers, all time
	Rebates Book = "rebates" // earned by a reseller, all time
)

// A Line is the position of one currency in a book.
type Line struct {
	Book Book
	Code string
}

// An Account is what the merchant or one reseller owns.
type Account struct {
	ID          string
	Books       map[Line]int64
	Withdrawals []*Withdrawal // by time of creation
	Invoices    []*Invoice    // by time of creation
}

// A State is what the sandbox holds at one moment.
type State struct {
	ID          string // of the state itself, not of an account
	Merchant    string
	Offset      time.Duration // how far the sandbox's clock is ahead of the machine's
	Accounts    map[string]*Account
	Keys        map[KeyHash]string // to the id of the reseller
	Withdrawals map[string]*Withdrawal
	Invoices    map[string]*Invoice
	Invites     map[string]*Invite
	InviteOrder []*Invite
	Resellers   map[string]*Reseller
	ResellerIDs []string
	Swaps       []Swap

	Deliveries    map[string]*Delivery
	DeliveryOrder []*Delivery
	Pending       map[string][]*Delivery // by withdrawal, oldest first; no list is empty

	Faults    []Fault // never changed in place
	lastFault int64   // the number of the newest
}

// A Change is everything that one operation changes.
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
	Mended     []string    `json:"mended,omitempty"` // ids of removed faults
	Then       []Change    `json:"then,omitempty"`   // more of the same operation
}

// A Beginning replaces the state before it: it is the first change of every state. The ID is random, so that
// two states never have the same one.
type Beginning struct {
	ID       string `json:"id"`
	Merchant string `json:"merchant"`
	IDs      *IDs   `json:"-"` // makes the further ids of this state
}

// A Move adds to one line of an account, or subtracts from it.
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
	st.Accounts[id] = &Account{ID: id, Books: map[Line]int64{}}
}

// Account returns an account. An account whose key was valid a moment ago may be gone, because another
// process has begun a new state.
func (st *State) Account(id string) (*Account, error) {
	if a := st.Accounts[id]; a != nil {
		return a, nil
	}
	return nil, refusal.New(refusal.Unauthorized,
		"The account of this API key is gone, the sandbox was reset meanwhile; make a new one.")
}

// credit adds the move that adds to a line to a change. It refuses an int64 overflow.
func (a *Account) credit(c *Change, b Book, code string, minor int64) error {
	if a.Books[Line{b, code}] > math.MaxInt64-minor {
		return refusal.New(refusal.AmountTooLarge,
			"The %s in %s would grow past what an int64 of minor units can hold; withdraw some first or use a smaller amount.", b, code)
	}
	c.Moves = append(c.Moves, Move{a.ID, b, code, minor})
	return nil
}

// apply cannot fail, because the change was checked before. It stores copies of the records, which only the
// state uses afterwards.
func (st *State) apply(c Change) {
	if c.Begin != nil {
		*st = newState(*c.Begin)
	}
	if c.Offset != nil {
		st.Offset = time.Duration(*c.Offset)
	}
	if c.Withdrawal != nil {
		if kept, isNew := put(st.Withdrawals, c.Withdrawal.ID, c.Withdrawal); isNew {
			a := st.Accounts[kept.Account]
			a.Withdrawals = insert(a.Withdrawals, kept)
		}
	}
	if c.Delivery != nil {
		st.putDelivery(c.Delivery)
	}
	if c.Invoice != nil {
		if kept, isNew := put(st.Invoices, c.Invoice.ID, c.Invoice); isNew {
			a := st.Accounts[kept.Account]
			a.Invoices = insert(a.Invoices, kept)
		}
	}
	if c.Invite != nil {
		if kept, isNew := put(st.Invites, c.Invite.ID, c.Invite); isNew {
			st.InviteOrder = append(st.InviteOrder, kept)
		}
	}
	if c.Reseller != nil {
		r := new(*c.Reseller)
		st.Resellers[r.ID], st.Keys[r.Key] = r, r.ID
		st.ResellerIDs = append(st.ResellerIDs, r.ID)
		st.open(r.ID)
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

func put[R any](records map[string]*R, id string, r *R) (kept *R, isNew bool) {
	if old := records[id]; old != nil {
		*old = *r
		return old, false
	}
	kept = new(*r)
	records[id] = kept
	return kept, true
}

// Dated is a record with a time of creation, by which lists are ordered.
type Dated interface{ MadeAt() time.Time }

// insert adds a record in order of creation; records with equal times stay in order of arrival. It appends,
// except after the clock was set back. The order lets a list find its period without reading every record.
func insert[R Dated](records []R, r R) []R {
	at := len(records)
	if at > 0 && records[at-1].MadeAt().After(r.MadeAt()) {
		at = sort.Search(at, func(i int) bool { return records[i].MadeAt().After(r.MadeAt()) })
	}
	return slices.Insert(records, at, r)
}
