//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// There are no process groups here: what is typed in the console reaches the command by itself.

func prepareChild(*exec.Cmd, bool) {}

func InForeground() bool { return true }

func deliver(child *os.Process, _ bool, sig os.Signal) {
	if sig != os.Interrupt {
		_ = child.Kill() // the only signal there is
	}
}

func EndGroup(int) {}

func KillGroup(child *os.Process) error { return child.Kill() }
