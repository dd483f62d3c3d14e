package cli

import (
	"testing"

	"example.com/till/internal/terminal"
	"golang.org/x/sys/unix"
)

func TestHideTyped(t *testing.T) {
	master, slave, err := openTerminal(80)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	defer slave.Close()
	modes := func() uint32 {
		modes, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		must(t, err)
		return modes.Lflag
	}
	before := modes()
	show, err := terminal.HideTyped(slave)
	must(t, err)
	if got := modes(); before&unix.ECHO == 0 || got != before&^unix.ECHO {
		t.Errorf("the modes were %#x and are %#x: the echo alone must be gone", before, got)
	}
	if err := show(); err != nil || modes() != before {
		t.Errorf("the modes were %#x and are %#x (%v)", before, modes(), err)
	}
}
