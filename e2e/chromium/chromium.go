//go:build unix

// Package chromium lets tests look at pages in a real browser: a headless Chromium that is controlled with
// the protocol of its developer tools. It is only for tests.
package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Needed is an environment variable. If it is set, a test that finds no browser fails. Otherwise the test is
// skipped.
const Needed = "TILL_NEEDS_BROWSER"

// A Browser is a headless Chromium with one tab. It is controlled with the protocol of its developer tools
// over a pair of pipes: JSON with a zero byte after each value.
type Browser struct {
	t          *testing.T
	to, from   *os.File
	messages   *bufio.Reader
	session    string
	last       int
	seen       []message // events that no call has waited for yet
	complaints []string  // what the browser reported about a page, such as a violation of its policy
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

// patience is how long the browser may be silent when a message is due. It only has to end tests that hang:
// on a busy machine a browser can need a minute to start.
const patience = 3 * time.Minute

// Start starts a browser. It ends with the test, and also if the test is killed, because its pipe is closed then.
func Start(t *testing.T) *Browser {
	t.Helper()
	path, err := FindBrowser()
	if err != nil && os.Getenv(Needed) == "" {
		t.Skipf("%v; apt-get install chromium", err)
	}
	// The browser creates a socket below its directory, whose path may have 107 bytes. One of testing.T is too long.
	home, err2 := os.MkdirTemp("/tmp", "chromium-")
	theirIn, to, err3 := os.Pipe()
	from, theirOut, err4 := os.Pipe()
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-quic", "--disable-breakpad",
		"--no-proxy-server", "--hide-scrollbars", "--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home)
	cmd.Dir = home    // for a core file
	cmd.Stderr = &log // all of its processes hold it, so Wait waits for all of them
	cmd.WaitDelay = 20 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its many processes end together
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}        // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		to.Close()
		from.Close()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%v; the browser's log:\n%s", cmd.ProcessState, log.String())
		}
	})
	b := &Browser{t: t, to: to, from: from, messages: bufio.NewReader(from)}
	b.openTab()
	return b
}

// FindBrowser returns the path of the browser of this machine.
func FindBrowser() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no browser on this machine: none of %q is in the PATH", names)
}

// next returns the next message of any kind. It keeps events.
func (b *Browser) next() (m message) {
	b.t.Helper()
	b.from.SetReadDeadline(time.Now().Add(patience))
	text, err := b.messages.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("no message of the browser: %v", err)
	}
	switch m.Method {
	case "":
		return m
	case "Inspector.targetCrashed":
		b.t.Fatal("the tab crashed")
	case "Log.entryAdded":
		if !bytes.Contains(m.Params, []byte(`"source":"network"`)) { // a test may expect a 404
			b.complaints = append(b.complaints, string(m.Params))
		}
	case "Audits.issueAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.complaints = append(b.complaints, string(m.Params))
	}
	b.seen = append(b.seen, m)
	return m
}

type params map[string]any

