//go:build unix && !linux

package cli

import "syscall"

// endWithUs does nothing: this system cannot tie a command's end to ours.
func endWithUs(*syscall.SysProcAttr) {}

// groupRuns reports whether a group has a process.
func groupRuns(leader int) bool { return syscall.Kill(-leader, 0) == nil }
