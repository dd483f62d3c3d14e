//go:build unix

package journal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// checkpointByte is the byte of the -shm file that a process locks while it makes a checkpoint (see the format
// of SQLite's WAL-index).
const checkpointByte = 121

// TestMarkerDuringACheckpoint checks that the marker gets into the database even if another process begins a
// checkpoint when the first order is sent, and does not finish it.
func TestMarkerDuringACheckpoint(t *testing.T) {
	if shm := os.Getenv("TILL_TEST_SHM"); shm != "" {
		holdCheckpoint(t, shm)
		return
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	closing(t, path)
	j := mustOpenFile(t, path)
	cmd := exec.Command(os.Args[0], "-test.run=^TestMarkerDuringACheckpoint$")
	cmd.Env = append(os.Environ(), "TILL_TEST_SHM="+path+"-shm")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ticket := mustClaim(t, j, claim("1"))
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	mustFinish(t, j, ticket, accepted("w1"))
	mustFinish(t, j, mustClaim(t, j, claim("2")), accepted("w2"))
	wantRestored(t, mustOpenFile(t, copyFiles(t, path, "")), shop, true)
}

// holdCheckpoint holds the lock until standard input ends.
func holdCheckpoint(t *testing.T, shm string) {
	f, err := os.OpenFile(shm, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: checkpointByte, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}
