//go:build unix && !linux

package terminal

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithUs does nothing: this system cannot end a command when till ends.
func endWithUs(*syscall.SysProcAttr) {}

// HideMemory does nothing: a program on this system leaves no core file unless it is asked for one.
func HideMemory() {}

// GroupRuns reports whether a process group has a process.
func GroupRuns(leader int) bool { return syscall.Kill(-leader, 0) == nil }

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }
