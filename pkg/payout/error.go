package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/internal/usage"
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

	RuleLimit     = "limit"
	RuleAllowList = "allow_list"
	RuleAddress   = "address"
)

// An Error says why something was not done, or may not have been done. It is the only error type of this
// package, apart from that of a context that was cancelled, or of a call that this ended before it was sent.
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
	if j := journal.AsError(err); j != nil {
		e := journalErrors[j.Kind]
		e.Kind, e.Msg, e.Err = cmp.Or(e.Kind, Refused), err.Error(), err
		e.OrderID, e.Run = cmp.Or(j.OrderID, j.Order.OrderID), j.Run
		if e.Kind == NotFound {
			e.ID = j.Order.Shown
		}
		if j.Kind == journal.HeldByOther {
			e.ID, e.Hint = j.Withdrawal, NewHint("see that order", "journal", "show", j.OrderID)
		}
		return &e
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

func kindOfCall(o api.Outcome) Kind {
	return cmp.Or(map[api.Outcome]Kind{api.Rejected: Rejected, api.NotSent: NotSent, api.Failed: ReadFailed}[o], Unknown)
}

// journalErrors has the kind, the rule and the hint for each kind of error of the journal. notAllowed
// explains OverBudget.
var journalErrors = map[journal.Kind]Error{
	journal.Broken:         {Kind: JournalBroken},
	journal.Lost:           {Kind: JournalBroken},
	journal.Misplaced:      {Kind: JournalPlace},
	journal.Exists:         {Kind: Refused, Rule: RuleOrderID},
	journal.Duplicate:      {Kind: Refused, Rule: RuleDuplicate},
	journal.NotFound:       {Kind: NotFound, Hint: NewHint("see what it has", "journal", "list")},
	journal.OrderChanged:   {Kind: NotFound, Hint: NewHint("see what it has", "journal", "list")},
	journal.Shown:          {Kind: NotFound, Hint: NewHint("see what it has", "journal", "list")},
	journal.HeldByOther:    {Kind: Refused, Rule: RuleDecision},
	journal.AccountChanged: {Kind: Invalid, Hint: NewHint("see what it has", "journal", "export")},
	journal.DemandChanged:  {Kind: Refused, Rule: RuleApproval},
	journal.NoReason:       {Kind: Invalid, Hint: NewHint("give one")},
	journal.Frozen:         {Kind: Refused, Rule: RuleFrozen, Hint: NewHint("when that is over", "journal", "unfreeze", "--reason", "TEXT")},
	journal.RunChanged:     {Kind: Refused, Rule: RuleOrderID, Hint: NewHint("make a new plan")},
	journal.BatchChanged:   {Kind: Refused, Rule: RuleBatchChanged, Hint: NewHint("make a new plan")},
	journal.Busy:           {Kind: Busy, Hint: NewHint("wait for it, and run this again")},
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

// A Hint says what to do after an error, for a person who uses the program till.
type Hint struct {
	Text    string   // a clause, such as "do not send it again"; empty: the command is enough
	Command []string // the arguments of till, such as withdraw, reconcile, 5001; nil: there is no command
}

// NewHint returns a hint with a text and a command. In the command, values that begin with a dash, such as an
// id of the service, are written so that they are not taken for flags. Flags have two dashes.
func NewHint(text string, command ...string) Hint {
	for i, word := range command {
		switch before := command[max(0, i-1)]; {
		case !strings.HasPrefix(word, "-"), strings.HasPrefix(word, "--"), before == "--":
		case strings.HasPrefix(before, "--"):
			return NewHint(text, slices.Concat(command[:i-1], []string{before + "=" + word}, command[i+1:])...)
		default:
			return NewHint(text, slices.Concat(command[:i], command[i+1:], []string{"--", word})...)
		}
	}
	return Hint{text, command}
}

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
		words = append(words, usage.Quote(arg))
	}
	command := strings.Join(words, " ")
	if h.Text == "" {
		return command
	}
	return h.Text + ": " + command
}

// stateText returns a state as it appears in a sentence.
func stateText(s State) string {
	if s == StateConflict {
		return "in conflict"
	}
	return string(s)
}

// describeSent describes the content of an order with the decimals with which it was sent. If they are others
// today, it has the minor units too.
func describeSent(m money.Registry, o Order) string {
	then := m.As(o.Amount.Unit(), o.DecimalsSent())
	text := describe(then, o.Content)
	if then.Format(o.Amount) != m.Format(o.Amount) {
		text += fmt.Sprintf(" (%d minor units)", o.Amount.Minor)
	}
	return text
}

func describe(m money.Registry, c Content) string {
	text := m.Format(c.Amount)
	switch {
	case c.Amount.Code == "":
		text = "an amount that cannot be read"
	case c.Amount.Unit() != c.Currency:
		text += ", withdrawn in " + c.Currency.Code + ","
	}
	text += " to " + c.Address
	if c.Memo != "" {
		text += ", memo " + c.Memo
	}
	return text
}

