// Package atomicfile replaces files as a whole. A reader sees the old file or the new one and never a part,
// also after a crash or a power cut.
//
// Nothing here follows a symbolic link: it is replaced. A caller that wants the file behind it resolves the
// path first.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// File is a new file in the directory of the one that it is to replace. It ends with Commit or Discard.
type File struct {
	*os.File
	path string
}

// Create makes a File for path, with the permissions that the umask leaves of perm.
func Create(path string, perm fs.FileMode) (*File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf(".%s.%d-%d", filepath.Base(path), os.Getpid(), i)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			return &File{f, path}, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == 1000 { // left over from processes that were killed
			return nil, err
		}
	}
}

// Commit syncs the file and puts it in its place. An error means that the old file is still there, unless it
// is an [*UnsyncedError].
func (f *File) Commit() error {
	err := f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
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

// Discard removes the file. The old one stays.
func (f *File) Discard() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// Write replaces the file at path by one with this content.
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

// UnsyncedError is the error of a directory that cannot be synced: the new file is in its place, and a power
// cut may undo that.
type UnsyncedError struct{ Err error }

func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("the file is written, but may not outlast a power cut: %v", e.Err)
}

func (e *UnsyncedError) Unwrap() error { return e.Err }

// SyncDirectory makes the names in a directory outlast a power cut: a file that was made there or has another
// name now.
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
