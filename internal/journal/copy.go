package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/till/internal/atomicfile"
)

// Copy writes a consistent copy of the journal to another place: a file that does not exist yet, or an empty
// PostgreSQL database. The copy shows one moment, even if others send meanwhile. If Copy fails, it leaves no
// file.
func (j *Journal) Copy(ctx context.Context, place string) error {
	if err := usable(place); err != nil {
		return err
	}
	if IsPostgres(place) {
		to := &postgresDialect{address: place, wait: j.options.wait}
		if err := to.checkEmpty(ctx); err != nil {
			return (&Journal{dialect: to}).failed(err)
		}
		return j.copyTo(ctx, place)
	}
	broken := func(err error, format string, args ...any) error {
		return &Error{Kind: Broken, Place: place, Msg: fmt.Sprintf(format, args...), Err: err}
	}
	if _, err := os.Lstat(place); err == nil {
		return broken(fs.ErrExist, "is not made: a copy never takes the place of a file; name one that is not there")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return broken(err, "is not made: %v", err)
	}
	// A separate directory, so that no other file is in the way or is removed with it.
	dir, err := os.MkdirTemp(filepath.Dir(place), ".till-copy-*")
	if errors.Is(err, fs.ErrNotExist) { // perhaps it is on a disk that is not mounted
		return broken(err, "cannot be made, because its directory does not exist: make it, or mount its disk")
	}
	if err != nil {
		return broken(err, "cannot be made: %v", err)
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "journal.db")
	if err := j.copyTo(ctx, part); err != nil {
		return err
	}
	// SQLite moves its log into the file and removes it when the file is closed, and does not report that it
	// could not.
	if _, err := os.Lstat(part + logFile); !errors.Is(err, fs.ErrNotExist) {
		return broken(err, "cannot be made: not all of it could be written, perhaps because the disk is full; free some room and run the command again")
	}
	err = os.Link(part, place) // unlike a rename, it fails if the file exists by now
	if err == nil {
		err = atomicfile.SyncDirectory(filepath.Dir(place))
	}
	if err != nil {
		return broken(err, "cannot be made: %v", err)
	}
	return nil
}

func (j *Journal) copyTo(ctx context.Context, place string) (err error) {
	options := j.options
	options.Existing = false
	to, err := Open(ctx, place, options)
	if err != nil {
		return err
	}
	defer func() {
		if e := to.Close(); err == nil && e != nil {
			err = to.failed(e)
		}
	}()
	from, err := j.db.Conn(ctx)
	if err != nil {
		return j.failed(err)
	}
	defer from.Close()
	snapshot := "BEGIN"
	if j.Shared() {
		snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	if _, err := from.ExecContext(ctx, snapshot); err != nil {
		return j.failed(err)
	}
	defer from.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	to.writing.Lock()
	defer to.writing.Unlock()
	return to.failed(to.transact(ctx, func(t *tx) error {
		for _, table := range copiedTables {
			if one[int](t, "SELECT count(*) FROM "+table) > 0 {
				return &Error{Kind: Broken, Place: to.Place(), Msg: "has a history of its own: name an empty database"}
			}
			if err := t.copyTable(ctx, from, table); err != nil {
				return j.failed(err)
			}
		}
		restored := 0 // a copy lacks what its original lacks, and what is recorded there from now on
		if err := from.QueryRowContext(ctx, "SELECT restored FROM till_journal").Scan(&restored); err != nil {
			return j.failed(err)
		}
		t.exec(`UPDATE till_journal SET restored = ?1`, restored+1)
		if database, shared := to.dialect.(*postgresDialect); shared {
			database.numbered(t)
		}
		return nil
	}))
}

// copyTable copies a table from another journal.
func (t *tx) copyTable(ctx context.Context, from *sql.Conn, table string) error {
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	marks := make([]string, len(columns))
	values, fields := make([]any, len(columns)), make([]any, len(columns))
	for i := range columns {
		marks[i], fields[i] = fmt.Sprintf("?%d", i+1), &values[i]
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "), strings.Join(marks, ", "))
	for rows.Next() && t.err == nil {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		t.exec(insert, values...)
	}
	return rows.Err()
}

// If a journal is found to lack what was recorded last, or to be a copy, which may lack it, its count of
// restores is incremented. Each account has the count at which it was last compared with the service's list. An
// account whose count is lower, or that the journal has lost, may have sent orders that are not in the journal.
//
// A copy is found by two notes in the journal. One describes the file or the table that it is kept in, and
// differs if a backup was restored as a new one. The other counts how often the journal was opened for writing.
// The lock file, which backups leave out, has the count too. It is higher there if a backup was written over the
// journal's file, and gone if somebody has cleared the directory before that.

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
	f, noted := j.file(), int64(0)
	if f != nil {
		noted = f.locks.openings() // before the count in the journal, which another process may increment now
	}
	r := j.read(ctx)
	kept := j.dialect.kept(r)
	openings := one[int64](r, `SELECT CASE WHEN kept = ?1 THEN openings ELSE -1 END FROM till_journal`, kept)
	if r.err != nil {
		return r.err
	}
	if noted < 0 && (openings == 0 || f.locks.openings() >= 0) { // the journal is new; another process may have made it
		noted = 0
		f.locks.noteOpenings(noted)
	}
	if noted >= 0 && openings >= noted {
		return nil
	}
	// The count goes beyond both: the backup that is restored next may have the one that the lock file has now.
	err := j.noteRestored(ctx, `, kept = ?1, openings = CASE WHEN openings <= ?2 THEN ?2 + 1 ELSE openings END`, kept, noted)
	if err == nil && f != nil {
		f.locks.noteOpenings(noted + 1)
	}
	return err
}

// Intact returns an error if the journal is no longer what was opened, for example because a file was
// removed. A sender calls it before it uses a ticket.
func (j *Journal) Intact() error {
	if f := j.file(); f != nil {
		return j.failed(f.still())
	}
	return nil
}