// call sends a command and stores its result. It ends the test if the command fails.
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
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	var m message
	for m.ID != b.last {
		m = b.next()
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

// await returns the first event of its kind that has not been taken yet, and takes all events up to it. If
// the browser reports a complaint instead, it has most likely stopped.
func (b *Browser) await(method string, event any) {
	b.t.Helper()
	is := func(m message) bool { return m.Method == method }
	for !slices.ContainsFunc(b.seen, is) {
		b.next()
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

// Quiet fails the test if the browser has complained, and forgets the complaints.
func (b *Browser) Quiet() {
	b.t.Helper()
	for _, complaint := range b.complaints {
		b.t.Errorf("the browser complains: %s", complaint)
	}
	b.complaints = nil
}

// openTab opens the tab, in which no script runs.
func (b *Browser) openTab() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", params{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Inspector", "Page", "Log", "Runtime", "Audits", "DOM"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setScriptExecutionDisabled", params{"value": true}, nil)
}

// A Look is a kind of screen for a page.
type Look struct {
	Width, Height int
	Scheme        string // light, dark, or print for paper
}

// Screen returns a Look.
func Screen(width, height int, scheme string) Look { return Look{width, height, scheme} }

// Looks returns the looks that every page must support.
func Looks() []Look {
	return []Look{{320, 640, "light"}, {375, 720, "light"}, {375, 720, "dark"}, {1280, 800, "light"},
		{1280, 800, "dark"}}
}

// String returns a name that is different for each look, for messages and file names.
func (l Look) String() string { return fmt.Sprintf("%d-%s", l.Width, l.Scheme) }

// Use sets the screen that pages are shown on from now on.
func (b *Browser) Use(l Look) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		params{"width": l.Width, "height": l.Height, "deviceScaleFactor": 1, "mobile": l.Width < 1000}, nil)
	media, scheme := "screen", l.Scheme
	if scheme == "print" {
		media, scheme = "print", "light"
	}
	b.call("Emulation.setEmulatedMedia",
		params{"media": media, "features": []params{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
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

// Back goes back in the history, as a person does, and returns the address of the page.
func (b *Browser) Back() string {
	b.t.Helper()
	var history struct {
		CurrentIndex int
		Entries      []struct{ ID int }
	}
	b.call("Page.getNavigationHistory", nil, &history)
	b.seen = nil
	b.call("Page.navigateToHistoryEntry", params{"entryId": history.Entries[history.CurrentIndex-1].ID}, nil)
	var event struct {
		Type  string
		Frame struct{ URL string }
	}
	b.await("Page.frameNavigated", &event)
	if event.Type == "Navigation" { // and not a page that the browser has kept as it was
		b.await("Page.loadEventFired", &struct{}{})
	}
	return event.Frame.URL
}

// Loaded waits until the next page is loaded, and returns its address.
func (b *Browser) Loaded() string {
	b.t.Helper()
	var event struct {
		Frame struct{ URL string }
	}
	b.await("Page.frameNavigated", &event)
	b.await("Page.loadEventFired", &struct{}{})
	return event.Frame.URL
}

// Element returns the only element of a page that matches a CSS selector.
func (b *Browser) Element(selector string) (node int) {
	b.t.Helper()
	found := b.elements(selector)
	if len(found) != 1 {
		b.t.Fatalf("the page has %d elements %q, not one", len(found), selector)
	}
	return found[0]
}

// Count returns how many elements match a CSS selector.
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

// Click presses and releases the mouse at the place of the element, as a person does.
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
		b.call("Input.dispatchMouseEvent",
			params{"type": event, "x": (c[0] + c[4]) / 2, "y": (c[1] + c[5]) / 2, "button": "left", "clickCount": 1},
			nil)
	}
}

// ContentWidth returns the width of the page. It is larger than that of the screen if the page scrolls
// sideways.
func (b *Browser) ContentWidth() int {
	b.t.Helper()
	var metrics struct{ CSSContentSize struct{ Width int } }
	b.call("Page.getLayoutMetrics", nil, &metrics)
	return metrics.CSSContentSize.Width
}

// picturesDir is a variable that names a directory for the pictures. If it is set, the pictures are kept.
const picturesDir = "TILL_PICTURES"

// Picture returns an image of the whole page. name is the name of its file, if pictures are kept.
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

// Evaluate stores the value of a JavaScript expression, or of its promise. It sees the page, but nothing that
// runs in it. The page's own scripts still do not run.
func (b *Browser) Evaluate(expression string, value any) {
	b.t.Helper()
	var tree struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	b.call("Page.getFrameTree", nil, &tree)
	var world struct{ ExecutionContextID int }
	b.call("Page.createIsolatedWorld", params{"frameId": tree.FrameTree.Frame.ID}, &world)
	b.call("Emulation.setScriptExecutionDisabled", params{"value": false}, nil)
	var evaluated struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", params{"expression": expression, "contextId": world.ExecutionContextID, "awaitPromise": true, "returnByValue": true}, &evaluated)
	b.call("Emulation.setScriptExecutionDisabled", params{"value": true}, nil)
	if evaluated.ExceptionDetails != nil {
		b.t.Fatalf("%.60s: %s", expression, evaluated.ExceptionDetails)
	}
	if err := json.Unmarshal(evaluated.Result.Value, value); err != nil {
		b.t.Fatalf("%.60s: %v", expression, err)
	}
}

// axePath is a variable with the path of axe.min.js, of the npm package axe-core.
const axePath = "TILL_AXE"

// Accessible fails the test if axe finds something in the page that makes it hard to use for some people.
// Without axe it does nothing, unless the variable Needed is set.
func (b *Browser) Accessible() {
	b.t.Helper()
	path := os.Getenv(axePath)
	if path == "" && os.Getenv(Needed) == "" {
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatalf("%s: %v", axePath, err)
	}
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	b.Evaluate(string(script)+"\n;axe.run().then(result => result.violations)", &found)
	for _, v := range found {
		b.t.Errorf("axe: %s: %s: %d times, first in %.300s: %s", v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
	}
}

// PDF prints the page on A4 paper, with the margins and the numbers that its style asks for, and returns the
// text of each sheet. name is the name of its file, if pictures are kept.
func (b *Browser) PDF(name string) []string {
	b.t.Helper()
	tool, err := exec.LookPath("pdftotext")
	if err != nil && os.Getenv(Needed) == "" {
		b.t.Skipf("%v; apt-get install poppler-utils", err)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.call("Emulation.setEmulatedMedia", params{"media": "print"}, nil)
	var printed struct{ Data []byte }
	b.call("Page.printToPDF", params{"paperWidth": 210 / 25.4, "paperHeight": 297 / 25.4}, &printed)
	if dir := os.Getenv(picturesDir); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".pdf"), printed.Data, 0o644); err != nil {
			b.t.Error(err)
		}
	}
	cmd := exec.Command(tool, "-layout", "-", "-")
	cmd.Stdin = bytes.NewReader(printed.Data)
	text, err := cmd.Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(text), "\f"), "\f")
}

// Dark reports whether the background of a page is dark, which shows whether its style was applied at all.
func Dark(picture image.Image) bool {
	r, g, b, _ := picture.At(1, picture.Bounds().Dy()-2).RGBA()
	return (r+g+b)/3 < 0x4000
}
