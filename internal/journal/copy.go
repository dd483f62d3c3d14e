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
	if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return &Error{Kind: Broken, Place: place, Msg: fmt.Sprintf("is not made: %v", err), Err: err}
		}
		err = fs.ErrExist
		return &Error{Kind: Broken, Place: place,
			Msg: "is not made: a copy never takes the place of a file; name one that is not there", Err: err}
	}
	// A separate directory, so that no other file is in the way or is removed with it.
	dir := filepath.Dir(place)
	err := makeDirectories(dir)
	if err == nil {
		dir, err = os.MkdirTemp(dir, ".till-copy-*")
	}
	if err != nil {
		return &Error{Kind: Broken, Place: place, Msg: fmt.Sprintf("cannot be made: %v", err), Err: err}
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "journal.db")
	if err := j.copyTo(ctx, part); err != nil {
		return err
	}
	// SQLite moves its log into the file and removes it when the file is closed, and does not report that it
	// could not.
	if _, err := os.Lstat(part + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return &Error{Kind: Broken, Place: place,
			Msg: "cannot be made: not all of it could be written, perhaps because the disk is full; free some room and run the command again", Err: err}
	}
	err = os.Link(part, place) // unlike a rename, it fails if the file exists by now
	if err == nil {
		err = atomicfile.SyncDirectory(filepath.Dir(place))
	}
	if err != nil {
		return &Error{Kind: Broken, Place: place, Msg: fmt.Sprintf("cannot be made: %v", err), Err: err}
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
	if _, err := from.ExecContext(ctx, j.dialect.snapshot()); err != nil {
		return j.failed(err)
	}
	defer from.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	to.writing.Lock()
	defer to.writing.Unlock()
	return to.failed(to.transact(ctx, func(t *tx) error {
		for _, table := range []string{"accounts", "keys", "orders", "attempts", "events", "runs", "run_rows", "demands", "approvals",
			"consents", "consent_approvals", "acceptances"} {
			n := 0
			if err := t.row("SELECT count(*) FROM " + table).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return &Error{Kind: Broken, Place: to.Place(), Msg: "has a history of its own: name an empty database"}
			}
			if err := j.copyTable(ctx, from, t, table); err != nil {
				return err
			}
		}
		if err := j.copyRestored(ctx, from, t); err != nil {
			return err
		}
		return to.dialect.numbered(t)
	}))
}

func (j *Journal) copyTable(ctx context.Context, from *sql.Conn, t *tx, table string) error {
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return j.failed(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	marks := make([]string, len(columns))
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range columns {
		marks[i], places[i] = fmt.Sprintf("?%d", i+1), &values[i]
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "),
		strings.Join(marks, ", "))
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return j.failed(err)
		}
		if _, err := t.exec(insert, values...); err != nil {
			return err
		}
	}
	return j.failed(rows.Err())
}
