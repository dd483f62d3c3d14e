//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openLock opens the directory of a file. Unlike a lock file, it is there, it stays, and every user who may
// replace the file can open it.
func openLock(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }

func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
