package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile is the lock file of a journal. Each process that sends holds a lock on one byte of it, at the
// offset of its number. The system releases the lock when the process ends in any way. The file is empty, and
// is never removed.
type lockFile struct {
	file *os.File
	mine int64 // the sender whose lock this process holds; 0: none
}

func openLockFile(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &lockFile{file: f}, nil
}

func (l *lockFile) hold(sender int64) error {
	if l.mine == sender { // Windows would refuse it a second time
		return nil
	}
	if err := l.lock(sender); err != nil {
		return fmt.Errorf("the lock of this process cannot be had: %w", err)
	}
	l.mine = sender
	return nil
}

func (l *lockFile) lock(sender int64) error {
	return windows.LockFileEx(windows.Handle(l.file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at(sender))
}

// held tries to take the lock, because Windows cannot test a lock.
func (l *lockFile) held(sender int64) (bool, error) {
	err := l.lock(sender)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("the locks of other processes cannot be looked at: %w", err)
	}
	return false, windows.UnlockFileEx(windows.Handle(l.file.Fd()), 0, 1, 0, at(sender))
}

func at(sender int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(sender), OffsetHigh: uint32(sender >> 32)}
}

// try takes an exclusive or a shared lock on a byte. It reports whether it has got the lock. A lock that this
// process holds already is in the way, like any other.
func (l *lockFile) try(byte int64, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(l.file.Fd()), flags, 0, 1, 0, at(byte))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func (l *lockFile) free(byte int64) error {
	return windows.UnlockFileEx(windows.Handle(l.file.Fd()), 0, 1, 0, at(byte))
}

func (l *lockFile) close() error { return l.file.Close() }
