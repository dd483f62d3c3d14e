package payout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"unique"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// runSought lists the orders of a run to look for on the list. There may be many. Nearly all of them were
// accepted and are on the list as they were sent. For these, no record is kept, only this fact.
type runSought []soughtOrder // sorted by id

// A soughtOrder is kept for each order of a run, so it is small.
type soughtOrder struct {
	id       int64
	accepted bool
	// sent and bare are fingerprints of the record that the order should have once it is accepted. sent
	// includes the memo, and bare is for a service that does not show one.
	sent, bare fingerprint
	unit       unique.Handle[string] // in which the amount was sent
	withdrawal uint64                // a hash of its id
}

type fingerprint [16]byte

// fingerprints covers the same fields as differs.
func fingerprints(
	withdrawal string, currency api.Currency, amount api.Amount, to, memo string,
) (sent, bare fingerprint) {
	text := fmt.Appendf(nil, "%q %q %q %d %q", withdrawal, strings.ToLower(unit(currency.Kind, currency.Code)),
		strings.ToLower(unit(amount.Kind, amount.Code)), amount.Minor, address.Canonical(to))
	without := sha256.Sum256(text)
	with := sha256.Sum256(fmt.Appendf(text, " %q", memo))
	return fingerprint(with[:16]), fingerprint(without[:16])
}

func soughtOf(o journal.Order) soughtOrder {
	s := soughtOrder{id: parseID(o.OrderID), accepted: o.State == journal.Accepted, unit: unique.Make(o.Unit),
		withdrawal: hashOf(o.Withdrawal)}
	s.sent, s.bare = fingerprints(o.Withdrawal, currencyOf(o.Currency), amountOf(o.Content), o.Address, o.Memo)
	return s
}

func (s runSought) sort() {
	slices.SortFunc(s, func(a, b soughtOrder) int { return cmp.Compare(a.id, b.id) })
}

// place returns the index of an order in s.
func (s runSought) place(orderID string) (place int, found bool) {
	id := parseID(orderID)
	if id == 0 || formatID(id) != orderID { // the service's text may be anything
		return 0, false
	}
	return slices.BinarySearchFunc(s, id, func(o soughtOrder, id int64) int { return cmp.Compare(o.id, id) })
}

// A runScan is what one or more scans have shown of the orders of a run.
type runScan struct {
	asSent []bool // by place: the list has the record that the order should have
	others scanResult
}

func (s runSought) emptyScan() *runScan {
	return &runScan{make([]bool, len(s)), scanResult{}}
}

// keep notes a record that has an order's id.
func (s runSought) keep(r *runScan, orderID string, w record) {
	if place, found := s.place(orderID); found && s[place].has(w) {
		r.asSent[place] = true
		return
	}
	r.others.add(orderID, w)
}

// has reports whether a record is the one that an accepted order should have.
func (o soughtOrder) has(w record) bool {
	if !o.accepted || len(w.orderIDs) != 1 || len(w.unread) > 0 {
		return false
	}
	if w.memo == nil {
		_, bare := fingerprints(w.id, w.currency, w.amount, w.address, "")
		return bare == o.bare
	}
	sent, _ := fingerprints(w.id, w.currency, w.amount, w.address, *w.memo)
	return sent == o.sent
}

func (r *runScan) agrees(o *runScan, unit sentUnit) bool {
	return slices.Equal(r.asSent, o.asSent) && agree(r.others, o.others, unit)
}

// union adds the records of another scan. If the two scans agree, they are the same in all that can be
// compared. An amount that is shown in another unit than it was sent in is kept in each of its values.
func (r *runScan) union(o *runScan) {
	for place, found := range o.asSent {
		r.asSent[place] = r.asSent[place] || found
	}
	for orderID, records := range o.others {
		for _, w := range records {
			r.others.add(orderID, w)
		}
	}
}

// add adds the records of an earlier scan that no later one has shown again. If both have a record of the
// same withdrawal, the newer one counts.
func (r *runScan) add(orders runSought, earlier *runScan) {
	for place, found := range earlier.asSent {
		if found && len(r.others[formatID(orders[place].id)]) == 0 {
			r.asSent[place] = true
		}
	}
	for orderID, records := range earlier.others {
		place, found := orders.place(orderID)
		for _, w := range records {
			asSent := found && r.asSent[place] && orders[place].withdrawal == hashOf(w.id)
			if !asSent && !slices.ContainsFunc(r.others[orderID], func(o record) bool { return o.id == w.id }) {
				r.others.add(orderID, w)
			}
		}
	}
}

var hashSeed = maphash.MakeSeed()

func hashOf(id string) uint64 { return maphash.String(hashSeed, id) }

// foundAll reports whether a scan has a record of every order.
func (s runSought) foundAll(r *runScan) bool {
	for place, o := range s {
		if !r.asSent[place] && len(r.others[formatID(o.id)]) == 0 {
			return false
		}
	}
	return true
}

// scanRun is scanTwice for the orders of a run. It reads the list until two complete scans in a row agree
// about them.
func (s *Sender) scanRun(ctx context.Context, sought runSought, from string) (*runScan, error) {
	seeks := func(orderID string) bool {
		_, found := sought.place(orderID)
		return found
	}
	unit := func(orderID string) (api.Currency, bool) {
		place, found := sought.place(orderID)
		if !found {
			return api.Currency{}, false
		}
		return currencyOf(sought[place].unit.Value()), true
	}
	found, undecided, err := s.scanUntilAgreed(ctx, sought, seeks, unit, from)
	if err == nil && undecided != "" && !sought.foundAll(found) {
		err = undecidedBy(undecided)
	}
	return found, err
}

// records returns the records that have an order's id. known reports whether they say anything about the
// order as it is now.
func (s runSought) records(r *runScan, o journal.Order) (records []record, known bool) {
	place, found := s.place(o.OrderID)
	if !found {
		return nil, false
	}
	if !r.asSent[place] { // it says nothing about an order that was accepted only since s was made
		records = r.others[o.OrderID]
		return records, len(records) > 0 || o.State != journal.Accepted || s[place].accepted
	}
	if now := soughtOf(o); now.sent != s[place].sent { // the order has changed since s was made
		return nil, false
	}
	mine := record{id: o.Withdrawal, orderIDs: []string{o.OrderID}, text: o.OrderID, currency: currencyOf(o.Currency),
		amount: amountOf(o.Content), address: o.Address}
	return append([]record{mine}, r.others[o.OrderID]...), true
}
