package torture

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk fills the journal's disk while a call is in flight. Its id is not lost, and the run ends
// normally once there is room again. The test needs its own disk, which only root can create.
func TestFullDisk(t *testing.T) {
	r := newRun(t, *seed, 1<<30)
	r.journal = ""
	rng := rand.New(rand.NewPCG(*seed, 1<<44))
	p := batchPlan{retry: true}
	for i := range 30 {
		p.file = append(p.file, batchRow{orderID: fmt.Sprint(9_100_000_000 + int64(i)),
			content: drawContent(rng, 9_100_000+i)})
	}
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("till-torture", disk, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		t.Skipf("a disk that can be filled cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	r.clean, r.patched = built.get(t)
	r.start()
	b := r.batch(901, p, nil)
	b.journal = filepath.Join(disk, "journal.db")
	b.plan()
	b.steady(true)
	filler := filepath.Join(disk, "filler")
	a, held := b.heldAt(applyShot{concurrency: 1, part: 0.3}, "hold", "before-outcome", func(*attempt) {
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.Copy(f, zeros{}); err == nil {
			t.Error("the disk is not full")
		}
	})
	b.noted(a)
	paid := b.paid("")
	if id := paid[len(paid)-1].ID; !held || a.exit != 20 || !strings.Contains(a.stderr.String(), id) {
		b.wrong("the disk was full when %s was accepted, and it ended with %d", id, a.exit)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	b.look()
	b.settle()
	if !b.failed() {
		b.finish()
	}
	for _, v := range r.violations {
		t.Error(v)
	}
	os.RemoveAll(b.dir)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
