package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WithdrawalFilter restricts a list of withdrawals. The zero value restricts nothing.
type WithdrawalFilter struct {
	// From is the start of the period. The interface does not show the format, so it is sent unchanged.
	From       string     `json:"from,omitzero"`
	To         string     `json:"to,omitzero"` // the end of the period, also sent unchanged
	Currencies []Currency `json:"currencies"`  // empty: all
	Tags       []string   `json:"tags"`        // names of statuses; empty: all
}

// MarshalJSON writes the body of the request.
func (f WithdrawalFilter) MarshalJSON() ([]byte, error) { return json.Marshal(filterFields(f)) }

// UnmarshalJSON reads the body of the request.
func (f *WithdrawalFilter) UnmarshalJSON(b []byte) error { return unmarshal(b, f) }

type filterFields WithdrawalFilter // without the methods

func (f *WithdrawalFilter) read(dec *jsontext.Decoder) error {
	return readFields(dec, (*filterFields)(f))
}

// PageBase says which number the first page has. The interface does not show it.
type PageBase int

// These are the values of PageBase. With the zero value, the client finds out from the answers.
const (
	PageBaseAuto PageBase = iota
	PageBaseZero
	PageBaseOne
)

// DefaultPageSize is how many withdrawals a page has by default.
const DefaultPageSize = 100

// ListOptions controls how All reads pages.
type ListOptions struct {
	PageSize  int      // 0: DefaultPageSize
	FirstPage PageBase // with the zero value, All finds out
	// OnPage, if set, is called with every page before its withdrawals are yielded. It may keep the page.
	OnPage func(WithdrawalPage)
}

// WithdrawalPage is one page of a list.
type WithdrawalPage struct {
	Items     []Withdrawal // page_content
	PageCount int64        // how many pages there are
	Total     int64        // how many withdrawals match the filter

	Unreadable []UnreadableWithdrawal // the rest of page_content, see Withdrawals.ListLenient

	size int // of the answer, in bytes
}

func (p WithdrawalPage) empty() bool { return len(p.Items) == 0 }

// MarshalJSON writes the object of page_content, page_count and total. Unreadable records keep their places.
func (p WithdrawalPage) MarshalJSON() ([]byte, error) {
	content := make([]any, 0, len(p.Items)+len(p.Unreadable))
	for _, w := range p.Items {
		content = append(content, w)
	}
	for _, u := range p.Unreadable {
		content = slices.Insert(content, max(0, min(u.Place, len(content))), any(u))
	}
	return json.Marshal(struct {
		Content   []any `json:"page_content"`
		PageCount int64 `json:"page_count"`
		Total     int64 `json:"total"`
	}{content, p.PageCount, p.Total})
}

// UnmarshalJSON reads what List reads. An unreadable record is an error.
func (p *WithdrawalPage) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

func (p *WithdrawalPage) decode(dec *jsontext.Decoder, body []byte) error {
	return p.read(dec, len(body), func() (err error) {
		p.Items, err = list[Withdrawal](dec, body, "page_content", maxRows)
		return err
	})
}

// read reads a page of a size in bytes. readContent reads its records.
func (p *WithdrawalPage) read(dec *jsontext.Decoder, size int, readContent func() error) error {
	p.size = size
	var content, pages, total bool
	err := eachKey(dec, "page", func(key string) (err error) {
		switch key {
		case "page_content":
			content = true
			if dec.PeekKind() == 'n' { // an empty list, as many programs write it
				return dec.SkipValue()
			}
			err = readContent()
		case "page_count":
			pages = true
			p.PageCount, err = count(dec, key)
		case "total":
			total = true
			p.Total, err = count(dec, key)
		default:
			err = dec.SkipValue()
		}
		return err
	})
	if err == nil && !(content && pages && total) {
		return errors.New("page_content, page_count and total belong in it")
	}
	return err
}

