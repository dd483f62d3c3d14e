// Package wire reads requests and writes answers. It defines the shapes from the interface, independently of
// package api, so that an error in either package shows.
package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// DecodeBody checks that a body is one JSON value in valid UTF-8, with nothing after it. The rest of the
// package relies on that.
func DecodeBody(body []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refusal.New(refusal.InvalidBody, "The body is empty; send JSON.")
	}
	if !utf8.Valid(body) {
		return nil, refusal.New(refusal.InvalidBody, "The body is not valid UTF-8; encode it as UTF-8.")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, refusal.New(refusal.InvalidBody,
			"The body is not one JSON value (%v); send valid JSON with nothing after it.", err)
	}
	return raw, nil
}

// An Object reads the fields of a JSON object one by one, strictly. encoding/json would use the last of two
// equal keys, match keys in any case and read null as zero. Where money is concerned, each of those hides a
// mistake.
//
// The first error is kept in Err, which the objects of one body share. Every later read then does nothing, so
// a handler reads all fields and calls Done once.
type Object struct {
	Path   string // the path of this object, for messages; empty for the body
	Fields map[string]json.RawMessage
	rules  *Rules // nil: read strictly
	Asked  []string
	Err    *error
}

// NewObject splits an object into its fields. Without rules it reads them strictly.
func NewObject(raw json.RawMessage, path string, r *Rules, err *error) *Object {
	o := &Object{Path: path, rules: r, Err: err}
	if *err != nil {
		return o
	}
	if raw[0] != '{' {
		o.FailAt("", "must be an object, not %s", shown(raw))
		return o
	}
	o.Fields = make(map[string]json.RawMessage)
	dec := json.NewDecoder(bytes.NewReader(raw))
	// The opening brace. raw was checked, so nothing here can fail.
	dec.Token()
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		if _, twice := o.Fields[key]; twice {
			o.FailAt(key, "is given twice; give it once")
			return o
		}
		var value json.RawMessage
		dec.Decode(&value)
		o.Fields[key] = value
	}
	return o
}

// Done returns the first error. An unexpected field comes first, because a misspelt name is the usual reason
// for a missing one.
func (o *Object) Done() error {
	if o.rules != nil && o.rules.UnknownKeys == "ignore" {
		return *o.Err
	}
	for _, key := range slices.Sorted(maps.Keys(o.Fields)) {
		if !slices.Contains(o.Asked, key) {
			return refusal.New(refusal.InvalidBody, "%s is not a field here; the fields are %s.", o.At(key),
				strings.Join(o.Asked, ", "))
		}
	}
	return *o.Err
}

// At returns the whole path of a field. The key comes from the request, so it is quoted unless it is a plain
// word.
func (o *Object) At(key string) string {
	if key != "" && !refusal.IsName(key) {
		key = strconv.Quote(refusal.Shorten(key))
	}
	switch {
	case o.Path == "" && key == "":
		return "The body"
	case o.Path == "":
		return key
	case key == "":
		return o.Path
	}
	return o.Path + "." + key
}

// FailAt records that a field makes the body invalid, unless an error is kept already.
func (o *Object) FailAt(key, format string, args ...any) {
	o.FailKind(refusal.InvalidBody, key, format, args...)
}

// FailKind is like FailAt, with another kind of refusal.
func (o *Object) FailKind(k refusal.Kind, key, format string, args ...any) {
	if *o.Err == nil {
		*o.Err = refusal.New(k, "%s %s.", o.At(key), fmt.Sprintf(format, args...))
	}
}

func (o *Object) ask(key string) {
	if !slices.Contains(o.Asked, key) {
		o.Asked = append(o.Asked, key)
	}
}

// Has reports whether an optional field was given. A null counts as absent.
func (o *Object) Has(key string) bool {
	o.ask(key)
	raw, given := o.Fields[key]
	if o.rules != nil && o.rules.EmptyText == "absent" && string(raw) == `""` {
		return false
	}
	return *o.Err == nil && given && raw[0] != 'n'
}

