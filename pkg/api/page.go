package api

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// WithdrawalFilter restricts a list of withdrawals. The zero value restricts nothing.
type WithdrawalFilter struct {
	From       string     `json:"from,omitzero"` // start of the period; the interface does not show the format, so it is sent as it is
	To         string     `json:"to,omitzero"`   // end of the period, likewise
	Currencies []Currency `json:"currencies"`    // empty: all
	Tags       []string   `json:"tags"`          // names of statuses; empty: all
}

// PageBase says which number the first page has, which the interface does not show.
type PageBase int

// The zero PageBase finds out from the answers.
const (
	PageBaseAuto PageBase = iota
	PageBaseZero
	PageBaseOne
)

// DefaultPageSize is how many withdrawals a list asks for at a time.
const DefaultPageSize = 100

// ListOptions steers how All reads pages.
type ListOptions struct {
	PageSize  int      // 0: DefaultPageSize
	FirstPage PageBase // the zero value finds out
	// OnPage, if set, is called with every page before its withdrawals are yielded.
	OnPage func(WithdrawalPage)
}

// WithdrawalPage is one page of a list.
type WithdrawalPage struct {
	Items     []Withdrawal // page_content
	PageCount int64        // how many pages there are
	Total     int64        // how many withdrawals match the filter
}

func (p *WithdrawalPage) decode(body []byte) error {
	var content, pages, total bool
	err := within(body, func(dec *jsontext.Decoder) error {
		return eachKey(dec, "page", func(key string) (err error) {
			switch key {
			case "page_content":
				content = true
				p.Items, err = list[Withdrawal](dec, body, key)
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
	})
	if err == nil && !(content && pages && total) {
		return errors.New("page_content, page_count and total belong in it")
	}
	return err
}

func checkPage(page, size int) error {
	if page < 0 {
		return invalid("page", "%d is negative", page)
	}
	if size < 1 {
		return invalid("page_size", "%d is less than 1", size)
	}
	return nil
}

// eachWithdrawal reads page after page. fetch gets the number of the page as the service counts.
//
// Withdrawals made while it reads push others onto the next page, so what stood on the two pages before is not yielded
// again. Comparing with those alone keeps the memory constant.
func eachWithdrawal(ctx context.Context, opts ListOptions, fetch func(page int) (WithdrawalPage, error)) iter.Seq2[Withdrawal, error] {
	return func(yield func(Withdrawal, error) bool) {
		w := walk{opts: opts, fetch: fetch}
		for {
			if err := ctx.Err(); err != nil {
				yield(Withdrawal{}, err)
				return
			}
			page, more, err := w.next()
			if err != nil {
				yield(Withdrawal{}, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}

// walk goes through the pages of a list whose first number may not be known.
//
// With an unknown base it asks for page 0. A service that counts from 0 answers with the first page. One that counts
// from 1 refuses it, answers with nothing, or answers with page 1; asking for page 1 next is right in each case, since
// what was seen before is left out.
type walk struct {
	opts     ListOptions
	fetch    func(page int) (WithdrawalPage, error)
	started  bool
	page     int
	base     PageBase
	seen     int64
	pages    int64 // page_count of the page before
	previous [2]map[string]struct{}
}

// next returns what is new on the next page, and whether there may be another page.
func (w *walk) next() (items []Withdrawal, more bool, err error) {
	if !w.started {
		w.started, w.base = true, w.opts.FirstPage
		if w.base == PageBaseOne {
			w.page = 1
		}
	}
	got, err := w.fetch(w.page)
	if err != nil && w.base == PageBaseAuto && w.page == 0 && mayMeanNoSuchPage(err) {
		first, asOne := err, error(nil)
		w.page, w.base = 1, PageBaseOne
		if got, asOne = w.fetch(1); asOne != nil {
			return nil, false, first // the call itself was wrong, and this is what the service said of it
		}
		err = nil
	}
	if err != nil && w.base == PageBaseAuto && w.page > 0 && int64(w.page) >= w.pages && mayMeanNoSuchPage(err) {
		return nil, false, nil // counting from 0, the page before was the last
	}
	if err != nil {
		return nil, false, err
	}
	w.pages = got.PageCount
	if w.opts.OnPage != nil {
		w.opts.OnPage(got)
	}
	items = w.fresh(got.Items)
	w.seen += int64(len(items))
	w.learn(len(got.Items), len(items), got)
	more = w.more(got)
	w.page++
	return items, more, nil
}

// learn finds the base from pages 0 and 1.
func (w *walk) learn(all, fresh int, got WithdrawalPage) {
	switch {
	case w.base != PageBaseAuto:
	case w.page == 0 && all == 0 && got.Total > 0:
		w.base = PageBaseOne
	case w.page == 1 && all > 0 && fresh == 0:
		w.base = PageBaseOne
	case w.page == 1 && fresh == all:
		w.base = PageBaseZero
	}
}

// more reports whether a page stands after this one. Unless the base is known to be zero, the last page has the number
// page_count.
func (w *walk) more(got WithdrawalPage) bool {
	last := got.PageCount
	if w.base == PageBaseZero {
		last--
	}
	if w.base == PageBaseAuto && w.page == 0 && w.seen >= got.Total {
		return false // everything was on this page, whatever its number is
	}
	return int64(w.page) < last && (len(got.Items) > 0 || w.page == 0)
}

// fresh leaves out what stood on one of the two pages before, or twice on this one.
func (w *walk) fresh(items []Withdrawal) []Withdrawal {
	ids := make(map[string]struct{}, len(items))
	fresh := items[:0]
	for _, item := range items {
		_, a := w.previous[0][item.ID]
		_, b := w.previous[1][item.ID]
		_, c := ids[item.ID]
		ids[item.ID] = struct{}{}
		if !a && !b && !c {
			fresh = append(fresh, item)
		}
	}
	w.previous[0], w.previous[1] = w.previous[1], ids
	return fresh
}

// mayMeanNoSuchPage tells a refusal that could be about the page's number from one that could not.
func mayMeanNoSuchPage(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 0, 401, 403, 429, 502, 503, 504:
		return false
	}
	return e.Status >= 400
}

func pageQuery(id string, page, size int) string {
	return query("id", id, "page", strconv.Itoa(page), "page_size", strconv.Itoa(size))
}

func (o ListOptions) pageSize() int {
	if o.PageSize == 0 {
		return DefaultPageSize
	}
	return o.PageSize
}
