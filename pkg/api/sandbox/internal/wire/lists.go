package wire

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

type Filter struct {
	from, to   time.Time // zero: no limit; to itself is excluded
	currencies []string
	tags       []string
}

// ReadFilter reads the filter of section 2.3. The interface specifies no filter for a reseller's invoices;
// they use the same one with every field optional.
func (s *Rules) ReadFilter(in *Object, statuses []string, arraysRequired bool) Filter {
	var f Filter
	f.from = s.readTime(in, "from")
	f.to = s.readTime(in, "to")
	if !f.from.IsZero() && !f.to.IsZero() && f.from.After(f.to) && s.ReversedPeriod == "reject" {
		in.FailAt("from", "is later than to; swap them")
	}
	if !f.to.IsZero() && s.PeriodEnd == "inclusive" {
		f.to = f.to.Add(time.Nanosecond)
	}
	if in.Has("currencies") || arraysRequired {
		for i, raw := range in.Array("currencies") {
			c := in.Element("currencies", i, raw).union()
			refused, ok := errors.AsType[*refusal.Error](*in.Err)
			if ok && refused.Kind == refusal.UnknownCurrency && s.UnknownInFilter == "no_match" {
				*in.Err = nil // no record has the currency ""
			}
			f.currencies = append(f.currencies, c.Code)
		}
	}
	if in.Has("tags") || arraysRequired {
		f.tags = s.readTags(in, statuses)
	}
	return f
}

func (s *Rules) readTags(in *Object, statuses []string) (tags []string) {
	for _, raw := range in.Array("tags") {
		tag, ok := AsString(raw)
		if !ok || !slices.Contains(statuses, tag) && s.UnknownInFilter == "reject" {
			in.FailAt("tags", "holds %s, which is not a status; the statuses are %s", refusal.Shorten(string(raw)),
				strings.Join(statuses, ", "))
		}
		tags = append(tags, tag)
	}
	return tags
}

// Hide excludes the records that are younger than an age.
func (f *Filter) Hide(age time.Duration, now time.Time) {
	if age <= 0 {
		return
	}
	if end := now.Add(-age).Add(time.Nanosecond); f.to.IsZero() || end.Before(f.to) {
		f.to = end
	}
}

func (s *Rules) readTime(in *Object, key string) time.Time {
	if !in.Has(key) {
		return time.Time{}
	}
	text := in.Text(key)
	t, err := time.ParseInLocation(s.TimeLayout, text, time.UTC)
	if err != nil && s.FilterTimes == "either" {
		t, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		in.FailAt(key, "is %q, which is not a time; write it like %s", refusal.Shorten(text),
			time.Date(2026, 5, 31, 23, 59, 59, 0, time.UTC).Format(s.TimeLayout))
	}
	return t
}

type Paging struct{ page, size int64 }

func (s *Rules) ReadPaging(q *Query) Paging {
	p := Paging{q.Integer("page", s.FirstPage), q.Integer("page_size", s.DefaultPageSize)}
	switch {
	case p.size == 0:
		q.Fail("The query parameter page_size is 0; ask for at least 1 item.")
	case p.size > s.MaxPageSize && s.PageSizeTooLarge == "clamp":
		p.size = s.MaxPageSize
	case p.size > s.MaxPageSize:
		q.Fail("The query parameter page_size is %d; ask for at most %d.", p.size, s.MaxPageSize)
	}
	return p
}

// A Page is the answer of a list, section 2.4.
type Page[V any] struct {
	Content []V   `json:"page_content"`
	Pages   int64 `json:"page_count"`
	Total   int64 `json:"total"`
}

// A Record is what a list has.
type Record interface {
	store.Dated
	CurrencyCode() string
}

// Pick returns the views of one page of records, which must be in order of creation. It finds the period by
// binary search and the page by its number, so the cost is that of one page. Only a filter by currency or
// status reads every record of the period.
func Pick[R Record, V any](
	s *Rules, records []R, f Filter, p Paging, tagged func(R, []string) bool, view func(R) V,
) (Page[V], error) {
	before := func(t time.Time) int {
		return sort.Search(len(records), func(i int) bool { return !records[i].MadeAt().Before(t) })
	}
	low, high := 0, len(records)
	if !f.from.IsZero() {
		low = before(f.from)
	}
	if !f.to.IsZero() {
		high = before(f.to)
	}
	records = records[low:max(low, high)]
	if len(f.currencies) > 0 || len(f.tags) > 0 {
		var matching []R
		for _, r := range records {
			if (len(f.currencies) == 0 || slices.Contains(f.currencies, r.CurrencyCode())) &&
				(len(f.tags) == 0 || tagged(r, f.tags)) {
				matching = append(matching, r)
			}
		}
		records = matching
	}

	total := int64(len(records))
	answer := Page[V]{Content: []V{}, Pages: s.EmptyPageCount, Total: total}
	if total > 0 {
		answer.Pages = (total-1)/p.size + 1
	}
	last := max(answer.Pages-1, 0)
	number := p.page - s.FirstPage // from 0, whatever FirstPage is
	if number < 0 || number > last {
		switch s.PageOutOfRange {
		case "empty":
			return answer, nil
		case "reject":
			return answer,
				refusal.New(refusal.PageOutOfRange, "There is no page %d; the pages are %d to %d.", p.page, s.FirstPage,
					last+s.FirstPage)
		}
		number = min(max(number, 0), last)
	}
	start := number * p.size
	for i := start; i < min(start+p.size, total); i++ {
		at := i
		if s.ListOrder == "newest" {
			at = total - 1 - i
		}
		answer.Content = append(answer.Content, view(records[at]))
	}
	return answer, nil
}
