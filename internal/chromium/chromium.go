//go:build unix

// Package chromium lets tests look at pages in a real browser: a headless
// Chromium, spoken to in the protocol of its developer tools. It is for tests
// only.
package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Needed is a variable with which a test that finds no browser fails. Without
// it, such a test is skipped: not everybody who changes a page has one.
const Needed = "TILL_NEEDS_BROWSER"

// A Browser is a headless Chromium with one tab. It is spoken to in the protocol of
// its developer tools, over a pair of pipes: JSON with a zero byte after each value.
type Browser struct {
	t       *testing.T
	ctx     context.Context
	to      *os.File
	from    <-chan message
	session string
	last    int
	seen    []message // events that nobody has waited for yet
	grumble []string  // what the browser had to say against a page, such as a breach of its policy
}

// A message is an answer to a command, or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts one, which ends with the test and leaves nothing behind.
func Start(t *testing.T) *Browser {
	t.Helper()
	path, err := findBrowser()
	if err != nil && os.Getenv(Needed) == "" {
		t.Skipf("%v; apt-get install chromium", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	home := t.TempDir()
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--no-proxy-server", "--hide-scrollbars", "--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home)
	var log bytes.Buffer
	cmd.Stderr = &log // all of its processes hold it, so Wait waits for all of them
	cmd.WaitDelay = 20 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its many processes end together
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	messages := make(chan message)
	go readMessages(t.Context(), from, messages)
	t.Cleanup(func() {
		to.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		from.Close()
		if t.Failed() {
			t.Logf("what the browser said:\n%s", log.Bytes())
		}
	})
	b := &Browser{t: t, ctx: ctx, to: to, from: messages}
	b.openTab()
	return b
}

func findBrowser() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no browser on this machine: none of %q is in the PATH", names)
}

func readMessages(ctx context.Context, from *os.File, to chan<- message) {
	defer close(to)
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			return
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return
		}
	}
}

// next is the next message, whatever it is about. Events are kept.
func (b *Browser) next(wanted string) (m message) {
	b.t.Helper()
	open := false
	select {
	case m, open = <-b.from:
	case <-b.ctx.Done():
		b.t.Fatalf("the browser took too long: no %s", wanted)
	}
	if !open {
		b.t.Fatalf("the browser ended: no %s", wanted)
	}
	switch m.Method {
	case "":
		return m
	case "Log.entryAdded":
		if !bytes.Contains(m.Params, []byte(`"source":"network"`)) { // such as an answer of 404, which may be what is wanted
			b.grumble = append(b.grumble, string(m.Params))
		}
	case "Audits.issueAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.grumble = append(b.grumble, string(m.Params))
	}
	b.seen = append(b.seen, m)
	return m
}

type params map[string]any

