package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/exit"
	"example.com/till/internal/terminal"
)

// ExitStatus is the exit code of a command that till ran. Till exits with it and prints no error, because the
// command has already reported its own.
type ExitStatus int

// Error implements error.
func (e ExitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// StatusOf returns the error with which till ends after the command name ended with err.
func StatusOf(name string, err error) error {
	if err == nil {
		return nil
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return ExitStatus(128 + int(status.Signal()))
		}
		return ExitStatus(ended.ExitCode())
	}
	there := false // it lacks its interpreter
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		_, lost := os.Stat(e.Path)
		there = lost == nil
	}
	switch {
	case errors.Is(err, exec.ErrDot):
		return exit.Failure(exit.NotFound, err,
			fmt.Sprintf("the command %s was found in the current directory only, which is not searched", name), "write ./"+name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist) && !there:
		return exit.Failure(exit.NotFound, err, fmt.Sprintf("the command %s was not found", name), "check its spelling and PATH")
	}
	return exit.Failure(exit.CannotRun, err, fmt.Sprintf("the command %s cannot be run: %v", name, plainExecError(err)),
		"check its mode, and that its first line names an interpreter that exists")
}

func plainExecError(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return atomicfile.WithoutPath(err)
}

// Shell runs a shell command of the user with the given input. It gets no password of the journal, and the key
// only if it is to have it.
func (a *App) Shell(ctx context.Context, command string, input []byte, withKey bool) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = a.withoutSecrets(withKey)
	return a.runChild(cmd, input, nil)
}

// runChild runs a program of the user with the given input. Its output goes to standard error. The end of its
// context kills it with what it has started.
func (a *App) runChild(cmd *exec.Cmd, input []byte, signals <-chan os.Signal) error {
	cmd.Stdin = bytes.NewReader(input)
	out := a.otherLines()
	cmd.Stdout, cmd.Stderr = out, out
	defer a.Others.Flush()
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return terminal.KillGroup(cmd.Process) }
	err := terminal.Run(cmd, false, signals)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(exit.String()) // "exit status 1", without the command's output
	}
	return plainExecError(err)
}
