// Package fault decides which requests and deliveries go wrong on purpose, and how.
package fault

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/near"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// An Effect is what a fault does.
type Effect struct {
	Name       string
	Duration   time.Duration // of delay, stale-list and delay-callback
	Status     int
	Bare       bool   // without the envelope
	RetryAfter string // the header; empty: none
}

// A Struck is a fault that strikes.
type Struck struct {
	store.Fault
	Effect
}

const kindsOfFaults = "use refuse, drop-before, drop-after, truncate, delay=2s, deliver-twice, stale-list=10m, " +
	"status=503, status=503,bare, status=429,retry-after=5, html, html=502, body, respond, lose-callback or " +
	"delay-callback=10m"

func parseDo(text string) (do Effect, err error) {
	name, value, given := strings.Cut(text, "=")
	short, ok := refusal.Shorten(text), false
	switch do.Name = name; name {
	case "refuse", "drop-before", "drop-after", "truncate", "deliver-twice", "body", "respond", "lose-callback":
		if given {
			err = fmt.Errorf("%s takes no value", name)
		}
	case "delay":
		if do.Duration, err = time.ParseDuration(value); err != nil {
			err = fmt.Errorf("%q is not a delay", short)
		} else if do.Duration <= 0 || do.Duration > maxDelay {
			err = fmt.Errorf("a delay must be above 0 and at most 10m, and %s is not", do.Duration)
		}
	case "stale-list", "delay-callback":
		if do.Duration, ok = store.ParseWait(value); !ok {
			err = fmt.Errorf("%q has no duration of whole seconds such as 30s, 15m, 36h or 7d, and at most 36500d", short)
		}
	case "status", "html":
		err = do.parseStatus(short, value, given)
	case "":
		err = errors.New("it says nothing")
	default:
		err = fmt.Errorf("there is no kind %q", short)
	}
	if err != nil {
		return Effect{}, &Error{"do", err.Error(), kindsOfFaults}
	}
	return do, nil
}

// parseStatus reads an HTTP status and, of the kind status, its options. That of html may be left out.
func (do *Effect) parseStatus(text, value string, given bool) (err error) {
	if do.Status = http.StatusOK; do.Name == "html" && !given {
		return nil
	}
	options, more := "", false
	if do.Name == "status" {
		value, options, more = strings.Cut(value, ",")
	}
	do.Status, err = strconv.Atoi(value)
	if err != nil || len(value) != 3 || do.Status < 200 || do.Status > 599 {
		return fmt.Errorf("%q has no HTTP status from 200 to 599", text)
	}
	for option := range strings.SplitSeq(options, ",") {
		seconds, found := strings.CutPrefix(option, "retry-after=")
		n, ok := money.ParseInteger(seconds)
		switch {
		case !more:
		case option == "bare" && !do.Bare:
			do.Bare = true
		case !found || do.RetryAfter != "":
			return fmt.Errorf("%q has %q, which is not bare or retry-after=5, or is there twice", text, option)
		case !ok || n < 0 || n > maxRetryAfter:
			return fmt.Errorf("%q has no retry-after of whole seconds from 0 to %d", text, maxRetryAfter)
		default:
			do.RetryAfter = seconds
		}
	}
	return nil
}

// callbacks is in the place of an operation where faults are asked about a delivery.
const callbacks = "callback"

func isList(operation string) bool { return strings.HasSuffix(operation, "/list") }

func (do Effect) canStrike(operation string) bool {
	switch do.Name {
	case "stale-list":
		return isList(operation)
	case "lose-callback", "delay-callback":
		return operation == callbacks
	}
	return operation != callbacks
}

// continues reports whether the next faults are asked too, because this one does not decide the answer.
func (do Effect) continues() bool {
	return slices.Contains([]string{"delay", "deliver-twice", "stale-list", "delay-callback"}, do.Name)
}

func (do Effect) checkOn(on string, operations []string) error {
	switch {
	case on == everyOperation || do.canStrike(on):
		return nil
	case do.Name == "stale-list":
		lists := slices.DeleteFunc(slices.Clone(operations), func(op string) bool { return !isList(op) })
		return &Error{"on", fmt.Sprintf("%s applies to lists only, and %q is not one", do.Name, on),
			"use " + strings.Join(lists, ", ") + ", or * for all of them"}
	}
	return &Error{"on", do.Name + " applies to callbacks, not to an operation",
		"leave it out, and select withdrawals by fields such as external_order_id"}
}

