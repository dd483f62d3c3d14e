//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestLoadFromWhereOthersWrite(t *testing.T) {
	path := write(t, "current: live\n")
	dir := filepath.Dir(path)
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o777: false, 0o702: false, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, link} {
			_, err := Load(p)
			edited := Edit(p, func(d *Document) error { return nil })
			if ok && (err != nil || edited != nil) {
				t.Errorf("mode %s: %v, %v", mode, err, edited)
			} else if !ok {
				fails(t, mode.String(), err, "config", "everybody can write to", dir, "chmod o-w ")
				fails(t, mode.String(), edited, "config", "everybody can write to", dir)
			}
		}
	}
}

func TestLoadOfAnothersFile(t *testing.T) {
	path := write(t, "current: live\n")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, foreign := foreignOwner(info, os.Geteuid()); foreign {
		t.Error("one's own file is another's")
	}
	if os.Geteuid() != 0 {
		if _, foreign := foreignOwner(info, os.Geteuid()+1); !foreign {
			t.Error("another's file is one's own")
		}
		t.Skip("only root can give a file away")
	}
	const other = 12345
	if err := os.Chown(path, other, -1); err != nil {
		t.Skip(err)
	}
	_, err = Load(path)
	fails(t, "owner", err, "config", "belongs to another user (id "+strconv.Itoa(other)+")", "chown 0 ")
	fails(t, "edit", Edit(path, func(*Document) error { return nil }), "config", "belongs to another user")
}
