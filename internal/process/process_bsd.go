//go:build unix && !linux

package process

import "syscall"

// endWithUs does nothing: this system cannot end a command when till ends.
func endWithUs(*syscall.SysProcAttr) {}

// HideMemory does nothing: a program on this system leaves no core file unless it is asked for one.
func HideMemory() {}

// GroupRuns reports whether a process group has a process.
func GroupRuns(leader int) bool { return syscall.Kill(-leader, 0) == nil }