// checkMatch returns an *Error if a fault of callbacks matches a field that no withdrawal has.
func (do Effect) checkMatch(match map[string]string) error {
	if !do.canStrike(callbacks) {
		return nil
	}
	known := strings.Fields("id external_id merchant_id currency amount statuses current address is_testnet callback " +
		"external_order_id memo")
	for _, field := range slices.Sorted(maps.Keys(match)) {
		if name, _, _ := strings.Cut(field, "."); !slices.Contains(known, name) {
			return &Error{"match", fmt.Sprintf("a withdrawal has no field %q", refusal.Shorten(name)),
				cmp.Or(near.Question(name, "", known), "use "+strings.Join(known, ", "))}
		}
	}
	return nil
}

func IsOn(on, operation string) bool { return on == "" || on == everyOperation || on == operation }

// Holds reports whether the fields of a query or a body have these values. What cannot be read has none.
func Holds(match map[string]string, query string, body []byte) bool {
	if len(match) == 0 {
		return true
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		values = nil
	}
	raw, _ := wire.DecodeBody(body)
	for path, value := range match {
		if !slices.Contains(values[path], value) && !holds(raw, path, value) {
			return false
		}
	}
	return true
}

// holds reports whether a field of a JSON value has a value. It compares numbers as they are written. Dots in the
// path lead to inner fields.
func holds(raw json.RawMessage, path, value string) bool {
	var err error
	for name := range strings.SplitSeq(path, ".") {
		if len(raw) == 0 {
			return false
		}
		if raw[0] == '[' {
			var elements []json.RawMessage
			n, ok := money.ParseInteger(name) // counted from 0
			if json.Unmarshal(raw, &elements) != nil || !ok || n < 0 || n >= int64(len(elements)) {
				return false
			}
			raw = elements[n]
			continue
		}
		raw = wire.NewObject(raw, "", nil, &err).Fields[name]
	}
	if err != nil || len(raw) == 0 {
		return false
	}
	if text, ok := wire.AsString(raw); ok {
		return text == value
	}
	return raw[0] != '{' && raw[0] != '[' && string(raw) == value
}

const (
	maxDelay      = 10 * time.Minute // what a test may want to wait
	maxRetryAfter = 24 * 60 * 60     // seconds
	maxBody       = 1 << 20          // each strike saves the fault in the state's file again
)

const everyOperation = "*"

// strikes reports whether a fault strikes the n-th request that it is asked about. The result looks random,
// but only the seed and n decide it.
func strikes(f store.Fault, n int64) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d", f.Seed, n))
	const bits = 53 // the precision of a float64, so that both sides are exact
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)) < f.Rate*(1<<bits)
}

// ask asks the faults about a request or a delivery, in their order, until one ends it. It returns those that
// strike, and the new counters of those that were asked.
func ask(faults []store.Fault, operation, query string, body []byte) (struck []Struck, counted []store.Change) {
	for _, f := range faults {
		do, _ := parseDo(f.Do) // it was checked when the fault was added
		if f.Times != 0 && f.Fired >= f.Times || !IsOn(f.On, operation) || !do.canStrike(operation) ||
			!Holds(f.Match, query, body) {
			continue
		}
		f.Seen++
		hit := strikes(f, f.Seen)
		if hit {
			f.Fired++
			struck = append(struck, Struck{f, do})
		}
		counted = append(counted, store.Change{Fault: &f})
		if hit && !do.continues() {
			break
		}
	}
	return struck, counted
}

// Strike returns the faults that strike a request. The counters are part of the state, so all servers on a
// file count together.
func Strike(s *store.Store, operation, query string, body []byte) (struck []Struck, err error) {
	if _, counted := ask(*s.Faults.Load(), operation, query, body); counted == nil {
		return nil, nil
	}
	err = s.Write(func(st *store.State) (c store.Change, err error) {
		struck, c.Then = ask(st.Faults, operation, query, body)
		return c, nil
	})
	return struck, err
}

