package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"example.com/till/internal/exit"
	"example.com/till/pkg/api"
)

// listener is a running callback listen. testdata/script/callback_listen.txtar shows its flags.
type listener struct {
	*commandRun
	url string
}

func startListener(t *testing.T, args ...string) listener {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	l := listener{commandRun: startTill(t, nil, append([]string{"callback", "listen", "--ready-file", ready}, args...)...)}
	eventually(t, "the ready file", func() bool {
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &struct{ URL *string }{&l.url}) == nil
	})
	t.Cleanup(func() {
		l.stop()
		eventually(t, "the removal of the ready file", func() bool { _, err := os.Stat(ready); return err != nil })
	})
	return l
}

// answer returns the status of the answer to a request, which has a header if one is given.
func answer(t *testing.T, method, url, body string, header ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

func TestCallbackListenRefuses(t *testing.T) {
	l := startListener(t)
	for _, c := range []struct {
		method, body string
		header       []string
		want         int
	}{
		{"GET", "", nil, 405},
		{"POST", strings.Repeat("x", api.MaxCallback+1), nil, 413},
		{"POST", "{}", []string{"Origin", "https://evil.example"}, 403},
		{"POST", strings.Repeat("7", api.MaxCallback), nil, 200},
	} {
		if status := answer(t, c.method, l.url, c.body, c.header...); status != c.want {
			t.Errorf("%s of %d bytes, %q: %d, want %d", c.method, len(c.body), c.header, status, c.want)
		}
	}
	l.stop()
	if f := l.wait(t); f.code != 0 || len(f.out) != api.MaxCallback+1 {
		t.Errorf("it ended with %d and printed %d bytes", f.code, len(f.out))
	}
}

// TestCallbackListenSlowBodies checks that a client that stops in the middle of a body does not delay others.
func TestCallbackListenSlowBodies(t *testing.T) {
	l := startListener(t, "--count", "1")
	for range 100 {
		c, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
		must(t, err)
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", api.MaxCallback)
		// The answer 100 shows that the body is being read.
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "100") {
			t.Fatalf("%q, %v", line, err)
		}
		fmt.Fprint(c, "{")
	}
	if status := answer(t, "POST", l.url, "{}"); status != 200 {
		t.Errorf("answered %d", status)
	}
	if f := l.wait(t); f.code != 0 || f.out != "{}\n" || strings.Contains(f.err, "not taken") {
		t.Errorf("%+v", f)
	}
}

func TestCallbackListenWarns(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true, ":0": true} {
		l := startListener(t, "--listen", listen)
		eventually(t, "the address", func() bool { return strings.Contains(l.err.String(), "listening on ") })
		l.stop()
		if f := l.wait(t); f.code != 0 || strings.Contains(f.err, "other machines may reach this address") != want {
			t.Errorf("%s: %+v", listen, f)
		}
	}
}

func TestCallbackListenRunsOneAtATime(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	l := startListener(t, "--count", "5", "--exec",
		"echo begin >>"+out+"; cat >>"+out+"; sleep 0.02; echo end >>"+out+"; echo said")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { answer(t, "POST", l.url, "body\n") })
	}
	all.Wait()
	f := l.wait(t)
	if want := strings.Repeat("begin\nbody\nend\n", 5); contents(t, out) != want {
		t.Errorf("the commands wrote %q", contents(t, out))
	}
	if f.code != 0 || f.out != strings.Repeat("\"body\\n\"\n", 5) || strings.Count(f.err, "said\n") != 5 {
		t.Errorf("%+v", f)
	}
}

func TestCallbackListenEndsInPart(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("takes as long as the listener waits")
	}
	for name, args := range map[string][]string{
		"a command that hangs": {"--exec", "sleep 1000 & wait"},
		"a failing filter":     {"--count", "1", "--jq", ".[0].x"},
	} {
		l := startListener(t, args...)
		go http.Post(l.url, "", strings.NewReader("[1]"))
		if args[0] == "--exec" {
			eventually(t, "the line", func() bool { return l.out.String() == "[1]\n" })
			l.stop()
		}
		if f := l.wait(t); f.code != exit.Partial {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
