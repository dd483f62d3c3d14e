//go:build linux || darwin || freebsd

package place

import "syscall"

// ReadOnly reports whether a path is on a mount where nothing can be changed, not even a mode.
func ReadOnly(path string) bool {
	const readOnly = 1 // ST_RDONLY of Linux and MNT_RDONLY of the others
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Flags&readOnly != 0
}
