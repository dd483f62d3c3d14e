package api

import (
	"context"
	"sync"
)

// pagesAhead is how many pages are read and decoded while the one before them is used. A long list is then as quick
// as the connection and the processors allow, and takes the memory of so many pages more.
const pagesAhead = 2

type fetchPage func(ctx context.Context, page int) (WithdrawalPage, error)

// reader reads pages, and those that will be wanted next ahead of time.
type reader struct {
	ctx    context.Context
	cancel context.CancelFunc
	fetch  fetchPage
	begun  map[int]chan fetched
	asked  int
	group  sync.WaitGroup
}

type fetched struct {
	page WithdrawalPage
	err  error
}

func newReader(ctx context.Context, fetch fetchPage) *reader {
	ctx, cancel := context.WithCancel(ctx)
	return &reader{ctx: ctx, cancel: cancel, fetch: fetch, begun: map[int]chan fetched{}}
}

// page returns a page, which may be under way already. latest is the total of the page before.
//
// Pages that are read side by side may be answered in any order. One that was answered before the page in front of it
// is stale if withdrawals were made in between: what they pushed onto it is missing. Its smaller total shows it.
func (r *reader) page(number int, latest int64) (WithdrawalPage, error) {
	r.asked++
	if result, ok := r.begun[number]; ok {
		delete(r.begun, number)
		if got := <-result; got.err != nil || got.page.Total >= latest {
			return got.page, got.err
		}
	}
	return r.fetch(r.ctx, number)
}

// want begins to read the pages from number on, up to the last. It waits until two pages were asked for: whoever
// looks at the beginning of a list only should not have the service read more.
func (r *reader) want(number int, last int64) {
	if r.asked < 2 {
		return
	}
	for n := number; n < number+pagesAhead && int64(n) <= last; n++ {
		if _, ok := r.begun[n]; ok {
			continue
		}
		result := make(chan fetched, 1)
		r.begun[n] = result
		r.group.Go(func() {
			page, err := r.fetch(r.ctx, n)
			result <- fetched{page, err}
		})
	}
}

// stop ends what is under way, and returns when it has ended.
func (r *reader) stop() {
	r.cancel()
	r.group.Wait()
}
