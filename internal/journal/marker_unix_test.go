//go:build unix

package journal

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMarkerDuringACheckpoint checks that the marker gets into the database even if another process begins a
// checkpoint when the first order is sent, and does not finish it.
func TestMarkerDuringACheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	closing(t, path)
	j := mustOpenFile(t, path)
	p := start(t, "checkpoint", path)
	if said := p.hear(t); said != "held" {
		t.Fatal(said)
	}
	ticket := mustClaim(t, j, claim("1"))
	p.kill()
	mustFinish(t, j, ticket, accepted("w1"))
	mustFinish(t, j, mustClaim(t, j, claim("2")), accepted("w2"))
	wantRestored(t, mustOpenFile(t, copyFiles(t, path, "")), shop, true)
}

// lockCheckpoint locks the byte that a process locks while it makes a checkpoint (see the format of SQLite's
// WAL-index), until the process ends.
func lockCheckpoint(path string) error {
	fd, err := unix.Open(path+indexFile, unix.O_RDWR, 0) // an os.File would be closed once it is not used
	if err != nil {
		return err
	}
	return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 121, Len: 1})
}
