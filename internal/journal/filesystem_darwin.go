package journal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkFileSystem refuses file systems that are not on this machine.
func checkFileSystem(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	if s.Flags&unix.MNT_LOCAL == 0 {
		return fmt.Errorf("it is on a network file system (%s), where locks and syncs cannot be trusted; name a file on a disk of this machine, or a PostgreSQL database", unix.ByteSliceToString(s.Fstypename[:]))
	}
	return nil
}
