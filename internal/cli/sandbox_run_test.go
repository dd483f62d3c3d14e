//go:build unix

package cli

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/process"
)

// statusOfRun returns the exit code of a command line that ran another.
func statusOfRun(t *testing.T, err error) int {
	t.Helper()
	if status, ok := errors.AsType[cmdutil.ExitStatus](err); ok {
		return int(status)
	}
	if err == nil {
		return 0
	}
	return cmdutil.Explain(err).Code
}

func TestSandboxRunPassesOnTheExitCode(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command []string
		want    int
	}{
		"done":           {[]string{"true"}, 0},
		"failed":         {[]string{"sh", "-c", "exit 20"}, 20},
		"killed":         {[]string{"sh", "-c", "kill -KILL $$"}, 137},
		"not found":      {[]string{"till-no-such-command"}, 127},
		"no such path":   {[]string{filepath.Join(dir, "none")}, 127},
		"not executable": {[]string{plain}, 126},
		"a directory":    {[]string{dir}, 126},
		"flags":          {[]string{"sh", "-c", `test "$1" = --seed`, "sh", "--seed"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := startCommand(t, nil, append([]string{"sandbox", "run", "--"}, c.command...)...)
			if got := statusOfRun(t, r.wait(t)); got != c.want {
				t.Errorf("exit code %d, want %d\n%s", got, c.want, r.err)
			}
		})
	}
}

// TestSandboxRunSaysAsJSONThatItsCommandCannotRun checks the error lines with their schema. testdata/till
// does not record sandbox run, whose standard error is its command's too.
func TestSandboxRunSaysAsJSONThatItsCommandCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		code    int
	}{
		"not found":      {"till-no-such-command", 127},
		"not executable": {t.TempDir(), 126},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			home := t.TempDir()
			code := Run(t.Context(), []string{"till", "sandbox", "run", "-o", "json", "--", c.command}, IO{
				In: strings.NewReader(""), Out: &out, Err: &errOut, Now: time.Now,
				Environ: func() []string { return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")} },
			})
			if code != c.code || !strings.Contains(errOut.String(), `"kind":"usage"`) {
				t.Errorf("exit code %d, want %d of the kind usage\n%s", code, c.code, errOut.String())
			}
			if err := newSchemaCheck().remark(errOut.Bytes()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSandboxRunEnvironment(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready.json")
	r := startCommand(t, []string{"TILL_PROFILE=sandbox", "TILL_BASE_URL=http://127.0.0.1:1", "TILL_JOURNAL=/nowhere",
		"TILL_OUTPUT=json", "OTHER=kept"},
		"sandbox", "run", "--ready-file", ready, "--", "sh", "-c", `env; cat "$0"; echo "to stderr" >&2`, ready)
	if got := statusOfRun(t, r.wait(t)); got != 0 {
		t.Fatalf("exit code %d: %s", got, r.err)
	}
	out := r.out.String()
	for _, want := range []string{"TILL_BASE_URL=http://127.0.0.1:", "TILL_API_KEY=till_sandbox_",
		"TILL_PROFILE=sandbox\n", "TILL_OUTPUT=json\n", "OTHER=kept\n", `{"base_url":"http://127.0.0.1:`} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out)
		}
	}
	if strings.Contains(out, "/nowhere") || strings.Contains(out, "127.0.0.1:1\n") {
		t.Errorf("too much is there:\n%s", out)
	}
	_, journal, _ := strings.Cut(out, "TILL_JOURNAL=")
	journal, _, _ = strings.Cut(journal, "\n")
	if _, err := os.Stat(filepath.Dir(journal)); strings.Count(out, "TILL_JOURNAL=") != 1 ||
		!strings.Contains(journal, "till-sandbox-") || err == nil {
		t.Errorf("the journal is %q, and its directory is left behind (%v):\n%s", journal, err, out)
	}
	if r.err.String() != "to stderr\n" {
		t.Errorf("standard error: %q", r.err)
	}
	if _, err := os.Stat(ready); err == nil {
		t.Error("the ready file is left behind")
	}
}

func TestSandboxRunPassesOnSignals(t *testing.T) {
	// The test's process gets the signal in place of till.
	r := startCommand(t, nil, "sandbox", "run", "--", "sh", "-c",
		`trap 'exit 7' TERM; echo "$TILL_BASE_URL"; while :; do sleep 0.01; done`)
	eventually(t, "the start of the command", func() bool { return strings.HasSuffix(r.out.String(), "\n") })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := statusOfRun(t, r.wait(t)); got != 7 {
		t.Errorf("exit code %d, want 7", got)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSpace(r.out.String()), "http://")); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

func TestSandboxRunSignalsOnce(t *testing.T) {
	r := startCommand(t, nil, "sandbox", "run", "--", "sh", "-c",
		`n=0; trap 'n=$((n+1))' HUP; echo up; i=0; while [ $i -lt 50 ]; do sleep 0.01; i=$((i+1)); done; exit $n`)
	eventually(t, "the start of the command", func() bool { return r.out.String() == "up\n" })
	for range 5 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if got := statusOfRun(t, r.wait(t)); got != 1 {
		t.Errorf("the command got %d signals", got)
	}
}

func TestSandboxRunLeavesNoProcess(t *testing.T) {
	if process.InForeground() {
		t.Skip("what shares the terminal is left alone")
	}
	r := startCommand(t, nil, "sandbox", "run", "--", "sh", "-c", `sleep 1000 >/dev/null 2>&1 & echo $!`)
	if got := statusOfRun(t, r.wait(t)); got != 0 {
		t.Fatalf("exit code %d", got)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(r.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the process", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err == nil {
			return strings.Contains(string(stat), ") Z ")
		}
		return syscall.Kill(pid, 0) != nil
	})
}
