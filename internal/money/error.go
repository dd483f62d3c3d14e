package money

import "fmt"

// Error says what is wrong with a text that should be a currency or an amount.
type Error struct {
	What   string // one sentence: what is wrong, and what to write instead
	Advice string // a command that helps, or empty
}

// Error returns the sentence, without the advice.
func (e *Error) Error() string { return e.What }

// Hint returns the advice, which may be empty.
func (e *Error) Hint() string { return e.Advice }

func wrong(format string, args ...any) *Error { return &Error{What: fmt.Sprintf(format, args...)} }
