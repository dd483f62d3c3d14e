package sandbox

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// The store keeps the sandbox's state behind one lock. It has two methods:
// read, and write, the only place where state changes. What a write changes is
// a value, a change, made of plain records; whoever wants the state to outlive
// the process saves the changes there, in the order in which they are applied,
// and applies them again at the next start.
type store struct {
	mu    sync.RWMutex
	state state
}

// read runs look while nothing changes. What look keeps must be copied by
// value: records are overwritten in place.
func (s *store) read(look func(*state)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(&s.state)
}

// write asks decide what should change and makes it so, or changes nothing at
// all when decide returns an error.
func (s *store) write(decide func(*state) (change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := decide(&s.state)
	if err != nil {
		return err
	}
	s.state.apply(c)
	return nil
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
	merchant    string
	accounts    map[string]*account
	keys        map[keyHash]string // whose account
	withdrawals map[string]*withdrawal
	invoices    map[string]*invoice
	invites     map[string]*invite
	inviteOrder []*invite
	resellers   map[string]*reseller
	resellerIDs []string
	swaps       []Swap
}

// A change is everything that one operation alters, and nothing else.
type change struct {
	Withdrawal *withdrawal `json:"withdrawal,omitempty"`
	Invoice    *invoice    `json:"invoice,omitempty"`
	Invite     *invite     `json:"invite,omitempty"`
	Reseller   *reseller   `json:"reseller,omitempty"`
	Moves      []move      `json:"moves,omitempty"`
	Swaps      []Swap      `json:"swaps,omitempty"`
}

// A move adds to one line of an account, or takes from it.
type move struct {
	Account string `json:"account"`
	Book    book   `json:"book"`
	Code    string `json:"code"`
	Delta   int64  `json:"delta"`
}

func newState(merchant string, key keyHash) state {
	st := state{
		merchant:    merchant,
		accounts:    map[string]*account{},
		keys:        map[keyHash]string{key: merchant},
		withdrawals: map[string]*withdrawal{},
		invoices:    map[string]*invoice{},
		invites:     map[string]*invite{},
		resellers:   map[string]*reseller{},
	}
	st.open(merchant)
	return st
}

func (st *state) open(id string) {
	st.accounts[id] = &account{ID: id, books: map[line]int64{}, orderIDs: map[string]bool{}, invoiceIDs: map[string]bool{}}
}

// credit is the move that adds to a line, refused where an int64 would overflow.
func (a *account) credit(b book, code string, minor int64) (move, error) {
	if a.books[line{b, code}] > math.MaxInt64-minor {
		return move{}, fail(amountTooLarge, "The %s in %s would grow past what an int64 of minor units can hold; withdraw some first or use a smaller amount.", b, code)
	}
	return move{a.ID, b, code, minor}, nil
}

// apply cannot fail: whether a change is allowed was decided before. It keeps
// copies of the records, which from then on belong to the state alone.
func (st *state) apply(c change) {
	if c.Withdrawal != nil {
		st.putWithdrawal(c.Withdrawal)
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
