package payout

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// mostScans is how often the list is read before till gives up. pauseBetween is the pause after a scan that
// does not count.
const (
	mostScans    = 5
	pauseBetween = time.Second
)

// A scanResult has the records on the service's list of the orders that were sought, by order id.
type scanResult map[string][]record

// A record has the few fields that are kept of a withdrawal on the list. Keeping the api.Withdrawal would
// keep a whole page of the list in memory for each order that is found.
type record struct {
	id       string
	orderIDs []string // one, or two if external_id and external_order_id disagree
	number   int64    // external_id
	text     string   // external_order_id
	currency api.Currency
	amount   api.Amount
	address  string
	memo     *string  // nil: not shown
	dated    string   // date of its first status, in the service's format
	status   string   // in the service's words
	merchant string   // merchant_id
	unread   []string // fields that cannot be read, and are empty here
}

func recordOf(w api.Withdrawal) record {
	r := record{
		id: w.ID, orderIDs: bears(w), number: w.ExternalID, text: w.ExternalOrderID, currency: w.Currency,
		amount:  w.Amount,
		address: w.Address.Text, memo: memoOf(w), status: w.Current, merchant: w.MerchantID,
	}
	if len(w.Statuses) > 0 {
		r.dated = shortenText(w.Statuses[0].At)
	}
	return r
}

// same reports whether two records are equal apart from their amount and status. The status may change at any
// time, and so may an amount that is shown in another unit than it was sent in.
func (r record) same(o record) bool {
	return r.id == o.id && slices.Equal(r.orderIDs, o.orderIDs) && sameCurrency(r.currency, o.currency) &&
		address.Canonical(r.address) == address.Canonical(o.address) &&
		(r.memo == nil) == (o.memo == nil) && (r.memo == nil || *r.memo == *o.memo) && slices.Equal(r.unread, o.unread)
}

func (r record) identical(o record) bool {
	return r.same(o) && sameUnit(r.amount, o.amount) && r.amount.Minor == o.amount.Minor
}

// bearsOnly reports whether a record has this order id and no other.
func (r record) bearsOnly(orderID string) bool { return slices.Equal(r.orderIDs, []string{orderID}) }

// add adds a record. It ignores one that it has already: the list may show a record twice when rows move. Two
// records of an order are a conflict, so it does not keep all of very many.
func (r scanResult) add(orderID string, w record) {
	if len(r[orderID]) < mostRecords && !slices.ContainsFunc(r[orderID], w.identical) {
		r[orderID] = append(r[orderID], w)
	}
}

const mostRecords = 100 // of one order

// with returns r with the records of an earlier scan that r lacks.
func (r scanResult) with(earlier scanResult) scanResult {
	if r == nil && len(earlier) > 0 {
		r = scanResult{}
	}
	for orderID, records := range earlier {
		for _, w := range records {
			if !slices.ContainsFunc(r[orderID], func(o record) bool { return o.id == w.id }) {
				r.add(orderID, w)
			}
		}
	}
	return r
}

// scanTwice reads the list until two complete scans in a row agree about the orders in sought. Every decision
// that depends on whether an order is on the list relies on this agreement. from is how far back the list is
// read, in the service's format; empty: to the beginning.
//
// A record counts if any of the scans showed it, even if a later scan did not. If the error is an *Error of
// the kind ReadFailed and the result is not nil, its records are valid. The orders without a record are then
// undecided, because some records on the list cannot be read. If the result is nil, nothing is known.
func (s *Sender) scanTwice(ctx context.Context, sought map[string]bool, from string) (scanResult, error) {
	unit := func(orderID string) (api.Currency, bool) {
		o, err := s.ledger.Order(ctx, orderID)
		return currencyOf(o.Unit), err == nil
	}
	found, undecided, err := s.scanUntilAgreed(ctx, nil, func(orderID string) bool { return sought[orderID] },
		unit, from)
	if err != nil {
		return nil, err
	}
	if undecided != "" && len(found.others) < len(sought) {
		return found.others, undecidedBy(undecided)
	}
	return found.others, nil
}

