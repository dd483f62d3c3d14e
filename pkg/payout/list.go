package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// mostReadings is how often the list is read before till gives up. pauseBetween is the pause after a reading
// that does not count.
const (
	mostReadings = 5
	pauseBetween = time.Second
)

// A reading is the list read once: page after page from the first one, until two pages in a row bring nothing
// new, or until as many withdrawals as the service counts are there and the last page is shorter than
// another. If withdrawals were made meanwhile, it then reads its beginning again, and if the pages were smaller
// than asked for, the whole list with that size. Its memory is constant, except for a few bytes for each
// withdrawal.
type reading struct {
	filter   api.WithdrawalFilter
	status   journal.AccountStatus
	newest   *journal.Record                 // an accepted order that must be on the list; nil: none
	sought   map[int64]*api.CreateWithdrawal // a record of newest may have one of their order ids, which is a conflict
	accepted journal.Exceptions              // what a person has accepted of the list
	see      func(listed) (more bool)
	// anyTotal makes a reading complete although the service counts more than it shows.
	anyTotal bool
	// unshown are orders that the list has not shown yet. The withdrawals of those that this reading shows are
	// added to shown.
	unshown map[string]bool
	shown   map[string]string

	ids             map[uint64]bool // hashes of the marks that were seen; two that collide only make it look incomplete
	seed            maphash.Seed
	total           int64  // how many withdrawals the service counts, at the most
	newestSeen      bool   // newest was seen, with its order id
	other           string // the merchant that the list shows for newest, if it is not the account's
	pages, promised int64  // how many were read, and how many the service counts
	grows           bool   // the service has counted more since the first page
	enough          bool   // see needs no more records
	longest         int    // how many records a page had, at the most
	again           bool   // the list was read to its end before
}

// A listed is a record of the list.
type listed struct {
	api.Withdrawal
	unread []string // fields that cannot be read, see api.UnreadableWithdrawal
	place  string   // on the list
	err    error    // why it cannot be read; nil: it can
}

func (w listed) String() string {
	switch {
	case w.ID == "":
		return fmt.Sprintf("%s: %v", w.place, w.err)
	case w.err != nil:
		return fmt.Sprintf("withdrawal %s: %v", w.ID, w.err)
	}
	return "withdrawal " + w.ID
}

// mark identifies the record among those that a person has accepted: its id or, if that cannot be read, its
// text.
func (w listed) mark() string { return cmp.Or(w.ID, string(w.RawJSON())) }

// record returns the fields that are kept of it.
func (w listed) record() record {
	return recordOf(api.UnreadableWithdrawal{Withdrawal: w.Withdrawal, Unread: w.unread})
}

// orderIDs returns the order ids that it shows.
func (w listed) orderIDs() (ids []string) {
	for _, n := range numbersOf(w.Withdrawal) {
		ids = append(ids, formatID(n))
	}
	return ids
}

// A lack is what keeps a reading from being complete.
type lack struct {
	why string
	err error // what is reported if it lasts; nil: reading again may help
}

func (l *lack) Error() string { return l.why }

func lasting(format string, args ...any) *lack {
	why := fmt.Sprintf(format, args...)
	return &lack{why, unproven("the service's list proves nothing: "+why, nil)}
}

// read reads the list once. It asks for smaller pages if the service refuses the size, which the interface
// does not show, and for the whole list if it refuses the period. The error is a *lack if the reading does not
// count. It is nil if the reading is complete, or if see has enough.
func (r *reading) read(ctx context.Context, s *Sender) error {
	r.ids, r.seed, r.newestSeen = map[uint64]bool{}, maphash.MakeSeed(), r.newest == nil
	var refusal error
	for _, size := range []int{api.DefaultPageSize, 50, 20, 10} {
		err := r.readPages(ctx, s, size)
		if r.pages > 0 || !rejects(err) {
			return err
		}
		refusal = cmp.Or(refusal, err)
	}
	if r.filter.From+r.filter.To != "" {
		r.filter = api.WithdrawalFilter{}
		return r.read(ctx, s)
	}
	return refusal
}

