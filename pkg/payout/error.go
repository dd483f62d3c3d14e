package payout

import (
	"fmt"

	"example.com/till/internal/hint"
)

// Kind is what an Error means for what comes next.
type Kind int

const (
	Refused    Kind = iota // a guard said no, and nothing was sent
	Busy                   // another process is at it
	Unknown                // it may have been paid
	Conflict               // the service's record is not what the journal has
	ReadFailed             // the service's list could not be read as a whole
	Invalid                // what was given is wrong: a file, for one
	Partial                // something was sent, and the rest was not
	NoRoom                 // the disk is full, and nothing was sent
)

// The rules that a Refused error can name.
const (
	RuleOrderID   = "order_id_reused"
	RuleDuplicate = "duplicate"
	RuleAccount   = "account"
	RuleKey       = "key"
	RuleDecision  = "decision"
	RuleClock     = "clock"

	RulePlanChanged  = "plan_changed"
	RulePlanExpired  = "plan_expired"
	RuleBatchChanged = "batch_changed"
	RuleWarning      = "warning"
	RuleDecimals     = "decimals"
)

// An Error is why something was not done, or not known to be done.
type Error struct {
	Kind Kind
	Rule string // of a Refused error
	Msg  string
	Hint hint.Hint // what to do next
	Err  error

	// What it is about, for a program that reads it. Each is empty where there is none.
	OrderID  string
	OrderIDs []string // where there are several; OrderID is empty then
	ID       string   // of the withdrawal at the service
	Run      string

	Details []Detail // one for each row that it is about, in the order of the file; nil: it is about no row
}

// A Detail is what is wrong at one place of a file.
type Detail struct {
	Line    int    `json:"line"`  // from 1; 0: nowhere
	Field   string `json:"field"` // the column; empty: the whole line
	Message string `json:"message"`
}

// A Warning is a Detail about a row that is right as to its form. The reader of a plan knows the row by its order id.
type Warning struct {
	Detail
	OrderID string // empty: it is about no single row
}

// String is the detail as a line of text.
func (d Detail) String() string {
	text := d.Message
	if d.Field != "" {
		text = d.Field + ": " + text
	}
	if d.Line > 0 {
		text = fmt.Sprintf("line %d: %s", d.Line, text)
	}
	return text
}

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// refused is an error whose hint has a text and, if there is one, a command.
func refused(rule, msg, text string, command ...string) error {
	return &Error{Kind: Refused, Rule: rule, Msg: msg, Hint: hint.New(text, command...)}
}
