//go:build unix

package chromium

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inTemp uses a new empty directory for temporary files, and returns a function that fails the test if
// something is left in it.
func inTemp(t *testing.T) (empty func()) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return func() {
		t.Helper()
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		// If the test of a browser is killed, no parent waits for the browser's processes, so they may need a
		// moment to end.
		for end := time.Now().Add(patience); len(processesOf(t, dir)) > 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still running: %q", processesOf(t, dir))
			}
		}
	}
}

// processesOf returns the command lines that name a directory. It returns none on a system without /proc.
func processesOf(t *testing.T, dir string) (running []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(dir)) {
			running = append(running, string(line))
		}
	}
	return running
}

// fake writes a shell script that is started instead of a browser.
func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func realBrowser(t *testing.T) string {
	t.Helper()
	path, err := FindBrowser()
	if err != nil && os.Getenv(Needed) == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A browser that never starts is tried a few times. Then the error has its log and exit status.
func TestStartFails(t *testing.T) {
	browser := fake(t, `echo "FATAL: no sockets" >&2; exit 3`)
	empty := inTemp(t)
	_, err := start(t, browser)
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"no browser started in 3 attempts", "exit status 3", "FATAL: no sockets"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if got := strings.Count(err.Error(), "FATAL"); got != 3 {
		t.Errorf("it was started %d times, not 3", got)
	}
	empty()
}

// A browser that crashes once while it starts is started again, with a new directory.
func TestStartRetriesAfterCrash(t *testing.T) {
	homes := filepath.Join(t.TempDir(), "homes")
	browser := fake(t, fmt.Sprintf(`echo "$HOME" >>%q; [ "$(wc -l <%[1]q)" -gt 1 ] || kill -ABRT $$; exec %q "$@"`,
		homes, realBrowser(t)))
	empty := inTemp(t)
	t.Run("", func(t *testing.T) {
		b, err := start(t, browser)
		if err != nil {
			t.Fatal(err)
		}
		b.Open("data:text/html,<!doctype html><p>Hello")
		b.Element("p")
	})
	text, err := os.ReadFile(homes)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(string(text)); len(lines) != 2 || lines[0] == lines[1] {
		t.Errorf("the directories were %q", lines)
	}
	empty()
}

// The browser's socket has a short path, even if the path of the directory for temporary files is long.
func TestLongTempDir(t *testing.T) {
	browser := realBrowser(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	p, err := launch(browser)
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, process: p}
	if err := b.openTab(); err != nil {
		t.Errorf("%v: %v", err, p.end())
		t.Fatal(p)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// A test that waits for a crashed tab or browser ends at once.
func TestCrashEndsTheTest(t *testing.T) {
	browser := realBrowser(t)
	for _, test := range []struct{ command, want string }{
		{"Page.crash", "Page.crash: no answer: the tab crashed"},
		{"Browser.crash", "Browser.crash: no answer: the browser ended"},
	} {
		t.Run(test.command, func(t *testing.T) {
			empty := inTemp(t)
			t.Run("", func(t *testing.T) {
				b, err := start(t, browser)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.try(test.command, nil, nil); err == nil || err.Error() != test.want {
					t.Errorf("the error is %v, not %s", err, test.want)
				}
			})
			empty()
		})
	}
}

// holdsBrowser is set in a copy of this test's program that starts a browser and waits to be killed.
const holdsBrowser = "CHROMIUM_TEST_HOLDS"

// A test that is killed or fails leaves neither a process nor a directory.
func TestEndedTestLeavesNoBrowser(t *testing.T) {
	if os.Getenv(holdsBrowser) != "" {
		b := Start(t)
		b.Open("data:text/html,<!doctype html><p>Hello")
		fmt.Fprintln(os.Stderr, "ready")
		switch os.Getenv(holdsBrowser) {
		case "fail":
			t.FailNow()
		case "panic":
			panic("as a test does that takes too long")
		}
		select {}
	}
	realBrowser(t)
	for _, test := range []struct {
		name   string
		signal syscall.Signal
	}{{"kill", syscall.SIGKILL}, {"interrupt", syscall.SIGINT}, {"quit", syscall.SIGQUIT}, {"fail", 0}, {"panic", 0}} {
		t.Run(test.name, func(t *testing.T) {
			empty := inTemp(t)
			cmd := exec.Command(os.Args[0], "-test.run=^TestEndedTestLeavesNoBrowser$")
			cmd.Env = append(os.Environ(), holdsBrowser+"="+test.name)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			// The guard also holds the standard error output, so the output ends with the guard.
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // in case this test ends too early
			lines := bufio.NewReader(stderr)
			if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("the copy wrote %q: %v", line, err)
			}
			if test.signal != 0 {
				syscall.Kill(-cmd.Process.Pid, test.signal)
			}
			io.Copy(io.Discard, lines)
			if err := cmd.Wait(); err == nil {
				t.Error("the test passed")
			}
			empty()
		})
	}
}
