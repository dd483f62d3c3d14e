package webhook

import (
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox/internal/store"
)

// TestRestsDouble checks that each rest between two attempts is twice as long as the one before, up to an
// hour.
func TestRestsDouble(t *testing.T) {
	c := &Sender{store: store.New(&store.Terms{CallbackBackoff: 700 * time.Second}, time.Now, nil)}
	for attempts, want := range map[int]time.Duration{1: 700 * time.Second, 2: 1400 * time.Second, 3: 2800 * time.Second,
		4: time.Hour, 50: time.Hour} {
		if got := c.rest(attempts); got != want {
			t.Errorf("after %d attempts it rests for %s, want %s", attempts, got, want)
		}
	}
}
