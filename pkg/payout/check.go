package payout

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Difference is a withdrawal on which the journal and the service's list disagree.
type Difference struct {
	What   string          // "only there": missing in the journal; "only here": missing at the service; or "different"
	Order  *Order          // nil: the journal does not have it
	Record *api.Withdrawal // nil: it is not on the list
	Why    string

	mark    string // of the record, for Accept
	foreign bool   // another merchant's record has the order's id
}

// Missing reports whether the service has accepted a withdrawal that is not accepted in the journal.
func (d Difference) Missing() bool {
	return d.Record != nil && !d.foreign && (d.Order == nil || d.Order.State != StateAccepted && d.Order.State != StateConflict)
}

const onlyThere, onlyHere, different = "only there", "only here", "different"

// A Comparison is the result of comparing the journal with the service's list.
type Comparison struct {
	Differences []Difference // that no person has accepted
	Accepted    int          // how many differences a person has accepted before
	// Surplus is how many more withdrawals the service counts than its list shows, beyond those that a person
	// has accepted before.
	Surplus int64

	// NoList is the error of a service that does not show its list; nil: it does.
	NoList error

	Hidden      int64 // Surplus with those accepted before
	made, whole bool  // without an error; and of the whole list
}

// Clean reports whether the journal and the list agree, apart from what a person has accepted. It is false
// for a comparison that has failed.
func (c Comparison) Clean() bool {
	return c.made && len(c.Differences) == 0 && c.Surplus == 0 && c.NoList == nil
}

// Compare compares the journal with the service's list. filter restricts the list to a period, and f
// restricts the journal to the same period. An order of the journal is compared if the service has accepted
// it. If the list of the period lacks one, or is refused, the whole list is compared. Compare settles no order.
// But as in every reading, an order that counted as not taken becomes unknown if the list has it. If the whole
// journal and list agree, nothing that was noted about the account keeps it from sending any more.
func (s *Sender) Compare(ctx context.Context, filter api.WithdrawalFilter, f Filter) (c Comparison, err error) {
	defer toError(&err)
	if c, err = s.compare(ctx, filter, f); err != nil {
		return c, err
	}
	c.made, c.whole = true, reflect.ValueOf(filter).IsZero() && reflect.ValueOf(f).IsZero()
	if c.whole && c.Clean() {
		err = s.ledger.Agree(ctx)
	}
	return c, err
}

func (s *Sender) compare(ctx context.Context, filter api.WithdrawalFilter, f Filter) (c Comparison, err error) {
	if err := s.verifyKey(ctx); err != nil {
		return c, err
	}
	var x *comparing
	readings := 0
	err = s.readUntil(ctx, func(journal.AccountStatus) (*reading, error) {
		readings++
		x = &comparing{s: s, ctx: ctx, seen: map[string]bool{}}
		x.r = &reading{filter: filter, anyTotal: readings == mostReadings, see: x.see}
		return x.r, nil
	}, func(*reading, *lack) (bool, error) { return true, x.flush() })
	if rejects(err) {
		return Comparison{NoList: notShown(err), Hidden: x.r.accepted.Surplus}, nil
	}
	if err != nil {
		return c, err
	}
	c = x.found
	accepted := x.r.accepted
	c.Hidden = max(0, x.r.total-int64(len(x.r.ids)))
	c.Surplus = max(0, c.Hidden-accepted.Surplus)
	for i, d := range c.Differences { // as the reading has left it
		if d.Missing() && d.Order != nil {
			o, err := s.ledger.Order(ctx, d.Order.OrderID)
			if err != nil {
				return c, err
			}
			c.Differences[i] = notAccepted(o, d.mark, d.Record)
		}
		if own := d.Order; own != nil && d.Record != nil && own.ID != "" && own.ID != d.Record.ID && x.r.has(own.ID) {
			c.Differences[i].Why = fmt.Sprintf("order id %s is there twice: as %s, and as %s, which the journal has", own.OrderID,
				d.Record.ID, own.ID)
		}
	}
	for o, err := range s.ledger.Orders(ctx, f) {
		switch {
		case err != nil:
			return c, err
		case o.ID == "" && o.State != StateAccepted || x.r.has(o.ID):
		case accepted.Withdrawals[o.ID]:
			c.Accepted++
		case x.r.filter.From+x.r.filter.To != "": // the service may understand the period in another way
			whole, err := s.compare(ctx, api.WithdrawalFilter{}, f)
			whole.Differences = slices.DeleteFunc(whole.Differences, func(d Difference) bool { return d.Order == nil && !x.r.has(d.mark) })
			return whole, err
		default:
			c.Differences = append(c.Differences,
				Difference{onlyHere, &o.Order, nil, "the service's list does not have withdrawal " + o.ID, o.ID, false})
		}
	}
	return c, nil
}

// comparing is the state of one reading of Compare. The journal is asked about some records at a time,
// because all of its orders may be too many for memory.
type comparing struct {
	s       *Sender
	ctx     context.Context
	r       *reading
	waiting []listed
	seen    map[string]bool // by mark and reason: rows move while the list is read
	found   Comparison
	broken  error
}

