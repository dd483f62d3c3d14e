package config

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/till/internal/place"
)

// TestSecretOfAContainer checks a key as Docker and Kubernetes mount it: everybody can read it, and no user can
// change its mode.
func TestSecretOfAContainer(t *testing.T) {
	path := keyFile(t, "k1\n", 0o444)
	dir := filepath.Dir(path)
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("a directory cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	read := func() (string, error) {
		settings := resolve(t, "", nil, "--base-url", origin1, "--api-key-file", path)
		key, _, err := Keys{Env: noEnv}.Key(context.Background(), settings)
		return key, err
	}
	seal := func(flags uintptr) {
		must(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|flags, ""))
	}
	_, err := read()
	fails(t, "on a disk", err, "config", "open to others", "chmod 600 "+path)

	seal(syscall.MS_RDONLY)
	key, err := read()
	if !place.Alone() {
		fails(t, "with other people", err, "config", "a read-only mount", "--api-key-file - <"+path)
	} else if key != "k1" || err != nil {
		t.Errorf("alone: %q, %v", key, err)
	}

	seal(0)
	must(t, os.Chown(dir, 12345, -1))
	seal(syscall.MS_RDONLY)
	_, err = read()
	fails(t, "in another's directory", err, "config", "a read-only mount", "--api-key-file - <"+path)
}
