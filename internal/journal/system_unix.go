//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type lockFile struct{ *os.File }

func (l *lockFile) hold(sender int64) error {
	if err := l.set(sender, unix.F_WRLCK); err != nil {
		return fmt.Errorf("the lock of this process cannot be had: %w", err)
	}
	return nil
}

func (l *lockFile) held(sender int64) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sender, Len: 1}
	if err := unix.FcntlFlock(l.Fd(), getLock, &lock); err != nil {
		return false, fmt.Errorf("the locks of other processes cannot be looked at: %w", err)
	}
	return lock.Type != unix.F_UNLCK, nil
}

// try takes an exclusive or a shared lock on a byte. It reports whether it has got the lock.
func (l *lockFile) try(at int64, shared bool) (bool, error) {
	kind := int16(unix.F_WRLCK)
	if shared {
		kind = unix.F_RDLCK
	}
	err := l.set(at, kind)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

func (l *lockFile) free(at int64) error { return l.set(at, unix.F_UNLCK) }

func (l *lockFile) set(at int64, kind int16) error {
	lock := unix.Flock_t{Type: kind, Start: at, Len: 1}
	for {
		if err := unix.FcntlFlock(l.Fd(), setLock, &lock); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// links returns how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
