package cmdutil

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/exit"
	"example.com/till/internal/place"
)

// OutFile is an output file that a flag names. It is replaced atomically: a reader sees the old file or the
// new one, never a part.
type OutFile struct {
	Flag, Path string
	Mode       fs.FileMode // of a new file, before the umask; an existing file keeps its mode
	Room       int64       // expected size in bytes; 0 if not known
	place      string      // where the path led when it was checked; empty: it was not
}

// Check finds, before anything else is done, reasons why the file cannot be written. The path is empty if the
// file is not wanted.
func (f *OutFile) Check() (err error) {
	refuse := func(why, advice string) error {
		return exit.UsageError(fmt.Sprintf("--%s: %s %s", f.Flag, f.Path, why), advice)
	}
	if f.Path == "" {
		return nil
	}
	if f.Path == "-" {
		return refuse("is not a file", "name a file")
	}
	if dir, err := os.Stat(filepath.Dir(f.Path)); err != nil || !dir.IsDir() {
		return refuse("is in a directory that does not exist", "make it first")
	}
	if f.place, err = place.Follow(f.Path); errors.Is(err, fs.ErrNotExist) {
		return refuse("is a symbolic link to a file that does not exist", "make that file first, or name another")
	} else if err != nil {
		return refuse("cannot be written: "+err.Error(), "name another file")
	}
	if info, err := os.Lstat(f.place); err == nil && !info.Mode().IsRegular() {
		return refuse("is not a regular file", "name another file")
	}
	probe, err := atomicfile.Create(f.place, 0o600)
	if err != nil {
		return f.Unwritable(exit.Usage, err, "name a file in a directory that you may write to")
	}
	if err := cmp.Or(reserve(probe.File, max(f.Room, 4<<10)), probe.Discard()); err != nil {
		return f.Unwritable(exit.Usage, err, "name another file")
	}
	return nil
}

// reserve writes the given number of bytes to a file and syncs it, because some systems report a full disk
// only then.
func reserve(file *os.File, bytes int64) error {
	part := make([]byte, 64<<10)
	for ; bytes > 0; bytes -= int64(len(part)) {
		if _, err := file.Write(part[:min(bytes, int64(len(part)))]); err != nil {
			return err
		}
	}
	return file.Sync()
}

// Unwritable returns the error for a file that cannot be written, found before anything else is done. The
// exit code is code, except for a full disk, which is a fault of the machine.
func (f OutFile) Unwritable(code int, err error, advice string) error {
	if exit.DiskFull(err) {
		code, advice = exit.Config, "free some space in "+filepath.Dir(f.Path)+", and run it again"
	}
	return exit.Failure(code, err, fmt.Sprintf("--%s: %s cannot be written: %v", f.Flag, f.Path, err), advice)
}

// Write replaces the file like Replace, and returns an error with an exit code.
func (f OutFile) Write(fill func(io.Writer) error) error {
	err := f.Replace(fill)
	if err != nil {
		return exit.Failure(exit.Output, err, fmt.Sprintf("--%s: %s could not be written: %v", f.Flag, f.Path, err),
			"name a file that you can write, and run it again")
	}
	return nil
}

// Replace replaces the file atomically. The path is empty if the file is not wanted.
func (f OutFile) Replace(fill func(io.Writer) error) error {
	if f.Path == "" {
		return nil
	}
	path, err := f.place, error(nil)
	if path == "" {
		path, err = place.Follow(f.Path)
	}
	if err != nil {
		return err
	}
	file, err := atomicfile.CreateAt(path, f.Mode)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	err = fill(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if old, e := os.Stat(path); err == nil && e == nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// Content writes a text that is already complete.
func Content(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}