// eachWithdrawal reads all pages. fetch gets the page number as the service counts.
func eachWithdrawal(ctx context.Context, opts ListOptions, fetch fetchPage) iter.Seq2[Withdrawal, error] {
	return func(yield func(Withdrawal, error) bool) {
		ahead := newReader(ctx, fetch)
		defer ahead.stop()
		w := walk{opts: opts, ahead: ahead}
		for more := true; more; {
			var page []Withdrawal
			var err error
			if page, more, err = w.next(); err != nil {
				yield(Withdrawal{}, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// walk reads the pages of a list whose first page number may be unknown.
//
// With an unknown base it asks for page 0. A service that counts from 0 answers with the first page. A
// service that counts from 1 refuses the request, answers with no rows, or answers with page 1. Asking for
// page 1 next is right in each case, because rows that were seen before are left out.
type walk struct {
	opts     ListOptions
	ahead    *reader
	started  bool
	page     int // the page to ask for next
	base     PageBase
	first    int   // the number of the first page
	total    int64 // the smallest total so far
	most     int64 // the largest total so far
	pages    int64 // the largest page_count so far, so that a smaller one hides nothing
	lastPage int64 // the number of the last page, according to the page before
	seen     int64
	stale    int // consecutive pages, up to the last one read, without a new row
	empty    int // the same for pages without any row
	recent   recent
}

// next returns the new rows of the next page, and whether there may be another page.
func (w *walk) next() (items []Withdrawal, more bool, err error) {
	got, err := w.read()
	if err != nil {
		if !w.started || !mayMeanNoSuchPage(err) {
			return nil, false, err
		}
		if w.pastTheEnd() {
			return nil, false, nil
		}
		items, err = w.shorter(err)
		return items, false, err
	}
	if !w.started {
		w.started, w.first, w.total = true, w.page, got.Total
	}
	steady := got.Total == w.total
	items = w.take(got)
	w.learn(len(got.Items), len(items), got.Total, steady)
	w.lastPage = w.last(got.PageCount)
	w.stale, w.empty = inARow(w.stale, len(items) == 0), inARow(w.empty, got.empty())
	if more = w.more(got); !more {
		return items, false, nil
	}
	if w.stale == mostStale {
		return nil, false,
			&Error{Op: "list withdrawals", Outcome: Failed,
				Err: fmt.Errorf("it says that it has %d pages, and %d in a row had nothing new on them",
					w.pages, w.stale)}
	}
	w.page++
	if w.base != PageBaseAuto && got.size <= largeAnswer {
		w.ahead.want(w.page, w.last(w.pages))
	}
	return items, true, nil
}

// take passes a page to OnPage, and returns its new rows.
func (w *walk) take(got WithdrawalPage) []Withdrawal {
	if w.opts.OnPage != nil {
		w.opts.OnPage(got)
	}
	items := w.recent.fresh(got.Items)
	w.seen += int64(len(items))
	w.total, w.most, w.pages = min(w.total, got.Total), max(w.most, got.Total), max(w.pages, got.PageCount)
	return items
}

// inARow returns n+1 if the condition holds again, and otherwise 0.
func inARow(n int, so bool) int {
	if !so {
		return 0
	}
	return n + 1
}

// mostStale is how many consecutive pages may have no new rows. There is one if the service answers a number
// that is too small with its first page, and a few if rows shift. A service that continues like this has no
// end.
const mostStale = 100

// read asks for the page, and finds the first page.
func (w *walk) read() (WithdrawalPage, error) {
	if w.started {
		return w.ahead.page(w.page)
	}
	w.base = w.opts.FirstPage
	if w.base == PageBaseOne {
		w.page = 1
	}
	zero, err := w.ahead.page(w.page)
	if w.base != PageBaseAuto || !zero.empty() || err != nil && !mayMeanNoSuchPage(err) {
		return zero, err
	}
	// Page 0 was refused or is empty. Even if it said that the list is empty, the service may answer this way
	// for a page that does not exist, and taking a list for empty can cause a double payment.
	one, errOne := w.ahead.page(1)
	if errOne == nil && err == nil && zero.Total == 0 && !one.empty() {
		// The list may also have been empty until a moment ago.
		if zero, err = w.ahead.page(0); err != nil || !zero.empty() {
			return zero, err
		}
	}
	switch {
	case errOne == nil:
		w.page, w.base = 1, PageBaseOne
		return one, nil
	case !mayMeanNoSuchPage(errOne):
		// This proves nothing: it is still unknown whether page 0 was refused because of its number.
	case err != nil:
		return zero, err // the call itself was wrong, and this is the service's error
	case zero.Total == 0:
		return zero, nil
	}
	return one, errOne
}

// learn finds the base from pages 0 and 1. Rows made in between can make one base look like the other. Then
// the base stays unknown, which costs one more page at the end but misses none.
func (w *walk) learn(all, fresh int, total int64, steady bool) {
	switch {
	// If more rows were seen than the total, the total is wrong.
	case w.base != PageBaseAuto || w.page != 1 || !steady || w.seen > total:
	case fresh == 0:
		w.base = PageBaseOne
	case fresh == all:
		w.base = PageBaseZero
	}
}

// more reports whether to ask for the page after this one. Unless the base is known to be zero, the last page
// has the number page_count. If page_count and total contradict each other, the larger one counts, until the
// pages show that it is wrong: one empty page or two pages without new rows beyond page_count, or two empty
// pages after total withdrawals were read. A total smaller than the number of rows read says nothing, and the
// list ends where its pages end.
func (w *walk) more(got WithdrawalPage) bool {
	if w.base == PageBaseAuto && w.page == 0 && w.seen == got.Total && got.PageCount <= 1 {
		return false // the page has everything, whatever its number is
	}
	promised, missing := int64(w.page) < w.last(w.pages), w.seen != w.most
	switch {
	case promised && missing:
		return true
	case promised:
		return w.empty < 2
	}
	return missing && w.empty == 0 && w.stale < 2
}

// last returns the number of the last page for a page count, as far as the base is known.
func (w *walk) last(pages int64) int64 {
	if w.base == PageBaseZero {
		return pages - 1
	}
	return pages
}

// pastTheEnd reports whether the refusal of a page only means that the page before was the last: the service
// may count from 0, or only total implied this page. If withdrawals are still missing, or the service has
// said that this page exists, the refusal means more.
func (w *walk) pastTheEnd() bool {
	there := w.lastPage
	if w.base == PageBaseAuto {
		there--
	}
	return int64(w.page) > there && w.seen >= w.total || int64(w.page) == w.last(w.pages)+1
}

// shorter finds out whether a page was refused because the list has become shorter. If so, the list has
// ended, and shorter returns the new rows of the first page. Otherwise it returns the refusal as the error.
func (w *walk) shorter(refusal error) ([]Withdrawal, error) {
	again, err := w.ahead.page(w.first)
	if err != nil {
		return nil, refusal
	}
	there := w.last(again.PageCount)
	if w.base == PageBaseAuto {
		there--
	}
	if int64(w.page) <= there || again.PageCount >= w.pages && again.Total > w.seen {
		return nil, refusal
	}
	return w.take(again), nil
}

// recent remembers the ids of the previous pages. Withdrawals made while a list is read push others onto the
// next page, where they are not yielded again. It remembers two pages or recentIDs, whichever is more. So a
// long list takes no more memory than a short one.
type recent struct {
	pages [][]string
	ids   map[string]int // how many of pages an id is on
}

const recentIDs = 1000

// fresh leaves out rows that were seen before, and rows that are on this page twice.
func (r *recent) fresh(items []Withdrawal) []Withdrawal {
	if r.ids == nil {
		r.ids = make(map[string]int, len(items))
	}
	page := make([]string, len(items))
	fresh, shared := items, true // shared with OnPage, which may keep the page
	for n, item := range items {
		page[n] = item.ID
		r.ids[item.ID]++
		isNew := r.ids[item.ID] == 1
		switch {
		case shared && !isNew:
			fresh, shared = append(make([]Withdrawal, 0, len(items)), items[:n]...), false
		case !shared && isNew:
			fresh = append(fresh, item)
		}
	}
	r.pages = append(r.pages, page)
	for len(r.pages) > 2 && len(r.ids)-len(r.pages[0]) >= recentIDs {
		for _, id := range r.pages[0] {
			if r.ids[id]--; r.ids[id] == 0 {
				delete(r.ids, id)
			}
		}
		r.pages = r.pages[1:]
	}
	return fresh
}

// mayMeanNoSuchPage reports whether a refusal may be about the page's number. A 500 might be, but it may also
// be temporary, and then page 0 would be missed.
func mayMeanNoSuchPage(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 401, 403, 408, 429:
		return false
	}
	return e.Outcome == Rejected
}

// own returns a copy of the filter that shares nothing with the caller.
func (f WithdrawalFilter) own() WithdrawalFilter {
	f.Currencies, f.Tags = slices.Clone(f.Currencies), slices.Clone(f.Tags)
	return f
}

func (o ListOptions) pageSize() int {
	if o.PageSize == 0 {
		return DefaultPageSize
	}
	return o.PageSize
}
