//go:build unix && !linux

package process

import "syscall"

// endWithUs does nothing: this system cannot tie a command's end to ours.
func endWithUs(*syscall.SysProcAttr) {}

// GroupRuns reports whether a group has a process.
func GroupRuns(leader int) bool { return syscall.Kill(-leader, 0) == nil }
