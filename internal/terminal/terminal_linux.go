package terminal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// HideMemory keeps the memory of this process from core files and from the user's other processes. Programs that it
// starts can be looked at, and write core files if they raise their limit.
func HideMemory() { // that a system does not let it is no fault
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
}

// endWithUs makes the system kill the command if till is killed.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// GroupRuns reports whether a process group has a process that still runs. A process that has ended but was
// not collected by its parent does not count: in a container, it may never be collected.
func GroupRuns(leader int) bool {
	if syscall.Kill(-leader, 0) != nil {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 2 && fields[2] == strconv.Itoa(leader) && fields[0] != "Z" &&
			fields[0] != "X" {
			return true
		}
	}
	return len(stats) == 0 // without /proc, rely on kill
}

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