func (r *reading) readPages(ctx context.Context, s *Sender, size int) error {
	base := s.options.FirstPage
	first := 0
	if base == api.PageBaseOne {
		first = 1
	}
	number := first
	for stale := 0; stale < 2 && !r.enough; number++ {
		page, err := s.client.Withdrawals.ListLenient(ctx, r.filter, number, size)
		switch {
		case rejects(err) && r.pages == 0 && number == 0 && base == api.PageBaseAuto:
			first = 1 // perhaps
			continue
		case rejects(err) && r.hasGaps(size): // it is behind the last one
			stale = 2
		case err != nil:
			return r.failedPage(err)
		case r.take(page, number) > 0:
			stale = 0
		default:
			stale++
		}
		if err == nil && r.ends(page) {
			break
		}
		if err := r.endless(cmp.Or(s.mostPages, mostPages)); err != nil {
			return err
		}
		if stale == 2 && r.hasGaps(size) {
			number, size, stale, r.again = first-1, max(1, min(size, r.longest)), -1, true // pages 0 and 1 may be the same
		}
	}
	return r.lacks()
}

// ends reports whether a page is the last one.
func (r *reading) ends(page api.WithdrawalPage) bool {
	rows := len(page.Items) + len(page.Unreadable)
	shorter := rows < r.longest
	r.longest = max(r.longest, rows)
	return r.missing() <= 0 && (shorter || r.again)
}

// hasGaps reports whether the list, read to its end, may show more if it is read again: withdrawals were made
// meanwhile, or the service cuts its pages below the size asked for, which leaves gaps between them.
func (r *reading) hasGaps(size int) bool {
	return !r.again && r.pages > 0 && r.missing() > 0 && (r.grows || r.longest < size)
}

// failedPage returns how a reading ends with a page that was not shown.
func (r *reading) failedPage(err error) error {
	switch {
	case !rejects(err) || r.pages == 0:
		return err
	case (!r.again || r.grows) && (r.missing() > 0 || r.pages < r.promised): // perhaps it has become shorter
		return &lack{why: fmt.Sprintf("it refused a page of its list after %d withdrawals, of %d that it counts: %v",
			len(r.ids), r.total, err)}
	}
	return r.lacks() // there is no such page
}

// count counts a page, and takes what the service counts.
func (r *reading) count(page api.WithdrawalPage) {
	r.pages, r.promised = r.pages+1, max(r.promised, page.PageCount)
	r.grows = r.grows || page.Total > r.total && len(r.ids) > 0
	r.total = max(r.total, page.Total)
}

// endless returns how a reading ends that has come to no end; nil: it goes on.
func (r *reading) endless(most int64) error {
	if counted := max(r.total, r.promised*int64(r.longest)); r.pages > manyPages && int64(len(r.ids)) > 2*counted {
		return lasting("the service counts %d withdrawals, and its list has not ended after %d", counted, len(r.ids))
	}
	if r.pages >= most {
		return failed(ReadFailed, "the service's list has not ended after %d pages with %d withdrawals", r.pages, len(r.ids)).
			hint("read less of it with --lookup-since, or ask the service's provider why it does not end")
	}
	return nil
}

// manyPages is how many pages are read, at the least, of a list that does not end. mostPages is how many are
// read if the service counts more with each of them.
const (
	manyPages = 100
	mostPages = 100_000
)

// missing returns how many withdrawals the service counts and has not shown.
func (r *reading) missing() int64 { return r.total - r.accepted.Surplus - int64(len(r.ids)) }

// lacks returns what is missing at the end of the list; nil: nothing.
func (r *reading) lacks() error {
	switch {
	case r.enough:
		return nil
	case r.missing() > 0 && !r.anyTotal:
		return lasting("the service counts %d withdrawals, and its list showed %d", r.total, len(r.ids))
	case r.other != "":
		err := otherMerchant(r.newest.OrderID, r.newest.ID, r.other, r.status.Merchant)
		return &lack{err.Error(), err}
	case !r.newestSeen:
		return lasting("its list did not show withdrawal %s, which it accepted last, with its order id %s",
			r.newest.ID, r.newest.OrderID)
	}
	return nil
}

// take passes the records of a page to see, and returns how many of them were not seen before.
func (r *reading) take(page api.WithdrawalPage, number int) (fresh int) {
	r.count(page)
	before := len(r.ids)
	for _, w := range page.Items {
		r.record(listed{Withdrawal: w})
	}
	for _, u := range page.Unreadable {
		r.record(listed{u.Withdrawal, u.Unread, fmt.Sprintf("record %d of page %d", u.Place+1, number), u.Err})
	}
	return len(r.ids) - before
}

