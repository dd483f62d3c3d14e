package payout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// mostReadings is how often the list is read before it is given up, and pauseBetween how long the pause between two is.
const (
	mostReadings = 5
	pauseBetween = time.Second
)

// A reading is what the service's whole list says about the orders that were sought: all records that bear one of their ids.
type reading map[string][]record

// A record is what is kept of a withdrawal that the service shows, which is little: a page of the list would otherwise stay
// in memory for every order that is found on it.
type record struct {
	id       string
	orderIDs []string // that it bears: one, or two where its fields disagree
	number   int64    // external_id
	text     string   // external_order_id
	currency api.Currency
	amount   api.Amount
	address  string
	memo     *string // nil: not shown
	dated    string  // when it got its first status, as the service writes it
	status   string
	merchant string
}

func recordOf(w api.Withdrawal) record {
	r := record{
		id: w.ID, orderIDs: bears(w), number: w.ExternalID, text: w.ExternalOrderID, currency: w.Currency, amount: w.Amount,
		address: w.Address.Text, memo: memoOf(w), status: w.Current, merchant: w.MerchantID,
	}
	if len(w.Statuses) > 0 {
		r.dated = shortenText(w.Statuses[0].At)
	}
	return r
}

// same reports whether two records say the same of a withdrawal. Its status may change at any time.
func (r record) same(o record) bool {
	return r.id == o.id && slices.Equal(r.orderIDs, o.orderIDs) && r.currency == o.currency && r.amount == o.amount && r.address == o.address &&
		(r.memo == nil) == (o.memo == nil) && (r.memo == nil || *r.memo == *o.memo)
}

// bearsOnly reports whether a record bears this order id and no other.
func (r record) bearsOnly(orderID string) bool { return slices.Equal(r.orderIDs, []string{orderID}) }

// A list may grow while it is read, but one that is found to be more than twice as long, and by many pages, has no end.
const manyPages = 100

// read goes through the whole list once. It keeps only the records that are sought, so a long list takes no more memory than
// a short one. incomplete says why the reading does not count; empty: it does.
//
// A reading counts when it has seen all pages, at least as many withdrawals as the service said there were when it began, and
// among them the one that was accepted last, unless that is older than the reading goes back. Rows that shift while it reads can
// make it see fewer. Where that one is there without its order id, no reading says anything, and that is an error.
func (b *Book) read(ctx context.Context, sought map[string]bool, from string) (found reading, incomplete string, err error) {
	found = reading{}
	if incomplete, err = b.readFor(ctx, func(id string) bool { return sought[id] }, found.add, from); err != nil {
		return nil, "", err
	}
	return found, incomplete, nil
}

// readFor is read for whoever keeps the records themselves.
func (b *Book) readFor(ctx context.Context, sought func(orderID string) bool, keep func(orderID string, w record), from string) (incomplete string, err error) {
	newest, err := b.witness(ctx, from, func(o journal.Order) bool { return sought(o.OrderID) })
	if err != nil {
		return "", err
	}
	dropped := false
	incomplete, err = b.scan(ctx, from, newest, func(w api.Withdrawal) bool {
		ids := bears(w)
		for _, id := range ids {
			if sought(id) {
				keep(id, recordOf(w))
			}
		}
		dropped = newest != nil && w.ID == newest.Withdrawal && newest.Decided == nil && !slices.ContainsFunc(ids, func(id string) bool { return id == newest.OrderID || sought(id) })
		return !dropped
	})
	if err == nil && dropped {
		err = dropsOrderIDs()
	}
	return incomplete, err
}

// witness is the order that a whole reading must have seen: the one that was accepted last, unless that is older than the
// reading goes back; nil: there is none.
func (b *Book) witness(ctx context.Context, from string, inQuestion func(journal.Order) bool) (*journal.Order, error) {
	known, err := b.newest(ctx, func(o journal.Order) bool { return o.Decided != nil && inQuestion(o) })
	if err != nil || known == nil || from != "" && !sentAt(*known).After(b.SinceTime) {
		return nil, err
	}
	return known, nil
}

