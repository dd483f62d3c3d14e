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

// runSought is what has to be looked for on the list for the orders of a run, which may be many. Nearly all of them were
// accepted, and are on the list as they were sent: for these no record is kept, only that fact.
type runSought []soughtOrder // in the order of their ids

// A soughtOrder is little enough to be kept for each of many.
type soughtOrder struct {
	id       int64
	accepted bool
	// sent and bare are fingerprints of the record that the order should have once it is accepted: with its memo, and without
	// one where the service shows none.
	sent, bare fingerprint
	unit       unique.Handle[string] // in which it was sent
	withdrawal uint64                // a hash of its id
}

type fingerprint [16]byte

// fingerprints are of all that is compared of a record, see differs.
func fingerprints(withdrawal string, currency api.Currency, amount api.Amount, to, memo string) (sent, bare fingerprint) {
	text := fmt.Appendf(nil, "%q %q %q %d %q", withdrawal, strings.ToLower(unit(currency.Kind, currency.Code)), strings.ToLower(unit(amount.Kind, amount.Code)), amount.Minor, address.Canonical(to))
	without := sha256.Sum256(text)
	with := sha256.Sum256(fmt.Appendf(text, " %q", memo))
	return fingerprint(with[:16]), fingerprint(without[:16])
}

func soughtOf(o journal.Order) soughtOrder {
	s := soughtOrder{id: parseID(o.OrderID), accepted: o.State == journal.Accepted, unit: unique.Make(o.Unit), withdrawal: hashOf(o.Withdrawal)}
	s.sent, s.bare = fingerprints(o.Withdrawal, currencyOf(o.Currency), amountOf(o.Content), o.Address, o.Memo)
	return s
}

func (s runSought) sort() {
	slices.SortFunc(s, func(a, b soughtOrder) int { return cmp.Compare(a.id, b.id) })
}

// place is the index of an order among those that are sought.
func (s runSought) place(orderID string) (place int, found bool) {
	id := parseID(orderID)
	if id == 0 || formatID(id) != orderID { // the service's text may be anything
		return 0, false
	}
	return slices.BinarySearchFunc(s, id, func(o soughtOrder, id int64) int { return cmp.Compare(o.id, id) })
}

// A runScan is what the list shows of the orders of a run.
type runScan struct {
	asSent []bool // by place: the list has the record that the order should have
	others scanResult
}

func (s runSought) emptyScan() *runScan {
	return &runScan{make([]bool, len(s)), scanResult{}}
}

// keep takes note of a record that bears an order's id.
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

// union adds what another reading has found. In what can be compared, that is the same in two that agree; an amount that is
// shown in another unit is kept as often as it has changed.
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

// add adds what an earlier scan has shown and no later one has shown again. Of one withdrawal, the newest record counts.
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

// foundAll reports whether a reading has a record of every order.
func (s runSought) foundAll(r *runScan) bool {
	for place, o := range s {
		if !r.asSent[place] && len(r.others[formatID(o.id)]) == 0 {
			return false
		}
	}
	return true
}

// scanRun reads the list until two complete scans in a row agree about the orders that are sought. See scanTwice for what it
// returns.
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

// records are those that bear an order's id, as far as they say something; known reports whether they say something about the
// order as it is now.
func (s runSought) records(r *runScan, o journal.Order) (records []record, known bool) {
	place, found := s.place(o.OrderID)
	if !found {
		return nil, false
	}
	if !r.asSent[place] {
		return r.others[o.OrderID], true
	}
	if now := soughtOf(o); now.sent != s[place].sent { // it should have another record by now
		return nil, false
	}
	mine := record{id: o.Withdrawal, orderIDs: []string{o.OrderID}, text: o.OrderID, currency: currencyOf(o.Currency), amount: amountOf(o.Content), address: o.Address}
	return append([]record{mine}, r.others[o.OrderID]...), true
}
