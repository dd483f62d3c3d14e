//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package journal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const setLock, getLock = unix.F_SETLK, unix.F_GETLK

// fileIdentity describes a file in a way that no copy shares: by its number. A copy can have the moment in
// which the other one was made.
func fileIdentity(path string) (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return "", err
	}
	return fmt.Sprint("file ", s.Ino), nil
}
