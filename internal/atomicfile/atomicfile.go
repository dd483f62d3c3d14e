// Package atomicfile replaces files as a whole. A reader sees the old file or the new one and never a part,
// even after a crash or a power cut.
//
// A symbolic link of this user or of root stays, and the file that it leads to is replaced. A link of another
// user is refused, also if it was put there while the file was being written.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"example.com/till/internal/place"
)

// File is a new file in the directory of the file that it will replace. It ends with Commit or Discard.
type File struct {
	*os.File
	path string // has no links
}

// Create makes a File for path with the permissions perm, less the umask.
func Create(path string, perm fs.FileMode) (*File, error) {
	path, err := place.Follow(path)
	if err != nil {
		return nil, err
	}
	return CreateAt(path, perm)
}

// CreateAt is Create for a path that place.Follow has returned. If a link is in its way by now, it is refused.
func CreateAt(path string, perm fs.FileMode) (*File, error) {
	if err := still(path); err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf(".%s.%d-%d", filepath.Base(path), os.Getpid(), i)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			return &File{f, path}, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == 1000 { // a killed process may have left a file of that name
			return nil, err
		}
	}
}

// Commit syncs the file and renames it to its path. After an error the old file is still there, unless the
// error is an [*UnsyncedError].
func (f *File) Commit() error {
	err := cmp.Or(f.Sync(), f.Close(), still(f.path))
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := SyncDirectory(filepath.Dir(f.path)); err != nil {
		return &UnsyncedError{err}
	}
	return nil
}

// still checks that no link was put in the way of a path that had none.
func still(path string) error {
	to, err := place.Follow(path)
	if err == nil && to != path {
		err = fmt.Errorf("%s leads elsewhere than before: a link was put in its way", path)
	}
	return err
}

// Discard removes the file. The old one stays.
func (f *File) Discard() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// Write replaces the file at path with one that has this content.
func Write(path string, perm fs.FileMode, content []byte) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// WriteNew writes a file that everybody may read and that does not exist yet.
func WriteNew(path string, content []byte) error {
	dir, err := place.Follow(filepath.Dir(path))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, filepath.Base(path)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDirectory(dir)
}

// UnsyncedError reports that a directory cannot be synced: the new file is in its place, but a power cut may
// undo that.
type UnsyncedError struct{ Err error }

func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("the file is written, but may not outlast a power cut: %v", e.Err)
}

func (e *UnsyncedError) Unwrap() error { return e.Err }

// SyncDirectory makes the names in a directory survive a power cut, such as that of a file that was just made
// or renamed.
func SyncDirectory(dir string) error {
	if runtime.GOOS == "windows" { // directories cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WithoutPath removes the path from an error about a file, because a user may have given a key instead of a
// path.
func WithoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// ErrLocked is the error of Lock if somebody else has the lock for too long.
var ErrLocked = errors.New("another process has locked it")

// lockInterval is how often Lock tries.
const lockInterval = 5 * time.Millisecond

// Lock lets only one caller at a time read a file and replace it, in this process and in all others that call
// Lock too. It waits for the lock no longer than the given time. The system releases the lock of a process
// that is killed.
func Lock(path string, most time.Duration) (unlock func(), err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(lockInterval) {
		locked, err := TryLock(f, false)
		switch {
		case locked:
			return func() { f.Close() }, nil
		case err != nil:
			return nil, errors.Join(err, f.Close())
		case time.Since(began) >= most:
			return nil, errors.Join(ErrLocked, f.Close())
		}
	}
}