// ApplyToDelivery lets the faults strike a new delivery of a status that was reached at a time, and returns
// their new counters. The fields that they match are those of the withdrawal that it carries.
func ApplyToDelivery(faults []store.Fault, d *store.Delivery, at time.Time) []store.Change {
	struck, counted := ask(faults, callbacks, "", []byte(d.Body))
	for _, f := range struck {
		switch f.Name {
		case "delay-callback":
			if due := at.Add(f.Duration); due.After(d.Due) {
				d.Due = due
			}
		case "lose-callback":
			d.State, d.Due = store.Lost, time.Time{}
		}
	}
	return counted
}

// An Answer is what a respond fault sends. A body that is a text is sent as it is, and any other as JSON.
type Answer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// ParseAnswer returns nil if the text does not describe an answer.
func ParseAnswer(text []byte) *Answer {
	a := &Answer{Status: http.StatusOK}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(a) != nil || d.More() || a.Status < 200 || a.Status > 599 {
		return nil
	}
	return a
}

// Check returns the fault with its defaults filled in, except for the ID and Seed, which only a sandbox can
// set. An invalid fault is an *Error.
func Check(f store.Fault, operations []string) (store.Fault, error) {
	if f.On == "" {
		f.On = everyOperation
	}
	if err := CheckFilter(f.On, f.Match, operations); err != nil {
		return f, err
	}
	do, err := parseDo(f.Do)
	if err != nil {
		return f, err
	}
	if err := do.checkOn(f.On, operations); err != nil {
		return f, err
	}
	if err := do.checkMatch(f.Match); err != nil {
		return f, err
	}
	if f.Rate == 0 {
		f.Rate = 1
	}
	switch {
	case !(f.Rate > 0 && f.Rate <= 1): // both are false for NaN
		return f, &Error{"rate", fmt.Sprintf("a rate must be above 0 and at most 1, and %v is not", f.Rate),
			"0.1 affects one request in ten"}
	case f.Times < 0:
		return f, &Error{"times", fmt.Sprintf("%d is negative", f.Times),
			"write how many calls it affects, or 0 for without end"}
	case f.Body != nil && do.Name != "body" && do.Name != "respond":
		return f, &Error{"body", do.Name + " sends no body of yours", "leave it out, or use the kind body"}
	case len(f.Body) > maxBody:
		return f, &Error{"body", fmt.Sprintf("it has %d bytes, more than %d", len(f.Body), maxBody), "use a shorter one"}
	case do.Name == "respond" && ParseAnswer(f.Body) == nil:
		return f, &Error{"body", "it does not describe an answer", `write JSON like {"status": 418, "headers": {"X-Name": "value"}, "body": {}}`}
	case f.Seed < 0:
		return f, &Error{"seed", fmt.Sprintf("%d is negative", f.Seed), "write a number from 1, or leave it out"}
	}
	return f, nil
}

// CheckFilter returns an *Error unless on names an operation, or all of them, and match names fields.
func CheckFilter(on string, match map[string]string, operations []string) error {
	if on != "" && on != everyOperation && !slices.Contains(operations, on) {
		advice := `write a method and a path, such as "POST /api/merchant_withdrawal/create", or * for every one`
		var quoted []string
		for _, operation := range operations {
			quoted = append(quoted, strconv.Quote(operation))
		}
		if question := near.Question(strconv.Quote(refusal.Shorten(on)), "", quoted); question != "" {
			advice = question + " * is every one"
		}
		return &Error{"on", fmt.Sprintf("%q is not an operation of the interface", refusal.Shorten(on)), advice}
	}
	for _, field := range slices.Sorted(maps.Keys(match)) {
		if !wire.IsPlain(field) || slices.Contains(strings.Split(field, "."), "") {
			return &Error{"match", "the name of a field is blank, in part, or not readable",
				"write a field of the query or the body, such as external_order_id or currency.Crypto"}
		}
	}
	return nil
}

type Error struct {
	Field   string // as in JSON
	Problem string
	Advice  string // what to write instead
}

func (e *Error) Error() string {
	return fmt.Sprintf("the fault's %s: %s; %s", e.Field, e.Problem, e.Advice)
}

// Refused returns an *Error as the refusal of a request, and any other error as it is.
func Refused(kind refusal.Kind, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return refusal.New(kind, "%s: %s; %s.", e.Field, e.Problem, e.Advice)
	}
	return err
}
