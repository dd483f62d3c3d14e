package money

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a text that should be a currency or an amount.
type Error struct {
	What    string   // one sentence: what is wrong, and what to write instead
	Advice  string   // what to do, or empty
	Command []string // the arguments of a till command that does it, or nil
}

// Error returns the sentence, without the advice.
func (e *Error) Error() string { return e.What }

// Hint returns the advice and the command, which may be empty.
func (e *Error) Hint() string { return withCommand(e.Advice, e.Command) }

func withCommand(advice string, command []string) string {
	if len(command) == 0 {
		return advice
	}
	return advice + ": till " + strings.Join(command, " ")
}

func wrong(format string, args ...any) *Error { return &Error{What: fmt.Sprintf(format, args...)} }
