package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// collect reads a list to its end or to its error.
func collect(list iter.Seq2[Withdrawal, error]) (ids []string, err error) {
	for w, e := range list {
		if err != nil {
			return ids, errors.New("it went on after an error")
		}
		if err = e; err == nil {
			ids = append(ids, w.ID)
		}
	}
	return ids, err
}

// A shelf is a list of withdrawals, newest first, as a service may keep it.
type shelf struct {
	ids  []string
	base int
	// outside is the answer to a page that does not exist: empty, reject, clamp, or blank (empty with a total
	// of 0).
	outside string
	made    int
	asked   []int
	mu      sync.Mutex // pages are read ahead, concurrently
}

var outsides = []string{"empty", "reject", "clamp", "blank"}

func newShelf(n, base int, outside string) *shelf {
	s := &shelf{base: base, outside: outside}
	for i := range n {
		s.ids = append(s.ids, fmt.Sprint(i))
	}
	return s
}

// everyShelf runs a test with shelves of n withdrawals of every kind, and with a base that is known or not.
func everyShelf(n int, test func(s *shelf, first PageBase, what string)) {
	for base, known := range []PageBase{PageBaseZero, PageBaseOne} {
		for _, outside := range outsides {
			for _, first := range []PageBase{PageBaseAuto, known} {
				test(newShelf(n, base, outside), first, fmt.Sprintf("base %d (%d given), %s", base, first, outside))
			}
		}
	}
}

var errNoSuchPage = &Error{Op: "list withdrawals", Outcome: Rejected, Status: 400, Reason: "page_out_of_range"}

func (s *shelf) page(number, size int) (WithdrawalPage, error) {
	s.asked = append(s.asked, number)
	pages := (len(s.ids) + size - 1) / size
	index := number - s.base
	if index < 0 || index >= max(pages, 1) {
		switch s.outside {
		case "reject":
			return WithdrawalPage{}, errNoSuchPage
		case "clamp":
			index = min(max(index, 0), max(pages-1, 0))
		case "blank":
			return WithdrawalPage{}, nil
		default:
			return WithdrawalPage{PageCount: int64(pages), Total: int64(len(s.ids))}, nil
		}
	}
	page := WithdrawalPage{PageCount: int64(pages), Total: int64(len(s.ids))}
	for _, id := range s.ids[min(index*size, len(s.ids)):min(index*size+size, len(s.ids))] {
		page.Items = append(page.Items, Withdrawal{ID: id})
	}
	return page, nil
}

// walk reads the shelf. change, if it is not nil, may change each page.
func (s *shelf) walk(
	first PageBase, size int, change func(number int, page *WithdrawalPage, err error) error,
) ([]string, error) {
	got, err := collect(eachWithdrawal(context.Background(), ListOptions{FirstPage: first, PageSize: size},
		fetching(func(number int) (WithdrawalPage, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			page, err := s.page(number, size)
			if change != nil {
				err = change(number, &page, err)
			}
			return page, err
		})))
	slices.Sort(s.asked)
	return got, err
}

// TestWalkAtRandom tests many lists, bases, answers and sizes, with withdrawals made between the pages. The
// random numbers are always the same.
func TestWalkAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 9))
	for range 20_000 {
		s := newShelf(random.IntN(13), random.IntN(2), outsides[random.IntN(4)])
		size := 1 + random.IntN(4)
		start := slices.Clone(s.ids)
		first := PageBaseAuto
		if random.IntN(3) == 0 {
			first = []PageBase{PageBaseZero, PageBaseOne}[s.base]
		}
		rate := []int{0, 0, 1, 2, 6}[random.IntN(5)]
		got, err := s.walk(first, size, func(_ int, _ *WithdrawalPage, err error) error {
			if len(s.asked) > 200 {
				return errors.New("it does not end")
			}
			if len(s.asked) <= 10 && rate > 0 {
				for range random.IntN(rate + 1) {
					s.made++
					s.ids = slices.Insert(s.ids, 0, fmt.Sprintf("new-%d", s.made))
				}
			}
			return err
		})
		what := fmt.Sprintf("%d withdrawals, pages of %d, base %d (%d given), %s, %d made, asked for %v", len(start), size,
			s.base, first, s.outside, s.made, s.asked)
		missing := slices.DeleteFunc(slices.Clone(start), func(id string) bool { return slices.Contains(got, id) })
		if err != nil || rate == 0 && !slices.Equal(got, start) || len(missing) > 0 {
			t.Fatalf("%s: got %v, %v, without %v", what, got, err, missing)
		}
		if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%s: one came twice: %v", what, got)
		}
	}
}

