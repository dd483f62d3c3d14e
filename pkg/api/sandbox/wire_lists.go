package sandbox

import (
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// A filter is what a list request narrows its answer to.
type filter struct {
	from, to   time.Time // zero: open; to is the first moment that is outside
	currencies []string
	tags       []string
}

// readFilter reads the filter of section 2.3. Where no filter is specified, as
// for a reseller's invoices, the same one serves with every field optional.
func (s *rules) readFilter(in *object, statuses []string, arraysRequired bool) filter {
	var f filter
	f.from = s.readTime(in, "from")
	f.to = s.readTime(in, "to")
	if !f.from.IsZero() && !f.to.IsZero() && f.from.After(f.to) && s.reversedPeriod == "reject" {
		in.failAt("from", "is later than to; swap them")
	}
	if !f.to.IsZero() && s.periodEnd == "inclusive" {
		f.to = f.to.Add(time.Nanosecond)
	}
	if in.has("currencies") || arraysRequired {
		for i, raw := range in.array("currencies") {
			code := s.readFilterCurrency(in, i, raw)
			if !slices.Contains(f.currencies, code) {
				f.currencies = append(f.currencies, code)
			}
		}
	}
	if in.has("tags") || arraysRequired {
		for _, raw := range in.array("tags") {
			tag, ok := asString(raw)
			if !ok || !slices.Contains(statuses, tag) && s.unknownInFilter == "reject" {
				in.failAt("tags", "holds %s, which is not a status; the statuses are %s", refusal.Shorten(string(raw)), strings.Join(statuses, ", "))
			}
			if !slices.Contains(f.tags, tag) {
				f.tags = append(f.tags, tag)
			}
		}
	}
	return f
}

// readFilterCurrency returns the code of a currency to filter by. One that matches
// nothing is empty.
func (s *rules) readFilterCurrency(in *object, i int, raw json.RawMessage) string {
	one := in.element("currencies", i, raw)
	if s.unknownInFilter == "reject" || *in.err != nil {
		return one.union().Code
	}
	c := one.union()
	if f, ok := errors.AsType[*refusal.Error](*in.err); ok && f.Kind == refusal.UnknownCurrency {
		*in.err = nil
	}
	return c.Code
}

func (s *rules) readTime(in *object, key string) time.Time {
	if !in.has(key) {
		return time.Time{}
	}
	text := in.text(key)
	t, err := time.ParseInLocation(s.timeLayout, text, time.UTC)
	if err != nil && s.filterTimes == "either" {
		t, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		in.failAt(key, "is %q, which is not a time; write it like %s", refusal.Shorten(text), time.Date(2026, 5, 31, 23, 59, 59, 0, time.UTC).Format(s.timeLayout))
	}
	return t
}

// A paging is the page that a list request asks for.
type paging struct{ page, size int64 }

func (s *rules) readPaging(q *query) paging {
	p := paging{q.integer("page", s.firstPage), q.integer("page_size", s.defaultPageSize)}
	switch {
	case p.size == 0:
		q.fail("The query parameter page_size is 0; ask for at least 1 item.")
	case p.size > s.maxPageSize && s.pageSizeTooLarge == "clamp":
		p.size = s.maxPageSize
	case p.size > s.maxPageSize:
		q.fail("The query parameter page_size is %d; ask for at most %d.", p.size, s.maxPageSize)
	}
	return p
}

// A pageOf is the answer of a list: the records of one page, copied, and how
// many there are in all.
type pageOf[R any] struct {
	records []R
	pages   int64
	total   int64
}

// A pageView is the answer of a list on the wire, section 2.4.
type pageView[V any] struct {
	Content []V   `json:"page_content"`
	Pages   int64 `json:"page_count"`
	Total   int64 `json:"total"`
}

func viewPage[R, V any](p pageOf[R], view func(*R) V) pageView[V] {
	content := make([]V, len(p.records))
	for i := range p.records {
		content[i] = view(&p.records[i])
	}
	return pageView[V]{content, p.pages, p.total}
}

// listed is a record in a list.
type listed interface {
	store.Dated
	CurrencyCode() string
}

// pick finds one page in records, which are in order of creation. The period is
// found by halving and the page by its number, so a page costs what is on it;
// only a filter by currency or status looks at every record of the period.
func pick[R any, P interface {
	*R
	listed
}](s *rules, records []P, f filter, p paging, tagged func(P, []string) bool) (pageOf[R], error) {
	records = within(records, f)
	if len(f.currencies) > 0 || len(f.tags) > 0 {
		var matching []P
		for _, r := range records {
			if (len(f.currencies) == 0 || slices.Contains(f.currencies, r.CurrencyCode())) &&
				(len(f.tags) == 0 || tagged(r, f.tags)) {
				matching = append(matching, r)
			}
		}
		records = matching
	}

	total := int64(len(records))
	answer := pageOf[R]{total: total, pages: s.emptyPageCount, records: []R{}}
	if total > 0 {
		answer.pages = (total-1)/p.size + 1
	}
	last := max(answer.pages-1, 0)
	number := p.page - s.firstPage // from 0, whatever the base
	if number < 0 || number > last {
		switch s.pageOutOfRange {
		case "empty":
			return answer, nil
		case "reject":
			return answer, refusal.New(refusal.PageOutOfRange, "There is no page %d; the pages are %d to %d.", p.page, s.firstPage, last+s.firstPage)
		}
		number = min(max(number, 0), last)
	}
	start := number * p.size
	end := min(start+p.size, total)
	for i := start; i < end; i++ {
		if s.listOrder == "newest" {
			answer.records = append(answer.records, *records[total-1-i])
		} else {
			answer.records = append(answer.records, *records[i])
		}
	}
	return answer, nil
}

// within cuts records down to the filter's period.
func within[R store.Dated](records []R, f filter) []R {
	low, high := 0, len(records)
	if !f.from.IsZero() {
		low = sort.Search(high, func(i int) bool { return !records[i].MadeAt().Before(f.from) })
	}
	if !f.to.IsZero() {
		high = sort.Search(high, func(i int) bool { return !records[i].MadeAt().Before(f.to) })
	}
	return records[low:max(low, high)]
}
