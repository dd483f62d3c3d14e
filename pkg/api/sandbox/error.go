package sandbox

import "example.com/till/pkg/api/sandbox/internal/refusal"

// An Error reports that a method of Server refused what it was asked, and changed nothing. Over HTTP the same
// refusal is an error envelope, with Kind as the reason.
type Error struct {
	Kind    ErrorKind
	Message string // what is wrong, and what to do about it

	refusal *refusal.Error
}

// An ErrorKind is a kind of refusal. The package documentation lists all of them.
type ErrorKind string

// The kinds of errors that tests look for most.
const (
	NotFound        ErrorKind = "not_found"        // no such invoice, withdrawal, invite, delivery or fault
	WrongStatus     ErrorKind = "wrong_status"     // the record is in a status that does not allow it
	UnknownCurrency ErrorKind = "unknown_currency" // not one of the setting currencies
	InvalidAmount   ErrorKind = "invalid_amount"   // not above 0
	AmountTooLarge  ErrorKind = "amount_too_large" // more than an int64 holds
	InviteUsed      ErrorKind = "invite_used"      // redeemed already
	InvalidQuery    ErrorKind = "invalid_query"    // not a UUID, or not plain text
	InvalidBody     ErrorKind = "invalid_body"     // a seed, a time or a value that cannot be read
)

func (e *Error) Error() string { return e.Message }

// Unwrap lets the controls answer with the refusal.
func (e *Error) Unwrap() error { return e.refusal }

// exported turns a refusal into an *Error. It returns any other error as it is.
func exported(err error) error {
	if refused, ok := err.(*refusal.Error); ok {
		return &Error{ErrorKind(refusal.Rules[refused.Kind].Reason), refused.Description, refused}
	}
	return err
}
