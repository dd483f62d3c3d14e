package api

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A member is a field of an object, and where its value goes. A text that is required must not be empty.
type member struct {
	name     string
	into     any // as value takes it
	required bool
}

// record reads an object and keeps its text.
func (r *reader) record(from *source, members ...member) error {
	start := r.InputOffset()
	err := r.object(members...)
	from.raw = r.since(start)
	return err
}

// object reads an object. Other members than those named are skipped.
func (r *reader) object(members ...member) error {
	var seen uint
	err := r.eachKey(func(key []byte) error {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == string(key) })
		if i < 0 {
			return r.SkipValue()
		} else if seen&(1<<i) != 0 { // which only lenient allows
			return fmt.Errorf("the key %q is there twice", key)
		}
		seen |= 1 << i
		return r.value(members[i].into)
	})
	for i, m := range members {
		if err != nil {
			return err
		}
		if text, isText := m.into.(*string); m.required && (seen&(1<<i) == 0 || isText && *text == "") {
			err = fmt.Errorf("it has no %s", m.name)
		}
	}
	return err
}

// value reads a value. In place of a text, number or boolean, null means that it is missing.
func (r *reader) value(into any) (err error) {
	switch v := into.(type) {
	case value:
		return v.read(r)
	case *stdjson.RawMessage:
		start := r.InputOffset()
		err = r.SkipValue()
		*v = r.since(start)
		return err
	}
	kind := r.PeekKind()
	if kind == 'n' {
		return r.SkipValue()
	}
	switch v := into.(type) {
	case *string:
		*v, err = r.text()
	case *int64:
		*v, err = r.integer()
	case **int64:
		*v = new(int64)
		**v, err = r.integer()
	case []member:
		err = r.object(v...)
	case *bool:
		if kind != 't' && kind != 'f' {
			return r.unexpected("a boolean")
		}
		*v = kind == 't'
		_, err = r.ReadToken()
	default:
		text, err := r.ReadValue()
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
	return err
}

// plainText is a text in place of which null is refused.
type plainText string

func (v *plainText) read(r *reader) error {
	text, err := r.text()
	*v = plainText(text)
	return err
}

// natural is an integer that must not be negative.
type natural int64

func (v *natural) read(r *reader) error {
	n, err := r.integer()
	if err == nil && n < 0 {
		return fmt.Errorf("%d is negative", n)
	}
	*v = natural(n)
	return err
}

// oneKey reads an object that must have exactly one key. value reads the value of the key.
func (r *reader) oneKey(value func(key []byte) error) error {
	keys := 0
	err := r.eachKey(func(key []byte) error {
		if keys++; keys > 1 {
			return errors.New("an object with more than one key, where exactly one belongs")
		}
		return value(key)
	})
	if err == nil && keys == 0 {
		return errors.New("an object without a key, where exactly one belongs")
	}
	return err
}

// eachKey reads an object. value must read the value of each key, which is valid until then.
func (r *reader) eachKey(value func(key []byte) error) error {
	if r.PeekKind() != '{' {
		return r.unexpected("an object")
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for n := 0; r.PeekKind() == '"'; n++ {
		if n == maxItems {
			return fmt.Errorf("%w: more than %d keys", ErrTooLarge, maxItems)
		}
		key, err := r.unquoted()
		if err != nil {
			if invalid, _ := json.GetOption(r.Options(), jsontext.AllowInvalidUTF8); !invalid {
				return err
			}
		}
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := r.ReadToken() // the closing brace, or what is wrong with the object
	return err
}

// eachElement reads an array of at most so many elements. value must read each.
func (r *reader) eachElement(most int, value func() error) error {
	if r.PeekKind() != '[' {
		return r.unexpected("an array")
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for n := 0; r.PeekKind() != ']' && r.PeekKind() != 0; n++ {
		if n == most {
			return fmt.Errorf("%w: more than %d elements", ErrTooLarge, most)
		}
		if err := value(); err != nil {
			return err
		}
	}
	_, err := r.ReadToken() // the closing bracket, or what is wrong with the array
	return err
}

// elements reads an array of at most so many values, or null for an empty one.
func elements[T any, P interface {
	*T
	value
}](r *reader, most int, items *[]T) error {
	if r.PeekKind() == 'n' {
		return r.SkipValue()
	}
	if *items == nil {
		*items = []T{}
	}
	return r.eachElement(most, func() error {
		*items = append(*items, *new(T))
		return P(&(*items)[len(*items)-1]).read(r)
	})
}

// number reads a number and returns its text, which is valid until the next value is read.
func (r *reader) number() ([]byte, error) {
	if r.PeekKind() != '0' {
		return nil, r.unexpected("an integer")
	}
	return r.ReadValue()
}

// integer reads an int64 in plain digits. It parses the text itself, so that no float is involved.
func (r *reader) integer() (int64, error) {
	text, err := r.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40s is not an integer of 64 bits in plain digits", text)
	}
	return n, nil
}

func (r *reader) text() (string, error) {
	if r.PeekKind() != '"' {
		return "", r.unexpected("a string")
	}
	text, err := r.unquoted()
	return r.shared(text), err
}

func (r *reader) nonEmptyText() (string, error) {
	text, err := r.text()
	if err == nil && text == "" {
		err = errors.New("an empty string")
	}
	return text, err
}

// unquoted reads a string or a key. It is valid until the next one is read.
func (r *reader) unquoted() ([]byte, error) {
	text, err := r.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1], nil
	}
	return jsontext.AppendUnquote(nil, text)
}

// unexpected returns an error that says what was found in place of the wanted value. For malformed JSON, it
// returns the decoder's error.
func (r *reader) unexpected(want string) error {
	kind := r.PeekKind()
	if kind == 0 || kind == '}' || kind == ']' {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s, where %s belongs", cmp.Or(kindNames[kind], "nothing"), want)
}

var kindNames = map[jsontext.Kind]string{'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string",
	'0': "a number", '{': "an object", '[': "an array"}