// TestWalkAsksForNoMoreThanItNeeds checks which pages the walk of a list that does not change asks for: one
// more than there are after a full one, and one to find the base. A total that is too large costs only the two
// pages that disprove it.
func TestWalkAsksForNoMoreThanItNeeds(t *testing.T) {
	for _, tt := range []struct {
		base    int
		outside string
		n       int
		first   PageBase
		total   int64 // 0: n
		asked   []int
	}{
		{0, "reject", 5, PageBaseAuto, 0, []int{0, 1, 2}},
		{0, "reject", 6, PageBaseAuto, 0, []int{0, 1, 2, 3}},
		{1, "reject", 5, PageBaseAuto, 0, []int{0, 1, 2, 3}},
		{1, "empty", 6, PageBaseAuto, 0, []int{0, 1, 2, 3, 4}},
		{1, "clamp", 6, PageBaseAuto, 0, []int{0, 1, 2, 3, 4, 5}}, // it shows the last page again, twice
		{0, "clamp", 1, PageBaseAuto, 0, []int{0}},
		{1, "clamp", 1, PageBaseAuto, 0, []int{0}},
		{1, "reject", 2, PageBaseAuto, 0, []int{0, 1, 2}},
		{0, "reject", 0, PageBaseAuto, 0, []int{0, 1}}, // an empty page 0 is no proof
		{0, "reject", 6, PageBaseZero, 0, []int{0, 1, 2, 3}},
		{1, "reject", 5, PageBaseOne, 0, []int{1, 2, 3}},
		{0, "reject", 0, PageBaseZero, 0, []int{0}},
		{1, "reject", 0, PageBaseOne, 0, []int{1}},
		{0, "reject", 6, PageBaseAuto, 100, []int{0, 1, 2, 3}},
		{0, "empty", 6, PageBaseAuto, 100, []int{0, 1, 2, 3, 4}},
		{0, "clamp", 6, PageBaseAuto, 100, []int{0, 1, 2, 3, 4}},
	} {
		s := newShelf(tt.n, tt.base, tt.outside)
		got, err := s.walk(tt.first, 2, func(_ int, page *WithdrawalPage, err error) error {
			page.Total = cmp.Or(tt.total, page.Total)
			return err
		})
		if err != nil || !slices.Equal(got, s.ids) || !slices.Equal(s.asked, tt.asked) {
			t.Errorf("%+v: got %v, %v, asked for %v", tt, got, err, s.asked)
		}
	}
}

// TestWalkErrors checks that errors end the list and are returned, except for an error about a missing page.
func TestWalkErrors(t *testing.T) {
	down := &Error{Outcome: Failed, Status: 500}
	refused := &Error{Outcome: Rejected, Status: 422, Reason: "filter"}
	key := &Error{Outcome: Rejected, Status: 403}
	for _, tt := range []struct {
		name  string
		first PageBase
		at    map[int]error
		n     int // there
		got   int // before the error
		want  error
	}{
		{"page 0 in a bad moment", PageBaseAuto, map[int]error{0: down}, 6, 0, down},
		{"the key is refused", PageBaseAuto, map[int]error{0: key}, 6, 0, key},
		{"both pages refused: the first reason counts", PageBaseAuto, map[int]error{0: refused, 1: errNoSuchPage}, 6, 0,
			refused},
		{"page 0 refused, page 1 in a bad moment: it may only count from 1", PageBaseAuto, map[int]error{0: refused, 1: down},
			6, 0, down},
		{"page 0 of a given base", PageBaseZero, map[int]error{0: refused}, 6, 0, refused},
		{"in the middle", PageBaseAuto, map[int]error{1: refused}, 6, 2, refused},
		{"at the end", PageBaseAuto, map[int]error{2: refused}, 6, 4, refused},
		{"at the end of a given base", PageBaseZero, map[int]error{2: errNoSuchPage}, 6, 4, errNoSuchPage},
		{"after an empty page 0: there may be more", PageBaseAuto, map[int]error{1: down}, 0, 0, down},
	} {
		got, err := newShelf(tt.n, 0, "").walk(tt.first, 2, func(number int, _ *WithdrawalPage, err error) error {
			return cmp.Or(tt.at[number], err)
		})
		if len(got) != tt.got || err != tt.want {
			t.Errorf("%s: got %v, %v, want %d and %v", tt.name, got, err, tt.got, tt.want)
		}
	}
}

func TestAllStopsWhenToldTo(t *testing.T) {
	b := newBench(t)
	for n := range 10 {
		b.payout(b.client, n+1)
	}
	opts := ListOptions{PageSize: 2, FirstPage: PageBaseOne}
	b.sent = nil
	for range b.client.Withdrawals.All(context.Background(), WithdrawalFilter{}, opts) {
		break
	}
	if len(b.sent) != 1 { // a caller who stops on the first page asks for no other
		t.Errorf("after a break: %v", b.sent)
	}
	var err error
	yielded := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.sent = nil
	for _, err = range b.client.Withdrawals.All(ctx, WithdrawalFilter{}, opts) {
		yielded++
		cancel()
	}
	if e := failure(t, err); !errors.Is(err, context.Canceled) || e.Outcome != Failed || yielded != 3 {
		t.Errorf("after a cancel: %v, %d yielded, %v", err, yielded, b.sent)
	}
}

// TestWalkAsksInOrder checks that a page is asked for only after the page before has been answered, because a
// withdrawal made in between pushes a row from the page before onto it. Decoding does not delay the next
// page.
func TestWalkAsksInOrder(t *testing.T) {
	s := newShelf(20, 0, "")
	var under atomic.Int32
	decoding := make(chan struct{})
	got, err := collect(eachWithdrawal(context.Background(), ListOptions{FirstPage: PageBaseZero},
		func(_ context.Context, number int) (func() (WithdrawalPage, error), error) {
			if under.Add(1) > 1 {
				t.Error("two pages were asked for at the same time")
			}
			page, err := s.page(number, 2)
			under.Add(-1)
			if number == 3 { // requested while page 2 is still being decoded
				close(decoding)
			}
			return func() (WithdrawalPage, error) {
				if number == 2 {
					<-decoding
				}
				return page, nil
			}, err
		}))
	if err != nil || !slices.Equal(got, s.ids) || !slices.IsSorted(s.asked) {
		t.Errorf("got %v, %v, asked for %v", got, err, s.asked)
	}
}

// fetching returns a fetchPage for a function that returns a page at once.
func fetching(fetch func(page int) (WithdrawalPage, error)) fetchPage {
	return func(_ context.Context, page int) (func() (WithdrawalPage, error), error) {
		got, err := fetch(page)
		return func() (WithdrawalPage, error) { return got, nil }, err
	}
}

