package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// An answer is what the list says about the orders that were sought.
type answer struct {
	records map[string][]record // by order id
	foreign map[string]record   // another merchant's; it says nothing about the order
	noted   string              // the account's merchant
	// nameless are the records that may be any order, by their marks: as long as there are some, an order
	// without a record is undecided.
	nameless map[string]string
	// alike are the ids of such records by the unknown order that they agree with, also of accepted ones: it may
	// have been another order that they were accepted for.
	alike    map[string][]string
	lack     *lack // of the reading
	none     bool  // the service shows no list, as a person has accepted
	unproven error // why the list cannot say that an order is not on it; nil: it can
}

func newAnswer() answer {
	return answer{records: map[string][]record{}, foreign: map[string]record{}, nameless: map[string]string{}, alike: map[string][]string{}}
}

// add adds a record. It ignores one that it has already: the list may show a record twice when rows move. Two
// records of an order are a conflict, so it does not keep all of very many.
func (a *answer) add(orderID string, w record) {
	if records := a.records[orderID]; len(records) < mostRecords && !slices.ContainsFunc(records, w.identical) {
		a.records[orderID] = append(records, w)
	}
}

const mostRecords = 100 // of one order

// with returns an answer with the records of an earlier one that it lacks. If both have a record of the same
// withdrawal, the newer one counts.
func (a answer) with(earlier answer) answer {
	both := a
	both.records = map[string][]record{}
	maps.Copy(both.records, a.records)
	for orderID, records := range earlier.records {
		for _, w := range records {
			if !slices.ContainsFunc(a.records[orderID], func(o record) bool { return o.id == w.id }) {
				both.records[orderID] = append(slices.Clip(both.records[orderID]), w)
			}
		}
	}
	return both
}

// agrees reports whether two readings have shown the same. Amounts are compared only if they are shown in the
// unit that was sent, because the rate between two units may change.
func (a answer) agrees(o answer, sought map[int64]*api.CreateWithdrawal) bool {
	if (a.lack == nil) != (o.lack == nil) || len(a.records) != len(o.records) || len(a.foreign) != len(o.foreign) || !maps.Equal(a.nameless, o.nameless) ||
		!maps.EqualFunc(a.alike, o.alike, slices.Equal) {
		return false
	}
	shows := func(records []record, r record, sent api.Amount) bool {
		return slices.ContainsFunc(records, func(o record) bool {
			return r.identical(o) || r.same(o) && !sameUnit(r.amount, sent)
		})
	}
	for orderID, records := range a.records {
		others, sent := o.records[orderID], sought[parseID(orderID)].Amount
		if slices.ContainsFunc(records, func(r record) bool { return !shows(others, r, sent) }) ||
			slices.ContainsFunc(others, func(r record) bool { return !shows(records, r, sent) }) {
			return false
		}
	}
	return true
}

// proves reports whether an order that the answer does not show is not on the list.
func (a answer) proves() bool { return a.unproven == nil && len(a.nameless) == 0 }

// undecided returns the error for orders that the answer does not show, if it cannot say that they are not on
// the list; nil: it can.
func (a answer) undecided(orderIDs ...string) error {
	if err := a.foreignError(); err != nil {
		return err
	}
	for _, id := range orderIDs {
		switch {
		case len(a.records[id]) > 0:
			continue
		case len(a.alike[id]) > 0:
			return refused(RuleList, "order %s is not on the service's list, and may be withdrawal %s: all of it that can be compared agrees; if it is this order, record that: till withdraw resolve %[1]s --paid-as %[2]s", id, a.alike[id][0]).
				hint("if that is another payment, say so", "withdraw", "resolve", id, "--not-sent", "--although-different", "--reason", "TEXT")
		case a.unproven != nil:
			return a.unproven
		}
		for _, mark := range slices.Sorted(maps.Keys(a.nameless)) {
			return unproven(fmt.Sprintf("order %s is not on the service's list, and a record there may be any order: %s", id, a.nameless[mark]), nil)
		}
	}
	return nil
}

// foreignError returns the error for an order of which the list has only a record of another merchant; nil:
// there is none.
func (a answer) foreignError() error {
	for _, id := range slices.Sorted(maps.Keys(a.foreign)) {
		if w := a.foreign[id]; len(a.records[id]) == 0 {
			e := otherMerchant(id, w.id, w.merchant, a.noted)
			return e.hint(e.Hint.String()+"; if it is a payment of the other merchant, accept it", "journal", "check", "--accept", "REASON")
		}
	}
	return nil
}

// see adds what a record of the list says about the orders that are sought to an answer.
func (q *question) see(a *answer, w listed, foreign bool) {
	accepted := q.accepted.Withdrawals[w.mark()]
	numbers := numbersOf(w.Withdrawal)
	mayBeAny := len(numbers) == 0 && !foreign
	var r record
	for _, n := range numbers {
		id := formatID(n)
		whole := q.cut[n]
		if q.sought[n] == nil && whole == 0 {
			continue
		}
		r = w.record()
		switch {
		case q.sought[n] == nil: // it may be an order whose id does not fit into 32 bits at the service
			mayBeAny = !foreign && differs(Order{Content: contentOf(*q.sought[whole])}, r) == ""
		case foreign && !accepted:
			a.foreign[id] = r
		case foreign, w.ID == "":
			mayBeAny = true
		default:
			a.add(id, r)
		}
	}
	if !mayBeAny {
		return
	}
	if !accepted {
		a.nameless[w.mark()] = w.String()
	}
	r = w.record()
	for _, id := range q.unknown {
		if w.ID != "" && !slices.Contains(a.alike[id], w.ID) && differs(Order{Content: contentOf(*q.sought[parseID(id)])}, r) == "" {
			a.alike[id] = append(a.alike[id], w.ID)
		}
	}
}

