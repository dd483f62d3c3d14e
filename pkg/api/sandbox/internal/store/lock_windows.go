package store

import (
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

func tryLock(f *os.File, shared bool) (bool, error) {
	const exclusive, failImmediately, lockViolation = 2, 1, syscall.Errno(33)
	flags := uintptr(failImmediately)
	if !shared {
		flags |= exclusive
	}
	// The byte is beyond the record, because others cannot read what is locked.
	at := &syscall.Overlapped{OffsetHigh: 1}
	locked, _, err := lockFileEx.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(at)))
	if locked != 0 || err == lockViolation {
		return locked != 0, nil
	}
	return false, err
}