// call sends a command and returns its result.
func (b *Browser) call(method string, p params, result any) {
	b.t.Helper()
	b.last++
	command := map[string]any{"id": b.last, "method": method, "params": p}
	if p == nil {
		command["params"] = params{}
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	m := b.next("answer to " + method)
	for m.ID != b.last {
		m = b.next("answer to " + method)
	}
	if m.Error != nil {
		b.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// await returns the first event of its kind that has not been taken yet, and takes
// all up to it. A browser that complains instead has most likely stopped.
func (b *Browser) await(method string, event any) {
	b.t.Helper()
	is := func(m message) bool { return m.Method == method }
	for !slices.ContainsFunc(b.seen, is) {
		b.next("event " + method)
		if b.Quiet(); b.t.Failed() {
			b.t.FailNow()
		}
	}
	at := slices.IndexFunc(b.seen, is)
	if err := json.Unmarshal(b.seen[at].Params, event); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	b.seen = b.seen[at+1:]
}

// Quiet fails when the browser has complained, and forgets the complaints.
func (b *Browser) Quiet() {
	b.t.Helper()
	for _, complaint := range b.grumble {
		b.t.Errorf("the browser complains: %s", complaint)
	}
	b.grumble = nil
}

// openTab opens the tab, in which no script runs.
func (b *Browser) openTab() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", params{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime", "Audits", "DOM"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setScriptExecutionDisabled", params{"value": true}, nil)
}

// A Look is the sort of screen that a page is seen on.
type Look struct {
	Width, Height int
	Scheme        string // light, dark, or print for paper
}

// Screen is a Look.
func Screen(width, height int, scheme string) Look { return Look{width, height, scheme} }

// Looks are those that every page should be made for.
func Looks() []Look {
	return []Look{{320, 640, "light"}, {375, 720, "light"}, {375, 720, "dark"}, {1280, 800, "light"}, {1280, 800, "dark"}}
}

// String tells the looks apart in messages and names of files.
func (l Look) String() string { return fmt.Sprintf("%d-%s", l.Width, l.Scheme) }

// Use sets the screen that pages are seen on from here on.
func (b *Browser) Use(l Look) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", params{"width": l.Width, "height": l.Height, "deviceScaleFactor": 1, "mobile": l.Width < 1000}, nil)
	media, scheme := "screen", l.Scheme
	if scheme == "print" {
		media, scheme = "print", "light"
	}
	b.call("Emulation.setEmulatedMedia", params{"media": media, "features": []params{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Open goes to an address, and returns when the page is loaded.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.seen = nil
	var went struct{ ErrorText string }
	b.call("Page.navigate", params{"url": url}, &went)
	if went.ErrorText != "" {
		b.t.Fatalf("%s: %s", url, went.ErrorText)
	}
	b.Loaded()
}

// Loaded waits until the next page is there, and returns its address.
func (b *Browser) Loaded() string {
	b.t.Helper()
	var event struct {
		Frame struct{ URL string }
	}
	b.await("Page.frameNavigated", &event)
	b.await("Page.loadEventFired", &struct{}{})
	return event.Frame.URL
}

// Element finds the one element of a page that a CSS selector names.
func (b *Browser) Element(selector string) (node int) {
	b.t.Helper()
	found := b.elements(selector)
	if len(found) != 1 {
		b.t.Fatalf("the page has %d elements %q, not one", len(found), selector)
	}
	return found[0]
}

// Count returns how many elements a CSS selector names.
func (b *Browser) Count(selector string) int {
	b.t.Helper()
	return len(b.elements(selector))
}

func (b *Browser) elements(selector string) []int {
	b.t.Helper()
	var document struct{ Root struct{ NodeID int } }
	b.call("DOM.getDocument", nil, &document)
	var found struct{ NodeIDs []int }
	b.call("DOM.querySelectorAll", params{"nodeId": document.Root.NodeID, "selector": selector}, &found)
	return found.NodeIDs
}

// Click does what a hand with a mouse does: it pushes where the element is.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	node := b.Element(selector)
	b.call("DOM.scrollIntoViewIfNeeded", params{"nodeId": node}, nil)
	var box struct {
		Model struct{ Content []float64 } // the four corners, each x and y
	}
	b.call("DOM.getBoxModel", params{"nodeId": node}, &box)
	c := box.Model.Content
	b.seen = nil
	for _, event := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", params{"type": event, "x": (c[0] + c[4]) / 2, "y": (c[1] + c[5]) / 2, "button": "left", "clickCount": 1}, nil)
	}
}

// Press is one key on the keyboard.
func (b *Browser) Press(key string, code int, text string) {
	b.t.Helper()
	b.seen = nil
	down := params{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if text != "" {
		down["text"] = text
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	b.call("Input.dispatchKeyEvent", params{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
}

// ContentWidth is how wide the page is, which is more than the screen where it has
// to be scrolled sideways.
func (b *Browser) ContentWidth() int {
	b.t.Helper()
	var metrics struct{ CSSContentSize struct{ Width int } }
	b.call("Page.getLayoutMetrics", nil, &metrics)
	return metrics.CSSContentSize.Width
}

// picturesDir is a variable that names a directory for the pictures, for whoever wants to look at them.
const picturesDir = "TILL_PICTURES"

// Picture is the whole page as it is drawn. The name is that of its file, where pictures are kept.
func (b *Browser) Picture(name string) image.Image {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", params{"format": "png", "captureBeyondViewport": true}, &shot)
	if dir := os.Getenv(picturesDir); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o644); err != nil {
			b.t.Error(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// Dark reports whether the ground of a page is, which says whether its style was taken at all.
func Dark(picture image.Image) bool {
	r, g, b, _ := picture.At(1, picture.Bounds().Dy()-2).RGBA()
	return (r+g+b)/3 < 0x4000
}
