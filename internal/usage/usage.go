// Package usage has the error about what a person typed: a flag, an argument, an amount.
package usage

import (
	"fmt"
	"strings"
	"unicode"
)

// Error says what is wrong with what was typed, and what to do.
type Error struct {
	Msg     string   // one sentence: what is wrong, and what to write instead
	Advice  string   // what else to do, or empty
	Command []string // the arguments of a till command that does it, or nil
}

// Errorf returns an Error without advice.
func Errorf(format string, args ...any) *Error { return &Error{Msg: fmt.Sprintf(format, args...)} }

// Error returns the sentence, without the advice.
func (e *Error) Error() string { return e.Msg }

// Quote returns a text as one word for a shell.
func Quote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_@%+=:,./-", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Hint returns what to do as it is read: the advice, and the command as it is typed. It may be empty.
func (e *Error) Hint() string {
	if len(e.Command) == 0 {
		return e.Advice
	}
	return e.Advice + ": till " + strings.Join(e.Command, " ")
}
