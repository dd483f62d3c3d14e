//go:build unix

package cli

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// child is a command that a script has started and not yet awaited.
type child struct {
	cmd  *exec.Cmd
	done chan error
}

// environ returns the script's environment, which testscript shows only to commands.
func environ(ts *testscript.TestScript) []string {
	ts.Check(ts.Exec("env", "-0"))
	return strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
}

// commandIn returns a command in the script's directory and environment.
func commandIn(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(environ(ts), "PWD="+cmd.Dir)
	for _, entry := range cmd.Env {
		if path, found := strings.CutPrefix(entry, "PATH="); found && !strings.Contains(args[0], "/") {
			cmd.Path, cmd.Err = lookIn(path, args[0])
		}
	}
	return cmd
}

func lookIn(path, name string) (string, error) {
	for _, dir := range strings.Split(path, string(os.PathListSeparator)) {
		if found, err := exec.LookPath(dir + "/" + name); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

func spawn(ts *testscript.TestScript, args []string) {
	name, cmd := args[0], commandIn(ts, args[1:])
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer out.Close()
	errOut, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer errOut.Close()
	cmd.Stdout, cmd.Stderr = out, errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(cmd.Start())
	c := &child{cmd, make(chan error, 1)}
	go func() { c.done <- cmd.Wait() }()
	w := worldOf(ts)
	if w.children == nil {
		w.children = map[string]*child{}
	}
	w.children[name] = c
	ts.Defer(func() { // the command and the processes that it has started
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
}

func childOf(ts *testscript.TestScript, name string) *child {
	c := worldOf(ts).children[name]
	if c == nil {
		ts.Fatalf("no command %q was spawned", name)
	}
	return c
}

func sendSignal(ts *testscript.TestScript, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
		"KILL": syscall.SIGKILL, "QUIT": syscall.SIGQUIT}
	ts.Check(childOf(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func checkEnd(ts *testscript.TestScript, args []string) {
	c := childOf(ts, args[0])
	select {
	case err := <-c.done:
		ts.Logf("[%s.out]\n%s[%s.err]\n%s", args[0], ts.ReadFile(args[0]+".out"), args[0], ts.ReadFile(args[0]+".err"))
		if code := exitCodeOf(ts, err); fmt.Sprint(code) != args[1] {
			ts.Fatalf("it ended with %d, not %s", code, args[1])
		}
	case <-time.After(time.Minute):
		ts.Fatalf("%s did not end", args[0])
	}
}

func signalOf(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		return int(status.Signal())
	}
	return 0
}

// awaitFile waits for a file that another process writes.
func awaitFile(ts *testscript.TestScript, args []string) {
	poll(ts, strings.Join(args, " with "), func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && (len(args) == 1 || strings.Contains(string(text), args[1]))
	})
}

// runSQL changes a journal in a way that till never does.
func runSQL(ts *testscript.TestScript, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// lockFile keeps all others from writing to an SQLite file until the script says unlock or ends.
func lockFile(ts *testscript.TestScript, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0])+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN IMMEDIATE")
	ts.Check(err)
	w := worldOf(ts)
	w.lock = db
	ts.Defer(func() { db.Close() })
}

func unlockFile(ts *testscript.TestScript, _ []string) {
	w := worldOf(ts)
	if w.lock == nil {
		ts.Fatalf("nothing is locked")
	}
	_, err := w.lock.Exec("ROLLBACK")
	ts.Check(err)
}
