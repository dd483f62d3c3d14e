//go:build unix

package cmdutil

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/till/internal/terminal"
)

// TestOnFinishIsKilled checks that a program of on_finish that does not end is killed with what it has
// started, and that the command goes on, even if something that it has started is out of reach and keeps its
// output open.
func TestOnFinishIsKilled(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // enough to start
	for name, c := range map[string]struct {
		script  string // its first line of output is a process that leads a group
		escapes bool   // whether the group outlives the command
	}{
		"it ignores signals":        {"trap '' TERM INT HUP\necho $$\nsleep 600 &\nsleep 600", false},
		"a child leaves the group":  {"setsid sh -c 'echo $$; exec sleep 600' &\nsleep 600", true},
		"it stops itself":           {"echo $$\nkill -STOP $$", false},
		"it closes its own streams": {"echo $$\nexec <&- >&- 2>&-\nsleep 600", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("setsid"); err != nil && c.escapes {
				t.Skip(err)
			}
			program := filepath.Join(t.TempDir(), "program")
			must(t, os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
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
			if c.escapes {
				if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
					t.Errorf("what left the group does not run: %v", err)
				}
			}
			for terminal.GroupRuns(group) { // the system may need a moment, and the test runs into its time limit otherwise
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}
