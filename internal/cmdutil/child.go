package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"example.com/till/internal/process"
	"example.com/till/pkg/payout"
)

// ExitStatus is the exit code of a command that till ran, to be passed on as it is. The command has said itself what
// there was to say.
type ExitStatus int

func (e ExitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// What shells answer where a command cannot be run.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// StatusOf turns how a command ended into what till ends with.
func StatusOf(name string, err error) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return ExitStatus(128 + int(status.Signal()))
		}
		return ExitStatus(exit.ExitCode())
	}
	f := &Error{Code: exitCannotRun, Err: err, Msg: fmt.Sprintf("the command %s cannot be run: %v", name, plainExecError(err)), Hint: payout.NewHint("check its mode, and that its first line names an interpreter that exists")}
	switch {
	case errors.Is(err, exec.ErrDot):
		f.Code, f.Msg, f.Hint = exitNotFound, fmt.Sprintf("the command %s was found in the current directory only, which is not searched", name), payout.NewHint("write ./"+name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		f.Code, f.Msg, f.Hint = exitNotFound, fmt.Sprintf("the command %s was not found", name), payout.NewHint("check its spelling and PATH")
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

// Shell runs a command of the person's with some input. What it prints goes to standard error.
func (a *App) Shell(ctx context.Context, command string, input []byte) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin = bytes.NewReader(input)
	out := a.otherLines()
	cmd.Stdout, cmd.Stderr = out, out
	defer a.Others.Flush()
	cmd.Env = a.IO.Environ()
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return process.KillGroup(cmd.Process) }
	err := process.Run(cmd, false, nil)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(exit.String()) // "exit status 1" and not what it printed
	}
	return err
}
