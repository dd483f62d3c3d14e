package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
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
func (f *WithdrawalFilter) UnmarshalJSON(b []byte) error { return unmarshal(b, (*filterFields)(f)) }

type filterFields WithdrawalFilter // without the methods

// PageBase says which number the first page has. The interface does not show it.
type PageBase int

// These are the values of PageBase. With the zero value, the client finds out from the answers. This costs
// one request if the service counts from 1 or the list is empty. If the service neither answers page 0 nor
// refuses it with a 4xx and the envelope, set one of the others.
const (
	PageBaseAuto PageBase = iota
	PageBaseZero
	PageBaseOne
)

// DefaultPageSize is how many withdrawals a page has by default.
const DefaultPageSize = 100

// ListOptions controls how All reads pages.
type ListOptions struct {
	PageSize  int // 0: DefaultPageSize
	FirstPage PageBase
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
	}{content, p.PageCount, p.Total}, lenient...)
}

// UnmarshalJSON reads what List reads. An unreadable record is an error.
func (p *WithdrawalPage) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

func (p *WithdrawalPage) read(r *reader) error { return p.readWith(r, (*rows)(&p.Items)) }

// readWith reads a page whose records content reads.
func (p *WithdrawalPage) readWith(r *reader, content value) error {
	p.size = len(r.body)
	return r.object(member{"page_content", content, true}, member{"page_count", (*natural)(&p.PageCount), true},
		member{"total", (*natural)(&p.Total), true})
}

// rows are the records of a page, or null for an empty list, as many programs write it.
type rows []Withdrawal

func (v *rows) read(r *reader) error {
	*v = make(rows, 0, min(bytes.Count(r.body, []byte(`"merchant_id"`)), maxRows)) // about as many as it has
	return elements(r, maxRows, (*[]Withdrawal)(v))
}

// all reads a list. The requests share nothing with the caller.
func (c *Client) all(
	ctx context.Context, filter WithdrawalFilter, opts ListOptions,
	list func(filter WithdrawalFilter, page, size int) request,
) iter.Seq2[Withdrawal, error] {
	filter.Currencies, filter.Tags = slices.Clone(filter.Currencies), slices.Clone(filter.Tags)
	return eachWithdrawal(ctx, opts, func(ctx context.Context, page int) (func() (WithdrawalPage, error), error) {
		r := list(filter, page, cmp.Or(opts.PageSize, DefaultPageSize))
		body, err := c.exchange(ctx, r)
		return func() (WithdrawalPage, error) { return open[WithdrawalPage](c, r, body) }, err
	})
}

// eachWithdrawal reads the list page after page until two pages in a row have no new withdrawal, or as many
// as the service counts are there, in as many pages, and the last of them is not full: the counts may be wrong.
// If the service counts more than on the first page, new withdrawals may have pushed as many rows of the pages
// before onto the next ones, and it goes on past the last page or to an empty one. fetch gets the page number
// as the service counts.
func eachWithdrawal(ctx context.Context, opts ListOptions, fetch fetchPage) iter.Seq2[Withdrawal, error] {
	return func(yield func(Withdrawal, error) bool) {
		ahead := newPager(ctx, fetch)
		defer ahead.stop()
		first, got, err := firstPage(opts.FirstPage, ahead.page, func(WithdrawalPage) bool { return false })
		recent := recent{before: map[string]bool{}, now: map[string]bool{}}
		pages, last := 0, false // last: as many pages as the service counts were read
		total := got.Total
		for err == nil {
			if opts.OnPage != nil {
				opts.OnPage(got)
			}
			if got.size <= largeAnswer {
				ahead.want(first+pages+1, int64(first)+got.PageCount-1)
			}
			if !recent.pass(got.Items, yield) {
				return
			}
			pages++
			last = int64(pages) >= got.PageCount
			pushed := got.Total > total && int64(pages) <= got.PageCount
			if recent.ends(got, opts, last, pushed) {
				return
			}
			got, err = ahead.page(first + pages)
		}
		if !last || !mayMeanNoSuchPage(err) { // a page after the last one may be refused
			yield(Withdrawal{}, err)
		}
	}
}

// ends reports whether the list ends with a page. last: as many were read as the service counts; pushed: rows may have
// been pushed onto the next ones.
func (r *recent) ends(page WithdrawalPage, opts ListOptions, last, pushed bool) bool {
	// A page 0 without rows proves nothing if the service may count from 1.
	complete := r.all == page.Total && (r.all > 0 || opts.FirstPage != PageBaseAuto)
	return r.stale >= 2 && (!pushed || len(page.Items) == 0) ||
		last && complete && len(page.Items) < cmp.Or(opts.PageSize, DefaultPageSize)
}

// firstPage returns the first page and its number. If that is unknown, it asks for page 0. A service that
// counts from 1 refuses this, answers with no rows, or answers with page 1. Asking for page 1 next is right
// in each case, because rows that were seen before are left out. empty reports whether to ask for it at once.
func firstPage[T any](base PageBase, get func(page int) (T, error), empty func(T) bool) (int, T, error) {
	if base == PageBaseOne {
		one, err := get(1)
		return 1, one, err
	}
	zero, err := get(0)
	if base == PageBaseZero || err == nil && !empty(zero) || err != nil && !mayMeanNoSuchPage(err) {
		return 0, zero, err
	}
	one, errOne := get(1)
	if mayMeanNoSuchPage(errOne) { // page 0 was the first, or the call itself is wrong
		return 0, zero, err
	}
	return 1, one, errOne
}

// recent remembers the ids of the previous pages. Withdrawals made while a list is read push others onto the
// next page, where they are not yielded again. It remembers at least the previous page and recentIDs, and not
// many more. So a long list takes no more memory than a short one.
type recent struct {
	before, now map[string]bool
	all         int64 // how many were new
	stale       int   // how many pages in a row had none
}

const recentIDs = 1000

// pass yields the new withdrawals of a page, and reports whether yield wants more.
func (r *recent) pass(page []Withdrawal, yield func(Withdrawal, error) bool) bool {
	r.stale++
	for _, w := range page {
		known := r.now[w.ID] || r.before[w.ID]
		if r.now[w.ID] = true; known {
			continue
		}
		if r.all, r.stale = r.all+1, 0; !yield(w, nil) {
			return false
		}
	}
	if len(r.now) >= recentIDs {
		r.before, r.now = r.now, r.before
		clear(r.now)
	}
	return true
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
