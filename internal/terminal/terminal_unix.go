//go:build unix

package terminal

import (
	"os"
	"os/exec"
	"os/signal"
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

// DiscardTyped discards what was typed on a terminal and not read yet, because it was typed before the
// question was asked. If that fails, the question is asked anyway.
func DiscardTyped(in *os.File) { _ = flushInput(int(in.Fd())) }

// WhenContinued calls do each time this process goes on after a stop, until end is called.
func WhenContinued(do func()) (end func()) {
	continued, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		defer close(ended)
		for range continued {
			do()
		}
	}()
	return func() {
		signal.Stop(continued)
		close(continued) // nothing is sent to it after Stop
		<-ended
	}
}

// HideTyped keeps a terminal from showing what is typed until show is called.
func HideTyped(in *os.File) (show func() error, err error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, err
	}
	return func() error { return unix.IoctlSetTermios(fd, setTermios, before) }, nil
}
