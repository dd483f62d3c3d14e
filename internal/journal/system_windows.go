package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

type lockFile struct {
	*os.File
	mine int64 // the sender whose lock this process holds; 0: none
}

func (l *lockFile) hold(sender int64) error {
	if l.mine == sender { // Windows would refuse it a second time
		return nil
	}
	if err := l.lock(sender, windows.LOCKFILE_EXCLUSIVE_LOCK); err != nil {
		return fmt.Errorf("the lock of this process cannot be had: %w", err)
	}
	l.mine = sender
	return nil
}

// held tries to take the lock, because Windows cannot test a lock.
func (l *lockFile) held(sender int64) (bool, error) {
	got, err := l.try(sender, false)
	if err != nil {
		return false, fmt.Errorf("the locks of other processes cannot be looked at: %w", err)
	}
	if got {
		err = l.free(sender)
	}
	return !got, err
}

// try takes an exclusive or a shared lock on a byte. It reports whether it has got the lock. A lock that this
// process holds already is in the way, like any other.
func (l *lockFile) try(at int64, shared bool) (bool, error) {
	kind := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if shared {
		kind = 0
	}
	err := l.lock(at, kind)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func (l *lockFile) lock(at int64, kind uint32) error {
	return windows.LockFileEx(windows.Handle(l.Fd()), kind|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, offset(at))
}

func (l *lockFile) free(at int64) error {
	return windows.UnlockFileEx(windows.Handle(l.Fd()), 0, 1, 0, offset(at))
}

func offset(at int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
}

func links(fs.FileInfo) uint64 { return 1 }

// fileIdentity describes a file in a way that no copy shares: by its number. A copy can have the moment in
// which the other one was made.
func fileIdentity(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	var info windows.ByHandleFileInformation
	err = windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	return fmt.Sprint("file ", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)), errors.Join(err, f.Close())
}

// checkFileSystem does nothing: the type of file system is not known on this system.
func checkFileSystem(string) error { return nil }

// isMountPoint always returns false: it is not known on this system.
func isMountPoint(string) (bool, error) { return false, nil }

// SinceBoot returns no clock.
func SinceBoot() (boot string, since time.Duration) { return "", 0 }
