package cmdutil

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoCoreFile checks that no core file of a process that reads a key can have it.
func TestNoCoreFile(t *testing.T) {
	var before, after unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_CORE, &before))
	t.Cleanup(func() {
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
		unix.Setrlimit(unix.RLIMIT_CORE, &before)
	})
	must(t, unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: before.Max, Max: before.Max}))
	for _, want := range []int{1, 0} {
		if got, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); got != want || err != nil {
			t.Errorf("dumpable is %d, %v, want %d", got, err, want)
		}
		new(App).keys()
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &after); err != nil || after.Cur != 0 || after.Max != before.Max {
		t.Errorf("the limit of core files is %d of %d, %v", after.Cur, after.Max, err)
	}
}
