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

// sqliteDialect keeps the journal in a file on this machine. A commit is on the disk when it returns. Every
// commit syncs the log, with a full sync on systems that have one. New directories are synced too.
type sqliteDialect struct {
	name     string // as given by the caller
	wait     time.Duration
	existing bool      // do not make the journal
	path     string    // with links resolved
	files    *fileSet  // the files when they were opened
	anchor   *sql.Conn // keeps SQLite from removing the log while this process has no other connection
	locks    *lockFile

	marks  bool // the journal has the marker of marker.go
	counts bool // it has the count of openings, see copy.go
	lost   bool // it was left open and its log is gone; this process holds the gate
	writes bool // this process shares the lock on writerByte
	set    bool // this process has set the marker
	marked bool // the marker is in the database, and not only in the log
	tried  bool // mark has once tried for its full time
	frames int  // frames of the log up to the marker

	opening int64 // the number of this opening, which the lock file does not have yet
}

func (d *sqliteDialect) place() string { return d.name }

// wait is how long a process waits for other writers.
const wait = 10 * time.Second

// checkedSize is the largest size in bytes of a journal that is checked completely when it is opened.
const checkedSize = 32 << 20

func (d *sqliteDialect) open(ctx context.Context) (*sql.DB, error) {
	if d.existing {
		switch info, err := os.Stat(d.name); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, notThere(d.name)
		case err == nil && info.Size() == 0:
			return nil, withoutContent(d.name)
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
		return nil, errors.Join(err, d.locks.Close())
	}
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"),
		RawQuery: url.Values{
			"mode": {"rw"}, // a file that was moved away must not be made again
			"_pragma": {fmt.Sprintf("busy_timeout(%d)", d.wait.Milliseconds()), "synchronous(full)", "fullfsync(on)",
				"checkpoint_fullfsync(on)", "foreign_keys(on)", "cell_size_check(on)"},
		}.Encode()}
	connector, err := sqlite.NewConnector(address.String())
	if err != nil {
		return nil, err
	}
	db := openDB(ctx, connector)
	d.anchor, err = db.Conn(ctx)
	if err == nil {
		err = d.checkOpened(ctx)
	}
	if err != nil {
		d.disconnect(db, true)
		return nil, err
	}
	return db, nil
}

// checkOpened checks the database and its files, once it is connected.
func (d *sqliteDialect) checkOpened(ctx context.Context) error {
	err := d.check(ctx, d.anchor)
	if err != nil && logIsEmpty(d.path) { // without its log, a file in use looks damaged
		if alone, e := d.noWriter(); e == nil && !alone {
			return errLogTaken
		}
	}
	if err != nil {
		return err
	}
	if err := d.inspect(ctx); err != nil {
		return err
	}
	if d.files, err = newFileSet(d.path); err != nil {
		return err
	}
	return checkFiles(d.path) // again, because files may have been made since
}

// disconnect closes all connections. The last one removes the log, unless keepLog is set.
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
	return errors.Join(err, db.Close(), d.locks.Close())
}

// check refuses a file that is not a journal, or is damaged.
func (d *sqliteDialect) check(ctx context.Context, db *sql.Conn) error {
	var tables, own int
	if err := db.QueryRowContext(ctx,
		"SELECT count(*), count(*) FILTER (WHERE name = 'till_journal') FROM sqlite_schema").
		Scan(&tables, &own); err != nil {
		return err
	}
	if tables > 0 && own == 0 {
		return &Error{Kind: Broken, Place: d.name, Msg: "is a database of something else: name another file with --journal"}
	}
	mode, err := d.logMode(ctx, db) // only now, because the mode is stored in the file
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

// logMode switches a new journal to a write-ahead log, and returns its mode. If several processes do this at
// the same moment, SQLite refuses all but one immediately, despite busy_timeout, because each holds a lock
// that another one waits for.
func (d *sqliteDialect) logMode(ctx context.Context, db *sql.Conn) (mode string, err error) {
	err = d.whileBusy(ctx, 10*pause, func() error { return db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode) })
	return mode, err
}

// writerSettings are those of the connection that writes. SQLite keeps the old content of the pages that a
// statement changes until the statement ends. The first setting keeps it in memory: otherwise it would be a file
// for each transaction. The second one makes exec the only place that waits for other processes.
const writerSettings = "PRAGMA temp_store = memory; PRAGMA busy_timeout = 0"

func (d *sqliteDialect) begin(ctx context.Context, conn *sql.Conn) error {
	if err := d.still(); err != nil { // the commit before this one could be lost
		return err
	}
	if err := d.mark(ctx, conn); err != nil {
		return err
	}
	// The process that waits holds the turn, so that one that has just ended a transaction cannot begin the
	// next one first. If a process stops while it holds the turn, the others wait for a limited time only.
	got, err := patiently(ctx, d.wait/2, pause, func() (bool, error) { return d.locks.try(turnByte, false) })
	if err != nil {
		return err
	}
	if got {
		defer d.locks.free(turnByte)
	}
	return d.exec(ctx, conn, "BEGIN IMMEDIATE")
}

func (d *sqliteDialect) commit(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	if d.opening > 0 { // only now, because a power cut must not leave a higher count here than in the journal
		d.locks.noteOpenings(d.opening)
		d.opening = 0
	}
	return d.still()
}

