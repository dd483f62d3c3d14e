//go:build darwin || dragonfly || freebsd

package journal

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const setLock, getLock = unix.F_SETLK, unix.F_GETLK

// checkFileSystem refuses file systems that are not on this machine, and those of a program or of the host of a
// virtual machine, which may be anywhere.
func checkFileSystem(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	name := unix.ByteSliceToString(s.Fstypename[:])
	if s.Flags&unix.MNT_LOCAL == 0 || slices.Contains([]string{"macfuse", "osxfuse", "virtiofs"}, name) {
		return sharedError(name)
	}
	return nil
}

// isMountPoint always returns false: only directories are mounted.
func isMountPoint(string) (bool, error) { return false, nil }

// fileIdentity describes a file in a way that no copy shares: by its number. A copy can have the moment in
// which the other one was made.
func fileIdentity(path string) (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return "", err
	}
	return fmt.Sprint("file ", s.Ino), nil
}

// SinceBoot returns no clock.
func SinceBoot() (boot string, since time.Duration) { return "", 0 }
