package journal

import "context"

// If a journal is found to lack what was recorded last, or to be a copy, which may lack it, its count of
// restores is incremented. Each account has the count at which it was last compared with the service's list. An
// account whose count is lower, or that the journal has lost, may have sent orders that are not in the journal.
//
// A copy is found by two notes in the journal. One describes the file or the table that it is kept in, and
// differs if a backup was restored as a new one. The other counts how often the journal was opened for writing.
// The lock file, which backups leave out, has the count too. It is higher there if a backup was written over the
// journal's file, and gone if somebody has cleared the directory before that.

// Restored reports whether the journal may lack orders that were sent for the account.
func (l *Ledger) Restored(ctx context.Context) (bool, error) {
	t := l.j.read(ctx)
	restored := t.restored(l.number(t))
	return restored, t.err
}

func (t *tx) restored(account int64) bool {
	return one[bool](t, `SELECT restored > coalesce((SELECT checked FROM accounts WHERE id = ?1), 0) FROM till_journal`, account)
}

const markRestored = `UPDATE till_journal SET restored = restored + 1`

// noteRestored notes that the journal is restored. more is what else it sets.
func (j *Journal) noteRestored(ctx context.Context, more string, args ...any) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.transact(ctx, func(t *tx) error {
		t.exec(markRestored+more, args...)
		return nil
	})
}

// findCopy notes that the journal is restored if it is a copy.
func (j *Journal) findCopy(ctx context.Context) error {
	if hooks(ctx).Copies || len(j.options.steps) < len(schema()) {
		return nil
	}
	noted := j.dialect.openings() // before the count in the journal, which another process may increment now
	r := j.read(ctx)
	kept := j.dialect.kept(r)
	openings := one[int64](r, `SELECT CASE WHEN kept = ?1 THEN openings ELSE -1 END FROM till_journal`, kept)
	if r.err != nil {
		return r.err
	}
	if noted < 0 && (openings == 0 || j.dialect.openings() >= 0) { // the journal is new; another process may have made it
		noted = 0
		j.dialect.noteOpenings(noted)
	}
	if noted >= 0 && openings >= noted {
		return nil
	}
	return j.noteRestored(ctx, `, kept = ?1, openings = CASE WHEN openings < ?2 THEN ?2 ELSE openings END`, kept, noted)
}

// Intact returns an error if the journal is no longer what was opened, for example because a file was
// removed. A sender calls it before it uses a ticket.
func (j *Journal) Intact() error { return j.failed(j.dialect.still()) }
