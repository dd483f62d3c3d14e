// Package refusal defines the kinds of refusals, the form of each in an answer, and how a message quotes a
// part of a request.
package refusal

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Kind is a kind of refusal, as the reason of an answer names it.
type Kind string

// A Rule is the form of one kind of refusal in an answer.
type Rule struct {
	Kind   Kind
	Status int
	Code   int
}

// Rules has a rule for each kind. All refusals of the sandbox are in the list below, so that the
// documentation, the settings and the answers agree.
var Rules []Rule

// A client must be certain that a refused create did nothing. That is why money and state problems are 422
// and not 409 or 5xx, which a careful client has to read as "it may have happened".
var (
	Unauthorized      = kind("unauthorized", 401, 1001)
	Forbidden         = kind("forbidden", 403, 1002)
	WrongHost         = kind("wrong_host", 403, 1003)
	CrossOrigin       = kind("cross_origin", 403, 1004)
	UnknownPath       = kind("unknown_path", 404, 1101)
	WrongMethod       = kind("wrong_method", 405, 1102)
	InvalidQuery      = kind("invalid_query", 400, 1201)
	InvalidBody       = kind("invalid_body", 400, 1202)
	BodyTooLarge      = kind("body_too_large", 413, 1203)
	PageOutOfRange    = kind("page_out_of_range", 400, 1204)
	WrongContentType  = kind("wrong_content_type", 415, 1205)
	RateLimited       = kind("rate_limited", 429, 1206)
	NotFound          = kind("not_found", 404, 1301)
	UnknownCurrency   = kind("unknown_currency", 400, 2001)
	InvalidAmount     = kind("invalid_amount", 400, 2002)
	MemoRequired      = kind("memo_required", 400, 2003)
	InsufficientFunds = kind("insufficient_funds", 422, 2004)
	DuplicateOrderID  = kind("duplicate_order_id", 422, 2005)
	AmountTooLarge    = kind("amount_too_large", 422, 2006)
	InviteExists      = kind("invite_exists", 422, 2101)
	InviteUsed        = kind("invite_used", 422, 2102)
	WrongStatus       = kind("wrong_status", 422, 2201)
	InternalError     = kind("internal_error", 500, 1501)
)

func kind(k Kind, status, code int) Kind {
	Rules = append(Rules, Rule{k, status, code})
	return k
}

// An Error is a refusal: its kind, and one sentence that says what is wrong, where, and what to do about it.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

func New(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// From returns the refusal in err. Any other error is an internal error of the sandbox.
func From(err error) *Error {
	if e, known := errors.AsType[*Error](err); known {
		return e
	}
	return &Error{InternalError, err.Error()}
}

// Shorten limits the length of a quoted part of a request, so that a message stays readable.
func Shorten(text string) string {
	if short := Cut(text, 60); short != text {
		return short + "..."
	}
	return text
}

// Cut limits a text to so many bytes, and cuts no character in two.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
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