// TestAllKeepsItsOwnOptions checks that a list can be read twice, with the options and the filter that it was
// made with.
func TestAllKeepsItsOwnOptions(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.payout(b.client, 1)
	filter := WithdrawalFilter{Currencies: []Currency{{Crypto, "Btc"}}, Tags: []string{"New"}}
	list := b.client.Withdrawals.All(ctx, filter, ListOptions{})
	filter.Currencies[0].Code, filter.Tags[0] = "Eth", "Failed"
	for range 2 {
		if got, err := collect(list); len(got) != 1 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestWalkTakesConstantMemory(t *testing.T) {
	const size, pages = 50, 4000
	list := eachWithdrawal(context.Background(), ListOptions{}, fetching(func(page int) (WithdrawalPage, error) {
		got := WithdrawalPage{PageCount: pages, Total: size * pages}
		for i := range size {
			got.Items = append(got.Items, Withdrawal{ID: fmt.Sprintf("%d-%s", page*size+i, strings.Repeat("x", 50))})
		}
		return got, nil
	}))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early, late uint64
	seen := 0
	for _, err := range list {
		check(t, err)
		switch seen++; seen {
		case 100 * size:
			early = heap()
		case pages * size:
			late = heap()
		}
		if seen > pages*size {
			return // the list has no end
		}
	}
	if late == 0 || late > early+(1<<20) {
		t.Errorf("%d yielded, %d bytes after 100 pages and %d at the end", seen, early, late)
	}
}

// TestWalkWhereTheNumbersAreWrong checks that a list is read to the last page that the service mentions, while
// withdrawals are missing to total, and past a full page, with either base: taking such a list for complete can cause a double payment. A
// page_count that is far too large is believed for at most two empty pages.
func TestWalkWhereTheNumbersAreWrong(t *testing.T) {
	ofThePage := func(p *WithdrawalPage, _ int) { p.Total = int64(len(p.Items)) }
	total := func(n int64) func(*WithdrawalPage, int) { return func(p *WithdrawalPage, _ int) { p.Total = n } }
	pages := func(n int64) func(*WithdrawalPage, int) { return func(p *WithdrawalPage, _ int) { p.PageCount = n } }
	for name, change := range map[string]func(page *WithdrawalPage, index int){
		"the total is of the page": ofThePage, "no total": total(0), "a total of one": total(1),
		"the total is that of the pages": func(p *WithdrawalPage, _ int) { p.Total = p.PageCount },
		"the total is of the page, and page_count says how many are left": func(p *WithdrawalPage, index int) {
			p.Total, p.PageCount = int64(len(p.Items)), p.PageCount-int64(max(index, 0))
		},
		"the page in the middle is empty": func(p *WithdrawalPage, index int) {
			if ofThePage(p, index); index == 2 {
				p.Items, p.Total = nil, 0
			}
		},
		"both are those of two pages": func(p *WithdrawalPage, _ int) { p.Total, p.PageCount = 20, 2 },
		"no page_count":               pages(0), "a page_count of 1": pages(1), "a page_count of 2": pages(2), "too many": pages(1e9),
	} {
		everyShelf(50, func(s *shelf, first PageBase, what string) {
			got, err := s.walk(first, 10, func(number int, page *WithdrawalPage, err error) error {
				if err == nil && page.PageCount > 0 {
					change(page, number-s.base)
				}
				return err
			})
			want, wanted := slices.Clone(s.ids), error(nil)
			if strings.Contains(name, "empty") {
				want = slices.Delete(want, 20, 30)
			}
			if name == "too many" && s.outside == "reject" { // it promises a page and refuses it
				wanted = errNoSuchPage
			}
			// Two empty pages, and two more that are read ahead.
			if last := s.asked[len(s.asked)-1]; err != wanted || !slices.Equal(got, want) || last > s.base+5+4 {
				t.Errorf("%s, %s: %v, %v, asked for %v", name, what, got, err, s.asked)
			}
		})
	}
}

// TestWalkOfAnEndlessList checks that two pages without anything new end a list, whatever it promises.
func TestWalkOfAnEndlessList(t *testing.T) {
	for _, first := range []PageBase{PageBaseAuto, PageBaseOne} {
		asked := 0
		got, err := collect(eachWithdrawal(context.Background(), ListOptions{FirstPage: first},
			fetching(func(number int) (WithdrawalPage, error) {
				asked++
				page := WithdrawalPage{Items: []Withdrawal{{ID: "a"}}, PageCount: 1 << 40, Total: 1 << 40}
				page.size = largeAnswer + 1 // so that none is read ahead
				return page, nil
			})))
		if err != nil || len(got) != 1 || asked != 3 {
			t.Errorf("base %d: %v, %v, %d pages", first, got, err, asked)
		}
	}
}

// TestKeptPagesDoNotChange checks that pages that OnPage keeps do not change, whatever the walk leaves out,
// and whatever a caller appends to a text.
func TestKeptPagesDoNotChange(t *testing.T) {
	record := func(id string) string { return strings.Replace(goodRecord, `"w1"`, `"`+id+`"`, 1) }
	answers := []string{
		`{"page_content":[` + record("a") + "," + record("b") + "," + record("c") + `],"page_count":2,"total":5}`,
		`{"page_content":[` + record("c") + "," + record("d") + "," + record("e") + `],"page_count":2,"total":5}`,
	}
	client, _ := steps(t, func(page string) string { return page }, answers...)
	var kept []WithdrawalPage
	opts := ListOptions{FirstPage: PageBaseOne, PageSize: 3, OnPage: func(p WithdrawalPage) { kept = append(kept, p) }}
	ids := must[[]string](t)(collect(client.Withdrawals.All(t.Context(), WithdrawalFilter{}, opts)))
	if !slices.Equal(ids, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("got %q", ids)
	}
	for i, want := range []string{"abc", "cde"} {
		var got string
		for _, w := range kept[i].Items {
			got += w.ID
			_ = append(w.RawJSON(), "...................."...)
		}
		if got != want {
			t.Errorf("page %d has become %q, want %q", i, got, want)
		}
		for _, w := range kept[i].Items {
			if string(w.RawJSON()) != record(w.ID) {
				t.Errorf("the text of %s has become %s", w.ID, w.RawJSON())
			}
		}
	}
}

func TestHasRecords(t *testing.T) {
	for answer, want := range map[string]bool{
		`[]`: false, `[1]`: true, `[{"id":"a"}]`: true, `{}`: false, `null`: false, `"x"`: false,
		`{"total":0}`: false, `{"rows":[]}`: false, `{"rows":[],"paging":{"total":0}}`: false,
		`{"paging":{"total":1},"rows":[null]}`: true, `{"page":{"rows":[{"id":"a"}]}}`: true,
		`{"page":{"rows":[]}}`: false, `{"7c9e6679":{"id":"7c9e6679"}}`: true, `{"7c9e6679":{}}`: false,
		`{"page_content":[],"page_count":3}`: false, ` {"a" : { } , "b" : [ { } ] } `: true,
		`{"rows":[],"old":[],"new":[{"id":1}]}`: true,
	} {
		if got := !hasNoRecords([]byte(answer)); got != want {
			t.Errorf("%s: %t", answer, got)
		}
	}
}
