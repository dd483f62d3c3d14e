//go:build !linux && !windows

package journal

import (
	"fmt"
	"syscall"
)

// fileIdentity describes a file in a way that no copy shares: by its number. A copy can have the moment in
// which the other one was made.
func fileIdentity(path string) (string, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		return "", err
	}
	return fmt.Sprint("file ", s.Ino), nil
}
