//go:build unix

package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestLoadFromAPipe checks that a configuration can be a pipe, and that a signal ends the wait for one that nobody
// writes to.
func TestLoadFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	in := input(t, path+"2", nil)
	must(t, syscall.Mkfifo(path+"2", 0o600))
	ctx, cancel := context.WithTimeout(in.Ctx, 20*time.Millisecond)
	defer cancel()
	in.Ctx = ctx
	if _, err := Resolve(in); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a writer: %v", err)
	}
	go func() { _ = os.WriteFile(path, []byte("current: live\n"), 0) }()
	if f, err := load(t, path); err != nil || f.Current != "live" {
		t.Errorf("%+v, %v", f, err)
	}
}

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
