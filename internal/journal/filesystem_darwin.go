package journal

import (
	"slices"

	"golang.org/x/sys/unix"
)

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
