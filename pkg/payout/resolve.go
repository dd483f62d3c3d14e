package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Decision is a person's decision about one or more orders.
type Decision struct {
	OrderIDs []string
	PaidAs   string // the service's id of the withdrawal, for one order; empty: none of the orders was sent
	Reason   string // may be empty only with PaidAs
	// AlthoughDifferent accepts the withdrawal although it is not what the order asked for or, if none was sent,
	// that withdrawals without an order id pay the same. It needs a reason.
	AlthoughDifferent bool
	// AlthoughClock accepts that the service's clock and this machine's differ, or that this machine's was
	// ahead when an order was sent.
	AlthoughClock bool
}

// A Checked decision contradicts nothing that is known. It has the orders as they were when it was checked.
// If an order changes before the decision is recorded, for example while a person is asked, the decision does
// not apply to it.
type Checked struct {
	Decision
	// Differs says how the withdrawal differs from the order; empty: it does not. Asked and Shown are the two
	// contents.
	Differs, Asked, Shown string
	// Skew is the difference between this machine's clock and the service's, if it was accepted.
	Skew time.Duration
	// Undated reports that no answer of the service had a date, so its clock was not compared with this
	// machine's.
	Undated bool
	// NoList reports that the service shows no list: only the person says that nothing was sent.
	NoList bool

	orders []journal.Record
}

// Check refuses a decision that contradicts what is known. If the decision is that an order was not sent,
// Check first reconciles the order, and records what the list says about it. It records nothing else.
func (s *Sender) Check(ctx context.Context, d Decision) (c Checked, err error) {
	defer func() {
		if err = asError(err); err != nil {
			c.orders = nil // Resolve refuses it
		}
	}()
	c.Decision = d
	if err := d.check(); err != nil {
		return c, err
	}
	if err := s.ledger.Reap(ctx); err != nil {
		return c, err
	}
	for _, id := range d.OrderIDs {
		o, err := s.ledger.Order(ctx, id)
		if err == nil {
			err = decidable(o)
		}
		if err != nil {
			return c, err
		}
		c.orders = append(c.orders, o)
	}
	if err := s.verifyKey(ctx); err != nil {
		return c, err
	}
	if d.PaidAs != "" {
		return s.checkPaid(ctx, c)
	}
	return s.checkNotSent(ctx, c)
}

// check refuses a decision that says too little or too much.
func (d Decision) check() error {
	switch {
	case len(d.OrderIDs) == 0:
		return failed(Invalid, "the decision is about no order").hint("name one")
	case d.PaidAs != "" && len(d.OrderIDs) > 1:
		return failed(Invalid, "a withdrawal belongs to one order, and not to %d", len(d.OrderIDs)).hint("resolve them one at a time")
	case (d.PaidAs == "" || d.AlthoughDifferent) && strings.TrimSpace(d.Reason) == "":
		return failed(Invalid, "the reason for the decision is missing").hint("say how you know")
	}
	return nil
}

func decidable(o journal.Record) error {
	switch {
	case o.State == StateSending:
		return unsettled(o)
	case o.State == StateUnknown, o.State == StateConflict, o.Resolved != nil:
		return nil
	case o.State == StateAccepted:
		return taken(o, o.ID)
	}
	return refused(RuleDecision, "order %s is %s, so there is nothing to decide", o.OrderID, stateText(o.State))
}

// taken returns the error for an order that the service has shown, so that no one can decide that it was not
// sent.
func taken(o journal.Record, id string) error {
	if o.State != StateAccepted {
		return refused(RuleDecision, "the service has shown order %s, as withdrawal %s, so it was sent", o.OrderID, id).
			hint("settle it (add --although-different --reason TEXT if it is not what was asked for) with", "withdraw", "resolve", o.OrderID, "--paid-as", id)
	}
	return refused(RuleDecision, "order %s was accepted by the service as %s, and this cannot be changed by hand",
		o.OrderID, id).hint("ask the service's provider if you think otherwise")
}

func (s *Sender) checkPaid(ctx context.Context, c Checked) (Checked, error) {
	o, id := c.orders[0], c.PaidAs
	status, broken := s.ledger.Status(ctx)
	w, err := s.client.Withdrawals.GetLenient(ctx, id)
	switch {
	case broken != nil:
		return c, broken
	case rejects(err) && (id == o.Shown || id == o.ID):
		c.Differs, c.Shown = "the service has no such withdrawal any more", "nothing"
		return s.insist(c)
	case err != nil:
		return c, err
	case w.ID == id:
	case strings.EqualFold(w.ID, id): // the journal must have the id as the list shows it
		return c, refused(RuleDecision, "the service writes that id as %s", w.ID).
			hint("write it as the service does: --paid-as " + w.ID)
	default:
		return c, failed(ReadFailed, "the answer is about withdrawal %q, and not about %q", w.ID, id).
			hint("nothing was changed, run it again")
	}
	r := recordOf(w)
	for _, other := range r.numbers {
		if formatID(other) != o.OrderID && (len(r.numbers) == 1 || !c.AlthoughDifferent) {
			return c, refused(RuleDecision, "withdrawal %s belongs to order %d, and not to %s", id, other, o.OrderID).
				hint(search, "withdraw", "list", "--all")
		}
	}
	if c.Differs = differs(o.Order, r); c.Differs == "" && len(r.numbers) == 0 { // only its content says which order it is
		c.Differs = s.uncompared(o.Content, r)
	}
	if r.merchant != "" && status.Merchant != "" && r.merchant != status.Merchant {
		why := fmt.Sprintf("it belongs to the merchant %q, and this account is %q", r.merchant, status.Merchant)
		c.Differs = strings.TrimPrefix(c.Differs+"; "+why, "; ")
	}
	if c.Differs == "" && o.Shown != "" && o.Shown != id {
		c.Differs = "the service has shown the order as " + o.Shown + " before, which may be paid too"
	}
	if c.Differs == "" {
		return c, nil
	}
	c.Shown = describe(s.money, Content{Currency: r.currency, Amount: r.amount, Address: r.address, Memo: *cmp.Or(r.memo, new(string))})
	return s.insist(c)
}

