package api

import (
	"context"
	"sync"
)

// pagesAhead is how many pages are read and decoded while the caller uses the page before them. A long list
// is then read as fast as the connection and the processors allow, and takes the memory of that many more
// pages.
const pagesAhead = 2

// fetchPage asks for a page. It returns after the answer has come; open decodes the answer.
type fetchPage func(ctx context.Context, page int) (open func() (WithdrawalPage, error), err error)

// pager reads pages, and reads ahead those that come next. It asks for a page only after the page before has
// been answered: rows that move from page to page while a list is read must move in the direction of the
// reading. Only decoding runs concurrently.
type pager struct {
	ctx    context.Context
	cancel context.CancelFunc
	fetch  fetchPage
	begun  map[int]func() (WithdrawalPage, error) // each waits for its page
	last   chan struct{}                          // closed when the page that was begun last has been answered
	asked  int
	group  sync.WaitGroup
}

func newPager(ctx context.Context, fetch fetchPage) *pager {
	ctx, cancel := context.WithCancel(ctx)
	last := make(chan struct{})
	close(last)
	return &pager{ctx: ctx, cancel: cancel, fetch: fetch, last: last,
		begun: map[int]func() (WithdrawalPage, error){}}
}

func (r *pager) page(number int) (WithdrawalPage, error) {
	r.asked++
	if _, ok := r.begun[number]; !ok {
		r.begin(number)
	}
	wait := r.begun[number]
	delete(r.begun, number)
	return wait()
}

// want begins to read the pages from number on, up to last. It does nothing until two pages were asked for: a
// caller who looks only at the beginning of a list should not make the service read more.
func (r *pager) want(number int, last int64) {
	if r.asked < 2 {
		return
	}
	for n := number; n < number+pagesAhead && int64(n) <= last; n++ {
		if _, ok := r.begun[n]; !ok {
			r.begin(n)
		}
	}
}

func (r *pager) begin(number int) {
	var page WithdrawalPage
	var err error
	before, answered, done := r.last, make(chan struct{}), make(chan struct{})
	r.last = answered
	r.begun[number] = func() (WithdrawalPage, error) { <-done; return page, err }
	r.group.Go(func() {
		defer close(done)
		<-before
		var open func() (WithdrawalPage, error)
		open, err = r.fetch(r.ctx, number)
		close(answered)
		if err == nil {
			page, err = open()
		}
	})
}

// stop cancels the calls in flight and waits until they have ended.
func (r *pager) stop() {
	r.cancel()
	r.group.Wait()
}
