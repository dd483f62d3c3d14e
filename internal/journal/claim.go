package journal

import (
	"context"
	"fmt"
	"time"
)

// A Claim asks for the right to send a withdrawal.
type Claim struct {
	OrderID string
	Content
	Callback string
	Note     string // kept, and never sent
	Key      string // fingerprint
	Decimals int64  // decimals of the amount as it is shown today; negative: unknown
	// AllowDuplicate lets the same content be sent under several order ids while one of them is unknown.
	AllowDuplicate bool
	// Window is how long an order that was accepted or is under way keeps another one with the same content
	// from being sent. It is for orders whose id was generated; 0 is for all others.
	Window time.Duration
	// NotRejected keeps a rejected order from being sent again.
	NotRejected bool
	// SameContent keeps an order that the journal has from being sent with other content.
	SameContent bool
	Run         string // the run that sends it; empty: none
	// Batch is the batch of the run. If a newer run of it has begun by now, the claim is refused as BatchChanged.
	Batch string
	// Demand is the number of the demand under which the sender found that it may be sent. If another one is
	// in force by now, the claim is refused as DemandChanged.
	Demand  int64
	Consent int64 // number of what approved it; 0: nothing had to
	// Skew is how far this machine's clock is ahead of the service's; nil: it is not known yet.
	Skew *time.Duration

	// Known is the order as it was read before, if its run has recorded it: then the claim makes no order.
	Known Order
}

// A Ticket is the right to send one withdrawal once, with the content that it has.
type Ticket struct {
	Began time.Time // when the claim was recorded, by this machine's clock
	order Order     // after the claim
}

// Order returns the order to send. It is the record that is on the disk.
func (ticket Ticket) Order() Order { return ticket.order }

// Claim records that a withdrawal is being sent, and returns the right to send it. When it returns a ticket,
// the record is on the disk. If there is none, an Error of the kind Exists or Duplicate says
// why, or AccountChanged or DemandChanged says that the account has changed since the ledger was found.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Ticket, error) {
	p := c.of(l)
	l.j.do(ctx, p)
	return p.ticket()
}

// FinishAndClaim is Finish followed by Claim, in one commit. Each of them has its own error.
func (l *Ledger) FinishAndClaim(
	ctx context.Context, ticket Ticket, out Outcome, c Claim,
) (o Order, finished error, next Ticket, claimed error) {
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

// ticket returns the result of a claim after its commit.
func (p *pending) ticket() (Ticket, error) {
	if p.err != nil {
		return Ticket{}, p.err
	}
	return p.claim.ticket, nil
}

// claiming is a Claim in progress.
type claiming struct {
	Claim
	ledger *Ledger
	ticket Ticket
}

// event returns the event that the claim causes.
func (c *claiming) event(t *tx) claimed {
	return claimed{Claim: c.Claim, at: t.at, moment: t.j.moment(t.at), by: t.j.person(), sender: t.j.sender}
}

// alone reads the order and then claims it.
func (c *claiming) alone(t *tx) error {
	account, old, err := t.current(c.ledger, c.OrderID)
	if err != nil {
		return err
	}
	if old.State == "" && c.Known.id != 0 {
		return &Error{Kind: NotFound, OrderID: c.OrderID}
	}
	if _, err := next(old, c.event(t)); err != nil {
		return err
	}
	if t.locked[account].demand != c.Demand {
		return &Error{Kind: DemandChanged, Account: t.locked[account].Account}
	}
	if err := t.isNewest(account, c.Claim); err != nil {
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
		if old, err = t.insert(account,
			Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback}); err != nil {
			return err
		}
	}
	now, err := t.happen(old, c.event(t))
	c.ticket = t.ticket(now)
	return err
}

func (t *tx) ticket(o Order) Ticket { return Ticket{Began: t.j.options.Now(), order: o} }

// claimMany makes the claims of orders that have not changed since they were read, if no other order with the
// same content is unknown or being sent. These are nearly always all claims. alone makes the rest.
func (t *tx) claimMany(all []*pending) error {
	var some []*pending
	var changes []*change
	type runOf struct {
		account int64
		run     string
	}
	newest := map[runOf]bool{} // asked once for each run, because it may be a round trip to a server
	only := "TRUE"
	for _, p := range all {
		c := p.claim
		if c.Known.id == 0 || c.Window != 0 {
			continue
		}
		account, err := t.lock(c.ledger)
		if err != nil || account != c.Known.account || !t.j.tied[keyTie{account, c.Key}] ||
			t.locked[account].demand != c.Demand {
			continue // alone reports what is wrong, or ties the key
		}
		run := runOf{account, c.Run}
		if _, asked := newest[run]; !asked {
			newest[run] = t.isNewest(account, c.Claim) == nil
		}
		if !newest[run] {
			continue
		}
		change, err := changed(c.Known, c.event(t))
		if err != nil {
			continue
		}
		some, changes = append(some, p), append(changes, change)
		if !c.AllowDuplicate { // the setting is the same for all claims of a run
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

// isNewest returns an Error if a newer run of the claim's batch has begun. In PostgreSQL, it can begin while
// this process has lost its connections and looks dead.
func (t *tx) isNewest(account int64, c Claim) error {
	if c.Batch == "" {
		return nil
	}
	newest, err := t.newestOf(account, c.Batch)
	if err != nil || newest == c.Run {
		return err
	}
	return &Error{Kind: BatchChanged, Run: c.Run,
		Msg: fmt.Sprintf("is of the batch %q, which has gone on with run %s", c.Batch, newest)}
}

// noTwin is the condition that no other order with the same content is unknown or being sent.
const noTwin = `NOT EXISTS (SELECT 1 FROM orders twin WHERE twin.account = orders.account AND twin.content = orders.content AND twin.id <> orders.id AND twin.state IN ('unknown', 'sending'))`

// duplicates returns an Error if another order with the same content forbids the claim.
func (t *tx) duplicates(account int64, c Claim) error {
	if c.AllowDuplicate {
		return nil
	}
	const same = `account = ?1 AND content = ?2 AND order_id <> ?3 AND state `
	others, err := t.orders(same+`IN ('unknown', 'sending')`, account, c.Content.Key().String(), c.OrderID)
	if err != nil {
		return err
	}
	for _, o := range others {
		if o, err = t.reap(o); err != nil {
			return err
		}
		if o.State == Unknown {
			return &Error{Kind: Duplicate, Order: o}
		}
		if c.Window > 0 {
			return &Error{Kind: Duplicate, Order: o, Alive: true}
		}
	}
	if c.Window == 0 {
		return nil
	}
	accepted, err := t.orders(same+`= 'accepted' AND payee = ?4`, account, c.Content.Key().String(), c.OrderID, payee(c.Address))
	if err != nil {
		return err
	}
	for _, o := range accepted {
		// The later of sent and changed counts: an order that was found on the list today may have been sent by a
		// machine whose clock was slow.
		if o.Age(t.j.moment(t.at), nil) < c.Window || t.at.Sub(o.Changed) < c.Window {
			return &Error{Kind: Duplicate, Order: o}
		}
	}
	return nil
}
