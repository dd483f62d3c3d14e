//go:build unix

package journal

import (
	"fmt"
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

// checkMode refuses a journal that others can change, and one that has another name, under which SQLite would look for another
// log of what is not in it yet, and a sender for other locks.
func checkMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others can write to it (mode %04o); type: chmod 600 %s", info.Mode().Perm(), path)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return fmt.Errorf("it has %d names (hard links), and under each of them it would be another journal; remove all but one, or make the others links by name (ln -s)", s.Nlink)
	}
	return nil
}