// scan goes through the list once and shows every withdrawal to see, until that has seen enough. incomplete says why it did
// not see the whole list, if it wanted it; empty: it did.
//
// See read for what it must have seen, and newest is that which was accepted last, where one is named.
func (b *Book) scan(ctx context.Context, from string, newest *journal.Order, see func(api.Withdrawal) (more bool)) (incomplete string, err error) {
	var first error
	for _, size := range pageSizes() {
		pages, incomplete, err := b.scanBy(ctx, size, from, newest, see)
		if pages > 0 || !rejects(err) {
			return incomplete, err
		}
		first = cmp.Or(first, err)
	}
	return "", first
}

// pageSizes are how many withdrawals are asked for at a time. Nobody knows how many a service lets be asked for, so where it
// refuses, it is asked for fewer.
func pageSizes() []int { return []int{api.DefaultPageSize, 50, 20, 10} }

// scanBy is scan with pages of one size. It returns how many it has seen.
func (b *Book) scanBy(ctx context.Context, size int, from string, newest *journal.Order, see func(api.Withdrawal) (more bool)) (pages int64, incomplete string, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var first api.WithdrawalPage
	most, seen, hit := int64(0), int64(0), newest == nil
	endless := false
	options := api.ListOptions{PageSize: size, FirstPage: b.FirstPage, OnPage: func(p api.WithdrawalPage) {
		if pages++; pages == 1 {
			first = api.WithdrawalPage{PageCount: p.PageCount, Total: p.Total}
		}
		most = max(most, p.PageCount)
		if (pages-manyPages)/2 > first.PageCount {
			endless = true
			stop()
		}
	}}
	for w, err := range b.Client.Withdrawals.All(ctx, api.WithdrawalFilter{From: from}, options) {
		if endless {
			break
		}
		if err != nil {
			return pages, "", err
		}
		seen++
		hit = hit || w.ID == newest.Withdrawal
		if !see(w) {
			return pages, "", nil
		}
	}
	switch {
	case endless:
		return pages, fmt.Sprintf("its list was %d pages long at first, and has not ended after %d", first.PageCount, pages), nil
	case pages < most:
		return pages, fmt.Sprintf("the service counts %d pages, and its list showed %d", most, pages), nil
	case seen < first.Total:
		return pages, fmt.Sprintf("the service counts %d withdrawals, and its list showed %d", first.Total, seen), nil
	case !hit:
		return pages, fmt.Sprintf("its list did not show withdrawal %s, which it accepted last", newest.Withdrawal), nil
	}
	return pages, "", nil
}

// newest is the order that was accepted last; nil where there is none. It is not one of which only a person has said that it
// was accepted, where the question is whether that is so.
func (b *Book) newest(ctx context.Context, doubted func(journal.Order) bool) (*journal.Order, error) {
	status, err := b.Ledger.Status(ctx)
	if err != nil || status.Newest == nil || !doubted(*status.Newest) {
		return status.Newest, err
	}
	var newest *journal.Order
	for o, err := range b.Ledger.Orders(ctx, journal.Filter{States: []journal.State{journal.Accepted}}) {
		if err != nil {
			return nil, err
		}
		if !doubted(o) && (newest == nil || !sentAt(o).Before(sentAt(*newest))) {
			newest = &o
		}
	}
	return newest, nil
}

// add adds a record, which the list may show twice where rows shift.
func (r reading) add(orderID string, w record) {
	if !slices.ContainsFunc(r[orderID], w.same) {
		r[orderID] = append(r[orderID], w)
	}
}

func sentAt(o journal.Order) time.Time {
	if o.Sent.IsZero() {
		return o.Changed
	}
	return o.Sent
}

