//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package store

import (
	"os"
	"syscall"
)

// tryLock takes a lock that belongs to the open file and not to the process, so two servers in one process
// see each other's.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK || err == syscall.EINTR {
		return false, nil
	}
	return err == nil, err
}
