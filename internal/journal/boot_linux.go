package journal

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns the time since this machine has started, with the time in which it was suspended, and a name for
// this start. Nobody can set this clock.
func SinceBoot() (boot string, since time.Duration) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var t unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return "", 0
	}
	return strings.TrimSpace(string(id)), time.Duration(t.Nano())
}
