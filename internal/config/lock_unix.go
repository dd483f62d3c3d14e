//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package config

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	lockLimit = 10 * time.Second
	lockPause = 20 * time.Millisecond
)

// lock locks a configuration for changes. The lock file stays: if it were removed, two processes could hold a
// lock on two files of the same name. The system releases the lock when a process ends in any way.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("its lock file cannot be made or opened (%w); look at the permissions of that file and of its directory", err)
	}
	for waited := time.Duration(0); ; waited += lockPause {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK) && waited < lockLimit:
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, errors.New("another process is changing it; run the command again when that has ended")
		default:
			f.Close()
			return nil, fmt.Errorf("its lock file %s cannot be locked: %w", path, err)
		}
		time.Sleep(lockPause)
	}
}
