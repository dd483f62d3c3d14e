package payout

import (
	"cmp"
	"strings"
	"unicode"
)

// A Hint says what to do after an error, for a person who uses the program till.
type Hint struct {
	Text    string   // a clause, such as "do not send it again"; empty: the command is enough
	Command []string // the arguments of till, such as withdraw, reconcile, 5001; nil: there is no command
}

// NewHint returns a hint with a text and a command.
func NewHint(text string, command ...string) Hint { return Hint{text, command} }

// settleConflict returns the hint for an order in conflict, whose withdrawal may not be known.
func settleConflict(orderID, withdrawal string) Hint {
	return NewHint("see what happened with till journal show "+orderID+", and settle it", "withdraw", "resolve", orderID,
		"--paid-as", cmp.Or(withdrawal, "ID"), "--although-different", "--reason", "TEXT")
}

// IsZero reports whether the hint is empty.
func (h Hint) IsZero() bool { return h.Text == "" && len(h.Command) == 0 }

// String formats the hint for a person: the text, a colon, and the command as it is typed.
func (h Hint) String() string {
	if len(h.Command) == 0 {
		return h.Text
	}
	words := []string{"till"}
	for _, arg := range h.Command {
		words = append(words, quoted(arg))
	}
	command := strings.Join(words, " ")
	if h.Text == "" {
		return command
	}
	return h.Text + ": " + command
}

// quoted returns a text quoted as one word for a shell.
func quoted(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_@%+=:,./-", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