func (o *Object) Take(key string) json.RawMessage {
	o.ask(key)
	raw, given := o.Fields[key]
	switch {
	case *o.Err != nil:
		return nil
	case !given:
		o.FailAt(key, "is missing; it is required")
		return nil
	}
	return raw
}

// Text reads a string that is not blank, has no control characters, and has no U+FFFD, the mark of damaged
// text.
func (o *Object) Text(key string) string {
	raw := o.Take(key)
	if raw == nil {
		return ""
	}
	text, ok := AsString(raw)
	switch {
	case !ok:
		o.FailAt(key, "must be a string, not %s", shown(raw))
	case !IsPlain(text):
		o.FailAt(key,
			"is blank, or holds a control character or U+FFFD; send readable text, or leave the field out where it is optional")
	case o.rules != nil && int64(utf8.RuneCountInString(text)) > o.rules.MaxText:
		o.FailAt(key, "is longer than %d characters; send less", o.rules.MaxText)
	}
	return text
}

// IsPlain reports whether text is not blank and has no control characters. It also excludes U+FFFD, which
// replaces text that was damaged in transit.
func IsPlain(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError
	})
}

func (o *Object) URL(key string) string {
	text := o.Text(key)
	if *o.Err != nil {
		return ""
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		o.FailAt(key, "must be a URL that begins with http:// or https:// and names a host")
	}
	return text
}

// TextOr reads an optional field, and so do URLOr and IntegerOr.
func (o *Object) TextOr(key, otherwise string) string { return optional(o, key, o.Text, otherwise) }
func (o *Object) URLOr(key, otherwise string) string  { return optional(o, key, o.URL, otherwise) }

func (o *Object) IntegerOr(key string, otherwise int64) int64 {
	return optional(o, key, o.Integer, otherwise)
}

// Optional reads a field that may be absent; then it returns nil.
func Optional[V any](o *Object, key string, read func(string) V) *V {
	if !o.Has(key) {
		return nil
	}
	return new(read(key))
}

func optional[V any](o *Object, key string, read func(string) V, otherwise V) V {
	if o.Has(key) {
		return read(key)
	}
	return otherwise
}

func (o *Object) Integer(key string) int64 {
	raw := o.Take(key)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		o.FailAt(key, "must be a whole number that fits in an int64, without fraction, exponent or quotes, not %s",
			shown(raw))
	}
	return n
}

func (o *Object) Array(key string) []json.RawMessage {
	raw := o.Take(key)
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		o.FailAt(key, "must be an array, not %s", shown(raw))
		return nil
	}
	var items []json.RawMessage
	json.Unmarshal(raw, &items) // raw was checked
	return items
}

func (o *Object) Element(key string, i int, raw json.RawMessage) *Object {
	return o.Inner(raw, fmt.Sprintf("%s[%d]", o.At(key), i))
}

// Field returns the object in a field. It has no fields if there is an error.
func (o *Object) Field(key string) *Object { return o.Inner(o.Take(key), o.At(key)) }

func (o *Object) Inner(raw json.RawMessage, path string) *Object {
	return NewObject(raw, path, o.rules, o.Err)
}

func AsString(raw json.RawMessage) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

// shown returns the beginning of a JSON value on one line, for a message.
func shown(raw json.RawMessage) string {
	return refusal.Shorten(strings.Join(strings.Fields(string(raw)), " "))
}

// AllTexts reads every field of an object as a string, which may be empty.
func (o *Object) AllTexts() map[string]string {
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		o.ask(name)
		text, ok := AsString(o.Fields[name])
		if !ok {
			o.FailAt(name, "must be a string, not %s", shown(o.Fields[name]))
		}
		all[name] = text
	}
	return all
}

// Into reads the fields into a record with the same names. It refuses none that is not asked for: Done does.
func (o *Object) Into(record any) {
	text, err := json.Marshal(o.Fields)
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		o.FailAt(wrong.Field, "must not be a %s", wrong.Value)
	} else if err != nil {
		o.FailAt("", "cannot be read: %v", err)
	}
}

