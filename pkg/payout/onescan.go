package payout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// listed is a record of the list.
type listed struct {
	api.Withdrawal
	unread []string // fields that cannot be read, see api.UnreadableWithdrawal
	page   int      // the service's number of the page
	place  int      // index on the page, from 0
	err    error    // why it cannot be read; nil: it can
}

func (l listed) readable(field string) bool {
	return api.UnreadableWithdrawal{Unread: l.unread}.Readable(field)
}

// nameless reports whether a record may belong to any order: its order id cannot be read, or the field's name
// has the wrong case. A record without an order id is not nameless.
func (l listed) nameless() bool {
	if len(bears(l.Withdrawal)) > 0 {
		return false
	}
	return !l.readable("external_order_id") || !l.readable("external_id") || l.misspelt() != ""
}

// misspelt returns the name of a field that would be an order id if its case were right; empty: there is
// none.
func (l listed) misspelt() string {
	var fields map[string]json.RawMessage
	json.Unmarshal(l.RawJSON(), &fields)
	for name := range fields {
		for _, right := range []string{"external_order_id", "external_id"} {
			if name != right && strings.EqualFold(name, right) {
				return name
			}
		}
	}
	return ""
}

// String says which record cannot be read, and why.
func (l listed) String() string {
	name := "withdrawal " + l.ID
	if l.ID == "" {
		name = fmt.Sprintf("record %d of page %d", l.place+1, l.page)
	}
	if l.err == nil {
		return fmt.Sprintf("%s: a field has the name %q", name, l.misspelt())
	}
	return fmt.Sprintf("%s: %v", name, l.err)
}

// A scan is one reading of the whole list, page after page. Its memory is constant, except for 8 bytes for
// each withdrawal.
//
// A scan is complete when it has seen all pages, as many different withdrawals as the largest total of any
// page, and the withdrawal that was accepted last, if it is known. Rows that move during the scan can make it
// miss some and see others twice. So the number of rows proves nothing, but the number of ids does: as long
// as rows only move and are added, a scan that has seen so many different ids has seen all. Rows that have
// moved to the beginning are found by reading the beginning again.
type scan struct {
	newest *journal.Order // an order that must be on the list; nil: none is known
	see    func(listed) (more bool)
	stop   func() // stops the reading of pages

	// ids has the hashes of the ids that were seen. Two ids with the same hash count as one. That can only
	// make a complete scan look incomplete, and the next scan uses another seed.
	ids  map[uint64]struct{}
	seed maphash.Seed

	pages, promised int64 // how many pages were read, and the largest number of pages that one of them reported
	expected        int64 // how many pages the first one promised
	empty           int   // how many of the last pages were empty
	most            int64 // the largest total of any page
	first           int   // number of the first page
	hit             bool  // newest was seen

	again   int  // how many pages were read again
	news    bool // the beginning of the list has new rows
	quiet   bool // a page that was read again has nothing new, so the reading ends
	endless bool
	enough  bool // see needs no more records
}

// A list may grow while it is read. But if it becomes more than twice as long, and by many pages, it has no
// end.
const manyPages = 100

// scan reads the list once, and calls see with every record until see has enough. see may get a record more
// than once. incomplete says why the scan does not count; empty: the scan is complete, or see has enough.
func (s *Sender) scan(
	ctx context.Context, seen sightings, filter api.WithdrawalFilter, newest *journal.Order,
	see func(listed) (more bool),
) (incomplete string, err error) {
	show := func(w listed) bool {
		seen.see(w)
		return see(w)
	}
	var first error
	for _, size := range pageSizes() {
		one := newScan(newest, show)
		incomplete, err := one.whole(ctx, s, filter, size)
		if one.pages > 0 || !rejects(err) {
			return incomplete, err
		}
		first = cmp.Or(first, err)
	}
	return "", first
}

