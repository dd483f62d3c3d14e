package journal

import (
	"context"
	"slices"
)

// Alone notes that this process applies a plan of the account. If the journal is a file, it returns Busy
// while another process applies a plan. Several processes can apply plans from a journal in PostgreSQL. With
// forget, what this process noted before is forgotten, except the runs that it is sending. Leave ends what
// Alone began.
func (l *Ledger) Alone(ctx context.Context, run string, forget bool) error {
	j := l.j
	r := j.read(ctx)
	account := l.number(r)
	if r.err != nil {
		return r.err
	}
	return j.write(ctx, func(t *tx) error {
		for _, a := range all(t, (*Applier).fields, appliers) {
			switch other := a.sender != j.sender; {
			case other && t.alive(a.sender):
				if !j.Shared() {
					return &Error{Kind: Busy, Run: a.Run, User: a.User, Host: a.Host}
				}
			case other || a.Run == run || forget && !j.isSending(a.Run):
				t.exec(`DELETE FROM appliers WHERE sender = ?1 AND run = ?2`, a.sender, a.Run)
			}
		}
		t.holdLock()
		t.exec(`INSERT INTO appliers (sender, run, user_name, host, account) VALUES (?1, ?2, ?3, ?4, ?5)`,
			j.sender, run, j.options.User, j.options.Host, account)
		return nil
	})
}

// Leave forgets that this process applies a run, unless it is sending its rows, or the outcome of one that it
// has sent is not recorded. Without it, a process that goes on after a run would keep others from applying
// theirs.
func (l *Ledger) Leave(ctx context.Context, run string) error {
	return l.j.write(ctx, func(t *tx) error {
		if !l.j.isSending(run) {
			t.exec(`DELETE FROM appliers WHERE sender = ?1 AND run = ?2 AND NOT EXISTS (
				SELECT 1 FROM orders WHERE state IN ('unknown', 'sending') AND state = 'sending' AND run = ?2 AND EXISTS (
					SELECT 1 FROM attempts WHERE order_row = orders.id AND sender = ?1 AND ended = ''))`,
				l.j.sender, run)
		}
		return nil
	})
}

// Sending notes that this process sends the rows of a run, until ended is called.
func (j *Journal) Sending(run string) (ended func()) {
	j.runs.Lock()
	defer j.runs.Unlock()
	j.runs.sending[run]++
	return func() {
		j.runs.Lock()
		defer j.runs.Unlock()
		j.runs.sending[run]--
	}
}

func (j *Journal) isSending(run string) bool {
	j.runs.Lock()
	defer j.runs.Unlock()
	return j.runs.sending[run] > 0
}

// An Applier is a process that applies a plan.
type Applier struct {
	Run, User, Host string

	sender, account int64
}

func (a *Applier) fields() []any { return []any{&a.sender, &a.Run, &a.User, &a.Host, &a.account} }

const appliers = `SELECT sender, run, user_name, host, account FROM appliers`

// Appliers returns the processes that apply a plan from the journal now, for any account.
func (j *Journal) Appliers(ctx context.Context) ([]Applier, error) {
	t := j.read(ctx)
	living := slices.DeleteFunc(all(t, (*Applier).fields, appliers), func(a Applier) bool { return !t.alive(a.sender) })
	return living, t.err
}
