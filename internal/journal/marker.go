package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A journal that has lost its log looks like one in which less has happened: what was sent would be sent
// again. So the database has a marker that says whether the journal is open. The first process that writes
// sets the marker, and moves it from the log into the database before any of its records counts. The last
// process takes the marker away. When SQLite closes the file, this change goes into the database with
// everything else. A database that has the marker and no log has lost its log.
//
// Two bytes of the lock file synchronise this. All writers share one of them. A process holds the other while
// it checks for writers, or becomes one.
const (
	gateByte   = int64(1) << 62 // above the numbers of all senders
	writerByte = gateByte + 1
	turnByte   = gateByte + 2 // see begin
)

// enter takes the gate.
func (d *sqliteDialect) enter(ctx context.Context) error {
	got, err := patiently(ctx, d.wait, pause, func() (bool, error) { return d.locks.try(gateByte, false) })
	if err == nil && !got {
		err = errLocked
	}
	return err
}

func (d *sqliteDialect) leave() error { return d.locks.free(gateByte) }

var errLocked = errors.New("another process does not let go of its lock")

// noWriter reports whether no process writes, including this one. The caller holds the gate, which a
// process needs to begin to write.
func (d *sqliteDialect) noWriter() (bool, error) {
	got, err := d.locks.try(writerByte, false)
	if got {
		err = d.locks.free(writerByte)
	}
	return got, err
}

// inspect checks how the journal was left. If the journal has lost its log, the gate stays closed until that
// is recorded.
func (d *sqliteDialect) inspect(ctx context.Context) error {
	found, err := patiently(ctx, d.wait, 10*pause, func() (bool, error) {
		if err := d.enter(ctx); err != nil {
			return false, err
		}
		open, err := d.saysOpen(ctx)
		alone, e := d.noWriter()
		err = errors.Join(err, e)
		if err == nil && open && (logIsEmpty(d.path) || logIsOverwritten(d.path)) { // looked at last: while this connection is open, a log with the marker stays
			if d.lost = alone; alone {
				return true, nil
			}
			err = errLogTaken
		}
		return open || alone, errors.Join(err, d.leave()) // otherwise the other process may be about to set the marker
	})
	if err == nil && !found {
		err = errReplaced
	}
	return err
}

var errReplaced = errors.New("another process uses a file that was here before")

var errLogTaken = errors.New("its log was taken away from a process that uses it")

// saysOpen reads the marker. A new journal, or one of an older version, has none.
func (d *sqliteDialect) saysOpen(ctx context.Context) (open bool, err error) {
	err = d.anchor.QueryRowContext(ctx, "SELECT opened FROM till_journal").Scan(&open)
	d.marks = err == nil
	d.counts = d.anchor.QueryRowContext(ctx, "SELECT 1 FROM pragma_table_info('till_journal') WHERE name = 'openings'").Scan(new(int)) == nil
	if e := (*sqlite.Error)(nil); errors.As(err, &e) && e.Code() == sqlite3.SQLITE_ERROR {
		err = nil
	}
	return open, err
}

func (d *sqliteDialect) opened(ctx context.Context, lost func() error) error {
	if !d.marks {
		if _, err := d.saysOpen(ctx); err != nil {
			return err
		}
	}
	if !d.lost {
		return nil
	}
	err := errors.Join(lost(), d.leave())
	d.lost = false
	return err
}

// join makes this process a writer.
func (d *sqliteDialect) join(ctx context.Context) (err error) {
	if d.writes {
		return nil
	}
	if !d.lost { // if it is lost, this process holds the gate already
		if err := d.enter(ctx); err != nil {
			return err
		}
		defer d.leave()
	}
	if d.writes, err = d.locks.try(writerByte, true); err == nil && !d.writes {
		err = errLocked
	}
	return err
}

// mark sets the marker, and moves it into the database.
func (d *sqliteDialect) mark(ctx context.Context, conn *sql.Conn) error {
	if !d.marks || d.marked {
		return nil
	}
	if err := d.join(ctx); err != nil {
		return err
	}
	if !d.set {
		if err := d.setMarker(ctx, conn); err != nil {
			return err
		}
	}
	return d.moveMarker(ctx, conn)
}

func (d *sqliteDialect) setMarker(ctx context.Context, conn *sql.Conn) error {
	// The checkpoint syncs.
	if err := d.exec(ctx, conn, "PRAGMA synchronous = normal", "BEGIN IMMEDIATE",
		d.markOpen(), "COMMIT", "PRAGMA synchronous = full"); err != nil {
		return err
	}
	d.set = true
	if !d.counts {
		return nil
	}
	return conn.QueryRowContext(ctx, "SELECT openings FROM till_journal").Scan(&d.opening)
}

// moveMarker moves the marker from the log into the database. A process that reads for long can prevent that. Each
// transaction then tries again, and does not delay the sender.
func (d *sqliteDialect) moveMarker(ctx context.Context, conn *sql.Conn) error {
	const tries = 20
	for i := range tries {
		var busy, frames, done int
		if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(passive)").Scan(&busy, &frames, &done); err != nil {
			return err
		}
		counted := frames >= 0 // not while another process makes a checkpoint
		if d.frames == 0 && counted {
			d.frames = frames
		}
		if d.marked = counted && (done >= d.frames || frames < d.frames); d.marked || i > 0 && d.tried {
			break
		}
		if err := rest(ctx, 5*pause); err != nil {
			return err
		}
	}
	d.tried = true
	return nil
}

func (d *sqliteDialect) markOpen() string {
	if d.counts {
		return "UPDATE till_journal SET opened = 1, openings = openings + 1"
	}
	return "UPDATE till_journal SET opened = 1 WHERE opened = 0"
}

// unmark takes the marker away if no other process writes, and reports whether it is away. Then the gate
// stays closed until the locks are released, so that no process sets the marker before the log is gone. The
// change need not be on the disk before all else is.
func (d *sqliteDialect) unmark(ctx context.Context) (unmarked bool, err error) {
	if d.files.intact() != nil {
		return false, nil
	}
	if err := d.enter(ctx); err != nil {
		return false, err
	}
	if d.writes {
		if err := d.locks.free(writerByte); err != nil {
			return false, err
		}
		d.writes = false
	}
	alone, err := d.noWriter()
	if err != nil || !alone {
		return false, errors.Join(err, d.leave())
	}
	if logIsEmpty(d.path) { // the last process that closed it has removed the marker, and nothing was written since
		return true, nil
	}
	open, err := d.saysOpen(ctx)
	if err != nil || !open {
		return err == nil, err
	}
	err = d.exec(ctx, d.anchor, "PRAGMA synchronous = normal", "BEGIN IMMEDIATE", "UPDATE till_journal SET opened = 0", "COMMIT")
	return err == nil, err
}

// exec runs a statement that may have to wait for other processes. SQLite's own waiting gets slower, down to
// ten tries a second. While another process writes all the time, it would hardly ever succeed.
func (d *sqliteDialect) exec(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, statement := range statements {
		if err := d.whileBusy(ctx, pause, func() error {
			_, err := conn.ExecContext(ctx, statement)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// whileBusy repeats a statement while other processes keep SQLite from running it.
func (d *sqliteDialect) whileBusy(ctx context.Context, pause time.Duration, run func() error) error {
	var busy error // of the last try
	_, err := patiently(ctx, d.wait, pause, func() (bool, error) {
		err := run()
		if e := (*sqlite.Error)(nil); errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY {
			busy = err
			return false, nil
		}
		busy = nil
		return true, err
	})
	return cmp.Or(err, busy)
}