// still refuses a journal if one of its files is not in its place any more.
func (d *sqliteDialect) still() error {
	err := d.files.intact()
	if err == nil {
		return nil
	}
	return &Error{Kind: Lost, Place: d.name,
		Msg: fmt.Sprintf("was moved away or removed while it was in use (%v); end all that use it, put the file back, and run the command again; if it is gone, run till journal check first", err), Err: err}
}

func (d *sqliteDialect) kept(t *tx) string {
	identity, err := fileIdentity(d.path)
	t.fail(err)
	return identity
}

func (d *sqliteDialect) rewrite(query string) string {
	return strings.NewReplacer("{id}", "INTEGER PRIMARY KEY", "{lock}", "", "{clustered}", "WITHOUT ROWID",
		"{list}", "json_each(?2)").Replace(query)
}

func (d *sqliteDialect) tables() string {
	return "SELECT count(*) FROM sqlite_schema WHERE name = 'till_journal'"
}

func (d *sqliteDialect) hold(_ context.Context, _ *sql.Conn, sender int64) error {
	return d.locks.hold(sender)
}

func (d *sqliteDialect) holds(t *tx, sender int64) bool {
	held, err := d.locks.held(sender)
	t.fail(err)
	return held
}

func (d *sqliteDialect) explain(err error) string {
	var code int
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		code = e.Code()
	}
	if code != 0 && d.files != nil {
		if gone := AsError(d.still()); gone != nil {
			return gone.Msg
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		code == sqlite3.SQLITE_IOERR_SHMSIZE: // the index of the log cannot get any longer
		code = sqlite3.SQLITE_FULL
	case errors.Is(err, errLocked):
		code = sqlite3.SQLITE_BUSY
	case errors.Is(err, errDamaged):
		code = sqlite3.SQLITE_CORRUPT
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "cannot be written: the disk is full; free some room"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Sprintf("is locked by another program for more than %v; end that program, or wait", d.wait)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Sprintf("is damaged (%v); restore a copy of it, and compare that with the service's list: till journal check", err)
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
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("cannot be opened (%v); look at the permissions of the file and of its directory", err)
	}
	return fmt.Sprintf("cannot be used: %v", err)
}

func (d *sqliteDialect) close(db *sql.DB) error {
	unmarked, err := d.unmark(context.Background())
	return errors.Join(err, d.disconnect(db, !unmarked))
}

// secureFile makes the journal's file if it is missing, and refuses one that other users could change.
func (d *sqliteDialect) secureFile(ctx context.Context) error {
	if err := checkFiles(d.path); err != nil {
		return err
	}
	if err := d.makeFile(ctx); err != nil {
		return err
	}
	info, err := os.Stat(d.path)
	if err == nil && info.Size() == 0 { // made by this process, or by another one that has not written to it yet
		err = atomicfile.SyncDirectory(filepath.Dir(d.path))
	}
	return err
}

// leftBehind returns the error for a journal of which only files with these endings are left.
func (d *sqliteDialect) leftBehind(endings ...string) error {
	for i, end := range endings {
		endings[i] = filepath.Base(d.path) + end
	}
	return &Error{Kind: Lost, Place: d.name,
		Msg: fmt.Sprintf("was moved away or removed, or emptied, with %s left behind; put the file back, or, if it is gone, remove the rest and look up every order before it is sent (--lookup always)", strings.Join(endings, " and "))}
}

// makeFile makes the journal's file if it is missing, readable only by its owner. It refuses if the other
// files show that the journal existed and is in use: a new journal would know nothing of the orders under
// way.
func (d *sqliteDialect) makeFile(ctx context.Context) error {
	if info, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil && info.Size() == 0 && !logIsEmpty(d.path) { // SQLite would remove the log, and begin anew
			return d.leftBehind(logFile)
		}
		return err
	}
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) { // another process has just made it
		return err
	}
	unused, err := d.noWriter()
	if err != nil {
		return err
	}
	var left []string
	for _, end := range []string{logFile, indexFile} {
		if _, err := os.Lstat(d.path + end); err == nil {
			left = append(left, end)
		}
	}
	if !unused {
		return &Error{Kind: Lost, Place: d.name,
			Msg: "was moved away or removed while another process uses it; end that process, put the file back, and run the command again; if it is gone, run till journal check first"}
	}
	if len(left) > 0 {
		return d.leftBehind(left...)
	}
	// An existing file is not opened: closing it would release the locks that SQLite holds for another
	// journal of this process.
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// prepareFile makes the missing directories of a journal's path, readable only by their owner, and returns
// the path with links resolved.
func prepareFile(name string) (path string, err error) {
	if path, err = filepath.Abs(name); err != nil {
		return "", err
	}
	if err := makeDirectories(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := checkWay(path); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 { // perhaps to a disk that is not mounted, and has the journal
		return "", fmt.Errorf("it is a link that leads nowhere (%w)", err)
	}
	if err := checkFileSystem(filepath.Dir(path)); err != nil {
		return "", err
	}
	return path, nil
}

// makeDirectories is os.MkdirAll, but also syncs the name of each new directory.
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

// file returns the journal's file; nil: it is in PostgreSQL.
func (j *Journal) file() *sqliteDialect {
	f, _ := j.dialect.(*sqliteDialect)
	return f
}