// insteadOf returns the hint for a withdrawal that cannot have the order id of o, with the advice to take another one
// if that cannot pay what o has paid, may have paid or will pay.
func insteadOf(o journal.Record, another string) Hint {
	switch {
	case o.State == StateUnknown, o.State == StateSending, o.State == StateConflict:
		return NewHint("find out first what became of it with", "withdraw", "reconcile", o.OrderID)
	case o.Run != "" && o.State != StateAccepted:
		return NewHint("run "+o.Run+" may still pay it as it was; "+another+" only if its plan is never applied again; see", "payout", "status", o.Run)
	case o.State == StateAccepted:
		return NewHint("order "+o.OrderID+" is paid as it was, and "+another+" only for a payment in addition to that; see", "journal", "show", o.OrderID)
	}
	return NewHint(another+", or see what it was", "journal", "show", o.OrderID)
}

// unsettled returns the error for an order that is in conflict, unknown or being sent.
func unsettled(o journal.Record) *Error {
	switch o.State {
	case StateConflict:
		e := failed(Conflict, "order %s is in conflict: %s", o.OrderID, o.Reason).about(o.OrderID, o.ID)
		e.Hint = settleConflict(o.OrderID, o.ID)
		return e
	case StateSending:
		return failed(Busy, "another process is sending order %s (%s on %s)", o.OrderID, o.User, o.Host).
			about(o.OrderID, "").hint("wait for it, and run this again")
	}
	return unknownOutcome(o.OrderID, "it may have been paid", nil)
}

func unknownOutcome(orderID, why string, err error) *Error {
	return failed(Unknown, "the outcome of order %s is unknown: %s", orderID, why).about(orderID, "").because(err).
		hint("do not send it again; find out with", "withdraw", "reconcile", orderID)
}

// unrecorded returns the error for a call that was made, and whose outcome the journal does not have.
func unrecorded(orderID string, out journal.Outcome, err error) error {
	what := "its outcome"
	if out.Reason != "" {
		what = "its outcome (" + out.Reason + ")"
	}
	if out.Withdrawal != "" {
		what = "its acceptance as " + out.Withdrawal
	}
	return failed(Unknown, "order %s was sent, and %s could not be recorded: %w", orderID, what, err).
		about(orderID, out.Withdrawal).
		hint("do not send it again; when the journal can be written, find out with", "withdraw", "reconcile", orderID)
}

// duplicateOf returns the error for an order that is not sent because another one has the same content.
func duplicateOf(orderID string, o journal.Record) *Error {
	e := refused(RuleDuplicate, "order %s was not sent: ", orderID)
	switch o.State {
	case StateUnknown:
		e.Kind, e.OrderID = Unknown, o.OrderID
		e.Msg += fmt.Sprintf("order %s has the same content, and its outcome is unknown, so this could pay twice", o.OrderID)
		return e.hint("add --allow-duplicate if both are meant; otherwise find out about order "+o.OrderID+" with",
			"withdraw", "reconcile", o.OrderID)
	case StateSending:
		e.Kind = Busy
		e.Msg += fmt.Sprintf("another process is sending order %s with the same content (%s on %s)", o.OrderID, o.User, o.Host)
		return e.hint("wait for it, or add --allow-duplicate if both are meant")
	}
	e.Msg += fmt.Sprintf("order %s with the same content was accepted at %s as %s", o.OrderID,
		sentAt(o).UTC().Format(time.RFC3339), o.ID)
	return e.hint("to pay it once more, add --allow-duplicate or an --order-id of its own")
}

// accountChanged explains the error for an account that was changed after the sender found it.
func accountChanged(err error) error {
	const what = "nothing more is sent: %w"
	switch {
	case errors.Is(err, journal.DemandChanged):
		return refused(RuleApproval, what, err).hint("run it again: it says what must be approved now")
	case errors.Is(err, journal.AccountChanged):
		return refused(RuleAccount, what, err).
			hint("run it again for the right account, of those that the journal has", "journal", "export")
	}
	return err
}

// unproven refuses to decide with a list that cannot prove that an order is not on it, and that hardly will.
func unproven(msg string, err error) error {
	return refused(RuleList, "%s", msg).because(err).
		hint("look at the list; if none of the orders in question is on it, record that", "journal", "check", "--accept", "REASON")
}

// otherMerchant returns the error for a record of another merchant than the account's.
func otherMerchant(orderID, withdrawal, other, noted string) *Error {
	return failed(Conflict, "the service shows order %s as withdrawal %s of the merchant %q, and this account is the merchant %q",
		orderID, withdrawal, other, noted).about(orderID, withdrawal).
		hint("if the merchant's id has changed, record that", "journal", "adopt-merchant", other, "--reason", "TEXT")
}

// stayUnknown returns the error for a scan that failed: the unknown orders stay unknown.
func stayUnknown(unknown []string, err error) error {
	again := NewHint("run this again")
	if own, ok := errors.AsType[*Error](err); ok && (own.Kind == Conflict || own.Kind == Refused) {
		again = own.Hint // another reading will find out no more
	}
	switch len(unknown) {
	case 0:
		return err
	case 1:
		return failed(Unknown, "order %s stays unknown: %w", unknown[0], err).about(unknown[0], "").
			hint("do not send it again; "+again.Text, again.Command...)
	}
	e := failed(Unknown, "%d orders stay unknown: %w", len(unknown), err)
	e.OrderIDs = unknown
	return e.hint("do not send them again; "+again.Text, again.Command...)
}
