//go:build !linux

package journal

import "time"

// SinceBoot returns no clock.
func SinceBoot() (boot string, since time.Duration) { return "", 0 }
