//go:build !unix

package process

import (
	"os"
	"os/exec"
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
