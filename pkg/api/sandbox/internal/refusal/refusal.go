// Package refusal holds what the sandbox says no with: the kinds of refusals, what each is on the wire, and how a
// message quotes what was sent.
package refusal

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Kind names one sort of refusal. Everything the sandbox can say no to is in
// the list below, so that the documentation, the settings and the answers
// cannot drift apart.
type Kind int

const (
	Unauthorized Kind = iota
	Forbidden
	WrongHost
	CrossOrigin
	UnknownPath
	WrongMethod
	InvalidQuery
	InvalidBody
	BodyTooLarge
	PageOutOfRange
	WrongContentType
	RateLimited
	NotFound
	UnknownCurrency
	InvalidAmount
	MemoRequired
	InsufficientFunds
	DuplicateOrderID
	AmountTooLarge
	InviteExists
	InviteUsed
	WrongStatus
	InternalError
)

// A Rule is what one kind looks like on the wire.
type Rule struct {
	Reason string
	Status int
	Code   int
}

// A create that is refused must be refused for certain. That is why money and
// state problems are 422 and not 409 or 5xx, which a careful client has to read
// as "it may have happened".
var Rules = [...]Rule{
	Unauthorized:      {"unauthorized", 401, 1001},
	Forbidden:         {"forbidden", 403, 1002},
	WrongHost:         {"wrong_host", 403, 1003},
	CrossOrigin:       {"cross_origin", 403, 1004},
	UnknownPath:       {"unknown_path", 404, 1101},
	WrongMethod:       {"wrong_method", 405, 1102},
	InvalidQuery:      {"invalid_query", 400, 1201},
	InvalidBody:       {"invalid_body", 400, 1202},
	BodyTooLarge:      {"body_too_large", 413, 1203},
	PageOutOfRange:    {"page_out_of_range", 400, 1204},
	WrongContentType:  {"wrong_content_type", 415, 1205},
	RateLimited:       {"rate_limited", 429, 1206},
	NotFound:          {"not_found", 404, 1301},
	UnknownCurrency:   {"unknown_currency", 400, 2001},
	InvalidAmount:     {"invalid_amount", 400, 2002},
	MemoRequired:      {"memo_required", 400, 2003},
	InsufficientFunds: {"insufficient_funds", 422, 2004},
	DuplicateOrderID:  {"duplicate_order_id", 422, 2005},
	AmountTooLarge:    {"amount_too_large", 422, 2006},
	InviteExists:      {"invite_exists", 422, 2101},
	InviteUsed:        {"invite_used", 422, 2102},
	WrongStatus:       {"wrong_status", 422, 2201},
	InternalError:     {"internal_error", 500, 1501},
}

// An Error is a refusal: which kind, and one sentence that says what is
// wrong, where, and what to do about it.
type Error struct {
	Kind        Kind
	Description string
}

func (f *Error) Error() string { return f.Description }

// New makes a refusal.
func New(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// From is the refusal in an error; any other error is one of the sandbox itself.
func From(err error) *Error {
	f, known := errors.AsType[*Error](err)
	if !known {
		f = &Error{InternalError, err.Error()}
	}
	return f
}

// Shorten keeps a message readable when it quotes what was sent.
func Shorten(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// IsName reports whether a text is a plain word: letters, digits, - and _.
func IsName(text string) bool {
	for _, r := range text {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return text != ""
}
