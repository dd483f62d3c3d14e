//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package journal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile is the file in which each process that sends holds a lock on one byte, that with its own number. The system takes
// the lock away when the process ends in any way. The file is empty, and stays.
type lockFile struct{ file *os.File }

func openLockFile(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &lockFile{f}, nil
}

func (l *lockFile) hold(sender int64) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sender, Len: 1}
	if err := unix.FcntlFlock(l.file.Fd(), unix.F_SETLK, &lock); err != nil {
		return fmt.Errorf("the lock of this process cannot be had: %w", err)
	}
	return nil
}

func (l *lockFile) held(sender int64) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sender, Len: 1}
	if err := unix.FcntlFlock(l.file.Fd(), unix.F_GETLK, &lock); err != nil {
		return false, fmt.Errorf("the locks of other processes cannot be looked at: %w", err)
	}
	return lock.Type != unix.F_UNLCK, nil
}

func (l *lockFile) close() error { return l.file.Close() }
