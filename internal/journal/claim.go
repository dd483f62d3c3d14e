package journal

import (
	"context"
	"time"
)

// A Claim asks for the right to send a withdrawal.
type Claim struct {
	OrderID string
	Content
	Callback string
	Note     string // kept, and never sent
	Key      string // fingerprint
	Decimals int64  // with which the amount is shown today; negative: they are unknown
	// AllowDuplicate lets the same content be sent under several order ids while one of them is unknown.
	AllowDuplicate bool
	// Window is how long an accepted withdrawal, or one under way, keeps another with the same content from being sent. It is
	// for orders whose id was generated; 0 is for the others.
	Window time.Duration
	// NotRejected keeps an order that was rejected from being sent again.
	NotRejected bool
	// SameContent keeps an order that the journal has from being sent with other content.
	SameContent bool
	Run         string // the run that sends it; empty: none does

	known Order // a run's row as it was read; a claim of one never makes an order
}

// A Ticket is the right to send one withdrawal once, as it says.
type Ticket struct {
	Began time.Time // when it was recorded, by this machine's clock
	order Order     // as the claim has left it
}

// Order is what is to be sent: the record that is on the disk.
func (ticket Ticket) Order() Order { return ticket.order }

// Claim of a run's row: what is sent is what was recorded when the run began.
func (r RunRow) Claim(run, key string, decimals int64) Claim {
	return Claim{
		OrderID: r.OrderID, Content: r.Row.Content, Callback: r.Row.Callback, Note: r.Row.Note, Key: key, Decimals: decimals,
		SameContent: true, Run: run, known: r.Order,
	}
}

// Claim records that a withdrawal is being sent, and returns the right to do so. When it returns a ticket, the record is on
// the disk. An *ExistsError or a *DuplicateError says why there is none, and an *AccountError that the account is not what the
// ledger was found by.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Ticket, error) {
	p := c.of(l)
	l.j.do(ctx, p)
	return p.ticket()
}

// FinishAndClaim is Finish and then Claim, in one commit. Each of them has an error of its own.
func (l *Ledger) FinishAndClaim(ctx context.Context, ticket Ticket, out Outcome, c Claim) (o Order, finished error, next Ticket, claimed error) {
	f, err := l.ends(ticket, out)
	if err != nil {
		return Order{}, err, Ticket{}, err
	}
	p := c.of(l)
	l.j.do(ctx, f, p)
	next, claimed = p.ticket()
	return f.finish.now, f.err, next, claimed
}

func (c Claim) of(l *Ledger) *pending {
	w := &claiming{ledger: l, Claim: c}
	return &pending{work: w.alone, claim: w}
}

// ticket is that of a claim that is done.
func (p *pending) ticket() (Ticket, error) {
	if p.err != nil {
		return Ticket{}, p.err
	}
	return p.claim.ticket, nil
}

// claiming is a Claim under way.
type claiming struct {
	Claim
	ledger *Ledger
	ticket Ticket
}

// event is what the claim does to its order.
func (c *claiming) event(t *tx) claimed {
	return claimed{Claim: c.Claim, at: t.at, by: t.j.person(), sender: t.j.sender}
}

// alone claims an order after having read it.
func (c *claiming) alone(t *tx) error {
	account, old, err := t.current(c.ledger, c.OrderID)
	if err != nil {
		return err
	}
	if old.State == "" && c.known.id != 0 {
		return &GoneError{OrderID: c.OrderID}
	}
	if _, err := next(old, c.event(t)); err != nil {
		return err
	}
	if err := t.duplicates(account, c.Claim); err != nil {
		return err
	}
	if err := t.tieKey(account, c.Key); err != nil {
		return err
	}
	if err := t.holdLock(); err != nil {
		return err
	}
	if old.State == "" {
		if old, err = t.insert(account, Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback}); err != nil {
			return err
		}
	}
	now, err := t.happen(old, c.event(t))
	c.ticket = t.ticket(now)
	return err
}

func (t *tx) ticket(o Order) Ticket { return Ticket{Began: t.j.options.Now(), order: o} }

// claimMany makes those of some claims whose orders still are as they were read before, if no order with the same content
// is in question. That is so nearly always; the rest are left to alone.
func (t *tx) claimMany(all []*pending) error {
	var some []*pending
	var changes []*change
	only := "TRUE"
	for _, p := range all {
		c := p.claim
		if c.known.id == 0 || c.Window != 0 {
			continue
		}
		account, err := t.lock(c.ledger)
		if err != nil || account != c.known.account || !t.j.tied[keyTie{account, c.Key}] {
			continue // alone says what is wrong, or ties the key
		}
		change, err := changed(c.known, c.event(t))
		if err != nil {
			continue
		}
		some, changes = append(some, p), append(changes, change)
		if !c.AllowDuplicate { // nor does any other of the run
			only = noTwin
		}
	}
	if len(some) == 0 {
		return nil
	}
	if err := t.holdLock(); err != nil {
		return err
	}
	if err := t.move(changes, only); err != nil {
		return err
	}
	for i, p := range some {
		if p.made = changes[i].made; p.made {
			p.claim.ticket = t.ticket(changes[i].next)
		}
	}
	return nil
}

// noTwin is that no other order with the same content is unknown or being sent.
const noTwin = `NOT EXISTS (SELECT 1 FROM orders twin WHERE twin.account = orders.account AND twin.content = orders.content AND twin.id <> orders.id AND twin.state IN ('unknown', 'sending'))`

// duplicates looks for another order with the same content that keeps the claim from being made.
func (t *tx) duplicates(account int64, c Claim) error {
	if c.AllowDuplicate {
		return nil
	}
	const same = `account = ?1 AND content = ?2 AND order_id <> ?3 AND state `
	others, err := t.orders(same+`IN ('unknown', 'sending')`, account, c.Content.key(), c.OrderID)
	if err != nil {
		return err
	}
	for _, o := range others {
		if o, err = t.reap(o); err != nil {
			return err
		}
		if o.State == Unknown {
			return &DuplicateError{Order: o}
		}
		if c.Window > 0 {
			return &DuplicateError{Order: o, Alive: true}
		}
	}
	if c.Window == 0 {
		return nil
	}
	// By the later of the two: one that was found on the list today may have been sent by a clock that was slow.
	accepted, err := t.orders(same+`= 'accepted' AND payee = ?4 AND (sent > ?5 OR changed > ?5)`,
		account, c.Content.key(), c.OrderID, payee(c.Address), stamp(t.at.Add(-c.Window)))
	if err != nil || len(accepted) == 0 {
		return err
	}
	return &DuplicateError{Order: accepted[0]}
}
