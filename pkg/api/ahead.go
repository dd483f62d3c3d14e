package api

import (
	"context"
	"sync"
)

// pagesAhead is how many pages are read and decoded while the one before them is used. A long list is then as quick
// as the connection and the processors allow, and takes the memory of so many pages more.
const pagesAhead = 2

// fetchPage asks for a page. Once it is answered, what it returns decodes the answer.
type fetchPage func(ctx context.Context, page int) (open func() (WithdrawalPage, error), err error)

// pages makes a fetchPage of what makes the request for a page.
func (c *Client) pages(lenient bool, list func(page int) (request, error)) fetchPage {
	return func(ctx context.Context, page int) (func() (WithdrawalPage, error), error) {
		r, err := list(page)
		if err != nil {
			return nil, err
		}
		body, status, err := c.exchange(ctx, r)
		return func() (WithdrawalPage, error) {
			if lenient {
				page, err := open[lenientPage](c, r, body, status)
				return page.WithdrawalPage, err
			}
			return open[WithdrawalPage](c, r, body, status)
		}, err
	}
}

// reader reads pages, and those that will be wanted next ahead of time. It asks for one only when the one before it has
// been answered: the rows that move from page to page while a list is read must move in the direction of the reading.
// What is done at the same time is decoding.
type reader struct {
	ctx    context.Context
	cancel context.CancelFunc
	fetch  fetchPage
	begun  map[int]chan fetched
	last   chan struct{} // closed when the page that was begun last has been answered
	asked  int
	group  sync.WaitGroup
}

type fetched struct {
	page WithdrawalPage
	err  error
}

func newReader(ctx context.Context, fetch fetchPage) *reader {
	ctx, cancel := context.WithCancel(ctx)
	last := make(chan struct{})
	close(last)
	return &reader{ctx: ctx, cancel: cancel, fetch: fetch, begun: map[int]chan fetched{}, last: last}
}

// page returns a page, which may be under way already.
func (r *reader) page(number int) (WithdrawalPage, error) {
	r.asked++
	if _, ok := r.begun[number]; !ok {
		r.begin(number)
	}
	result := r.begun[number]
	delete(r.begun, number)
	got := <-result
	return got.page, got.err
}

// want begins to read the pages from number on, up to the last. It waits until two pages were asked for: a caller who
// looks at the beginning of a list only should not have the service read more.
func (r *reader) want(number int, last int64) {
	if r.asked < 2 {
		return
	}
	for n := number; n < number+pagesAhead && int64(n) <= last; n++ {
		if _, ok := r.begun[n]; !ok {
			r.begin(n)
		}
	}
}

func (r *reader) begin(number int) {
	result, before, answered := make(chan fetched, 1), r.last, make(chan struct{})
	r.begun[number], r.last = result, answered
	r.group.Go(func() {
		<-before
		open, err := r.fetch(r.ctx, number)
		close(answered)
		got := fetched{err: err}
		if err == nil {
			got.page, got.err = open()
		}
		result <- got
	})
}

// stop ends what is under way, and returns when it has ended.
func (r *reader) stop() {
	r.cancel()
	r.group.Wait()
}
