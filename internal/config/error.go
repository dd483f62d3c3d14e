package config

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a problem with the configuration, credentials or files of this machine.
type Error struct {
	Msg    string // one sentence: what failed, where, and what to do
	Advice string // what to do; empty: Command says it all, or nothing is known to help
	// Command is the arguments of a till command that helps, for the service and the profile in use, or nil.
	// The command line adds the flags that name these.
	Command []string
	Err     error // the cause, or nil

	line int // of the configuration, until located adds the name of the file; 0: none
}

func (e *Error) Error() string { return e.Msg }

// Hint returns the advice, which may be empty.
func (e *Error) Hint() string { return e.Advice }

func (e *Error) Unwrap() error { return e.Err }

// failf returns an Error whose cause is the error that the format wraps with %w, if any.
func failf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Msg: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) advise(format string, args ...any) *Error {
	e.Advice = fmt.Sprintf(format, args...)
	return e
}

// atLine returns an Error about a line of a configuration, see located.
func atLine(line int, format string, args ...any) *Error {
	e := failf(format, args...)
	e.line = line
	return e
}

// located adds the name of the file to an error about a configuration. No command helps, because each refuses the
// file.
func located(err *Error, path string) error {
	at := path
	if err.line > 0 {
		at = fmt.Sprintf("%s:%d", path, err.line)
	}
	e := &Error{Msg: at + ": " + err.Msg, Advice: err.Advice}
	if strings.Contains(e.Advice, "till currency set") {
		e.Advice = "write into " + path + " how the service counts, such as: currencies: [{code: Btc, kind: crypto, decimals: 8}]"
	}
	return e
}

func hint(err error) string {
	if advised := (interface{ Hint() string })(nil); errors.As(err, &advised) {
		return advised.Hint()
	}
	return ""
}