const search = "look for the right one"

// insist refuses a withdrawal that differs from the order, unless the person says so.
func (s *Sender) insist(c Checked) (Checked, error) {
	o := c.orders[0]
	if c.Asked = describe(s.money, o.Content); !c.AlthoughDifferent {
		return c, refused(RuleDecision, "withdrawal %s is not what order %s asked for: %s", c.PaidAs, o.OrderID, c.Differs).
			hint("if this one is what became of the order, record that with --although-different --reason TEXT; if not, "+search, "withdraw", "list", "--all")
	}
	return c, nil
}

// mostSkew is the largest difference allowed between this machine's clock and the service's, if a decision
// depends on time.
const mostSkew = time.Minute

func (s *Sender) checkNotSent(ctx context.Context, c Checked) (Checked, error) {
	if i := slices.IndexFunc(c.orders, func(o journal.Record) bool { return o.Shown != "" }); i >= 0 {
		return c, taken(c.orders[i], c.orders[i].Shown)
	}
	began, err := s.ledger.Moment(ctx) // before the list is read: a request that arrives later is not on it
	if err != nil {
		return c, err
	}
	var known *time.Duration // the largest difference of an answer's date
	results, found, err := s.settle(api.ObserveDate(ctx, func(service time.Time) {
		if now := s.now().Sub(service); known == nil || now.Abs() > known.Abs() {
			known = &now
		}
	}), s.newQuestion(c.orders...), c.orders)
	if err != nil {
		return c, err
	}
	for _, r := range results {
		if r.Listed {
			return c, refused(RuleDecision, "the service lists order %s, as withdrawal %s: it is %s now",
				r.Order.OrderID, r.withdrawal, stateText(r.Order.State)).
				hint("see what is known of it", "journal", "show", r.Order.OrderID)
		}
	}
	if c.AlthoughDifferent {
		found.alike = nil
	}
	if err := found.undecided(c.OrderIDs...); err != nil {
		return c, err
	}
	c.NoList, c.Undated = found.none, known == nil
	skew := *cmp.Or(known, new(time.Duration))
	switch {
	case skew.Abs() <= mostSkew:
	case !c.AlthoughClock:
		return c, refused(RuleClock,
			"this machine's clock and the service's differ by %s, so it is not known how long ago the order was sent",
			roundedUp(skew.Abs())).hint("set the clock of this machine or, if it is right, add --although-clock")
	default:
		c.Skew = skew
	}
	for _, o := range c.orders { // after the list was read: an order on it has arrived
		if wait := s.options.SettleAfter - o.Age(began, known); !o.Sent.IsZero() && wait > 0 {
			e := refused(RuleDecision, "order %s was sent at %s, and may still arrive", o.OrderID, o.Sent.UTC().Format(time.RFC3339))
			ahead := wait - s.options.SettleAfter // of this machine's clock
			switch {
			case min(ahead, ahead+skew) <= mostSkew: // by it or by the service's
				return c, e.hint("run this again in " + roundedUp(wait) + " (settle_after in the profile)")
			case !c.AlthoughClock:
				return c, e.hint("that is later than now: if you know that settle_after has passed since then, add --although-clock")
			}
		}
	}
	return c, nil
}

// Resolve records a decision that Check has accepted. It refuses the decision if an order has changed since
// then, for example while a person was asked. The order may have been sent again, and the decision is not
// about that attempt.
func (s *Sender) Resolve(ctx context.Context, c Checked) (orders []Order, err error) {
	defer toError(&err)
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(c.orders) != len(c.OrderIDs) {
		return nil, failed(Invalid, "Resolve: Check has not accepted this decision").hint("call it first, and heed its error")
	}
	reason := c.Reason
	if c.Differs != "" {
		reason = fmt.Sprintf("%s (although %s: asked for %s, shown %s)", c.Reason, c.Differs, c.Asked, c.Shown)
	}
	if c.Skew != 0 {
		reason += fmt.Sprintf(" (although the clocks of this machine and the service differ by %s)", roundedUp(c.Skew.Abs()))
	}
	for i, o := range c.orders {
		id, why := o.OrderID, reason
		if o.State == StateConflict && c.Differs != o.Reason { // the same difference makes no new conflict
			why = strings.TrimSpace(fmt.Sprintf("%s (although %s)", reason, o.Reason))
		} else if o.State == StateAccepted && o.Resolved != nil { // what a person has said before still holds
			if at := strings.Index(o.Resolved.Reason, "(although "); at >= 0 && !strings.Contains(why, o.Resolved.Reason[at:]) {
				why = strings.TrimSpace(why + " " + o.Resolved.Reason[at:])
			}
		}
		o, err := s.ledger.Decide(ctx,
			journal.Decision{OrderID: id, PaidAs: c.PaidAs, NotSent: c.PaidAs == "", Reason: why,
				AlthoughDifferent: c.AlthoughDifferent, About: &c.orders[i]})
		switch e := journal.AsError(err); {
		case errors.Is(err, journal.Shown):
			return orders, taken(e.Order, e.Order.Shown)
		case errors.Is(err, journal.OrderChanged):
			return orders, refused(RuleDecision, "order %s has changed meanwhile: it is %s now",
				id, stateText(e.Order.State)).hint("see what happened", "journal", "show", id)
		case err != nil:
			return orders, accountChanged(err)
		}
		orders = append(orders, o.Order)
	}
	return orders, nil
}