// scanUntilAgreed scans until two complete scans in a row agree about the orders that are sought. unit
// returns the unit in which an order was sent, if it is known. undecided names a record that cannot be read
// and may belong to any order.
func (s *Sender) scanUntilAgreed(
	ctx context.Context, orders runSought, seeks func(orderID string) bool, unit sentUnit, from string,
) (found *runScan, undecided string, err error) {
	var last *runScan             // the last complete scan
	var nameless string           // undecided of last
	earlier := orders.emptyScan() // the records of all other scans
	err = s.untilComplete(ctx, func(ctx context.Context, seen sightings) (incomplete string, enough bool, err error) {
		now := orders.emptyScan()
		unread, incomplete, err := s.scanFor(ctx, seen, seeks,
			func(orderID string, w record) { orders.keep(now, orderID, w) }, from)
		if err != nil {
			return "", false, err
		}
		if incomplete != "" {
			earlier.union(now)
			return incomplete, false, nil
		}
		before, namelessBefore := last, nameless
		last, nameless = now, unread
		if before == nil {
			return "", false, nil
		}
		if !before.agrees(now, unit) {
			earlier.union(before)
			return "", false, nil
		}
		now.union(before)
		found, undecided = now, cmp.Or(namelessBefore, nameless)
		return "", true, nil
	})
	if err != nil {
		return nil, "", err
	}
	found.add(orders, earlier)
	return found, undecided, nil
}

// sentUnit returns the unit in which an order was sent.
type sentUnit func(orderID string) (unit api.Currency, known bool)

// agree reports whether two scans found the same records. Amounts are compared only if they are shown in the
// unit that was sent.
func agree(a, b scanResult, unit sentUnit) bool {
	if len(a) != len(b) {
		return false
	}
	for orderID, records := range a {
		if !showAll(records, b[orderID], orderID, unit) || !showAll(b[orderID], records, orderID, unit) {
			return false
		}
	}
	return true
}

// showAll reports whether each of the records is also in others.
func showAll(records, others []record, orderID string, unit sentUnit) bool {
	for _, r := range records {
		if slices.ContainsFunc(others, r.identical) {
			continue
		}
		sent, known := unit(orderID)
		compared := func(a api.Amount) bool {
			return known &&
				sameUnit(a, api.Amount{Kind: sent.Kind, Code: sent.Code})
		}
		if compared(r.amount) || !slices.ContainsFunc(others, r.same) {
			return false
		}
	}
	return true
}

func undecidedBy(record string) *Error {
	return &Error{Kind: ReadFailed,
		Msg:  "the service's list has a record that cannot be read, and may be the order that was looked for: " + record,
		Hint: NewHint("ask the service's provider about this record")}
}

// scanFor scans the list once, and calls keep with the records of the orders that are sought. undecided names
// a record that cannot be read and may belong to any order; empty: there is none.
func (s *Sender) scanFor(
	ctx context.Context, seen sightings, sought func(orderID string) bool, keep func(orderID string, w record),
	from string,
) (undecided, incomplete string, err error) {
	newest, err := s.witness(ctx, from, func(o journal.Order) bool { return sought(o.OrderID) })
	if err != nil {
		return "", "", err
	}
	dropped := false
	incomplete, err = s.scan(ctx, seen, api.WithdrawalFilter{From: from}, newest, func(w listed) (more bool) {
		ids := bears(w.Withdrawal)
		found := slices.ContainsFunc(ids, sought)
		if w.nameless() || found && !w.readable("id") {
			undecided = cmp.Or(undecided, w.String())
			return true
		}
		if found {
			r := recordOf(w.Withdrawal)
			r.unread = w.unread
			for _, id := range ids {
				if sought(id) {
					keep(id, r)
				}
			}
		}
		dropped = newest != nil && w.ID == newest.Withdrawal && newest.Decided == nil && !found &&
			!slices.Contains(ids, newest.OrderID)
		return !dropped
	})
	if err == nil && dropped {
		err = dropsOrderIDs()
	}
	return undecided, incomplete, err
}

// witness returns an order that a complete scan must have seen: the order that was accepted last. It returns
// nil if there is none, or if that order is older than the scan goes back.
func (s *Sender) witness(
	ctx context.Context, from string, inQuestion func(journal.Order) bool,
) (*journal.Order, error) {
	known, err := s.newest(ctx, func(o journal.Order) bool { return o.Decided != nil && inQuestion(o) })
	if err != nil || known == nil || from != "" && !sentAt(*known).After(s.options.SinceTime) {
		return nil, err
	}
	return known, nil
}

