//go:build unix

package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long the browser may be silent when a message is due. It only has to end tests that hang:
// on a busy machine a browser can need a minute to start.
const patience = 3 * time.Minute

// A process is a running browser with its own directory.
type process struct {
	cmd      *exec.Cmd
	to, from *os.File
	messages <-chan message
	done     chan struct{} // closed by end
	ended    bool          // by itself
	log      bytes.Buffer  // complete after end

	// The guard is a shell in its own process group. It waits until its standard input is closed, which
	// happens in end, but also when the test is killed. Then it kills the browser and removes the directory.
	guard    *exec.Cmd
	lifeline *os.File // the other end of the guard's standard input
}

// guardScript tries more than once, because a browser that is being killed may still create a file.
const guardScript = `read -r _
kill -KILL "-$1" 2>/dev/null
for second in 1 2 3 4 5 6 7 8 9; do
	rm -rf "$2" 2>/dev/null && exit
	sleep 1
done
rm -rf "$2"`

// launch starts a browser. It does not wait until the browser is ready.
func launch(path string) (_ *process, err error) {
	home, err := makeHome()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(home)
		}
	}()
	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-quic", "--disable-breakpad",
		"--no-proxy-server", "--hide-scrollbars", "--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	p.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home)
	p.cmd.Dir = home      // for a core file
	p.cmd.Stderr = &p.log // all of its processes hold it, so Wait waits for all of them
	p.cmd.WaitDelay = 20 * time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its many processes end together
	theirIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	from, theirOut, err := os.Pipe()
	if err != nil {
		to.Close()
		return nil, err
	}
	defer theirOut.Close()
	guardIn, lifeline, err := os.Pipe()
	if err != nil {
		to.Close()
		from.Close()
		return nil, err
	}
	defer guardIn.Close()
	p.to, p.from, p.lifeline = to, from, lifeline
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		return nil, err
	}
	p.guard = exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(p.cmd.Process.Pid), home)
	p.guard.Stdin, p.guard.Stderr = guardIn, os.Stderr
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.guard.Start(); err != nil {
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.cmd.Wait()
		p.closePipes()
		return nil, err
	}
	messages := make(chan message)
	p.messages = messages
	go p.readMessages(messages)
	return p, nil
}

// makeHome makes an empty directory for a browser. Its path is short: the browser creates a socket below it.
// The address of the socket may have 107 bytes (103 on some systems), and the browser ends if it has more. A
// directory of testing.T holds the test's name and can be too long.
func makeHome() (string, error) {
	const socket = "/chromium-4294967295/org.chromium.Chromium.xxxxxx/SingletonSocket"
	dir := os.TempDir()
	if len(dir+socket) > 103 {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, "chromium-")
}

func (p *process) closePipes() {
	p.lifeline.Close()
	p.to.Close()
	p.from.Close()
}

// end ends the browser, if it still runs, and removes its directory.
func (p *process) end() error {
	close(p.done)
	p.lifeline.Close()
	// wait for the guard first, so that it cannot kill another process with the browser's id
	err := p.guard.Wait()
	p.cmd.Wait()
	p.closePipes()
	if err != nil {
		return fmt.Errorf("the browser's directory is left: %w", err)
	}
	return nil
}

// String returns the last lines that the browser wrote and, if it ended by itself, its exit status. It must
// not be called before end.
func (p *process) String() string {
	const most = 200 // a crash handler can write dozens of lines below the reason
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	text := "the browser's log ends:\n" + strings.Join(lines[max(0, len(lines)-most):], "\n")
	if p.ended {
		return fmt.Sprintf("the browser ended by itself: %v; %s", p.cmd.ProcessState, text)
	}
	return text
}

func (p *process) readMessages(to chan<- message) {
	defer close(to)
	for r := bufio.NewReader(p.from); ; {
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
		case <-p.done:
			return
		}
	}
}

// errEnded is the error of a browser that ended by itself. The reason is in its log.
var errEnded = errors.New("the browser ended")

func (p *process) send(text []byte) error {
	if _, err := p.to.Write(append(text, 0)); errors.Is(err, syscall.EPIPE) {
		p.ended = true
		return errEnded
	} else if err != nil {
		return err
	}
	return nil
}

func (p *process) receive() (message, error) {
	select {
	case m, open := <-p.messages:
		if !open {
			p.ended = true
			return message{}, errEnded
		}
		return m, nil
	case <-time.After(patience):
		return message{}, fmt.Errorf("the browser was silent for %s", patience)
	}
}
