package journal

import (
	"context"
	"database/sql"
)

// A journal that is found to lack what was recorded last is counted as restored, and each of its accounts remembers the count
// at which it was last compared with the service's list. One that was compared before, or that the journal does not have
// any more, may have sent orders that are not on record.

// Restored reports whether the journal may lack orders that were sent for an account: each of them has to be looked up
// before it is sent.
func (j *Journal) Restored(ctx context.Context, a Account) (restored bool, err error) {
	err = (reading{j, ctx}).row(`SELECT restored > coalesce((SELECT checked FROM accounts WHERE address = ?1 AND name = ?2), 0) FROM till_journal`, a.Address, a.Name).Scan(&restored)
	return restored, j.failed(err)
}

// ClearRestored records that nothing of an account is missing in the journal.
func (j *Journal) ClearRestored(ctx context.Context, a Account) error {
	return j.write(ctx, func(t *tx) error {
		if _, err := t.exec(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`, a.Address, a.Name, t.now); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE accounts SET checked = (SELECT restored FROM till_journal) WHERE address = ?1 AND name = ?2`, a.Address, a.Name)
		return err
	})
}

func (j *Journal) markRestored(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.transact(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE till_journal SET restored = restored + 1`)
		return err
	})
}

// copyRestored lets a copy lack what its original lacks.
func (j *Journal) copyRestored(ctx context.Context, from *sql.Conn, t *tx) error {
	var restored int64
	if err := from.QueryRowContext(ctx, "SELECT restored FROM till_journal").Scan(&restored); err != nil {
		return j.failed(err)
	}
	_, err := t.exec(`UPDATE till_journal SET restored = ?1`, restored)
	return err
}

// Intact returns an error if the journal is no longer what was opened, such as a file that was removed meanwhile. Who was
// given a ticket a while ago asks before using it.
func (j *Journal) Intact() error { return j.failed(j.dialect.still()) }
