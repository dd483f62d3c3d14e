//go:build unix

package journal

import (
	"fmt"
	"io/fs"
	"os"
)

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// checkMode refuses a journal that others can change.
func checkMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others can write to it (mode %04o); type: chmod 600 %s", info.Mode().Perm(), path)
	}
	return nil
}
