package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/till/internal/atomicfile"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteDialect keeps the journal in a file of this machine. A commit is on the disk when it returns: the log is synced with
// every one, in full where the system makes a difference, and so are the directories that were made for it.
type sqliteDialect struct {
	name     string // as it was given
	wait     time.Duration
	existing bool      // it is not made
	path     string    // with links followed
	files    *fileSet  // what they were when it was opened
	anchor   *sql.Conn // keeps SQLite from removing the log while this process is between two other connections
	locks    *lockFile

	marks  bool // it has the marker of marker.go
	lost   bool // it was left open, and its log is gone; the gate is this process's
	writes bool // this process shares the writers' byte
	set    bool // it has set the marker
	marked bool // which is in the database itself
	tried  bool // to bring it there, for as long as it may take
	frames int  // of the log, of which the marker is one
}

func newSQLite(name string, wait time.Duration, existing bool) dialect {
	return &sqliteDialect{name: name, wait: wait, existing: existing}
}

func (d *sqliteDialect) place() string { return d.name }

// wait is how long a process waits for others that write.
const wait = 10 * time.Second

// checkedSize is up to which size a journal is looked through as a whole when it is opened.
const checkedSize = 32 << 20

func (d *sqliteDialect) open(ctx context.Context) (*sql.DB, error) {
	if d.existing {
		if _, err := os.Lstat(d.name); errors.Is(err, fs.ErrNotExist) {
			return nil, notThere(d.name)
		}
	}
	path, err := prepareFile(d.name)
	if err != nil {
		return nil, err
	}
	d.path = path
	if d.locks, err = openLockFile(path + locksFile); err != nil {
		return nil, err
	}
	if err := d.secureFile(ctx); err != nil {
		return nil, errors.Join(err, d.locks.close())
	}
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"), RawQuery: url.Values{
		"mode":    {"rw"}, // a file that was moved away must not be made anew
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", d.wait.Milliseconds()), "synchronous(full)", "fullfsync(on)", "checkpoint_fullfsync(on)", "foreign_keys(on)", "cell_size_check(on)"},
	}.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	d.anchor, err = db.Conn(ctx)
	if err == nil {
		err = d.check(ctx, d.anchor)
		if err != nil && logIsEmpty(path) { // without its log a file in use looks damaged
			if alone, e := d.nobodyWrites(); e == nil && !alone {
				err = errLogTaken
			}
		}
	}
	if err == nil {
		err = d.inspect(ctx)
	}
	if err == nil {
		d.files, err = newFileSet(path)
	}
	if err == nil {
		err = checkFiles(path) // which SQLite has made, or somebody else has
	}
	if err != nil {
		d.disconnect(db, true)
		return nil, err
	}
	return db, nil
}

// disconnect ends all connections. The last one takes the log away, unless it is to be kept.
func (d *sqliteDialect) disconnect(db *sql.DB, keepLog bool) error {
	db.SetMaxIdleConns(-1) // the anchor is the last
	var err error
	if d.anchor != nil {
		if keepLog {
			err = d.anchor.Raw(func(conn any) error {
				_, err := conn.(sqlite.FileControl).FileControlPersistWAL("main", 1)
				return err
			})
		}
		err = errors.Join(err, d.anchor.Close())
		d.anchor = nil
	}
	return errors.Join(err, db.Close(), d.locks.close())
}

// check refuses a file that is not a journal's, or is damaged.
func (d *sqliteDialect) check(ctx context.Context, db *sql.Conn) error {
	var tables, own int
	if err := db.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = 'till_journal') FROM sqlite_schema").Scan(&tables, &own); err != nil {
		return err
	}
	if tables > 0 && own == 0 {
		return &Error{Place: d.name, Msg: "is a database of something else: name another file with --journal"}
	}
	mode, err := d.logMode(ctx, db) // only now, since it stays with the file
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("it cannot be kept in the mode that survives a power cut (%s)", mode)
	}
	if info, err := os.Stat(d.path); err != nil || info.Size() > checkedSize {
		return err
	}
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, found)
	}
	return nil
}

