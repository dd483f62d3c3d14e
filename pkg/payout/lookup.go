package payout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// newLookup returns the question before orders are sent. If the journal has lost records, the whole list is
// read.
func (s *Sender) newLookup(ctx context.Context) (*question, error) {
	q := s.newQuestion()
	q.never = s.options.Lookup == LookupNever
	var err error
	if q.status, err = s.ledger.Status(ctx); q.status.Restored {
		q.never, q.from = false, ""
	}
	if err == nil && q.never {
		q.accepted, err = s.ledger.Exceptions(ctx)
	}
	return q, err
}

// addRow adds an order, whose withdrawal is to be sent or not.
func (q *question) addRow(o journal.Record, w *api.CreateWithdrawal, send bool) {
	switch {
	case o.State == StateUnknown:
		q.add(o)
	case send && (!q.never || q.accepted.OrderIDs[o.OrderID]):
		q.sends = true
		if q.seek(w); o.InDoubt() { // the attempt in doubt is as old as the order
			q.from = q.sender.since(q.from, o)
		}
	case o.State == StateRejected, o.State == StatePlanned && len(o.Attempts) > 0:
		q.unasked = true
	}
}

// ask asks the list before orders are sent. If there are none, it reads nothing.
func (q *question) ask(ctx context.Context) (found answer, err error) {
	if q.sends {
		err = q.sender.keepsOrderIDs(ctx, q.status)
	}
	if err == nil && len(q.sought) > 0 {
		if found, err = q.sender.ask(q.sender.observeDate(ctx), q); err == nil {
			err = found.foreignError()
		}
		for _, id := range q.acceptedOrders() {
			if err == nil && len(found.records[id]) == 0 {
				err = refused(RuleOrderID, "order %s was on the service's list, as a person has accepted, and is not there now", id).
					about(id, "").hint("use another order id if it is to be paid")
			}
		}
	}
	if err == nil && !found.proves() {
		var sends []string
		for _, id := range slices.Sorted(maps.Keys(q.sought)) {
			sends = append(sends, formatID(id))
		}
		err = found.undecided(slices.DeleteFunc(sends, func(id string) bool { return slices.Contains(q.unknown, id) })...)
	}
	if err != nil {
		return answer{}, stayUnknown(q.unknown, err)
	}
	return found, nil
}

// lookup asks the service's list for a withdrawal that it may have without the journal's knowledge. It reads
// the list
//
//   - if the order was attempted before,
//   - if the journal has nothing accepted for the account: the journal may be new, or the old one lost,
//   - if the list has had an order that the journal did not know since the two last agreed: there may be more,
//   - if a person has accepted a withdrawal with its order id,
//   - if LookupAlways is set,
//   - or if the journal has lost records. Then it reads the whole list, whatever the options say.
//
// An order id that is new cannot be on the list: see checkNew.
func (s *Sender) lookup(ctx context.Context, w withdrawal) (sent Sent, found bool, err error) {
	l, err := s.newLookup(ctx)
	if err != nil {
		return Sent{}, false, err
	}
	accepted, err := s.ledger.OrderAccepted(ctx, w.request.ExternalOrderID)
	l.never = l.never && !accepted
	if err != nil || l.never {
		return Sent{}, false, err
	}
	decided := l.status.Newest != nil && l.status.Found == 0 && !l.status.Restored && !w.before.Attempted() &&
		!accepted && s.options.Lookup != LookupAlways
	if w.newOrderID || decided {
		if err = s.keepsOrderIDs(ctx, l.status); err == nil && w.newOrderID {
			err = s.checkNew(ctx, w, l.status)
		}
		return Sent{}, false, err
	}
	o := w.before
	if o.State == "" {
		o = journal.Record{Order: Order{OrderID: w.request.ExternalOrderID, Content: contentOf(w.request)}}
	}
	l.addRow(o, &w.request, true)
	listed, err := l.ask(ctx)
	records := listed.records[o.OrderID]
	if err != nil || len(records) == 0 {
		return Sent{}, false, err
	}
	mine := o.Content
	if o, err = s.recordEvidence(ctx, evidence(o, records)); err != nil {
		return Sent{}, false, err
	}
	if o.State == StateConflict {
		return Sent{Order: o.Order}, true, unsettled(o)
	}
	sent, err = s.exists(w, o)
	if err == nil {
		sent.Note = fmt.Sprintf("order %s was on the service's list already, as %s with the status %q: nothing was sent",
			o.OrderID, o.ID, records[0].status)
		if more := s.uncompared(mine, records[0]); more != "" {
			sent.Note += "; " + more
		}
	}
	return sent, true, err
}

