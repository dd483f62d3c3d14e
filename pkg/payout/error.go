package payout

import (
	"context"
	"errors"
	"fmt"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// Kind is what an Error means for what comes next.
type Kind string

const (
	Refused       Kind = "refused"        // a guard said no, and nothing was sent
	Busy          Kind = "busy"           // another process is sending
	Unknown       Kind = "unknown"        // it may have been paid: do not send it again
	Conflict      Kind = "conflict"       // the service's record is not what the journal has
	Rejected      Kind = "rejected"       // the service refused it; the *api.Error in the chain says why
	NotSent       Kind = "not sent"       // it never left this machine, and can be sent again
	Partial       Kind = "partial"        // something was sent, and the rest was not
	ReadFailed    Kind = "read failed"    // the service gave no usable answer to a question, and nothing was sent
	Invalid       Kind = "invalid"        // an argument or a file is wrong
	NotFound      Kind = "not found"      // the journal has no such order or run
	NoRoom        Kind = "no room"        // the disk is full, and nothing was sent
	JournalBroken Kind = "journal broken" // the journal cannot be opened, read or written
	JournalPlace  Kind = "journal place"  // the journal's address is wrong
	FailedStatus  Kind = "failed status"  // an order that is waited for has a status to fail on
	NotYet        Kind = "not yet"        // the time of a wait ran out
)

// For errors.Is, an error of a kind is one of these.
var (
	ErrRefused       error = kindError(Refused)
	ErrBusy          error = kindError(Busy)
	ErrUnknown       error = kindError(Unknown)
	ErrConflict      error = kindError(Conflict)
	ErrRejected      error = kindError(Rejected)
	ErrNotSent       error = kindError(NotSent)
	ErrPartial       error = kindError(Partial)
	ErrReadFailed    error = kindError(ReadFailed)
	ErrInvalid       error = kindError(Invalid)
	ErrNotFound      error = kindError(NotFound)
	ErrNoRoom        error = kindError(NoRoom)
	ErrJournalBroken error = kindError(JournalBroken)
	ErrJournalPlace  error = kindError(JournalPlace)
	ErrFailedStatus  error = kindError(FailedStatus)
	ErrNotYet        error = kindError(NotYet)
)

type kindError Kind

func (e kindError) Error() string { return string(e) }

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
	RulePaidBefore   = "paid_before"
)

// An Error is why something was not done, or not known to be done. It is the only error of this package,
// besides that of a context.
type Error struct {
	Kind Kind
	Rule string // of a Refused error
	Msg  string
	Hint Hint // what to do next
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

// Is reports whether target is the error of e's kind, such as ErrUnknown.
func (e *Error) Is(target error) bool {
	kind, ok := target.(kindError)
	return ok && Kind(kind) == e.Kind
}

// toError is asError for a result.
func toError(err *error) { *err = asError(*err) }

// asError makes an *Error of what the journal or a call returns, so that there is no other kind of error to know.
func asError(err error) error {
	var (
		broken  *journal.Error
		gone    *journal.GoneError
		account *journal.AccountError
		busy    *journal.BusyError
		run     *journal.RunError
	)
	var invalid *api.InvalidError
	var call *api.Error
	e := &Error{Err: err}
	switch {
	case err == nil || errors.As(err, new(*Error)):
		return err
	case errors.As(err, &broken) && broken.Config:
		e.Kind = JournalPlace
	case errors.As(err, &broken):
		e.Kind = JournalBroken
	case errors.As(err, &gone):
		e.Kind, e.OrderID, e.ID, e.Hint = NotFound, gone.OrderID, gone.Taken, NewHint("see what it has", "journal", "list")
	case errors.As(err, &account):
		e.Kind, e.Hint = Invalid, NewHint("see what it has", "journal", "export")
	case errors.As(err, &busy):
		e.Kind, e.Run, e.Hint = Busy, busy.Run, NewHint("wait for it, and run this again")
	case errors.As(err, &run):
		e.Kind, e.Rule, e.Run, e.Hint = Refused, RuleOrderID, run.Run, NewHint("make a new plan")
		if run.Batch {
			e.Rule = RuleBatchChanged
		}
	case errors.As(err, &invalid):
		e.Kind = Invalid
	case errors.As(err, &call) && call.Outcome != api.Unknown && errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &call):
		e.Kind = kindOfCall(call.Outcome)
	default:
		return err
	}
	e.Msg = err.Error()
	return e
}

// refused is an error whose hint has a text and, if there is one, a command.
func refused(rule, msg, text string, command ...string) error {
	return &Error{Kind: Refused, Rule: rule, Msg: msg, Hint: NewHint(text, command...)}
}

func kindOfCall(o api.Outcome) Kind {
	switch o {
	case api.Rejected:
		return Rejected
	case api.NotSent:
		return NotSent
	case api.Failed:
		return ReadFailed
	}
	return Unknown
}
