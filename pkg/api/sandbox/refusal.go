package sandbox

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// A kind names one sort of refusal. Everything the sandbox can say no to is in
// the list below, so that the documentation, the settings and the answers
// cannot drift apart.
type kind int

const (
	unauthorized kind = iota
	forbidden
	wrongHost
	crossOrigin
	unknownPath
	wrongMethod
	invalidQuery
	invalidBody
	bodyTooLarge
	pageOutOfRange
	wrongContentType
	rateLimited
	notFound
	unknownCurrency
	invalidAmount
	memoRequired
	insufficientFunds
	duplicateOrderID
	amountTooLarge
	inviteExists
	inviteUsed
	wrongStatus
	internalError
)

// An errorRule is what one kind looks like on the wire.
type errorRule struct {
	reason string
	status int
	code   int
}

// A create that is refused must be refused for certain. That is why money and
// state problems are 422 and not 409 or 5xx, which a careful client has to read
// as "it may have happened".
var errorRules = [...]errorRule{
	unauthorized:      {"unauthorized", 401, 1001},
	forbidden:         {"forbidden", 403, 1002},
	wrongHost:         {"wrong_host", 403, 1003},
	crossOrigin:       {"cross_origin", 403, 1004},
	unknownPath:       {"unknown_path", 404, 1101},
	wrongMethod:       {"wrong_method", 405, 1102},
	invalidQuery:      {"invalid_query", 400, 1201},
	invalidBody:       {"invalid_body", 400, 1202},
	bodyTooLarge:      {"body_too_large", 413, 1203},
	pageOutOfRange:    {"page_out_of_range", 400, 1204},
	wrongContentType:  {"wrong_content_type", 415, 1205},
	rateLimited:       {"rate_limited", 429, 1206},
	notFound:          {"not_found", 404, 1301},
	unknownCurrency:   {"unknown_currency", 400, 2001},
	invalidAmount:     {"invalid_amount", 400, 2002},
	memoRequired:      {"memo_required", 400, 2003},
	insufficientFunds: {"insufficient_funds", 422, 2004},
	duplicateOrderID:  {"duplicate_order_id", 422, 2005},
	amountTooLarge:    {"amount_too_large", 422, 2006},
	inviteExists:      {"invite_exists", 422, 2101},
	inviteUsed:        {"invite_used", 422, 2102},
	wrongStatus:       {"wrong_status", 422, 2201},
	internalError:     {"internal_error", 500, 1501},
}

// A failure is a refusal: which kind, and one sentence that says what is
// wrong, where, and what to do about it.
type failure struct {
	kind        kind
	description string
}

func (f *failure) Error() string { return f.description }

func fail(k kind, format string, args ...any) error {
	return &failure{k, fmt.Sprintf(format, args...)}
}

func asFailure(err error) *failure {
	f, known := errors.AsType[*failure](err)
	if !known {
		f = &failure{internalError, err.Error()}
	}
	return f
}

// shorten keeps a message readable when it quotes what was sent.
func shorten(text string) string {
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

func isName(text string) bool {
	for _, r := range text {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return text != ""
}
