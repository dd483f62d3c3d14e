//go:build !unix

package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Owners and modes mean nothing here: the system's access lists decide.

// Distrust always returns an empty string.
func Distrust(fs.FileInfo) string { return "" }

// Way never finds anything.
func Way(string) (*Untrusted, error) { return nil, nil }

// Follow returns where a path leads, without links. The file need not exist, unless a link leads to it.
func Follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return filepath.EvalSymlinks(path)
}

// ReadOnly returns false: it is not known on this system.
func ReadOnly(string) bool { return false }
