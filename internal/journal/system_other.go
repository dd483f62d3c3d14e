//go:build !linux

package journal

import "time"

// isMountPoint always returns false: on macOS, only directories are mounted, and elsewhere it is not known.
func isMountPoint(string) (bool, error) { return false, nil }

// SinceBoot returns no clock.
func SinceBoot() (boot string, since time.Duration) { return "", 0 }
