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
	// AllowDuplicate lets the same content be sent under several order ids while one of them is unknown.
	AllowDuplicate bool
	// Window is how long an accepted withdrawal, or one under way, stands in the way of another with the same content. It is
	// for orders whose id nobody has chosen; 0 is for the others.
	Window time.Duration
	// NotRejected keeps an order that was rejected from being sent again.
	NotRejected bool
	// SameContent keeps an order that the journal has from being sent with another content.
	SameContent bool
	Run         string // the run that sends it; empty: none does
	// Known is the order as it was read before. If it still is as it was, it is not read again; the zero value says nothing.
	Known Order
}

// A Ticket is the right to send one withdrawal once.
type Ticket struct {
	OrderID string
	Began   time.Time // when it was recorded
	order   Order     // as the claim has left it
}

// Claim records that a withdrawal is being sent, and returns the right to do so. When it returns a ticket, the record is on
// the disk. A *StandsError or a *DuplicateError says why there is none.
func (j *Journal) Claim(ctx context.Context, a Account, c Claim) (Ticket, error) {
	p := c.of(a)
	j.do(ctx, p)
	return p.ticket()
}

// FinishAndClaim is Finish and then Claim, in one commit. Each of them has an error of its own.
func (j *Journal) FinishAndClaim(ctx context.Context, ticket Ticket, out Outcome, a Account, c Claim) (o Order, finished error, next Ticket, claimed error) {
	f, err := ticket.ends(out)
	if err != nil {
		return Order{}, err, Ticket{}, err
	}
	p := c.of(a)
	j.do(ctx, f, p)
	next, claimed = p.ticket()
	return f.finish.now, f.err, next, claimed
}

func (c Claim) of(a Account) *pending {
	w := &claiming{account: a, Claim: c}
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
	account Account
	ticket  Ticket
}

// alone claims an order after having read it.
func (c *claiming) alone(t *tx) error {
	account, old, err := t.living(c.account, c.OrderID)
	if err != nil {
		return err
	}
	free := old.State == "" || c.free(old)
	if other := old.State != "" && old.Content != c.Content; !free || c.SameContent && other {
		return &StandsError{old, old.Content == c.Content, old.State == Sending} // reap has left it alone
	}
	if old.InDoubt() && old.Content != c.Content {
		return &StandsError{Order: old}
	}
	if err := t.duplicates(account, c.Claim); err != nil {
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
	now, err := t.move(old, c.sending(t, old), c.event())
	c.ticket = t.ticket(now)
	return err
}

// free reports whether an order that the journal has may be sent.
func (c Claim) free(o Order) bool {
	return o.State == Planned || o.State == Rejected && !c.NotRejected
}

// sending is an order as it is while a claim of it is under way.
func (c Claim) sending(t *tx, old Order) Order {
	next := old
	next.State, next.Content, next.Callback, next.Note, next.Key, next.Run = Sending, c.Content, c.Callback, c.Note, c.Key, c.Run
	next.User, next.Host, next.Sent, next.sender = t.j.options.User, t.j.options.Host, unstamp(t.now), t.j.sender
	next.Code, next.Reason = 0, ""
	return next
}

func (c Claim) event() Event { return Event{What: eventSending, Key: c.Key} }

func (t *tx) ticket(o Order) Ticket {
	return Ticket{OrderID: o.OrderID, Began: t.j.options.Now(), order: o}
}

// claimTogether makes those of some claims whose orders still are as they were read before, if they have their content in
// common with none of which anything else is to be found out. That is so nearly always; the rest are left to alone.
func (t *tx) claimTogether(all []*pending) error {
	var known []*pending
	for _, p := range all {
		account, err := t.account(p.claim.account)
		if err != nil {
			return err
		}
		if c, old := p.claim, p.claim.Known; old.account == account && old.OrderID == c.OrderID && c.free(old) && old.Content == c.Content && c.Window == 0 {
			known = append(known, p)
		}
	}
	if len(known) == 0 {
		return nil
	}
	if err := t.holdLock(); err != nil {
		return err
	}
	changes := make([]*change, len(known))
	only := "TRUE"
	for i, p := range known {
		changes[i] = &change{old: p.claim.Known, next: p.claim.sending(t, p.claim.Known), event: p.claim.event()}
		if !p.claim.AllowDuplicate { // nor does any other of the run
			only = noTwin
		}
	}
	if err := t.moveAll(changes, only); err != nil {
		return err
	}
	for i, p := range known {
		if p.made = changes[i].made; p.made {
			p.claim.ticket = t.ticket(changes[i].next)
		}
	}
	return nil
}

// noTwin is that no other order with the same content is unknown or being sent.
const noTwin = `NOT EXISTS (SELECT 1 FROM orders twin WHERE twin.account = orders.account AND twin.address = orders.address AND twin.minor = orders.minor AND twin.currency = orders.currency
	AND twin.unit = orders.unit AND twin.memo = orders.memo AND twin.id <> orders.id AND twin.state IN ('unknown', 'sending'))`

// duplicates looks for another order with the same content that stands in the way.
func (t *tx) duplicates(account int64, c Claim) error {
	if c.AllowDuplicate {
		return nil
	}
	const same = `account = ?1 AND address = ?2 AND minor = ?3 AND currency = ?4 AND unit = ?5 AND memo = ?6 AND order_id <> ?7 AND state `
	others, err := t.orders(same+`IN ('unknown', 'sending') ORDER BY id`, account, c.Address, c.Minor, c.Currency, c.Unit, c.Memo, c.OrderID)
	if err != nil {
		return err
	}
	for _, o := range others {
		if err := t.reap(&o); err != nil {
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
	since := t.j.options.Now().Add(-c.Window)
	accepted, err := t.orders(same+`= 'accepted' AND CASE WHEN sent = '' THEN changed ELSE sent END > ?8 ORDER BY id LIMIT 1`,
		account, c.Address, c.Minor, c.Currency, c.Unit, c.Memo, c.OrderID, stamp(since))
	if err != nil || len(accepted) == 0 {
		return err
	}
	return &DuplicateError{Order: accepted[0]}
}
