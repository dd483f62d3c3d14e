package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// Kind says what an Error means for what to do next. It is an error itself, for errors.Is.
type Kind string

const (
	Refused       Kind = "refused"        // a check refused it, and nothing was sent
	Busy          Kind = "busy"           // another process is sending
	Unknown       Kind = "unknown"        // it may have been paid: do not send it again
	Conflict      Kind = "conflict"       // the service's record is not what the journal has
	Rejected      Kind = "rejected"       // the service refused it; the *api.Error in the chain says why
	NotSent       Kind = "not sent"       // it never left this machine, and may be sent again
	Partial       Kind = "partial"        // some orders were sent, and others were not
	ReadFailed    Kind = "read failed"    // the service gave no usable answer to a read, and nothing was sent
	Invalid       Kind = "invalid"        // an argument or a file is wrong
	NotFound      Kind = "not found"      // the journal has no such order or run
	NoRoom        Kind = "no room"        // the disk is full, and nothing was sent
	JournalBroken Kind = "journal broken" // the journal cannot be opened, read or written
	JournalPlace  Kind = "journal place"  // the journal's address is wrong
	Settings      Kind = "settings"       // the settings cannot be met, and nothing was sent
	FailedStatus  Kind = "failed status"  // an order of a wait has a status to fail on
	NotYet        Kind = "not yet"        // the time limit of a wait has passed
)

// The kinds as errors, for errors.Is.
var (
	ErrRefused       error = Refused
	ErrBusy          error = Busy
	ErrUnknown       error = Unknown
	ErrConflict      error = Conflict
	ErrRejected      error = Rejected
	ErrNotSent       error = NotSent
	ErrPartial       error = Partial
	ErrReadFailed    error = ReadFailed
	ErrInvalid       error = Invalid
	ErrNotFound      error = NotFound
	ErrNoRoom        error = NoRoom
	ErrJournalBroken error = JournalBroken
	ErrJournalPlace  error = JournalPlace
	ErrSettings      error = Settings
	ErrFailedStatus  error = FailedStatus
	ErrNotYet        error = NotYet
)

func (k Kind) Error() string { return string(k) }

// The rules that a Refused error can name.
const (
	RuleOrderID   = "order_id_reused"
	RuleDuplicate = "duplicate"
	RuleAccount   = "account"
	RuleKey       = "key"
	RuleDecision  = "decision"
	RuleClock     = "clock"
	RuleList      = "list" // the service's list cannot prove what was not sent

	RulePlanChanged  = "plan_changed"
	RulePlanExpired  = "plan_expired"
	RuleBatchChanged = "batch_changed"
	RuleWarning      = "warning"
	RuleDecimals     = "decimals"
	RuleFrozen       = "frozen"
	RulePaidBefore   = "paid_before"
	RuleApproval     = "approval"
)

// An Error says why something was not done, or may not have been done. It is the only error type of this
// package, apart from the error of a context.
type Error struct {
	Kind Kind
	Rule string // for a Refused error
	Msg  string
	Hint Hint // what to do next
	Err  error

	// What the error is about, for a program that reads it. A field is empty if it does not apply.
	OrderID  string
	OrderIDs []string // if there are several; OrderID is empty then
	ID       string   // the service's id of the withdrawal
	Run      string

	Details []Detail // one for each row with an error, in the order of the file; nil: the error is about no row
}

// A Detail is an error or a warning at one place of a file.
type Detail = sheet.Detail

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's kind.
func (e *Error) Is(target error) bool { return target == error(e.Kind) }

// toError applies asError to a named result.
func toError(err *error) { *err = asError(*err) }

// asError converts any error of the journal or of a call to an *Error, so that callers have to know only one
// type.
func asError(err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	if e := journal.AsError(err); e != nil {
		return ofJournal(err, e)
	}
	var call *api.Error
	switch {
	case errors.As(err, new(*api.InvalidError)):
		return &Error{Kind: Invalid, Msg: err.Error(), Err: err}
	case errors.As(err, &call) && (call.Outcome == api.Unknown || !errors.Is(err, context.Canceled)):
		return &Error{Kind: kindOfCall(call.Outcome), Msg: err.Error(), Err: err}
	}
	return err
}

// ofJournal returns the *Error for err, whose chain has an error of the journal.
func ofJournal(err error, j *journal.Error) *Error {
	e := &Error{Kind: Refused, Msg: err.Error(), Err: err, OrderID: cmp.Or(j.OrderID, j.Order.OrderID), Run: j.Run}
	switch j.Kind {
	case journal.Broken, journal.Lost:
		e.Kind = JournalBroken
	case journal.Misplaced:
		e.Kind = JournalPlace
	case journal.Exists:
		e.Rule = RuleOrderID
	case journal.Duplicate:
		e.Rule = RuleDuplicate
	case journal.NotFound, journal.OrderChanged, journal.Shown:
		e.Kind, e.ID, e.Hint = NotFound, j.Order.Shown, NewHint("see what it has", "journal", "list")
	case journal.HeldByOther:
		e.Rule, e.ID, e.Hint = RuleDecision, j.Withdrawal, NewHint("see that order", "journal", "show", j.OrderID)
	case journal.AccountChanged:
		e.Kind, e.Hint = Invalid, NewHint("see what it has", "journal", "export")
	case journal.DemandChanged:
		e.Rule = RuleApproval
	case journal.Frozen:
		e.Rule, e.Hint = RuleFrozen, NewHint("when that is over", "journal", "unfreeze", "--reason", "TEXT")
	case journal.RunChanged:
		e.Rule, e.Hint = RuleOrderID, NewHint("make a new plan")
	case journal.BatchChanged:
		e.Rule, e.Hint = RuleBatchChanged, NewHint("make a new plan")
	case journal.Busy:
		e.Kind, e.Hint = Busy, NewHint("wait for it, and run this again")
	}
	return e
}

// failed returns an error with a message as of fmt.Errorf. Of what %w wraps, the error is also one.
func failed(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// refused is failed for a check that has refused something.
func refused(rule, format string, args ...any) *Error {
	e := failed(Refused, format, args...)
	e.Rule = rule
	return e
}

// about sets the order, and the service's id of its withdrawal, if it is known.
func (e *Error) about(orderID, withdrawal string) *Error {
	e.OrderID, e.ID = orderID, withdrawal
	return e
}

// because sets the error that led to this one.
func (e *Error) because(err error) *Error {
	e.Err = err
	return e
}

// hint sets what to do next.
func (e *Error) hint(text string, command ...string) *Error {
	e.Hint = NewHint(text, command...)
	return e
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