func (r *reading) record(w listed) {
	r.ids[maphash.String(r.seed, w.mark())] = true
	isNewest := r.newest != nil && w.ID == r.newest.ID
	if isNewest && r.foreign(w) {
		r.other = w.MerchantID
	}
	r.newestSeen = r.newestSeen || isNewest && r.newest.Resolved != nil
	for _, id := range w.orderIDs() {
		if isNewest {
			_, other := r.sought[parseID(id)]
			r.newestSeen = r.newestSeen || other || id == r.newest.OrderID
		}
		if r.unshown[id] && r.shown[id] == "" && w.ID != "" && !r.foreign(w) {
			r.shown[id] = w.ID
		}
	}
	r.enough = r.enough || !r.see(w)
}

// foreign reports whether a record belongs to another merchant than the account.
func (r *reading) foreign(w listed) bool {
	return w.MerchantID != "" && r.status.Merchant != "" && w.MerchantID != r.status.Merchant
}

// has reports whether the reading has shown a withdrawal.
func (r *reading) has(id string) bool { return r.ids[maphash.String(r.seed, id)] }

// readUntil reads the list until a reading is complete and enough, at most mostReadings times. begin makes
// each reading. enough also gets what a reading lacks. At the end, readUntil records which orders the list
// has shown for the first time, whatever its caller does with them: from then on, they are not called not
// sent.
func (s *Sender) readUntil(
	ctx context.Context, begin func(journal.AccountStatus) (*reading, error), enough func(*reading, *lack) (bool, error),
) (err error) {
	var why *lack                                            // of the last reading
	unshown, shown := map[string]bool{}, map[string]string{} // order ids; the ids under which the list has shown them
	defer func(ctx context.Context) {
		if broken := accountChanged(s.ledger.Show(ctx, shown)); broken != nil {
			err = errors.Join(broken, err)
		}
	}(ctx)
	ctx, cancel := s.limitLookup(ctx)
	defer cancel()
	last := &reading{}
	defer func() { err = s.tooLong(ctx, err, last) }()
	for n := 0; n < mostReadings || why == nil && s.othersApply(ctx); n++ {
		if why != nil || n >= mostReadings {
			if err := s.rest(ctx, pauseBetween); err != nil {
				return err
			}
		}
		r, err := s.beginReading(ctx, begin, unshown)
		if err != nil {
			return err
		}
		r.shown, last = shown, r
		err = s.narrow(ctx, r, r.read(ctx, s))
		if why, _ = err.(*lack); err != nil && why == nil {
			return err
		}
		if done, err := enough(r, why); done && why == nil || err != nil {
			return err
		}
	}
	return givenUp(why)
}

// beginReading returns the reading that begin makes, and adds to unshown the orders that the list has not
// shown yet: some may have been sent since the last reading.
func (s *Sender) beginReading(
	ctx context.Context, begin func(journal.AccountStatus) (*reading, error), unshown map[string]bool,
) (*reading, error) {
	for id, err := range s.ledger.Unshown(ctx) {
		if err != nil {
			return nil, err
		}
		unshown[id] = true
	}
	status, err := s.ledger.Status(ctx)
	if err != nil {
		return nil, err
	}
	r, err := begin(status)
	if err == nil {
		r.status, r.unshown = status, unshown
		r.accepted, err = s.ledger.Exceptions(ctx)
	}
	return r, err
}

// narrow records that a reading shows more than a person has accepted that the list hides, unless it ended with an
// error. An acceptance ends with its evidence: later, the list could hide an order behind it. A part of the list is
// none.
func (s *Sender) narrow(ctx context.Context, r *reading, err error) error {
	surplus := max(0, min(r.accepted.Surplus, r.total-int64(len(r.ids))))
	if err != nil || r.filter.From+r.filter.To != "" || surplus == r.accepted.Surplus && !r.accepted.NoList {
		return err
	}
	return accountChanged(s.ledger.Narrow(ctx, r.accepted, surplus))
}

// givenUp returns the error of a list that was read in vain. why is what its last reading lacked.
func givenUp(why *lack) error {
	switch {
	case why == nil:
		why = &lack{why: "no two of them agreed"}
	case why.err != nil:
		return why.err
	}
	return failed(ReadFailed, "the service's list could not be read completely in %d readings: %s",
		mostReadings, why.why).hint("run it again when fewer withdrawals are being made")
}

// completely is for readUntil: any complete reading is enough.
func completely(*reading, *lack) (bool, error) { return true, nil }

// notShown returns the error for a list that the service refuses to show. Any other error stays as it is.
func notShown(err error) error {
	if rejects(err) {
		return unproven("the service does not show its list: "+err.Error(), err)
	}
	return err
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