// newest returns the order that was accepted last, or nil if there is none. It skips the orders that doubted
// reports: only a person has said that they were accepted, and the scan is to find out whether that is true.
func (s *Sender) newest(ctx context.Context, doubted func(journal.Order) bool) (*journal.Order, error) {
	status, err := s.ledger.Status(ctx)
	if err != nil || status.Newest == nil || !doubted(*status.Newest) {
		return status.Newest, err
	}
	var newest *journal.Order
	for o, err := range s.ledger.Orders(ctx, journal.Filter{States: []journal.State{journal.Accepted}}) {
		if err != nil {
			return nil, err
		}
		if !doubted(o) && (newest == nil || !sentAt(o).Before(sentAt(*newest))) {
			newest = &o
		}
	}
	return newest, nil
}

func sentAt(o journal.Order) time.Time {
	if o.Sent.IsZero() {
		return o.Changed
	}
	return o.Sent
}

// bears returns the order ids of a record. There are two if its fields disagree.
func bears(w api.Withdrawal) []string {
	ids := []string{w.ExternalOrderID}
	if w.ExternalID != 0 {
		ids = append(ids, strconv.FormatInt(w.ExternalID, 10))
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// scanForOrders is scanTwice for orders that may be older than Since. The list is then read to its beginning,
// because a list that does not reach back to an order says nothing about it. It also looks for the order ids
// in others, which need the list from from on.
func (s *Sender) scanForOrders(
	ctx context.Context, orders []journal.Order, others map[string]bool, from string,
) (scanResult, error) {
	sought := map[string]bool{}
	maps.Copy(sought, others)
	for _, o := range orders {
		sought[o.OrderID] = true
		from = s.since(from, o)
	}
	return s.scanTwice(ctx, sought, from)
}

// untilComplete repeats scan until it is complete and enough, or until the limit of scans or of time is
// reached. In the end it records the orders that a scan has shown for the first time, whatever the caller does
// with them afterwards.
func (s *Sender) untilComplete(ctx context.Context, scan scanOnce) error {
	seen := sightings{}
	err := s.scanAgain(ctx, seen, scan)
	broken := seen.record(ctx, s.ledger)
	switch {
	case broken == nil:
		return err
	case err == nil:
		return broken
	}
	return fmt.Errorf("%w (and before that: %v)", broken, err)
}

// scanOnce makes one scan. incomplete says why the scan does not count. enough reports whether no further
// scan is needed.
type scanOnce func(ctx context.Context, seen sightings) (incomplete string, enough bool, err error)

func (s *Sender) scanAgain(ctx context.Context, seen sightings, scan scanOnce) error {
	if s.options.LookupTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.options.LookupTimeout, errLookupTimeout)
		defer cancel()
	}
	why := ""
	for n := 0; n < mostScans || why == "" && s.othersApply(ctx); n++ {
		if n > 0 && why != "" || n >= mostScans {
			if err := s.rest(ctx, pauseBetween); err != nil {
				return s.tooLong(ctx, err, why)
			}
		}
		if err := seen.look(ctx, s.ledger); err != nil { // some may have been sent since the last scan
			return s.tooLong(ctx, err, why)
		}
		incomplete, enough, err := scan(ctx, seen)
		if err != nil {
			return s.tooLong(ctx, err, why)
		}
		if why = incomplete; why == "" && enough {
			return nil
		}
	}
	if why == "" {
		why = "no two of them agreed"
	}
	return &Error{Kind: ReadFailed,
		Msg:  fmt.Sprintf("the service's list could not be read completely in %d readings: %s", mostScans, why),
		Hint: NewHint("run it again when fewer withdrawals are being made")}
}

// othersApply reports whether other machines apply plans from the same journal. The orders that they send
// make scans differ, until they have finished.
func (s *Sender) othersApply(ctx context.Context) bool {
	if !s.ledger.Journal().Shared() {
		return false
	}
	living, err := s.ledger.Journal().Appliers(ctx)
	return err == nil && len(living) > 1
}

// errLookupTimeout is the cause of a context that LookupTimeout has ended.
var errLookupTimeout = errors.New("lookup_timeout has passed")

