//go:build !linux && !darwin && !freebsd

package place

// ReadOnly returns false: it is not known on this system.
func ReadOnly(string) bool { return false }
