//go:build !linux && !darwin

package journal

// checkFileSystem does nothing: the type of file system is not known on this system.
func checkFileSystem(string) error { return nil }

// isMountPoint does nothing either.
func isMountPoint(string) (bool, error) { return false, nil }