// tooLong returns the error for scans that LookupTimeout has ended, and any other error unchanged. why says
// how far the scans came, as far as that is known.
func (s *Sender) tooLong(ctx context.Context, err error, why string) error {
	if context.Cause(ctx) != errLookupTimeout {
		return err
	}
	if broken := (*brokenOff)(nil); errors.As(err, &broken) {
		why = broken.reached
	}
	msg := fmt.Sprintf("the service's list could not be read completely within %s (lookup_timeout)",
		s.options.LookupTimeout)
	if why != "" {
		msg += ": " + why
	}
	return &Error{Kind: ReadFailed, Err: err, Msg: msg,
		Hint: NewHint("run it again, or give it more time with lookup_timeout in the profile")}
}

// brokenOff is the error of a scan that failed, and says how far the scan came.
type brokenOff struct {
	error
	reached string
}

func (e *brokenOff) Unwrap() error { return e.error }

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

// evidence returns what the records with an order's id say about the order.
func (s *Sender) evidence(orderID string, content journal.Content, records []record) journal.Evidence {
	e := journal.Evidence{OrderID: orderID, Withdrawal: records[0].id, Dated: records[0].dated, Content: content}
	var ids []string
	for _, r := range records {
		e.Differs = cmp.Or(e.Differs, s.differs(content, r))
		if !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	if len(ids) > 1 {
		slices.Sort(ids)
		e.Differs = fmt.Sprintf("%d records bear this order id: %s", len(ids), strings.Join(ids, ", "))
	}
	return e
}

// differs says how a record differs from what was sent; empty: it does not, in any field that can be
// compared.
func (s *Sender) differs(c journal.Content, r record) string {
	currency, sent := currencyOf(c.Currency), amountOf(c)
	readable := func(field string) bool { return !slices.Contains(r.unread, field) }
	switch {
	case len(r.orderIDs) > 1:
		return fmt.Sprintf("its external_id is %d and its external_order_id %q", r.number, r.text)
	case readable("currency") && !sameCurrency(r.currency, currency):
		return fmt.Sprintf("its currency is %s %s, and not %s %s", r.currency.Kind, r.currency.Code, currency.Kind,
			currency.Code)
	case sameUnit(r.amount, sent) && r.amount.Minor != sent.Minor:
		return fmt.Sprintf("its amount is %s, and not %s", s.format(r.amount), s.format(sent))
	case readable("address") && address.Canonical(r.address) != address.Canonical(c.Address):
		return fmt.Sprintf("its address is %q, and not %q", r.address, c.Address)
	case r.memo != nil && *r.memo != c.Memo:
		return fmt.Sprintf("its memo is %q, and not %q", *r.memo, c.Memo)
	}
	return ""
}

// uncompared says which fields of a record cannot be compared with what was sent; empty: none.
func (s *Sender) uncompared(c journal.Content, r record) string {
	var unread []string
	for _, field := range []string{"currency", "amount", "address", "external_id"} {
		if slices.Contains(r.unread, field) {
			unread = append(unread, field)
		}
	}
	if len(unread) > 0 {
		return fmt.Sprintf("the %s of withdrawal %s cannot be read, and was not compared with the order",
			strings.Join(unread, " and the "), r.id)
	}
	if sent := amountOf(c); !sameUnit(r.amount, sent) {
		return fmt.Sprintf("the service shows the amount as %s, and the order as %s: the two cannot be compared",
			s.format(r.amount), s.format(sent))
	}
	return ""
}

func sameUnit(a, b api.Amount) bool { return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code) }

func sameCurrency(a, b api.Currency) bool {
	return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code)
}

// memoOf returns the memo of a withdrawal, or nil if it has none. The interface does not list memo among the
// fields of a withdrawal. If the memo is not a string, memoOf returns its JSON text.
func memoOf(w api.Withdrawal) *string {
	raw := w.RawJSON()
	if !bytes.Contains(raw, []byte("memo")) && !bytes.Contains(raw, []byte{'\\'}) { // the name may be escaped
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["memo"] == nil || string(fields["memo"]) == "null" {
		return nil
	}
	memo := string(fields["memo"])
	json.Unmarshal(fields["memo"], &memo)
	return &memo
}
