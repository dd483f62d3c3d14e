package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// onScreen runs a command with a terminal for all three streams. It writes the screen's content to the file
// screen, without carriage returns and escape sequences, and to screen.raw with them. The file screen.end has
// what a person sees at the end, with ‸ for the cursor; it is written only if the dialogue ends with the line
// look. The dialogue is a file, or - for none. Its lines are
//
//	wait TEXT    wait until this text is written
//	type TEXT    type this and the enter key
//	secret TEXT  wait until the terminal does not echo input, and then type this and the enter key
//	press KEYS   type this as a Go string without quotes, such as \x03 for Ctrl-C
//	signal NAME  send a signal, such as TERM
//	look         write screen.end
//
// The ttyin command of testscript types before the program asks, so the terminal would show a key that is
// read without echo.
func onScreen(ts *testscript.TestScript, args []string) {
	want, width := args[0], uint64(80)
	args = args[1:]
	if text, found := strings.CutPrefix(args[0], "width="); found {
		n, err := strconv.ParseUint(text, 10, 16)
		ts.Check(err)
		width, args = n, args[1:]
	}
	var dialogue []string
	if args[0] != "-" {
		dialogue = strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	}
	cmd := commandIn(ts, args[1:])
	master, slave, err := openTerminal(uint16(width))
	ts.Check(err)
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append([]string{"TERM=xterm"}, cmd.Env...) // a script may set another
	ts.Check(cmd.Start())
	slave.Close()

	s := &screen{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(master)
	}()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	seen, look := 0, false
	for _, line := range dialogue {
		verb, text, _ := strings.Cut(line, " ")
		switch verb {
		case "wait":
			poll(ts, fmt.Sprintf("%q on the screen, where there is %q,", text, s.text()), func() bool {
				i := strings.Index(s.text()[seen:], text)
				if i >= 0 {
					seen += i + len(text)
				}
				return i >= 0
			})
		case "type", "secret", "press":
			keys := text + "\n"
			if verb == "secret" {
				poll(ts, "the end of the echo", func() bool {
					modes, err := unix.IoctlGetTermios(int(master.Fd()), unix.TCGETS)
					ts.Check(err)
					return modes.Lflag&unix.ECHO == 0
				})
			}
			if verb == "press" {
				if keys, err = strconv.Unquote(`"` + text + `"`); err != nil {
					ts.Fatalf("%q: %v", line, err)
				}
			}
			_, err := master.WriteString(keys)
			ts.Check(err)
		case "signal":
			ts.Check(cmd.Process.Signal(unix.SignalNum("SIG" + text)))
		case "look":
			look = true
		default:
			ts.Fatalf("a line of a dialogue begins with wait, type, secret, press, signal or look: %q", line)
		}
	}
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		ts.Fatalf("it did not end; on the screen there is\n%s", s.text())
	}
	<-read
	ts.Logf("[screen]\n%s", s.text())
	ts.Check(os.WriteFile(ts.MkAbs("screen.raw"), []byte(s.text()), 0o600))
	lines := strings.ReplaceAll(s.text(), "\x1b[J", "\n") // where a spinner is erased, which a slow machine shows
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(escapes.ReplaceAllString(lines, "")), 0o600))
	if look {
		end, err := emulate(int(width), s.raw.String())
		ts.Check(err)
		ts.Logf("[screen.end]\n%s", end)
		ts.Check(os.WriteFile(ts.MkAbs("screen.end"), []byte(end), 0o600))
	}
	if code := exitCodeOf(ts, err); fmt.Sprint(code) != want {
		ts.Fatalf("it ended with %d, not %s", code, want)
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// screen is the output to a terminal.
type screen struct {
	mu  sync.Mutex
	b   strings.Builder // without carriage returns
	raw strings.Builder
}

func (s *screen) read(master *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		s.mu.Lock()
		s.raw.Write(buf[:n])
		s.b.WriteString(strings.ReplaceAll(string(buf[:n]), "\r", ""))
		s.mu.Unlock()
		if err != nil { // EIO, after the command has closed its end
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func openTerminal(width uint16) (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err,
		unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: width}))
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}