// checkedStart returns how far back the list is read, if it is asked for from a time on: to its beginning, unless
// the service may understand the time as it is meant. If it does, a reading shows the withdrawals in must: those on
// the first page of the whole list that are as new, or whose date cannot be read, the newest of that page in any
// case, and those that the journal knows to be as new. If a date cannot be read, the service may compare dates as
// texts, and only the formats of parseTime are known to sort by time. Orders before since need not be on the list,
// even if it is read whole.
func (s *Sender) checkedStart(ctx context.Context, wanted string) (from, since string, must []string, err error) {
	if wanted == "" {
		return "", "", nil, nil
	}
	newest, newestID := time.Time{}, ""
	first := &reading{}
	from = wanted
	first.see = func(w listed) bool {
		at := time.Time{}
		if len(w.Statuses) > 0 {
			if at = parseTime(w.Statuses[0].At); at.IsZero() {
				from = ""
			}
		}
		if at.IsZero() || !at.Before(s.options.SinceTime) {
			must = append(must, w.ID)
		}
		if at.After(newest) {
			newest, newestID = at, w.ID
		}
		return len(first.ids) < api.DefaultPageSize
	}
	limited, cancel := s.limitLookup(ctx)
	defer cancel()
	err = first.read(limited, s)
	if rejects(err) { // the list will be refused too
		return "", "", nil, nil
	}
	if _, incomplete := err.(*lack); err != nil && !incomplete {
		return "", "", nil, s.tooLong(limited, err, first)
	}
	if newestID != "" {
		must = append(must, newestID)
	}
	recent, err := collect(s.ledger.Orders(ctx, Filter{From: s.options.SinceTime, States: []State{StateAccepted}}))
	for _, o := range recent {
		must = append(must, o.ID)
	}
	return from, wanted, must, err
}

// parseTime reads a time of the service, whose format the interface does not show; the zero time if it
// cannot.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// witness returns an order that a complete reading must have seen: the order that was accepted last. It
// returns nil if there is none, or if that order is older than the reading goes back. It skips the sought
// orders that only a person has said to be accepted: the reading is to find out whether that is true.
func (s *Sender) witness(
	ctx context.Context, newest *journal.Record, from string, sought map[int64]*api.CreateWithdrawal,
) (*journal.Record, error) {
	doubted := func(o journal.Record) bool {
		_, asked := sought[parseID(o.OrderID)]
		return asked && o.Resolved != nil
	}
	if newest != nil && doubted(*newest) {
		newest = nil
		for o, err := range s.ledger.Orders(ctx, Filter{States: []State{StateAccepted}}) {
			if err != nil {
				return nil, err
			}
			if !doubted(o) && (newest == nil || !sentAt(o).Before(sentAt(*newest))) {
				newest = &o
			}
		}
	}
	if newest == nil || from != "" && !sentAt(*newest).After(s.options.SinceTime) {
		return nil, nil
	}
	return newest, nil
}

// since returns how far back the list must be read so that it includes an order: from or, if the order is
// older than SinceTime, the beginning.
func (s *Sender) since(from string, o journal.Record) string {
	if o.Created.Before(s.options.SinceTime) {
		return ""
	}
	return from
}

// othersApply reports whether other machines apply plans from the same journal. The orders that they send
// make readings differ, until they have finished.
func (s *Sender) othersApply(ctx context.Context) bool {
	if !s.ledger.Journal().Shared() {
		return false
	}
	living, err := s.ledger.Journal().Appliers(ctx)
	return err == nil && len(living) > 1
}

// errLookupTimeout is the cause of a context that LookupTimeout has ended.
var errLookupTimeout = errors.New("lookup_timeout has passed")

// limitLookup returns a context for readings, which LookupTimeout ends.
func (s *Sender) limitLookup(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.options.LookupTimeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.options.LookupTimeout, errLookupTimeout)
}

// tooLong replaces the error of readings that LookupTimeout has ended. It says how far the last one came.
func (s *Sender) tooLong(ctx context.Context, err error, last *reading) error {
	if err == nil || context.Cause(ctx) != errLookupTimeout {
		return err
	}
	return failed(ReadFailed, "the service's list could not be read completely within %s (lookup_timeout): it had shown %d withdrawals then, of %d that it counts",
		s.options.LookupTimeout, len(last.ids), last.total).because(err).
		hint("run it again, or give it more time with lookup_timeout in the profile")
}

func (s *Sender) rest(ctx context.Context, pause time.Duration) error {
	if s.pause != nil {
		return s.pause(ctx, pause)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
