//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prepareChild sets the process group of a command.
func prepareChild(cmd *exec.Cmd, shared bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !shared}
	endWithUs(cmd.SysProcAttr)
}

// InForeground reports whether this process is in the foreground of a terminal. A command must then stay in
// our process group: it may read from the terminal, and Ctrl-C and Ctrl-Z reach both processes.
func InForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// deliver sends a signal to the command's whole group, or to the command alone if it shares our group. The
// terminal has already sent its own signals to the command.
func deliver(child *os.Process, shared bool, sig os.Signal) {
	switch {
	case !shared:
		_ = unix.Kill(-child.Pid, sig.(syscall.Signal)) // the group may be gone
	case (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && InForeground():
	default:
		_ = child.Signal(sig)
	}
}

const groupGrace = 2 * time.Second

// EndGroup ends what is left of a group whose leader has ended.
func EndGroup(leader int) {
	if unix.Kill(-leader, unix.SIGTERM) != nil { // nothing is left
		return
	}
	_ = unix.Kill(-leader, unix.SIGCONT) // a stopped process cannot act on SIGTERM
	for end := time.Now().Add(groupGrace); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !GroupRuns(leader) {
			return
		}
	}
	_ = unix.Kill(-leader, unix.SIGKILL)
}

// KillGroup kills all processes of a group.
func KillGroup(leader *os.Process) error { return unix.Kill(-leader.Pid, unix.SIGKILL) }
