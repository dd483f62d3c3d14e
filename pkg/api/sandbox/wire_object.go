package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// decodeBody checks that a body is one JSON value in valid UTF-8, with nothing
// after it. Everything below relies on that.
func decodeBody(body []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refusal.New(refusal.InvalidBody, "The body is empty; send JSON.")
	}
	if !utf8.Valid(body) {
		return nil, refusal.New(refusal.InvalidBody, "The body is not valid UTF-8; encode it as UTF-8.")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, refusal.New(refusal.InvalidBody, "The body is not one JSON value (%v); send valid JSON with nothing after it.", err)
	}
	return raw, nil
}

// An object reads the fields of a JSON object one by one, strictly. encoding/json
// would take the last of two equal keys, match keys in any case and read null as
// zero; where money is concerned each of those hides a mistake.
//
// The first thing that is wrong is kept in err, which the objects of one body
// share, and every later read is then idle: a handler reads all fields and asks
// done once.
type object struct {
	path   string // the path of this object, for messages; empty for the body
	fields map[string]json.RawMessage
	rules  *rules // as of a request
	asked  []string
	err    *error
}

func newObject(raw json.RawMessage, path string, r *rules, err *error) *object {
	o := &object{path: path, rules: r, err: err}
	if *err != nil {
		return o
	}
	if raw[0] != '{' {
		o.failAt("", "must be an object, not %s", jsonType(raw))
		return o
	}
	o.fields = make(map[string]json.RawMessage)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.Token() // the opening brace; raw was checked, so nothing here can fail
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		if _, twice := o.fields[key]; twice {
			o.failAt(key, "is given twice; give it once")
			return o
		}
		var value json.RawMessage
		dec.Decode(&value)
		o.fields[key] = value
	}
	return o
}

// done returns what was wrong: an unexpected field first, because a
// misspelt name is the usual reason why another one is missing.
func (o *object) done() error {
	if o.rules != nil && o.rules.unknownKeys == "ignore" {
		return *o.err
	}
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if !slices.Contains(o.asked, key) {
			return refusal.New(refusal.InvalidBody, "%s is not a field here; the fields are %s.", o.at(key), strings.Join(o.asked, ", "))
		}
	}
	return *o.err
}

// at names a field by its whole path. The key comes from the request, so it is
// quoted where it is not a plain word.
func (o *object) at(key string) string {
	if key != "" && !refusal.IsName(key) {
		key = strconv.Quote(refusal.Shorten(key))
	}
	switch {
	case o.path == "" && key == "":
		return "The body"
	case o.path == "":
		return key
	case key == "":
		return o.path
	}
	return o.path + "." + key
}

func (o *object) failAt(key, format string, args ...any) {
	o.failKind(refusal.InvalidBody, key, format, args...)
}

func (o *object) failKind(k refusal.Kind, key, format string, args ...any) {
	if *o.err == nil {
		*o.err = refusal.New(k, "%s %s.", o.at(key), fmt.Sprintf(format, args...))
	}
}

func (o *object) ask(key string) {
	if !slices.Contains(o.asked, key) {
		o.asked = append(o.asked, key)
	}
}

// has says whether an optional field was given. A null there is the same as
// nothing.
func (o *object) has(key string) bool {
	o.ask(key)
	raw, given := o.fields[key]
	if o.rules != nil && o.rules.emptyText == "absent" && string(raw) == `""` {
		return false
	}
	return *o.err == nil && given && raw[0] != 'n'
}

// take returns a required field, or nil when something is wrong already.
func (o *object) take(key string) json.RawMessage {
	o.ask(key)
	raw, given := o.fields[key]
	switch {
	case *o.err != nil:
		return nil
	case !given:
		o.failAt(key, "is missing; it is required")
		return nil
	}
	return raw
}

// text reads a string that a person could have meant: not blank, without
// control characters, and without the mark of broken text.
func (o *object) text(key string) string {
	raw := o.take(key)
	if raw == nil {
		return ""
	}
	text, ok := asString(raw)
	switch {
	case !ok:
		o.failAt(key, "must be a string, not %s", jsonType(raw))
	case !isPlain(text):
		o.failAt(key, "is blank, or holds a control character or U+FFFD; send readable text, or leave the field out where it is optional")
	case o.rules != nil && int64(utf8.RuneCountInString(text)) > o.rules.maxText:
		o.failAt(key, "is longer than %d characters; send less", o.rules.maxText)
	}
	return text
}

// isPlain says whether text has something to read and no control characters.
// U+FFFD replaces text that was damaged on its way.
func isPlain(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError
	})
}

// url reads an absolute http or https URL.
func (o *object) url(key string) string {
	text := o.text(key)
	if *o.err != nil {
		return ""
	}
	if !isWebURL(text) {
		o.failAt(key, "must be a URL that begins with http:// or https:// and names a host")
	}
	return text
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func (o *object) integer(key string) int64 {
	raw := o.take(key)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		o.failAt(key, "must be a whole number that fits in an int64, without fraction, exponent or quotes, not %s", refusal.Shorten(string(raw)))
	}
	return n
}

func (o *object) boolean(key string) bool {
	raw := o.take(key)
	if raw != nil && string(raw) != "true" && string(raw) != "false" {
		o.failAt(key, "must be true or false, not %s", jsonType(raw))
	}
	return string(raw) == "true"
}

func (o *object) array(key string) []json.RawMessage {
	raw := o.take(key)
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		o.failAt(key, "must be an array, not %s", jsonType(raw))
		return nil
	}
	var items []json.RawMessage
	json.Unmarshal(raw, &items) // raw was checked
	return items
}

// element is one object of the array under key.
func (o *object) element(key string, i int, raw json.RawMessage) *object {
	return o.inner(raw, fmt.Sprintf("%s[%d]", o.at(key), i))
}

// inner is an object inside this one.
func (o *object) inner(raw json.RawMessage, path string) *object {
	return newObject(raw, path, o.rules, o.err)
}

func asString(raw json.RawMessage) (string, bool) {
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

func jsonType(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// rate reads a number above 0. A 0 is not the same as nothing here: a person who writes
// it does not mean every request.
func (o *object) rate(key string) float64 {
	raw := o.take(key)
	if raw == nil {
		return 0
	}
	rate, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || rate <= 0 {
		o.failAt(key, "must be a number above 0 and at most 1, not %s", refusal.Shorten(string(raw)))
	}
	return rate
}

// texts reads an object whose values are strings. They may be empty.
func (o *object) texts(key string) map[string]string {
	raw := o.take(key)
	if raw == nil {
		return nil
	}
	inner := o.inner(raw, o.at(key))
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(inner.fields)) {
		text, ok := asString(inner.fields[name])
		if !ok {
			inner.failAt(name, "must be a string, not %s", jsonType(inner.fields[name]))
		}
		all[name] = text
	}
	return all
}

// parseUUID accepts the 36-character form in either case and returns it in
// lower case, the form in which ids are kept.
func parseUUID(text string) (string, bool) {
	if len(text) != 36 {
		return "", false
	}
	for i := range len(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (text[i] == '-') || !dash && !isHex(text[i]) {
			return "", false
		}
	}
	return strings.ToLower(text), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// lower is a UUID as ids are kept; what is none stays as it is, for the message.
func lower(id string) string {
	if uuid, ok := parseUUID(id); ok {
		return uuid
	}
	return id
}