// recordEvidence records what the service's list says about an order. Reading the list has tied the key to
// the account.
func (s *Sender) recordEvidence(ctx context.Context, e journal.Evidence) (journal.Record, error) {
	e.Key = s.key
	o, err := s.ledger.Settle(ctx, e)
	return o, accountChanged(err)
}

// keepsOrderIDs refuses to go on if the service once did not show an order id as it was sent, and still does
// not: what it has cannot be looked up then.
func (s *Sender) keepsOrderIDs(ctx context.Context, status journal.AccountStatus) error {
	if status.OrderIDs != journal.Dropped || status.Newest == nil {
		return nil
	}
	w, err := s.client.Withdrawals.GetLenient(ctx, status.Newest.ID)
	switch {
	case err != nil && !rejects(err):
		return err
	case err == nil && recordOf(w).bearsOnly(status.Newest.OrderID):
		return s.ledger.NoteService(ctx, "", journal.Kept)
	}
	way := "--lookup never"
	if status.Restored { // the list is read in any case
		way = "till journal check --accept REASON"
	}
	return refused(RuleList, "the service does not show order ids as they were sent (withdrawal %s, order %s), so its list cannot be asked for an order",
		status.Newest.ID, status.Newest.OrderID).about(status.Newest.OrderID, status.Newest.ID).
		hint("ask its provider; to send all the same, relying on this journal alone: " + way)
}

// checkNew refuses a withdrawal whose order id is new, and so cannot be on the list, if it may have been paid
// under another one that the journal does not know: it has lost records, or is new itself, and the list shows
// a withdrawal with the same content.
func (s *Sender) checkNew(ctx context.Context, w withdrawal, status journal.AccountStatus) error {
	switch {
	case w.allowDuplicate:
		return nil
	case status.Restored:
		return refused(RuleDuplicate,
			"the journal may lack records, and this withdrawal may be one of them: without its order id, it cannot be looked up").
			hint("name its --order-id, add --allow-duplicate if it was never sent, or see what is missing", "journal", "check")
	case status.Newest != nil && status.Found == 0:
		return nil
	}
	var same record
	var r *reading
	mine, oldest := Order{Content: contentOf(w.request)}, s.now().Add(-w.window-SinceMargin)
	err := s.readUntil(ctx, func(journal.AccountStatus) (*reading, error) {
		same = record{}
		r = &reading{see: func(l listed) bool {
			shown := l.record()
			at := parseTime(shown.dated)
			if sameUnit(shown.amount, w.request.Amount) && differs(mine, shown) == "" && (at.IsZero() || at.After(oldest)) {
				same = shown
			}
			return same.id == ""
		}}
		return r, nil
	}, completely)
	if rejects(err) && r.accepted.NoList {
		return nil
	}
	if err != nil || same.id == "" {
		return notShown(err)
	}
	return refused(RuleDuplicate, "the journal lacks what the service has, and that has withdrawal %s with the same content and the status %q",
		same.id, same.status).about("", same.id).
		hint("to pay it once more, add --allow-duplicate or an --order-id of its own")
}

// SinceMargin is how much earlier the list is asked for than it has to be read. The service may understand a
// time as one of any zone, of which two are 26 hours apart at the most, or compare times as texts, and then
// hide the rest of a day.
const SinceMargin = 26 * time.Hour

// uncompared says which fields of a record cannot be compared with what was sent; empty: none.
func (s *Sender) uncompared(c Content, r record) string {
	unread := slices.DeleteFunc([]string{"currency", "amount", "address", "external_id", "memo"},
		func(field string) bool { return !slices.Contains(r.unread, field) })
	if len(unread) > 0 {
		return fmt.Sprintf("the %s of withdrawal %s cannot be read, and was not compared with the order",
			strings.Join(unread, " and the "), r.id)
	}
	if !sameUnit(r.amount, c.Amount) {
		return fmt.Sprintf("the service shows the amount as %s, and the order as %s: the two cannot be compared",
			s.money.Format(r.amount), s.money.Format(c.Amount))
	}
	return ""
}
