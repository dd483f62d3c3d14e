//go:build !unix

package terminal

import (
	"os"
	"os/exec"

	"golang.org/x/term"
)

// prepareChild does nothing: this system has no process groups. What is typed in the console reaches the
// command anyway.
func prepareChild(*exec.Cmd, bool) {}

// InForeground always returns true.
func InForeground() bool { return true }

func deliver(child *os.Process, _ bool, sig os.Signal) {
	if sig != os.Interrupt {
		_ = child.Kill() // the only signal that this system has
	}
}

// HideMemory does nothing: this system has no core files.
func HideMemory() {}

// EndGroup does nothing.
func EndGroup(int) {}

// KillGroup kills the child alone.
func KillGroup(child *os.Process) error { return child.Kill() }

// DiscardTyped does nothing on this system.
func DiscardTyped(*os.File) {}

// WhenContinued calls nothing: this system stops no program.
func WhenContinued(func()) (end func()) { return func() {} }

// HideTyped hides nothing: reading the key does. Calling show restores the terminal.
func HideTyped(in *os.File) (show func() error, err error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	return func() error { return term.Restore(fd, before) }, err
}
