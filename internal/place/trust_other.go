//go:build !unix

package place

import "io/fs"

// Owners and modes say nothing here: the system's access lists decide.

// Distrust is always empty.
func Distrust(fs.FileInfo) string { return "" }

// Directory finds nothing.
func Directory(string) (dir, why string, err error) { return "", "", nil }
