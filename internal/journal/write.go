package journal

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// pending is a write that waits for its commit.
type pending struct {
	work   func(*tx) error
	claim  *claiming  // the claim to make; nil: work is no claim
	finish *finishing // the outcome to record; nil: work is no outcome
	made   bool       // done by finishMany or claimMany, in this transaction
	said   error      // result of work, in this transaction
	done   chan struct{}
	err    error
}

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

// do is write for works that go into the same commit. A separate goroutine commits as long as writes wait:
// while it writes some, other callers can work with what they have.
func (j *Journal) do(ctx context.Context, all ...*pending) {
	done := make(chan struct{})
	for _, p := range all {
		p.done, p.err = done, errNotWritten
	}
	j.queueing.Lock()
	j.queue = append(j.queue, all)
	if !j.commits {
		j.commits = true
		go j.commitAll(context.WithoutCancel(ctx))
	}
	j.queueing.Unlock()
	<-done
}

// mostInACommit is how many calls of do go into one commit.
const mostInACommit = 16

func (j *Journal) commitAll(ctx context.Context) {
	for j.commitSome(ctx) {
	}
}

// commitSome makes one commit. It reports whether there was anything to commit.
func (j *Journal) commitSome(ctx context.Context) (more bool) {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.queueing.Lock()
	n := min(len(j.queue), mostInACommit)
	some := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	j.commits = n > 0
	j.queueing.Unlock()
	if n == 0 {
		return false
	}
	more = true
	batch := slices.Concat(some...)
	defer func() {
		if fault := recover(); fault != nil { // what is not committed must not look as if it were
			for _, p := range batch {
				p.err = fmt.Errorf("%w: %v", errNotWritten, fault)
			}
		}
		for _, all := range some {
			close(all[0].done)
		}
	}()
	ctx, done := j.dialect.limit(ctx)
	defer done()
	j.commit(ctx, slices.Clone(batch))
	return more
}

var errNotWritten = errors.New("the record was not written")

// commit runs the waiting writes in one transaction. Outcomes come first, because a missing outcome can
// prevent a claim.
func (j *Journal) commit(ctx context.Context, batch []*pending) {
	kinds := []kind{{many: (*tx).finishMany}, {many: (*tx).claimMany}, {}}
	for _, p := range batch {
		k := &kinds[2]
		switch {
		case p.finish != nil:
			k = &kinds[0]
		case p.claim != nil:
			k = &kinds[1]
		}
		k.all = append(k.all, p)
	}
	for apart := false; ; {
		var failing *pending // the write whose work has failed
		failed := false      // finishMany or claimMany has failed
		err := j.transact(ctx, func(t *tx) error {
			for _, k := range kinds {
				for _, p := range k.all {
					p.made, p.said = false, nil
				}
				if k.many != nil && !apart && len(k.all) > 0 {
					if err := k.many(t, k.all); err != nil {
						failed = true
						return err
					}
				}
				for _, p := range k.all {
					if p.made {
						continue
					}
					if p.said = p.work(t); p.said != nil && !refused(p.said) {
						failing = p
						return p.said
					}
				}
			}
			return nil
		})
		switch {
		case len(batch) == 1: // there is no other write to repeat
		case failed:
			apart = true // find out which write fails
			continue
		case failing != nil: // repeat the others: one of them may record that money was sent
			failing.err = j.failed(err)
			is := func(p *pending) bool { return p == failing }
			batch = slices.DeleteFunc(batch, is)
			for i := range kinds {
				kinds[i].all = slices.DeleteFunc(kinds[i].all, is)
			}
			continue
		}
		for _, p := range batch {
			p.err = p.said
			if err != nil { // even of a refusal: it may be based on what was undone
				p.err = j.failed(err)
			}
		}
		return
	}
}

// kind has the waiting writes of one kind, and the function that does most of them with a few statements.
type kind struct {
	all  []*pending
	many func(*tx, []*pending) error
}

// transact runs work between BEGIN and COMMIT on the connection that writes.
func (j *Journal) transact(ctx context.Context, work func(*tx) error) (err error) {
	if err := j.begin(ctx); err != nil {
		return err
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		if _, e := j.conn.ExecContext(ctx, "ROLLBACK"); e != nil || errors.Is(err, driver.ErrBadConn) {
			j.disconnect() // its state is unknown
		}
	}()
	t := &tx{j: j, ctx: ctx, locked: map[int64]lockedAccount{}}
	if t.at, err = j.clock(t); err != nil {
		return err
	}
	t.now = stamp(t.at)
	t.at = unstamp(t.now) // with the precision of a stored time
	if j.sends {          // on a new connection: the orders that this process is sending must not look abandoned
		if err := t.holdLock(); err != nil && AsError(err) == nil {
			return err
		}
	}
	if err := work(t); err != nil {
		return err
	}
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
	committed = true
	for _, tie := range t.ties {
		j.tied[tie] = true
	}
	return nil
}

// begin begins a transaction. The connection that was kept from the last one may be broken by now, and so may
// those that have only read. Nothing was done on it yet, so begin replaces it. It gives up if even a new
// connection fails.
func (j *Journal) begin(ctx context.Context) error {
	for tries := 1; ; tries++ {
		if err := j.connect(ctx); err != nil {
			return err
		}
		err := j.dialect.begin(ctx, j.conn)
		if err == nil {
			return nil
		}
		j.disconnect() // its state is unknown
		if !j.dialect.broken(err) || tries > maxConnections {
			return err
		}
	}
}
