package journal

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Several processes may meet at a journal that none of them has opened before. None of them is turned away.
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
