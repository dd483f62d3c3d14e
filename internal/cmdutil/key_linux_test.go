package cmdutil

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoCoreFile checks that no core file of a process that reads a key can have it.
func TestNoCoreFile(t *testing.T) {
	t.Cleanup(func() { unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) })
	for _, want := range []int{1, 0} {
		if got, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); got != want || err != nil {
			t.Errorf("dumpable is %d, %v, want %d", got, err, want)
		}
		new(App).keys()
	}
}
