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

// findCopy notes that the journal is restored if it is a copy.
func (j *Journal) findCopy(ctx context.Context) error {
	if ctx.Value(copiesKey{}) != nil || len(j.options.steps) < len(schema()) {
		return nil
	}
	noted := j.dialect.openings() // before the count in the journal, which another process may increment now
	r := j.read(ctx)
	kept, err := j.dialect.kept(r)
	if err != nil {
		return err
	}
	openings, err := one[int64](r, `SELECT CASE WHEN kept = ?1 THEN openings ELSE -1 END FROM till_journal`, kept)
	if err != nil {
		return err
	}
	if noted < 0 && (openings == 0 || j.dialect.openings() >= 0) { // the journal is new; another process may have made it
		noted = 0
		j.dialect.noteOpenings(noted)
	}
	if noted >= 0 && openings >= noted {
		return nil
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.transact(ctx, func(t *tx) error {
		_, err := t.exec(markRestored+`, kept = ?1, openings = CASE WHEN openings < ?2 THEN ?2 ELSE openings END`, kept, noted)
		return err
	})
}

// noteKept notes where the journal is kept, if that is not known yet.
func (t *tx) noteKept() error {
	kept, err := t.j.dialect.kept(t)
	if err == nil {
		_, err = t.exec(`UPDATE till_journal SET kept = ?1 WHERE kept = ''`, kept)
	}
	return err
}

// Intact returns an error if the journal is no longer what was opened, for example because a file was
// removed. A sender calls it before it uses a ticket.
func (j *Journal) Intact() error { return j.failed(j.dialect.still()) }
