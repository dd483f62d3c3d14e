//go:build unix

package cmdutil

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/process"
)

// TestOnFinishIsKilled checks that a program of on_finish that does not end is killed with what it has started, and
// that the command goes on.
func TestOnFinishIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = 2 * time.Second // enough to start
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntrap '' TERM INT HUP\necho $$\nsleep 600 &\nsleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ended, cancel := context.WithCancel(context.Background())
	cancel() // as after a second signal
	a := &App{IO: IO{Err: &out, Environ: os.Environ, Now: time.Now}, Ctx: ended, SendCtx: ended}
	err := a.runOnFinish([]string{program}, &Finished{}, limit)
	if err == nil || !strings.Contains(err.Error(), "did not end within 2s, and was killed") {
		t.Errorf("%v", err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatalf("it wrote %q", out.String())
	}
	for process.GroupRuns(group) { // the system may need a moment, and the test runs into its time limit otherwise
		time.Sleep(10 * time.Millisecond)
	}
}
