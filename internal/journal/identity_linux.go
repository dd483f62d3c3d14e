package journal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileIdentity describes a file in a way that no copy shares: by the moment in which it was made, which nothing
// can set, or else by its number. Both outlast a restart and another mount. The number of the device does not,
// and an overlay may change that of the file; it is also given to another file soon after this one is removed.
func fileIdentity(path string) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME|unix.STATX_INO, &s); err != nil {
		return "", err
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		return fmt.Sprintf("made %d.%09d", s.Btime.Sec, s.Btime.Nsec), nil
	}
	return fmt.Sprint("file ", s.Ino), nil
}
