package config

import (
	"errors"
	"fmt"

	"example.com/till/internal/money"
)

// Error is something wrong with the configuration, credentials or files of this machine.
type Error struct {
	Msg    string // one sentence: what failed, where, and what to do
	Advice string // what helps; empty: the command alone does, or nothing is known
	// Command is the arguments of till that help, for the service and the profile in use; nil: there are none. The command line
	// adds the flags that name these.
	Command []string
	Err     error // what it comes from, or nil
}

func (e *Error) Error() string { return e.Msg }

// Hint returns the advice, which may be empty.
func (e *Error) Hint() string { return e.Advice }

func (e *Error) Unwrap() error { return e.Err }

// UsageError is something wrong with what was typed.
type UsageError struct {
	Msg    string
	Advice string
}

func (e *UsageError) Error() string { return e.Msg }

// Hint returns the advice, which may be empty.
func (e *UsageError) Hint() string { return e.Advice }

// ErrNoKey is in the chain of the error of Keys.Key when no source has a key.
var ErrNoKey = errors.New("no key")

func failf(format string, args ...any) *Error { return &Error{Msg: fmt.Sprintf(format, args...)} }

func usagef(format string, args ...any) *UsageError {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}

// problem is an error at a line of a configuration, before it is known which file that is. Line 0 is no line.
type problem struct {
	line        int
	msg, advice string
}

func (p *problem) Error() string { return p.msg }

func problemf(line int, format string, args ...any) *problem {
	return &problem{line: line, msg: fmt.Sprintf(format, args...)}
}

// in says where the problem is.
func (p *problem) in(path string) *Error {
	where := path
	if p.line > 0 {
		where = fmt.Sprintf("%s:%d", path, p.line)
	}
	return &Error{Msg: where + ": " + p.msg, Advice: p.advice}
}

// advice returns the hint of an error from package money.
func advice(err error) string {
	var e *money.Error
	if errors.As(err, &e) {
		return e.Hint()
	}
	return ""
}
