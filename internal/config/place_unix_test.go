//go:build unix

package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLoadFromWhereOthersWrite(t *testing.T) {
	path := write(t, "current: live\n")
	dir := filepath.Dir(path)
	link := filepath.Join(t.TempDir(), "link.yaml")
	must(t, os.Symlink(path, link))
	for _, c := range []struct {
		open string
		mode os.FileMode
		ok   bool
	}{{path, 0o644, true}, {path, 0o666, false}, {path, 0o600, true}, {dir, 0o777 | os.ModeSticky, true},
		{dir, 0o702, false}} {
		must(t, os.Chmod(c.open, c.mode))
		for _, p := range []string{path, link} {
			_, err := load(t, p)
			edited := Edit(p, func(d *Document) error { return nil })
			if c.ok && (err != nil || edited != nil) {
				t.Errorf("mode %s: %v, %v", c.mode, err, edited)
			} else if !c.ok {
				fails(t, c.mode.String(), err, "config", "can be written by others", "chmod go-w ")
				fails(t, c.mode.String(), edited, "config", "can be written by others")
			}
		}
	}
}
