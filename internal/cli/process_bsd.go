//go:build unix && !linux

package cli

import "syscall"

// endWithUs does nothing: this system cannot tie a command's end to ours.
func endWithUs(*syscall.SysProcAttr) {}