func (x *comparing) see(w listed) bool {
	if x.waiting = append(x.waiting, w); len(x.waiting) >= askedAtOnce {
		x.broken = x.flush()
	}
	return x.broken == nil
}

// flush compares the records that wait.
func (x *comparing) flush() error {
	if x.broken != nil {
		return x.broken
	}
	var ids, orderIDs []string
	for _, w := range x.waiting {
		ids, orderIDs = append(ids, w.ID), append(orderIDs, w.orderIDs()...)
	}
	var named map[string]journal.Record
	holders, err := x.s.ledger.ByWithdrawal(x.ctx, ids)
	if err == nil {
		named, err = x.s.ledger.Held(x.ctx, orderIDs)
	}
	if err != nil {
		return err
	}
	for _, w := range x.waiting {
		d, differs := x.compare(w, holders, named)
		switch {
		case !differs || x.seen[d.mark+d.Why]:
		case x.r.accepted.Withdrawals[d.mark] && (!d.Missing() || d.Order == nil):
			x.found.Accepted++
		default:
			x.found.Differences = append(x.found.Differences, d)
		}
		x.seen[d.mark+d.Why] = true
	}
	x.waiting = x.waiting[:0]
	return nil
}

// compare compares a record of the list with the journal, and reports whether there is a difference.
func (x *comparing) compare(w listed, holders, named map[string]journal.Record) (Difference, bool) {
	if o, found := holders[w.ID]; found {
		why := x.whyDifferent(o, w)
		return Difference{different, &o.Order, &w.Withdrawal, why, w.mark(), false}, why != ""
	}
	for _, id := range w.orderIDs() {
		if o, found := named[id]; found {
			d := notAccepted(o, w.mark(), &w.Withdrawal)
			if d.foreign = x.r.foreign(w); d.foreign {
				e := otherMerchant(id, w.ID, w.MerchantID, x.r.status.Merchant)
				d.Why = e.Msg + "; " + e.Hint.String()
			}
			return d, true
		}
	}
	why := "the journal does not have it"
	if w.err != nil {
		why += ", and it cannot be read: " + w.String()
	}
	return Difference{onlyThere, nil, &w.Withdrawal, why, w.mark(), false}, true
}

func (x *comparing) whyDifferent(o journal.Record, w listed) string {
	r := w.record()
	why := differs(o.Order, r)
	named := len(r.numbers) == 0 && o.Resolved != nil // a person has said which withdrawal it is
	switch {
	case why != "":
		return why
	case x.r.foreign(w):
		return fmt.Sprintf("it belongs to the merchant %q, and this account is %q: if the id has changed, till journal adopt-merchant %s --reason TEXT",
			w.MerchantID, x.r.status.Merchant, w.MerchantID)
	case !r.bearsOnly(o.OrderID) && !named:
		return fmt.Sprintf("its order id is %q, and %s was sent", strings.TrimSpace(r.text), o.OrderID)
	case o.State == StateConflict:
		return fmt.Sprintf("it was in conflict because %s; this record agrees with the order now, which a person settles with till withdraw resolve %s --paid-as %s",
			o.Reason, o.OrderID, o.ID)
	}
	return ""
}

func notAccepted(o journal.Record, mark string, w *api.Withdrawal) Difference {
	return Difference{different, &o.Order, w,
		fmt.Sprintf("order %s is %s in the journal, and the service has it as %s", o.OrderID, stateText(o.State), w.ID), mark, false}
}

// Accept records that a person has accepted what a comparison of the whole list shows, and why: later
// readings leave these records aside, and nothing that was noted about the account keeps it from sending any
// more. An order that the service has accepted, and that is not accepted in the journal, has to be
// reconciled: that is not accepted.
func (s *Sender) Accept(ctx context.Context, c Comparison, reason string) (err error) {
	defer toError(&err)
	if !c.whole {
		return failed(Invalid, "only a comparison of the whole list can be accepted").hint("compare without a period")
	}
	a := journal.Exceptions{Withdrawals: map[string]bool{}, OrderIDs: map[string]bool{}, Surplus: c.Hidden, NoList: c.NoList != nil}
	for _, d := range c.Differences {
		if d.Order == nil || !d.Missing() {
			a.Withdrawals[d.mark] = true
		}
		// What another merchant's record agrees with is not sent under its order id either.
		if d.Record != nil && (d.Order == nil || d.foreign && (d.Order.State == StatePlanned || d.Order.State == StateRejected)) {
			for _, id := range (listed{Withdrawal: *d.Record}).orderIDs() {
				a.OrderIDs[id] = true
			}
		}
	}
	return accountChanged(s.ledger.Accept(ctx, a, reason))
}

// AdoptMerchant records a person's decision that the account belongs to another merchant than the service has
// shown before, for example because the service has given it another id.
func (l *Ledger) AdoptMerchant(ctx context.Context, merchant, reason string) error {
	return asError(l.ledger.AdoptMerchant(ctx, merchant, reason))
}
