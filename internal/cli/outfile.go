package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is a file that a flag names for what a command makes. It is replaced as a whole: whoever looks at it sees the one
// before or the new one, and never a part.
type outFile struct{ flag, path string }

// check finds out beforehand what would keep the file from being written. A file that is not wanted has no path.
func (f outFile) check() error {
	refuse := func(why, hint string) error {
		return usageError(fmt.Sprintf("--%s: %s %s", f.flag, f.path, why), hint)
	}
	if f.path == "" {
		return nil
	}
	if f.path == "-" {
		return refuse("is not a file", "name a file; standard output has the table")
	}
	if dir, err := os.Stat(filepath.Dir(f.path)); err != nil || !dir.IsDir() {
		return refuse("is in a directory that does not exist", "make it first")
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return refuse("cannot be looked at: "+err.Error(), "name another file")
	case !info.Mode().IsRegular():
		return refuse("is not a regular file", "name another file")
	}
	probe, _, err := f.beside(0o600)
	if err != nil {
		return refuse("cannot be written: "+err.Error(), "name a file in a directory that you may write to")
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// beside makes a new file in the directory where the file is, also where a symbolic link leads to it.
func (f outFile) beside(mode fs.FileMode) (*os.File, string, error) {
	place := f.path
	if target, err := filepath.EvalSymlinks(place); err == nil {
		place = target
	}
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(place), fmt.Sprintf(".%s.%d-%d", filepath.Base(place), os.Getpid(), i))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || i == 1000 {
			return file, place, err
		}
	}
}

// write puts text in the place of the file: written beside it, synced, renamed. A new file has the mode that the umask
// leaves; one that is there keeps its own.
func (f outFile) write(text []byte) (err error) {
	if f.path == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = &failure{code: exitOutput, err: err, msg: fmt.Sprintf("--%s: %s could not be written: %v", f.flag, f.path, err), hint: "make room, and run it again"}
		}
	}()
	file, place, err := f.beside(0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if old, e := os.Stat(place); err == nil && e == nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(file.Name(), place)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
