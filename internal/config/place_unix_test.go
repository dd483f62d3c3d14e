//go:build unix

package config

import (
	"context"
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
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o777: false, 0o702: false,
		0o777 | os.ModeSticky: true, 0o707: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, link} {
			_, err := load(t, p)
			edited := Edit(p, func(d *Document) error { return nil })
			if ok && (err != nil || edited != nil) {
				t.Errorf("mode %s: %v, %v", mode, err, edited)
			} else if !ok {
				fails(t, mode.String(), err, "config", "can be written by others", dir, "chmod go-w ")
				fails(t, mode.String(), edited, "config", "can be written by others", dir)
			}
		}
	}
}

func TestLoadOfAnothersFile(t *testing.T) {
	path := write(t, "current: live\n")
	const other = 12345
	if err := os.Chown(path, other, -1); err != nil {
		t.Skip(err)
	}
	_, err := load(t, path)
	fails(t, "owner", err, "config", "belongs to another user (id "+strconv.Itoa(other)+")", "chown 0 ")
	fails(t, "edit", Edit(path, func(*Document) error { return nil }), "config", "belongs to another user")
}

// A person who can change or replace the program that prints the key has the key.
func TestKeyProgramThatOthersCanChange(t *testing.T) {
	program := script(t, "echo k1")
	dir := filepath.Dir(program)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, named string
		mode, back  os.FileMode
		ok          bool
	}{
		{program, program, 0o755, 0o755, true},
		{dir, program, 0o755, 0o755, true},
		{dir, program, 0o777 | os.ModeSticky, 0o755, true},
		{program, program, 0o777, 0o755, false},
		{program, link, 0o757, 0o755, false},
		{dir, program, 0o777, 0o755, false},
		{dir, link, 0o757, 0o755, false},
		{filepath.Dir(link), link, 0o777, 0o755, false},
	} {
		if err := os.Chmod(test.path, test.mode); err != nil {
			t.Fatal(err)
		}
		key, _, err := (Keys{Env: noEnv}).Key(context.Background(),
			resolve(t, write(t, profileWith("api_key_command: ["+test.named+"]")), nil))
		if test.ok && (key != "k1" || err != nil) {
			t.Errorf("%s of %s: %q, %v", test.mode, test.path, key, err)
		} else if !test.ok {
			fails(t, test.mode.String(), err, "config", test.named, "can be written by others", "chmod go-w ")
		}
		if err := os.Chmod(test.path, test.back); err != nil {
			t.Fatal(err)
		}
	}
	if os.Chown(dir, 12345, -1) == nil {
		if err := os.Chmod(dir, 0o775); err != nil { // chmod go-w would not be enough
			t.Fatal(err)
		}
		_, _, err := (Keys{Env: noEnv}).Key(context.Background(),
			resolve(t, write(t, profileWith("api_key_command: ["+program+"]")), nil))
		fails(t, "another's directory", err, "config", "belongs to another user (id 12345)", "chown 0 "+dir)
	}
}
