package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"example.com/till/pkg/payout"
)

// exitStatus is the exit code of a command that till ran, to be passed on as it is. The command has said itself what
// there was to say.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// What shells answer where a command cannot be run.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// untilStopped adds to a context of reads that the end of the terminal ends it too, unless that is ignored as under nohup.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// forwarded returns the signals that a command is to get in our place.
func forwarded() (signals chan os.Signal, release func()) {
	signals = make(chan os.Signal, 8)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	return signals, func() { signal.Stop(signals) }
}

// echo is how soon the same signal is taken for one that has reached us twice: timeout(1) sends one to its child and one
// more to the whole group. A program that takes a second signal for "stop at once" must not see two.
const echo = 100 * time.Millisecond

// runChild runs a command to its end and passes signals on to it. It shares our process group, or gets one of its own.
func runChild(cmd *exec.Cmd, shared bool, signals <-chan os.Signal) error {
	// The system ends the child when the thread that started it ends; this keeps the thread for as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prepareChild(cmd, shared)
	if err := cmd.Start(); err != nil {
		return err
	}
	gone, passed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(passed)
		passOn(cmd.Process, shared, signals, gone)
	}()
	err := cmd.Wait()
	close(gone)
	<-passed
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and something it started holds a pipe of it
		return nil
	}
	return err
}

func passOn(child *os.Process, shared bool, signals <-chan os.Signal, gone <-chan struct{}) {
	last := map[os.Signal]time.Time{}
	for {
		select {
		case <-gone:
			return
		case sig := <-signals:
			now := time.Now()
			if now.Sub(last[sig]) > echo {
				deliver(child, shared, sig)
			}
			last[sig] = now
		}
	}
}

// statusOf turns how a command ended into what till ends with.
func statusOf(name string, err error) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitStatus(128 + int(status.Signal()))
		}
		return exitStatus(exit.ExitCode())
	}
	f := &failure{code: exitCannotRun, err: err, msg: fmt.Sprintf("the command %s cannot be run: %v", name, plainExecError(err)), hint: payout.NewHint("check its mode, and that its first line names an interpreter that exists")}
	switch {
	case errors.Is(err, exec.ErrDot):
		f.code, f.msg, f.hint = exitNotFound, fmt.Sprintf("the command %s was found in the current directory only, which is not searched", name), payout.NewHint("write ./"+name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		f.code, f.msg, f.hint = exitNotFound, fmt.Sprintf("the command %s was not found", name), payout.NewHint("check its spelling and PATH")
	}
	return f
}

func plainExecError(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// shell runs a command of the person's with some input. What it prints goes to standard error.
func (a *app) shell(ctx context.Context, command string, input []byte) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin = bytes.NewReader(input)
	out := a.otherLines()
	cmd.Stdout, cmd.Stderr = out, out
	defer a.others.flush()
	cmd.Env = a.io.Environ()
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	err := runChild(cmd, false, nil)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(exit.String()) // "exit status 1" and not what it printed
	}
	return err
}