// glance reads the list until see has enough.
func (s *Sender) glance(ctx context.Context, see func(listed) (more bool)) error {
	var first error
	for _, size := range pageSizes() {
		one := newScan(nil, see)
		err := one.pass(ctx, s, api.WithdrawalFilter{}, size, s.options.FirstPage, one.page)
		if one.pages > 0 || !rejects(err) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// pageSizes returns the page sizes to ask for, one after the other. The interface does not show the largest
// page size, so if the service refuses one, the scan uses the next smaller one.
func pageSizes() []int { return []int{api.DefaultPageSize, 50, 20, 10} }

func newScan(newest *journal.Order, see func(listed) (more bool)) *scan {
	return &scan{newest: newest, see: see, ids: map[uint64]struct{}{}, seed: maphash.MakeSeed(), hit: newest == nil}
}

// whole reads the list once, and then its beginning again until it has nothing new.
func (s *scan) whole(
	ctx context.Context, sender *Sender, filter api.WithdrawalFilter, size int,
) (incomplete string, err error) {
	err = s.pass(ctx, sender, filter, size, sender.options.FirstPage, s.page)
	base := sender.options.FirstPage
	if s.first == 1 {
		base = api.PageBaseOne
	}
	// If the list has only one page, nothing can have moved.
	for s.news = s.pages > 1; err == nil && s.news && !s.over(); {
		s.news, s.quiet = false, false
		err = s.pass(ctx, sender, filter, size, base, s.pageAgain)
	}
	switch {
	case s.pages > 0 && rejects(err):
		return fmt.Sprintf("it refused a page of its list after %d withdrawals, of %d that it counts: %v", len(s.ids),
			s.most, err), nil
	case err != nil:
		return "", &brokenOff{err,
			fmt.Sprintf("it had shown %d withdrawals then, of %d that it counts", len(s.ids), s.most)}
	case s.enough:
		return "", nil
	}
	return s.lacks(), nil
}

// lacks says what is missing for a complete scan; empty: nothing.
func (s *scan) lacks() string {
	switch {
	case s.endless && s.again > manyPages:
		return fmt.Sprintf("its list still changed after its beginning was read again %d times", manyPages)
	case s.endless:
		return fmt.Sprintf("its list was %d pages long at first, and has not ended after %d", s.expected, s.pages)
	case s.pages < s.promised && s.empty < 2:
		return fmt.Sprintf("the service counts %d pages, and its list showed %d", s.promised, s.pages)
	case int64(len(s.ids)) < s.most:
		return fmt.Sprintf("the service counts %d withdrawals, and its list showed %d", s.most, len(s.ids))
	case !s.hit:
		return fmt.Sprintf("its list did not show withdrawal %s, which it accepted last", s.newest.Withdrawal)
	}
	return ""
}

// over reports whether no more pages are needed.
func (s *scan) over() bool { return s.endless || s.enough }

// pass reads the list from its first page, until the list ends or no more pages are needed.
func (s *scan) pass(
	ctx context.Context, sender *Sender, filter api.WithdrawalFilter, size int, base api.PageBase,
	page func(api.WithdrawalPage),
) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	options := api.ListOptions{PageSize: size, FirstPage: base, OnPage: page, Lenient: true}
	for _, err := range sender.client.Withdrawals.All(ctx, filter, options) {
		if s.over() || s.quiet {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page processes a page of the first pass.
func (s *scan) page(p api.WithdrawalPage) {
	rows := len(p.Items) + len(p.Unreadable)
	if s.pages++; s.pages == 1 {
		s.first, s.expected = p.Number, max(p.PageCount, p.Total/int64(max(rows, 1)))
	}
	s.promised = max(s.promised, p.PageCount)
	if s.empty++; rows > 0 {
		s.empty = 0
	}
	s.take(p)
	if (s.pages-manyPages)/2 > s.expected {
		s.endless = true
		s.stop()
	}
}

// pageAgain processes a page of the beginning, which was read before. The reading ends if the page has
// nothing new. It also ends if the number of ids is exactly the service's current total, because withdrawals
// may be made as fast as the page can be read.
func (s *scan) pageAgain(p api.WithdrawalPage) {
	if fresh := s.take(p); fresh == 0 || int64(len(s.ids)) == p.Total {
		s.quiet = true
		s.stop()
		return
	}
	s.news = true
	if s.again++; s.again > manyPages {
		s.endless = true
		s.stop()
	}
}

// take processes the records of a page, and returns how many were not seen before.
func (s *scan) take(p api.WithdrawalPage) (fresh int) {
	before := len(s.ids)
	s.most = max(s.most, p.Total)
	for _, w := range p.Items {
		s.record(listed{Withdrawal: w})
	}
	for _, u := range p.Unreadable {
		s.record(listed{Withdrawal: u.Withdrawal, unread: u.Unread, page: p.Number, place: u.Place, err: u.Err})
	}
	return len(s.ids) - before
}

func (s *scan) record(w listed) {
	name := "id " + w.ID
	if w.ID == "" { // the id cannot be read
		name = fmt.Sprint("order ", bears(w.Withdrawal))
	}
	s.ids[maphash.String(s.seed, name)] = struct{}{}
	if s.newest != nil && w.ID == s.newest.Withdrawal {
		s.hit = true
	}
	if s.enough || !s.see(w) {
		s.enough = true
		s.stop()
	}
}
