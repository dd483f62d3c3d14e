package journal

import "context"

// If a journal is found to lack what was recorded last, its count of restores is incremented. Each account
// has the count at which it was last compared with the service's list. An account whose count is lower, or
// that the journal has lost, may have sent orders that are not in the journal.

// Restored reports whether the journal may lack orders that were sent for the account.
func (l *Ledger) Restored(ctx context.Context) (restored bool, err error) {
	id, err := l.number(ctx)
	if err != nil {
		return false, err
	}
	return one[bool](l.j.read(ctx), `SELECT restored > coalesce((SELECT checked FROM accounts WHERE id = ?1), 0) FROM till_journal`, id)
}

const markRestored = `UPDATE till_journal SET restored = restored + 1`

func (j *Journal) noteRestored(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.transact(ctx, func(t *tx) error {
		_, err := t.exec(markRestored)
		return err
	})
}

// Intact returns an error if the journal is no longer what was opened, for example because a file was
// removed. A sender calls it before it uses a ticket.
func (j *Journal) Intact() error { return j.failed(j.dialect.still()) }
