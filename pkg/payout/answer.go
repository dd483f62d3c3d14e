package payout

import (
	"context"
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

// ask reads the list until two complete readings in a row agree about the orders that are sought. Every
// decision that depends on whether an order is on the list relies on that. A record counts if any of the
// readings showed it.
func (s *Sender) ask(ctx context.Context, q *question) (answer, error) {
	var err error
	if q.accepted, err = s.ledger.Exceptions(ctx); err != nil {
		return answer{}, err
	}
	if len(q.acceptedOrders()) > 0 { // they may be older than anything that the journal has
		q.from = ""
	}
	from, since, must, err := s.checkedStart(ctx, q.from)
	if err != nil {
		return answer{}, err
	}
	var now, before, complete *answer // of the last two readings, and of the last complete one
	earlier := newAnswer()            // of all readings
	var last *reading
	agree := false
	err = s.readUntil(ctx, func(status journal.AccountStatus) (r *reading, err error) {
		if now != nil {
			earlier = now.with(earlier)
		}
		before = now
		fresh := newAnswer()
		fresh.noted = status.Merchant
		now, r = &fresh, &reading{filter: api.WithdrawalFilter{From: from}, sought: q.sought}
		last = r
		r.newest, err = s.witness(ctx, status.Newest, since, q.sought)
		r.see = func(w listed) bool { q.see(now, w, r.foreign(w)); return true }
		return r, err
	}, func(r *reading, why *lack) (bool, error) {
		if now.lack = why; from != "" && slices.ContainsFunc(must, func(id string) bool { return !r.has(id) }) {
			from, now, complete, agree = "", nil, nil, false // the service understands the time in another way, so its list is read whole
			return false, nil
		}
		known, err := s.ledger.ByWithdrawal(ctx, slices.Concat(slices.Collect(maps.Keys(now.nameless)), slices.Concat(slices.Collect(maps.Values(now.alike))...)))
		for id := range known {
			delete(now.nameless, id)
		}
		for id, withdrawals := range now.alike {
			now.alike[id] = slices.DeleteFunc(withdrawals, func(id string) bool { _, is := known[id]; return is })
		}
		last := before
		if why == nil {
			last, complete = complete, now
		}
		agree = last != nil && last.agrees(*now, q.sought)
		return agree, err
	})
	switch {
	case rejects(err) && last.accepted.NoList && before == nil && since == "": // it shows nothing, as a person has accepted
		found := newAnswer()
		found.none = true
		return found, nil
	case err != nil && (!agree || now.lack == nil):
		return answer{}, notShown(err)
	}
	found := now.with(earlier)
	found.unproven = err // what is on the list is there, even if the list cannot prove what is not
	return found, nil
}

// A question is what the service's list is asked: about which orders.
type question struct {
	sender   *Sender
	sought   map[int64]*api.CreateWithdrawal // what was sent or is to be sent, by order id; there may be a million
	cut      map[int64]int64                 // their order ids by what is left of them in 32 bits
	unknown  []string                        // those of them that are unknown
	from     string                          // how far back the list is read for them
	accepted journal.Exceptions              // what a person has accepted of the list when it is asked

	// Before orders are sent:
	status  journal.AccountStatus
	never   bool // only what is unknown, or what a person has accepted, is looked up
	unasked bool // an order that counts as not taken is not asked about; if the list has it, it becomes unknown
	sends   bool // some are to be sent
}

func (s *Sender) newQuestion(orders ...journal.Record) *question {
	q := &question{sender: s, sought: map[int64]*api.CreateWithdrawal{}, cut: map[int64]int64{}, from: s.options.Since}
	for _, o := range orders {
		q.add(o)
	}
	return q
}

// add adds an order. If it is older than SinceTime, the list is read to its beginning.
func (q *question) add(o journal.Record) {
	w := requestOf(o.Order)
	if q.seek(&w); o.State == StateUnknown {
		q.unknown = append(q.unknown, o.OrderID)
	}
	q.from = q.sender.since(q.from, o)
}

func (q *question) seek(w *api.CreateWithdrawal) {
	id := parseID(w.ExternalOrderID)
	q.sought[id] = w
	for _, n := range cutTo32(id) {
		q.cut[n] = id
	}
}

// acceptedOrders returns which of the sought order ids are those of withdrawals that a person has accepted on the list.
func (q *question) acceptedOrders() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(q.accepted.OrderIDs)), func(id string) bool { return q.sought[parseID(id)] == nil })
}
