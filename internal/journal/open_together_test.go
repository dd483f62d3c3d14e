package journal

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestOpenTogether checks that several processes can open a new journal at the same moment.
func TestOpenTogether(t *testing.T) {
	for range 40 {
		place := filepath.Join(t.TempDir(), "journal.db")
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				j, err := Open(context.Background(), place, Options{Now: time.Now})
				if err != nil {
					t.Error(err)
					return
				}
				j.Close()
			})
		}
		all.Wait()
	}
}
