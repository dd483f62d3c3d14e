//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package terminal

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

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
