package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/api"
)

// commandRun is a command line that runs inside the test.
type commandRun struct {
	out, err *lockedBuffer
	done     chan error
	stop     context.CancelFunc // has the effect of a signal
	dir      string
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

// startCommand runs a command line in the background, in its own environment.
func startCommand(t *testing.T, env []string, args ...string) *commandRun {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &commandRun{out: &lockedBuffer{}, err: &lockedBuffer{}, done: make(chan error, 1), stop: stop, dir: t.TempDir()}
	environ := append([]string{"HOME=" + r.dir, "PATH=" + os.Getenv("PATH")}, env...)
	a := &cmdutil.App{Ctx: ctx, SendCtx: ctx, IO: cmdutil.IO{
		In: strings.NewReader(""), Out: r.out, Err: r.err, Now: time.Now,
		Environ: func() []string { return environ },
	}}
	root := root(a)
	root.SetArgs(args)
	go func() { r.done <- root.ExecuteContext(ctx) }()
	return r
}

// wait waits for the command and returns its error.
func (r *commandRun) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("the command did not end\n%s", r.err)
		return nil
	}
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

// startListener starts callback listen and returns its address.
func startListener(t *testing.T, args ...string) (*commandRun, string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	r := startCommand(t, nil, append([]string{"callback", "listen", "--ready-file", ready}, args...)...)
	var at struct{ URL string }
	eventually(t, "the ready file", func() bool {
		text, err := os.ReadFile(ready)
		if err != nil {
			select {
			case err := <-r.done:
				t.Fatalf("callback listen: %v", err)
			default:
			}
			return false
		}
		if err := json.Unmarshal(text, &at); err != nil {
			t.Fatalf("ready file %q: %v", text, err)
		}
		return true
	})
	t.Cleanup(func() {
		r.stop()
		eventually(t, "the removal of the ready file", func() bool { _, err := os.Stat(ready); return err != nil })
	})
	return r, at.URL
}

func post(t *testing.T, url, body string) int {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestCallbackListenPrintsLines(t *testing.T) {
	r, url := startListener(t, "--count", "4", "--respond", "202")
	for _, body := range []string{"{\"id\": 1.50,\n \"n\": 12345678901234567890}\n", "not json", "", "\xff"} {
		if status := post(t, url+"/any/path", body); status != 202 {
			t.Errorf("%q: answered %d", body, status)
		}
	}
	if err := r.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	want := "{\"id\":1.50,\"n\":12345678901234567890}\n\"not json\"\n\"\"\n\"\\ufffd\"\n"
	if got := r.out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if !strings.Contains(r.err.String(), "listening on "+url+"\n") {
		t.Errorf("standard error: %q", r.err)
	}
}

func TestCallbackListenRefuses(t *testing.T) {
	r, url := startListener(t)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
	if status := post(t, url, strings.Repeat("x", api.MaxCallback+1)); status != 413 {
		t.Errorf("a long body: %d", status)
	}
	req, _ := http.NewRequest("POST", url, strings.NewReader("{}"))
	req.Header.Set("Origin", "https://evil.example")
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != 403 {
		t.Errorf("a web page's: %v, %v", resp, err)
	}
	if status := post(t, url, strings.Repeat("7", api.MaxCallback)); status != 200 {
		t.Errorf("the longest body: %d", status)
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if n := len(r.out.String()); n != api.MaxCallback+1 {
		t.Errorf("%d bytes printed", n)
	}
}

// TestCallbackListenSlowBodies checks that a client that stops in the middle of a body does not delay others.
func TestCallbackListenSlowBodies(t *testing.T) {
	r, url := startListener(t, "--count", "1")
	for range 100 {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", api.MaxCallback)
		// The answer 100 shows that the body is being read.
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "100") {
			t.Fatalf("%q, %v", line, err)
		}
		fmt.Fprint(c, "{")
	}
	if status := post(t, url, "{}"); status != 200 {
		t.Errorf("answered %d", status)
	}
	if err := r.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := r.out.String(); got != "{}\n" {
		t.Errorf("printed %q", got)
	}
	if text := r.err.String(); strings.Contains(text, "not taken") {
		t.Errorf("standard error: %q", text)
	}
}

func TestCallbackListenSecretPath(t *testing.T) {
	var paths []string
	for range 2 {
		r, at := startListener(t, "--secret-path")
		u, err := url.Parse(at)
		if err != nil || len(u.Path) < 17 {
			t.Fatalf("%q, %v", at, err)
		}
		paths = append(paths, u.Path)
		eventually(t, "the address on standard error",
			func() bool { return strings.Contains(r.err.String(), "listening on "+at+"\n") })
		base := strings.TrimSuffix(at, u.Path)
		for _, path := range []string{"", "/", u.Path + "/", u.Path[:len(u.Path)-1], "/" + u.Path,
			strings.ToLower(u.Path), u.Path + "x"} {
			if status := post(t, base+path, "wrong"); status != 404 {
				t.Errorf("%q is answered with %d", path, status)
			}
		}
		if resp, err := http.Get(base + "/"); err != nil || resp.StatusCode != 404 {
			t.Errorf("a GET of another path: %v, %v", resp, err)
		}
		if status := post(t, at, "{}"); status != 200 {
			t.Errorf("the path itself is answered with %d", status)
		}
		if got := r.out.String(); got != "{}\n" {
			t.Errorf("printed %q", got)
		}
	}
	if paths[0] == paths[1] {
		t.Errorf("two starts have the path %s", paths[0])
	}
}

func TestCallbackListenWarns(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true, ":0": true} {
		r, _ := startListener(t, "--listen", listen)
		eventually(t, "the address", func() bool { return strings.Contains(r.err.String(), "listening on ") })
		r.stop()
		if err := r.wait(t); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(r.err.String(), "other machines may reach this address"); got != want {
			t.Errorf("%s: %q", listen, r.err)
		}
	}
}

