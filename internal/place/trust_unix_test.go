//go:build unix

package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDistrustByMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		mode os.FileMode
		want string
	}{
		{dir, 0o700, ""}, {dir, 0o755, ""}, {dir, 0o775, "(mode 0775)"}, {dir, 0o702, "(mode 0702)"}, {dir, 0o777, "(mode 0777)"}, {dir, 0o777 | os.ModeSticky, ""},
		{path, 0o600, ""}, {path, 0o644, ""}, {path, 0o620, "(mode 0620)"}, {path, 0o602, "(mode 0602)"}, {path, 0o602 | os.ModeSticky, "(mode 0602)"},
	} {
		if err := os.Chmod(test.path, test.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Distrust(info); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s with %s: %q", test.path, test.mode, got)
		}
	}
}

func TestDistrustOfOwners(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Skip("only root can give a file away")
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for euid, ours := range map[int]bool{12345: true, 0: false, 54321: false} {
		if got := distrust(info, euid); (got == "") != ours {
			t.Errorf("user %d: %q", euid, got)
		}
	}
	if err := os.Chown(dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if got := distrust(info, 54321); got != "" {
		t.Errorf("root's directory: %q", got)
	}
}

// TestDirectoryBehindALink has a link in a safe directory that leads to an unsafe one.
func TestDirectoryBehindALink(t *testing.T) {
	safe, open := t.TempDir(), t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	path, link := filepath.Join(open, "file"), filepath.Join(safe, "link")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, p := range []string{path, link} {
		if dir, why, err := Directory(p); dir != open || why == "" || err != nil {
			t.Errorf("%s: %s, %q, %v", p, dir, why, err)
		}
	}
	if dir, why, err := Directory(filepath.Join(safe, "none")); dir != "" || why != "" || err != nil {
		t.Errorf("got %s, %q, %v", dir, why, err)
	}
}
