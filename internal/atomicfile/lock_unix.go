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

// TryLock takes a lock that belongs to the open file and not to the process, so that two users of a file in one
// process see each other's. It reports whether it has got the lock.
func TryLock(f *os.File, shared bool) (bool, error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