// bears returns the order ids that a record bears: one, or two where its fields disagree.
func bears(w api.Withdrawal) []string {
	ids := []string{w.ExternalOrderID}
	if w.ExternalID != 0 {
		ids = append(ids, strconv.FormatInt(w.ExternalID, 10))
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// once is content with one reading.
func once(_, _ reading) bool { return true }

// lookTwice reads until two readings that count, one after the other, agree about the orders that are sought. It goes back to
// the beginning where one of them is older than Since: a list without it would say nothing about it. Others that are sought
// as well may be named, with the time from which they want the list.
func (b *Book) lookTwice(ctx context.Context, orders []journal.Order, others map[string]bool, from string) (reading, error) {
	sought := map[string]bool{}
	maps.Copy(sought, others)
	for _, o := range orders {
		sought[o.OrderID] = true
		from = b.since(from, o)
	}
	return b.readings(ctx, sought, from, twice)
}

// twice wants two readings that agree.
func twice(before, now reading) bool { return before != nil && agree(before, now) }

func (b *Book) readings(ctx context.Context, sought map[string]bool, from string, enough func(before, now reading) bool) (now reading, err error) {
	var before reading // the last one that counts
	err = b.untilWhole(ctx, func() (incomplete string, done bool, err error) {
		before = now
		if now, incomplete, err = b.read(ctx, sought, from); err != nil || incomplete != "" {
			now = before
			return incomplete, false, err
		}
		return "", enough(before, now), nil
	})
	if err != nil {
		return nil, err
	}
	return now, nil
}

// untilWhole reads again and again, until a reading counts and is enough, or often enough to give up.
func (b *Book) untilWhole(ctx context.Context, read func() (incomplete string, enough bool, err error)) error {
	why := ""
	for n := range mostReadings {
		if n > 0 && why != "" {
			if err := b.pause(ctx); err != nil {
				return err
			}
		}
		incomplete, enough, err := read()
		if err != nil {
			return err
		}
		if why = incomplete; why == "" && enough {
			return nil
		}
	}
	if why == "" {
		why = "no two of them agreed"
	}
	return &Error{Kind: ReadFailed, Msg: fmt.Sprintf("the service's list could not be read as a whole in %d readings: %s", mostReadings, why), Hint: "run it again when fewer withdrawals are being made"}
}

func (b *Book) pause(ctx context.Context) error {
	if b.Pause != nil {
		return b.Pause(ctx, pauseBetween)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pauseBetween):
		return nil
	}
}

// agree reports whether two readings found the same records, each with the same content.
func agree(a, b reading) bool {
	return maps.EqualFunc(a, b, func(a, b []record) bool {
		return len(a) == len(b) && !slices.ContainsFunc(a, func(r record) bool { return !slices.ContainsFunc(b, r.same) })
	})
}

// evidence is what the records that bear an order's id say about it.
func evidence(orderID string, content journal.Content, records []record) journal.Evidence {
	f := journal.Evidence{OrderID: orderID, Withdrawal: records[0].id, Dated: records[0].dated, Content: content, Differs: differs(content, records[0])}
	if len(records) > 1 {
		var ids []string
		for _, r := range records {
			ids = append(ids, r.id)
		}
		slices.Sort(ids)
		f.Differs = fmt.Sprintf("%d records bear this order id: %s", len(records), strings.Join(ids, ", "))
	}
	return f
}

// differs says in what a record is not what was sent; empty: in nothing that can be compared.
func differs(c journal.Content, r record) string {
	currency, sent := Currency(c.Currency), Amount(c)
	switch {
	case len(r.orderIDs) > 1:
		return fmt.Sprintf("its external_id is %d and its external_order_id %q", r.number, r.text)
	case r.currency.Kind != currency.Kind || !strings.EqualFold(r.currency.Code, currency.Code):
		return fmt.Sprintf("its currency is %s %s, and not %s %s", r.currency.Kind, r.currency.Code, currency.Kind, currency.Code)
	case sameUnit(r.amount, sent) && r.amount.Minor != sent.Minor:
		return fmt.Sprintf("its amount is %d %s, and not %d (minor units)", r.amount.Minor, r.amount.Code, sent.Minor)
	case r.address != c.Address:
		return fmt.Sprintf("its address is %q, and not %q", r.address, c.Address)
	case r.memo != nil && *r.memo != c.Memo:
		return fmt.Sprintf("its memo is %q, and not %q", *r.memo, c.Memo)
	}
	return ""
}

// uncompared says what of a record could not be held against what was sent; empty: nothing.
func uncompared(c journal.Content, r record) string {
	if sent := Amount(c); !sameUnit(r.amount, sent) {
		return fmt.Sprintf("the service shows the amount as %d %s, and the order as %d %s (minor units): the two cannot be compared", r.amount.Minor, r.amount.Code, sent.Minor, sent.Code)
	}
	return ""
}

func sameUnit(a, b api.Amount) bool { return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code) }

// memoOf returns the memo of a withdrawal, which the interface does not name as one of its fields, where it has one. What is
// no string is the memo as it is written.
func memoOf(w api.Withdrawal) *string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(w.RawJSON(), &fields) != nil || fields["memo"] == nil || string(fields["memo"]) == "null" {
		return nil
	}
	memo := string(fields["memo"])
	json.Unmarshal(fields["memo"], &memo)
	return &memo
}
