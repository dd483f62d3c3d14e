//go:build !linux && !darwin

package journal

// checkFileSystem cannot tell here what a directory is on.
func checkFileSystem(string) error { return nil }

// isMountPoint cannot tell either.
func isMountPoint(string) (bool, error) { return false, nil }