// logMode switches a new journal to a log that is written ahead, and returns the mode that it then has. Of several processes
// that do this at the same moment, SQLite turns away all but one at once, whatever busy_timeout says, because each of them
// holds what another one waits for.
func (d *sqliteDialect) logMode(ctx context.Context, db *sql.Conn) (mode string, err error) {
	for began := time.Now(); ; {
		err = db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode)
		if e := (*sqlite.Error)(nil); !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_BUSY || time.Since(began) > d.wait {
			return mode, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var errDamaged = errors.New("the file is damaged")

// limit is none: a file answers, or busy_timeout ends it.
func (d *sqliteDialect) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

// writer keeps in memory how the pages were that a statement changes, which is there until the statement has ended. It would be
// a file of its own for each transaction.
// It waits for others in exec alone.
func (d *sqliteDialect) writer() string { return "PRAGMA temp_store = memory; PRAGMA busy_timeout = 0" }

func (d *sqliteDialect) begin(ctx context.Context, conn *sql.Conn) error {
	if err := d.mark(ctx, conn); err != nil {
		return err
	}
	// Who waits has the turn, so that one that has just ended a transaction cannot begin the next one first. One that was
	// stopped with it keeps the others back for a while only.
	for began := time.Now(); time.Since(began) < d.wait/2; {
		got, err := d.locks.try(turnByte, false)
		if err != nil {
			return err
		}
		if got {
			defer d.locks.free(turnByte)
			break
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	return d.exec(ctx, conn, "BEGIN IMMEDIATE")
}

func (d *sqliteDialect) broken(error) bool { return false }

func (d *sqliteDialect) commit(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	return d.still()
}

// still refuses a journal of which a file is no longer where it was.
func (d *sqliteDialect) still() error {
	err := d.files.intact()
	if err == nil {
		return nil
	}
	return &Error{Place: d.name, Msg: fmt.Sprintf("was moved away or removed while it was in use (%v); end all that use it, put the file back, and run the command again; if it is gone, run till journal check first", err), Err: err, Lost: true}
}

func (d *sqliteDialect) rewrite(query string) string {
	return strings.NewReplacer("{id}", "INTEGER PRIMARY KEY", "{lock}", "", "{clustered}", "WITHOUT ROWID").Replace(query)
}

func (d *sqliteDialect) tables() string {
	return "SELECT count(*) FROM sqlite_schema WHERE name = 'till_journal'"
}

func (d *sqliteDialect) exclude(*tx) error { return nil } // BEGIN IMMEDIATE does

func (d *sqliteDialect) snapshot() string { return "BEGIN" }

func (d *sqliteDialect) numbered(*tx) error { return nil } // SQLite counts from the largest

func (d *sqliteDialect) hold(_ context.Context, _ *sql.Conn, sender int64) error {
	return d.locks.hold(sender)
}

func (d *sqliteDialect) holds(_ context.Context, _ querier, sender int64) (bool, error) {
	return d.locks.held(sender)
}

func (d *sqliteDialect) explain(err error) string {
	var code int
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		code = e.Code()
	}
	if gone := (*Error)(nil); code != 0 && d.files != nil && errors.As(d.still(), &gone) {
		return gone.Msg
	}
	if errors.Is(err, errLocked) {
		code = sqlite3.SQLITE_BUSY
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = sqlite3.SQLITE_FULL
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "cannot be written: the disk is full; free some room and run the command again"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Sprintf("is locked by another program for more than %v; end that program, or wait and run the command again", d.wait)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Sprintf("is damaged (%v); restore a copy of it, and hold that against the service's list with till journal check", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Sprintf("cannot be written (%v); look at the permissions of the file and of its directory", err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Sprintf("cannot be read or written (%v); look at the disk", err)
	}
	switch {
	case errors.Is(err, errLogTaken):
		return fmt.Sprintf("has lost a file while another process uses it (%s); wait until that process has ended, and then run till journal check", filepath.Base(d.path)+logFile)
	case errors.Is(err, errReplaced):
		return "was replaced while another process uses it; end that process, put its file back, and run the command again; if it is gone, run till journal check first"
	case errors.Is(err, errDamaged):
		return fmt.Sprintf("is damaged (%v); restore a copy of it, and hold that against the service's list with till journal check", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("cannot be opened (%v); look at the permissions of the file and of its directory", err)
	}
	return fmt.Sprintf("cannot be used: %v", err)
}

func (d *sqliteDialect) now(querier) (time.Time, error) { return time.Time{}, nil }

func (d *sqliteDialect) close(db *sql.DB) error {
	unmarked, err := d.unmark(context.Background())
	return errors.Join(err, d.disconnect(db, !unmarked))
}

// secureFile makes the journal's file where it is missing, and refuses one that others could change.
func (d *sqliteDialect) secureFile(ctx context.Context) error {
	if err := checkFiles(d.path); err != nil {
		return err
	}
	if err := d.makeFile(ctx); err != nil {
		return err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if info.Size() == 0 { // this process has made it, or another one that may not have come to this yet
		return atomicfile.SyncDirectory(filepath.Dir(d.path))
	}
	return nil
}

// makeFile makes the journal's file where it is missing, readable by its owner only. It refuses to where the other files say
// that the journal was there, and is in use: a new one would know nothing of what is under way.
func (d *sqliteDialect) makeFile(ctx context.Context) error {
	if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) { // another process has just made it
		return err
	}
	unused, err := d.nobodyWrites()
	if err != nil {
		return err
	}
	var left []string
	for _, end := range []string{logFile, indexFile} {
		if _, err := os.Lstat(d.path + end); err == nil {
			left = append(left, filepath.Base(d.path+end))
		}
	}
	if !unused {
		return &Error{Place: d.name, Msg: "was moved away or removed while another process uses it; end that process, put the file back, and run the command again; if it is gone, run till journal check first", Lost: true}
	}
	if len(left) > 0 {
		return &Error{Place: d.name, Msg: fmt.Sprintf("was moved away or removed, with %s left behind; put the file back, or, if it is gone, remove the rest and look up every order before it is sent (--lookup always)", strings.Join(left, " and ")), Lost: true}
	}
	// Where it is there already it is not opened: closing it again would take SQLite's own locks away from another journal of
	// this process.
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// prepareFile makes the directories above a journal's file where they are missing, readable by their owner only, and returns its
// path with links followed.
func prepareFile(name string) (path string, err error) {
	if path, err = filepath.Abs(name); err != nil {
		return "", err
	}
	if err := makeDirectories(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := checkDirectory(path); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 { // perhaps to a disk that is not there, and the journal with it
		return "", fmt.Errorf("it is a link that leads nowhere (%w)", err)
	}
	if err := checkFileSystem(filepath.Dir(path)); err != nil {
		return "", err
	}
	return path, nil
}

// makeDirectories is os.MkdirAll, but that each new directory's name is on the disk as well.
func makeDirectories(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirectories(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDirectory(filepath.Dir(dir))
}
