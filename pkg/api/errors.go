package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gojson "github.com/go-json-experiment/json"
)

// Outcome says what a failed call may have done. It decides whether to run a create again.
type Outcome int

const (
	// Unknown: the request may have taken effect. Sending it again may pay twice. Only a create ends this
	// way.
	Unknown Outcome = iota
	// Rejected: the service definitely refused; nothing was created.
	Rejected
	// NotSent: no byte of the request was written. It is safe to run it again.
	NotSent
	// Failed: a call that only reads got no usable answer. Nothing has changed, and it is safe to run it
	// again.
	Failed
)

var outcomes = []string{Unknown: "unknown", Rejected: "rejected", NotSent: "not sent", Failed: "failed"}

// String returns the outcome in words: "unknown", "rejected", "not sent" or "failed". Any other value is
// "unknown", because it could mean anything.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		o = Unknown
	}
	return outcomes[o]
}

// MarshalText returns what String does, so that JSON and logs have the outcome in words.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText writes, and refuses anything else.
func (o *Outcome) UnmarshalText(text []byte) error {
	if known := slices.Index(outcomes, string(text)); known >= 0 {
		*o = Outcome(known)
		return nil
	}
	return fmt.Errorf("%.40q is not an outcome of a call: unknown, rejected, not sent or failed", text)
}

// Error is the error of every call that fails after its request was found valid. Find it with errors.As.
type Error struct {
	Op      string // what was attempted: "create the withdrawal"
	Method  string
	Path    string
	Outcome Outcome

	Status int // HTTP status; 0 without a complete answer

	// From the service's error envelope, if there is one.
	Envelope    bool // whether there is one
	Code        int64
	Reason      string
	Description string

	RetryAfter time.Duration // as the service asked, at most 24 hours; 0 if it did not
	Err        error         // the underlying cause; nil if the service refused with an envelope
}

// Error returns one sentence: what failed, its outcome, and why in the service's words.
func (e *Error) Error() string {
	text := e.Op + ": "
	switch {
	case e.Outcome == NotSent:
		text += "nothing was sent"
	case e.Outcome == Unknown:
		text += "the outcome is unknown, it may have taken effect"
	case e.Unauthorized():
		text += "the service refused the key"
	case e.RateLimited():
		text += "the service asks for fewer calls"
	case e.Outcome == Rejected:
		text += "the service rejected it"
	default:
		text += "no usable answer"
	}
	if why := e.Why(); why != "" {
		text += ": " + why
	}
	return text
}

// Why returns the reason alone, if possible in the service's words, for a sentence that already says what
// failed. It may be empty.
func (e *Error) Why() string {
	var parts []string
	for _, text := range []string{e.Reason, e.Description} {
		if text != "" {
			if e.Err != nil { // the sentence continues
				text = strings.TrimRight(text, ".")
			}
			parts = append(parts, text)
		}
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	why := strings.Join(parts, ": ")
	var facts []string
	if e.Envelope || e.Reason != "" || e.Description != "" || e.Code != 0 {
		facts = append(facts, fmt.Sprintf("code %d", e.Code))
	}
	if e.Status != 0 {
		facts = append(facts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if len(facts) == 0 {
		return why
	}
	if why == "" {
		return strings.Join(facts, ", ")
	}
	return why + " (" + strings.Join(facts, ", ") + ")"
}

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.Err }

// Unauthorized reports whether the service refused the key: it rejected the call with the status 401 or 403.
// A create that a proxy answers this way is Unknown, not Unauthorized.
func (e *Error) Unauthorized() bool {
	return e.Outcome == Rejected && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// RateLimited reports whether the service asks for fewer calls: it rejected the call with the status 429.
// RetryAfter says how long to wait, if the service said so.
func (e *Error) RateLimited() bool {
	return e.Outcome == Rejected && e.Status == http.StatusTooManyRequests
}

// MarshalJSON writes the fields for a log: message, outcome, op, method, path and, if the service answered,
// status, code, reason, description and retry_after in seconds. The cause is only in the message, because it
// may be any value.
func (e Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Message     string  `json:"message"`
		Outcome     Outcome `json:"outcome"`
		Op          string  `json:"op"`
		Method      string  `json:"method"`
		Path        string  `json:"path"`
		Status      int     `json:"status,omitzero"`
		Code        int64   `json:"code,omitzero"`
		Reason      string  `json:"reason,omitzero"`
		Description string  `json:"description,omitzero"`
		RetryAfter  float64 `json:"retry_after,omitzero"`
	}{e.Error(), e.Outcome, e.Op, e.Method, e.Path, e.Status, e.Code, e.Reason, e.Description, e.RetryAfter.Seconds()})
}

// GoString returns the text that %#v prints. It shows only the text of the cause, because a transport's error
// may hold a request with the key.
func (e Error) GoString() string {
	return fmt.Sprintf("api.Error{Outcome:%q, Method:%q, Path:%q, Error:%q}", e.Outcome, e.Method, e.Path, e.Error())
}

// readEnvelope notes what the service says in its error,
// {"error":{"code":1,"reason":"...","description":"..."}}. It reports whether that is well-formed, see the
// package documentation.
func (e *Error) readEnvelope(body []byte) bool {
	var got map[string]struct {
		Code        *int64  `json:"code"`
		Reason      *string `json:"reason"`
		Description *string `json:"description"`
	}
	err := gojson.Unmarshal(body, &got)
	said := got["error"]
	if err != nil || len(got) != 1 || said.Code == nil || said.Reason == nil || said.Description == nil {
		return false
	}
	e.Envelope, e.Code, e.Reason, e.Description = true, *said.Code, *said.Reason, *said.Description
	return true
}

func (c *Client) withoutKey(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	hide := c.keyed().hide
	e.Op, e.Path, e.Reason, e.Description = hide(e.Op), hide(e.Path), hide(e.Reason), hide(e.Description)
	if e.Err != nil {
		e.Err = c.hidden(e.Err)
	}
	return e
}

func (c *Client) hidden(cause error) error {
	text := c.keyed().hide(cause.Error())
	if text == cause.Error() {
		return cause
	}
	return hiddenError{text, func(target error) bool { return errors.Is(cause, target) }}
}

// hiddenError replaces an error with the key in its text. It does not expose that error, but matches the same
// errors.
type hiddenError struct {
	text string
	is   func(target error) bool
}

func (e hiddenError) Error() string        { return e.text }
func (e hiddenError) Is(target error) bool { return e.is(target) }

// InvalidError is the error of a request that was refused before anything was sent.
type InvalidError struct {
	Field string // the field of the request, as the interface names it: "address"
	Why   string // what is wrong with it and what to do
}

// Error names the field and says what is wrong with it.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Why }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}
