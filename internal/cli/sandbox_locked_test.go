//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/till/internal/terminal"
)

func TestEverySandboxHasItsOwnKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		run := execute(t, docsEnv(t), "till", "sandbox", "run", "--", "sh", "-c", "echo $TILL_API_KEY")
		key := strings.TrimSpace(run.out)
		if !regexp.MustCompile(`^till_sandbox_[A-Z2-7]{26}$`).MatchString(key) || seen[key] { // 130 bits
			t.Errorf("the key is %q: %s", key, run.err)
		}
		seen[key] = true
	}
}

// sandboxRun is a till sandbox run in its own session, so that it shares no terminal, and the directory for
// its files.
type sandboxRun struct {
	cmd  *exec.Cmd
	dir  string // only temporary files, the ready file and the env file
	errs *bytes.Buffer
	// The command prints these: the sandbox's address and its own process id.
	port  string
	group int
}

// startRun starts a sandbox run whose command is a shell. It returns after the shell has run first and
// printed its address and process id. The shell runs script after that.
func startRun(t *testing.T, dir, first, script string) *sandboxRun {
	t.Helper()
	r := &sandboxRun{dir: dir, errs: new(bytes.Buffer)}
	r.cmd = command(t, docsEnv(t, "TMPDIR="+dir), "till", "sandbox", "run", "--ready-file",
		filepath.Join(dir, "ready.json"), "--env-file", filepath.Join(dir, "env"),
		"--", "sh", "-c", first+`; echo "$TILL_BASE_URL $$"; `+script)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r.cmd.Stderr = r.errs
	out, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { out.Close() })
	r.cmd.Stdout = w
	err = r.cmd.Start()
	w.Close()
	must(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it printed %q: %v: %s", line, err, r.errs)
	}
	url, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
	r.port = strings.TrimPrefix(url, "http://")
	r.group, err = strconv.Atoi(pid)
	must(t, err)
	t.Cleanup(func() { syscall.Kill(-r.group, syscall.SIGKILL) })
	return r
}

// end waits for the end and returns the exit code. It is 128 plus the signal if a signal ended the process.
func (r *sandboxRun) end() int {
	r.cmd.Wait() // its error is the exit code
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func (r *sandboxRun) leavesNoPort(t *testing.T) {
	t.Helper()
	if conn, err := net.Dial("tcp", r.port); err == nil {
		conn.Close()
		t.Errorf("the port %s is still open", r.port)
	}
}

func (r *sandboxRun) leavesNothing(t *testing.T) {
	t.Helper()
	r.leavesNoPort(t)
	// What was killed may need a moment to end.
	eventually(t, "the end of every process", func() bool { return !terminal.GroupRuns(r.group) })
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left behind, %v", left, err)
	}
}

const (
	onAndOn = `sleep 1000 >/dev/null 2>&1 & while :; do sleep 0.02; done`
	counts  = `i=0; while [ $i -lt 50 ]; do sleep 0.01; i=$((i+1)); done; exit $n`
	deaf    = `trap "" HUP TERM; sleep 1000 >/dev/null 2>&1 & exec >/dev/null 2>&1; `
)

func TestSandboxRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, script string
		code          int
		signals       []os.Signal // to till
	}{
		"its command ends":               {`:`, `exit 0`, 0, nil},
		"its command fails":              {`:`, `exit 3`, 3, nil},
		"its command is terminated":      {`:`, `kill -TERM $$`, 143, nil},
		"its command is killed":          {`:`, `kill -KILL $$`, 137, nil},
		"its command left another":       {`:`, `sleep 1000 >/dev/null 2>&1 & exit 0`, 0, nil},
		"its command left a deaf one":    {`:`, deaf + `exit 0`, 0, nil},
		"its command crashes beside one": {`:`, deaf + `kill -KILL $$`, 137, nil},
		"till is interrupted":            {`:`, onAndOn, 130, []os.Signal{syscall.SIGINT}},
		"till is terminated":             {`:`, onAndOn, 143, []os.Signal{syscall.SIGTERM}},
		"till is hung up on":             {`:`, onAndOn, 129, []os.Signal{syscall.SIGHUP}},
		"its command tidies up first":    {`trap 'exit 9' TERM`, onAndOn, 9, []os.Signal{syscall.SIGTERM}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRun(t, t.TempDir(), c.first, c.script)
			for _, signal := range c.signals {
				must(t, r.cmd.Process.Signal(signal))
			}
			if code := r.end(); code != c.code {
				t.Errorf("it ended with %d, want %d: %s", code, c.code, r.errs)
			}
			r.leavesNothing(t)
		})
	}
}

// TestSandboxRunKilled checks what remains after the signal that no process can handle. The system closes the
// port and, on Linux, ends the command. Two files remain, which the next run with the same names recognizes.
// The directory of the temporary journal remains as well.
func TestSandboxRunKilled(t *testing.T) {
	t.Parallel()
	r := startRun(t, t.TempDir(), `:`, `exec sleep 1000`)
	must(t, r.cmd.Process.Kill())
	if code := r.end(); code != 137 {
		t.Errorf("it ended with %d", code)
	}
	r.leavesNoPort(t)
	if runtime.GOOS == "linux" {
		eventually(t, "the end of the command", func() bool { return !terminal.GroupRuns(r.group) })
	}
	left, err := os.ReadDir(r.dir)
	if err != nil || len(left) != 3 || left[0].Name() != "env" || left[1].Name() != "ready.json" || !left[2].IsDir() ||
		!strings.HasPrefix(left[2].Name(), "till-sandbox-") {
		t.Fatalf("%s are left behind, %v", left, err)
	}
	must(t, os.RemoveAll(filepath.Join(r.dir, left[2].Name())))
	next := startRun(t, r.dir, `:`, `exit 0`)
	if code := next.end(); code != 0 {
		t.Errorf("the next run ended with %d: %s", code, next.errs)
	}
	next.leavesNothing(t)
}