// ParseUUID accepts the 36-character form in either case and returns it in lower case, as ids are stored.
func ParseUUID(text string) (string, bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return "", false
	}
	_, err := hex.DecodeString(text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:])
	return strings.ToLower(text), err == nil
}

// Lower returns a UUID in lower case, as ids are stored. It returns other text unchanged, for the message.
func Lower(id string) string {
	if uuid, ok := ParseUUID(id); ok {
		return uuid
	}
	return id
}

// A Query reads the query string like an Object reads a body: it keeps the first error, and Done refuses
// unexpected and repeated parameters.
type Query struct {
	Values url.Values
	rules  *Rules // as of a request
	asked  []string
	lists  []string // of asked, those that may be given more than once
	err    error
}

// NewQuery parses a query string. Without rules it is read strictly.
func NewQuery(raw string, r *Rules) *Query {
	values, err := url.ParseQuery(raw)
	q := &Query{Values: values, rules: r}
	if err != nil {
		q.Fail("The query string cannot be read (%v); encode it as name=value&name=value.", err)
	}
	return q
}

func (q *Query) Fail(format string, args ...any) {
	if q.err == nil {
		q.err = refusal.New(refusal.InvalidQuery, format, args...)
	}
}

func (q *Query) Done() error {
	ignore := q.rules != nil && q.rules.UnknownParameters == "ignore"
	for _, name := range slices.Sorted(maps.Keys(q.Values)) {
		times, short := len(q.Values[name]), refusal.Shorten(name)
		switch asked := slices.Contains(q.asked, name); {
		case !asked && !ignore && len(q.asked) == 0:
			return refusal.New(refusal.InvalidQuery,
				"This path takes no query parameters, and %q was given; leave it out.", short)
		case !asked && !ignore:
			return refusal.New(refusal.InvalidQuery, "There is no query parameter %q here; there is %s.", short,
				strings.Join(q.asked, ", "))
		case times > 1 && !slices.Contains(q.lists, name):
			return refusal.New(refusal.InvalidQuery, "The query parameter %q is given %d times; give it once.", short, times)
		}
	}
	return q.err
}

func (q *Query) Has(name string) bool {
	q.asked = append(q.asked, name)
	return q.Values.Has(name)
}

func (q *Query) Text(name string) string {
	if !q.Has(name) || q.Values.Get(name) == "" {
		q.Fail("The query parameter %s is missing; add %s=... to the address.", name, name)
	}
	return q.Values.Get(name)
}

func (q *Query) TextOr(name, absent string) string {
	if !q.Has(name) {
		return absent
	}
	return q.Values.Get(name)
}

func (q *Query) All(name string) []string {
	q.Has(name)
	q.lists = append(q.lists, name)
	return q.Values[name]
}

func (q *Query) UUID(name string) string {
	text := q.Text(name)
	id, ok := ParseUUID(text)
	if !ok {
		q.Fail("The query parameter %s is %q, which is not a UUID; send the 36-character form.", name,
			refusal.Shorten(text))
	}
	return id
}

func (q *Query) Integer(name string, absent int64) int64 {
	if !q.Has(name) {
		return absent
	}
	n, ok := money.ParseInteger(q.Values.Get(name))
	if !ok || n < 0 {
		q.Fail("The query parameter %s is %q; it must be a whole number that is not negative.", name,
			refusal.Shorten(q.Values.Get(name)))
	}
	return n
}

func (q *Query) Currency(name string) money.Currency {
	code := q.Text(name)
	c, ok := q.rules.find(code, currencyCode)
	if !ok && q.err == nil {
		q.err = refusal.New(refusal.UnknownCurrency,
			"The query parameter %s names the currency %q, which is not one of %s.", name, refusal.Shorten(code),
			q.rules.Known(""))
	}
	return c
}
