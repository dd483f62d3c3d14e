package sandbox

import "example.com/till/pkg/api/sandbox/internal/refusal"

// An Error reports that a method of Server refused what it was asked, and changed nothing. Its Kind says why,
// and its Message what is wrong and what to do about it. Over HTTP the same refusal is an error envelope, with
// the Kind as its reason.
type Error = refusal.Error

// An ErrorKind is a kind of refusal. The package documentation lists all of them.
type ErrorKind = refusal.Kind

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
