//go:build unix

package journal

import (
	"io/fs"
	"os"
	"syscall"
)

// SyncDirectory keeps the names in a directory safe from a power cut: a file that was made there or has another name now.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