func TestCallbackListenEnds(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		stop bool
		code int
	}{
		"fewer in time":       {[]string{"--count", "2", "--timeout", "200ms"}, false, cmdutil.ExitNotYet},
		"a time-out alone":    {[]string{"--timeout", "200ms"}, false, cmdutil.ExitDone},
		"a signal":            {nil, true, cmdutil.ExitDone},
		"a signal before all": {[]string{"--count", "2"}, true, cmdutil.ExitInterrupted},
		"a failing command":   {[]string{"--count", "1", "--exec", "exit 3"}, false, cmdutil.ExitPartial},
		"a failing filter":    {[]string{"--count", "1", "--jq", ".[0].x"}, false, cmdutil.ExitPartial},
	} {
		t.Run(name, func(t *testing.T) {
			r, url := startListener(t, c.args...)
			post(t, url, `[1]`)
			if c.stop {
				r.stop()
			}
			code := cmdutil.ExitDone
			if err := r.wait(t); err != nil {
				code = cmdutil.Explain(err).Code
			}
			if code != c.code {
				t.Errorf("ended with %d, want %d\n%s", code, c.code, r.err)
			}
		})
	}
}

func TestCallbackListenRunsOneAtATime(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r, url := startListener(t, "--count", "5", "--exec",
		"echo begin >>"+out+"; cat >>"+out+"; sleep 0.02; echo end >>"+out+"; echo said")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if status := post(t, url, "body\n"); status != 200 {
				t.Errorf("answered %d", status)
			}
		})
	}
	all.Wait()
	if err := r.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	text, _ := os.ReadFile(out)
	if want := strings.Repeat("begin\nbody\nend\n", 5); string(text) != want {
		t.Errorf("the commands wrote %q", text)
	}
	if got := r.out.String(); got != strings.Repeat("\"body\\n\"\n", 5) {
		t.Errorf("standard output: %q", got)
	}
	if n := strings.Count(r.err.String(), "said\n"); n != 5 {
		t.Errorf("standard error: %q", r.err)
	}
}

func TestCallbackListenKillsACommandThatHangs(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("takes as long as the listener waits")
	}
	r, url := startListener(t, "--exec", "sleep 1000 & wait")
	go func() {
		resp, err := http.Post(url, "", strings.NewReader("{}"))
		if err == nil {
			resp.Body.Close()
		}
	}()
	eventually(t, "the line", func() bool { return r.out.String() == "{}\n" })
	r.stop()
	if err := r.wait(t); cmdutil.Explain(err).Code != cmdutil.ExitPartial {
		t.Errorf("ended with %v", err)
	}
}

func TestCallbackListenUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--count", "0"}, {"--count", "-1"}, {"--timeout", "0s"}, {"--respond", "99"}, {"--respond", "600"}, {"--exec", " "},
		{"--listen", "8080"}, {"--listen", "127.0.0.1:http:1"}, {"--ready-file", ""}, {"--dry-run"}, {"-o", "csv"}, {"extra"},
	} {
		r := startCommand(t, nil, append([]string{"callback", "listen"}, args...)...)
		if err := r.wait(t); err == nil || cmdutil.Explain(err).Code != cmdutil.ExitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}
