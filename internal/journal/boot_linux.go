package journal

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootID names the present start of this machine; empty: the system does not say it.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, only the time of this machine tells
	return strings.TrimSpace(string(id))
})

// SinceBoot returns the time since this machine has started, with the time in which it was suspended, and a name for
// this start. This clock cannot be set.
func SinceBoot() (boot string, since time.Duration) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return "", 0
	}
	return bootID(), time.Duration(t.Nano())
}
