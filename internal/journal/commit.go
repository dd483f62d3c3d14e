package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// write runs work in a transaction, and returns when the transaction is on the disk. Writes that wait at the
// same time are committed together. If work returns a refusal, which is one of the types in error.go, the
// other writes are not affected. The changes that work made before the refusal are kept, so they must be
// valid by themselves. Any other error undoes all of the writes, and they run again without the failing one.
// So work may run several times, and must start from the beginning each time.
//
// write cannot be interrupted: if no caller waited for the outcome of a commit, no caller would know of its
// record.
func (j *Journal) write(ctx context.Context, work func(*tx) error) error {
	p := &pending{work: work}
	j.do(ctx, p)
	return p.err
}

// returning returns a pending write, and what it returns after its commit.
func returning[T any](work func(*tx) (T, error)) (p *pending, result func() (T, error)) {
	var value T
	p = &pending{work: func(t *tx) (err error) {
		value, err = work(t)
		return err
	}}
	return p, func() (T, error) {
		if p.err != nil {
			var none T
			return none, p.err
		}
		return value, nil
	}
}

// do is write for works that nearly always go into the same commit, in their order. A separate goroutine
// commits as long as writes wait: while it writes some, other callers can work with what they have.
func (j *Journal) do(ctx context.Context, all ...*pending) {
	for _, p := range all {
		p.done, p.err = make(chan struct{}), errNotWritten
	}
	j.queueing.Lock()
	j.queue = append(j.queue, all...)
	if !j.commits {
		j.commits = true
		go func() {
			for j.commitSome(context.WithoutCancel(ctx)) {
			}
		}()
	}
	j.queueing.Unlock()
	for _, p := range all {
		<-p.done
	}
}

// mostInACommit is how many writes go into one commit.
const mostInACommit = 32

// commitSome makes one commit. It reports whether there was anything to commit.
func (j *Journal) commitSome(ctx context.Context) (more bool) {
	j.writing.Lock()
	defer j.writing.Unlock()
	runtime.Gosched() // what is about to wait comes along: a commit takes far longer
	j.queueing.Lock()
	n := min(len(j.queue), mostInACommit)
	batch := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	more = n > 0 // also after a panic
	j.commits = more
	j.queueing.Unlock()
	if !more {
		return false
	}
	defer func() {
		if fault := recover(); fault != nil { // what is not committed must not look as if it were
			for _, p := range batch {
				p.err = fmt.Errorf("%w: %v", errNotWritten, fault)
			}
		}
		for _, p := range batch {
			close(p.done)
		}
	}()
	if j.Shared() {
		limited, done := context.WithTimeout(ctx, commitLimit)
		defer done()
		ctx = limited
	}
	j.commit(ctx, slices.Clone(batch))
	return true
}

var errNotWritten = errors.New("the record was not written")

// commit runs the waiting writes in one transaction. If one of them fails, it repeats the others: they may
// record that money was sent.
func (j *Journal) commit(ctx context.Context, batch []*pending) {
	for len(batch) > 0 {
		said := make([]error, len(batch))
		failing := -1
		err := j.transact(ctx, func(t *tx) error {
			for i, p := range batch {
				if said[i] = t.do(p.work); said[i] != nil && !refused(said[i]) {
					failing = i
					return said[i]
				}
			}
			return nil
		})
		err = j.failed(err)
		if failing >= 0 {
			batch[failing].err = err
			batch = slices.Delete(batch, failing, failing+1)
			continue
		}
		for i, p := range batch {
			if p.err = err; err == nil { // otherwise even a refusal may be based on what was undone
				p.err = said[i]
			}
		}
		return
	}
}
