package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
)

// finished is the output and the exit code of a command.
type finished struct {
	out, err string
	code     int
}

// commandRun is a command line that runs inside the test.
type commandRun struct {
	out, err lockedBuffer
	done     chan int
	stop     context.CancelFunc // has the effect of a signal
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startTill runs a command line in the background, with a home of its own unless env names one.
func startTill(t *testing.T, env []string, args ...string) *commandRun {
	t.Helper()
	home := t.TempDir()
	env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + home + "/no-bus"}, env...)
	r := &commandRun{done: make(chan int, 1)}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() {
		r.done <- Run(ctx, append([]string{"till"}, args...), cmdutil.IO{In: strings.NewReader(""), Out: &r.out,
			Err: &r.err, Now: time.Now, Environ: func() []string { return env }})
	}()
	return r
}

func (r *commandRun) wait(t *testing.T) finished {
	t.Helper()
	select {
	case code := <-r.done:
		return finished{r.out.String(), r.err.String(), code}
	case <-time.After(20 * time.Second):
		t.Fatalf("the command did not end\n%s", &r.err)
		return finished{}
	}
}

// till runs a command line to its end, as startTill does.
func till(t *testing.T, env []string, args ...string) finished {
	t.Helper()
	return startTill(t, env, args...).wait(t)
}

// eventually waits until another goroutine or process has done something.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}

// writeFile writes a file, and makes its directory. It returns the path.
func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// writeProgram writes a shell script while no process is being started. A starting process has all of the
// test's open files for a moment. If one of them is a script that is open for writing, a shell skips it and
// takes the next program of that name.
func writeProgram(t *testing.T, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

// absolute returns the path of a file of the repository.
func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(repository, name))
	must(t, err)
	return path
}

// pageText returns the text of a file of the repository.
func pageText(t *testing.T, name string) string {
	t.Helper()
	return contents(t, absolute(t, name))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
