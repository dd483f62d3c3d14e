package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/till/internal/atomicfile"
	_ "modernc.org/sqlite"
)

// A file is a state on disk: an SQLite database with one table. Each row is a commit, with the changes of one
// transaction. A server has the file alone, and commands may share it: see lockState. A writer takes the
// write lock, reads the commits that others have added, decides by the resulting state, adds its own commit
// and releases the lock. So writers take turns, and each sees the same history. If a process is killed, its
// last commit is either complete in the file or absent.
//
// The first row begins the state. A new beginning removes the rows before it. The numbers go on, so that
// other processes read the new row next and begin again as well.
type file struct {
	path    string
	lock    *os.File
	db      *sql.DB      // with one connection
	last    int64        // the last commit that the store has; 0: none
	close   func() error // a second call does nothing
	version int64        // of the data at the last read, which SQLite changes when another process commits
}

// A FileError reports that the file of a state cannot be used, and why.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("the state file %s cannot be used: %v", e.Path, e.Err)
}
func (e *FileError) Unwrap() error { return e.Err }

// Marks in the header of the database: its owner and its layout.
const (
	fileOwner  = 0x54494c4c // "TILL"
	fileLayout = 1
)

// openFile opens a state or creates an empty one, which only its owner can read.
func openFile(path string, shared bool) (*file, error) {
	lock, err := lockState(path, shared)
	if err != nil {
		return nil, err
	}
	f := &file{lock: lock, path: strings.TrimSuffix(lock.Name(), lockSuffix)}
	if f.db, err = openDatabase(f.path); err == nil {
		if err = f.prepare(); err != nil {
			f.db.Close()
		}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	f.close = sync.OnceValue(func() error { return errors.Join(f.db.Close(), lock.Close()) })
	return f, nil
}

func openDatabase(path string) (*sql.DB, error) {
	// SQLite creates its other files with the same mode.
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	// A power cut must not lose a commit that was answered for, so synchronous is full.
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"),
		RawQuery: url.Values{
			"_pragma": {"busy_timeout(20000)", "synchronous(full)"},
			"_txlock": {"immediate"},
		}.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err == nil {
		db.SetMaxOpenConns(1) // data_version tells of the commits of others only on one connection
	}
	return db, err
}

// prepare creates the table in a new database, and refuses a database that is not a sandbox's.
func (f *file) prepare() error {
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	var owner, layout, tables int64
	err = tx.QueryRow("SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version").
		Scan(&owner, &layout, &tables)
	if err == nil && tables == 0 {
		owner, layout = fileOwner, fileLayout
		_, err = tx.Exec(fmt.Sprintf(`CREATE TABLE commits (number INTEGER PRIMARY KEY, changes BLOB NOT NULL) STRICT;
			PRAGMA application_id = %d; PRAGMA user_version = %d`, fileOwner, fileLayout))
	}
	switch {
	case err != nil:
		return err
	case owner != fileOwner:
		return errors.New("it is a database of something else")
	case layout != fileLayout:
		return fmt.Errorf("it was made by another version of the sandbox (layout %d, not %d)", layout, fileLayout)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return f.useLog()
}

// useLog switches to the write-ahead log, so that readers do not wait for writers. The switch is permanent.
// While other processes open the file at the same moment, SQLite reports at once that it is busy, so useLog
// retries.
func (f *file) useLog() (err error) {
	for range 200 {
		if _, err = f.db.Exec("PRAGMA journal_mode = wal"); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// failed returns an error of the file. The state in memory is not valid then, and the next read starts from
// nothing.
func (f *file) failed(err error) error {
	if err == nil {
		return nil
	}
	f.last = 0
	return &FileError{f.path, err}
}

// append adds what decide returns as one commit, after the commits of other processes. The store must be
// locked.
func (f *file) append(apply func(Change), decide func() []Change) (err error) {
	if f == nil { // the state is in memory only
		decide()
		return nil
	}
	defer func() { err = f.failed(err) }()
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	if err := f.catchUp(tx.Query, apply); err != nil {
		return err
	}
	next := f.last
	f.last = 0 // until the changes that decide makes are in the file, also after a panic
	if changes := decide(); len(changes) > 0 {
		next++
		text, err := json.Marshal(changes)
		if err == nil {
			_, err = tx.Exec("INSERT INTO commits (number, changes) VALUES (?, ?)", next, text)
		}
		if err == nil && slices.ContainsFunc(changes, func(c Change) bool { return c.Begin != nil }) {
			_, err = tx.Exec("DELETE FROM commits WHERE number < ?", next)
		}
		if err != nil {
			return err
		}
	}
	if err = tx.Commit(); err == nil {
		f.last = next
	}
	return err
}

// read brings the store, which must be locked, up to date.
func (f *file) read(apply func(Change)) error {
	var version int64
	err := f.db.QueryRow("PRAGMA data_version").Scan(&version)
	if err != nil || f.last > 0 && version == f.version {
		return f.failed(err)
	}
	f.version = version
	return f.failed(f.catchUp(f.db.Query, apply))
}

func (f *file) catchUp(query func(string, ...any) (*sql.Rows, error), apply func(Change)) error {
	rows, err := query("SELECT number, changes FROM commits WHERE number > ? ORDER BY number", f.last)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var text sql.RawBytes
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		var changes []Change
		if err := json.Unmarshal(text, &changes); err != nil {
			return fmt.Errorf("its commit %d is damaged: %w", number, err)
		}
		for _, c := range changes {
			apply(c)
		}
		f.last = number
	}
	return rows.Err()
}

// ErrInUse is the error for a state file that another store has open.
var ErrInUse = errors.New("in use")

const (
	lockSuffix = ".lock"
	lockWait   = time.Second // longer than most commands have the file
)

// lockState lets one server have a state file, or several commands share it. The system releases the lock
// when the process ends in any way. The lock file says who opened the state last, and is never removed.
func lockState(path string, shared bool) (*os.File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // all names of a file have one lock
	}
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := atomicfile.TryLock(f, shared)
	for end := time.Now().Add(lockWait); !locked && err == nil && time.Now().Before(end); locked, err = atomicfile.TryLock(f, shared) {
		time.Sleep(lockWait / 100)
	}
	before := make([]byte, 60)
	n, _ := f.ReadAt(before, 0)
	switch {
	case err != nil:
	case n > 0 && !bytes.HasPrefix(before, []byte("process ")) && !bytes.HasPrefix(before, []byte("commands, ")):
		err = fmt.Errorf("%s exists and is no lock of a sandbox", filepath.Base(f.Name()))
	case locked:
		holder := "process %d"
		if shared {
			holder = "commands, the last of them process %d"
		}
		_, err = fmt.Fprintf(f, "%-60s\n", fmt.Sprintf(holder, os.Getpid())) // over the one before
	default:
		err = fmt.Errorf("it is %w by %s", ErrInUse, bytes.TrimSpace(before[:n]))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
