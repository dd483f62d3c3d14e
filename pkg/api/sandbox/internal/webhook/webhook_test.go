package webhook

import (
	"testing"
	"time"
)

// TestRestsDouble checks that each rest between two attempts is twice as long as the one before, up to an
// hour.
func TestRestsDouble(t *testing.T) {
	c := &Sender{limits: func() Limits { return Limits{CallbackBackoff: 700 * time.Second} }}
	for attempts, want := range map[int]time.Duration{1: 700 * time.Second, 2: 1400 * time.Second, 3: 2800 * time.Second,
		4: time.Hour, 50: time.Hour} {
		if got := c.rest(attempts); got != want {
			t.Errorf("after %d attempts it rests for %s, want %s", attempts, got, want)
		}
	}
}
