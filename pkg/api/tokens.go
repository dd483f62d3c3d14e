package api

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions below read tokens, because a decoder of structs accepts errors that are dangerous in a
// payment: a null in place of a number, a number with a fraction or exponent, a second key.

// oneKey reads an object that must have exactly one key. value reads the value of the key.
func oneKey(dec *jsontext.Decoder, what string, value func(key string) error) error {
	keys := 0
	err := eachKey(dec, what, func(key string) error {
		if keys++; keys > 1 {
			return fmt.Errorf("%s: an object with more than one key, where exactly one belongs", what)
		}
		return value(key)
	})
	if err == nil && keys == 0 {
		return fmt.Errorf("%s: an object without a key, where exactly one belongs", what)
	}
	return err
}

// eachKey reads an object. value must read the value of each key.
func eachKey(dec *jsontext.Decoder, what string, value func(key string) error) error {
	if dec.PeekKind() != '{' {
		return unexpected(dec, what, "an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; dec.PeekKind() == '"'; n++ {
		if n == maxItems {
			return fmt.Errorf("%w: %s: more than %d keys", ErrTooLarge, what, maxItems)
		}
		key, err := readKey(dec)
		if err != nil {
			return err
		}
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken() // the closing brace, or what is wrong with the object
	return err
}

// readKey reads the name of a key. It does not allocate for the names in every withdrawal.
func readKey(dec *jsontext.Decoder) (string, error) {
	text, err := dec.ReadValue()
	if err != nil {
		return "", err
	}
	for _, name := range [...]string{"Crypto", "Fiat", "currency", "address"} {
		if string(text[1:len(text)-1]) == name {
			return name, nil
		}
	}
	name, err := jsontext.AppendUnquote(nil, text)
	return string(name), err
}

// eachElement reads an array of at most so many elements. value must read each.
func eachElement(dec *jsontext.Decoder, what string, most int, value func() error) error {
	if dec.PeekKind() != '[' {
		return unexpected(dec, what, "an array")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if kind := dec.PeekKind(); kind == ']' || kind == 0 {
			break
		}
		if n == most {
			return fmt.Errorf("%w: %s: more than %d elements", ErrTooLarge, what, most)
		}
		if err := value(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken() // the closing bracket, or what is wrong with the array
	return err
}

// integer reads an int64 in plain digits. It parses the text itself, so that no float is involved.
func integer(dec *jsontext.Decoder, what string) (int64, error) {
	if kind := dec.PeekKind(); kind != '0' {
		return 0, unexpected(dec, what, "an integer")
	}
	text, err := dec.ReadValue()
	if err != nil {
		return 0, err
	}
	if bytes.ContainsAny(text, ".eE") {
		return 0, fmt.Errorf("%s: %.40s is not written as an integer", what, text)
	}
	if string(text) == "-0" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %.40s does not fit into 64 bits", what, text)
	}
	return n, nil
}

// str reads a string.
func str(dec *jsontext.Decoder, what string) (string, error) {
	if dec.PeekKind() != '"' {
		return "", unexpected(dec, what, "a string")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func nonEmptyString(dec *jsontext.Decoder, what string) (string, error) {
	text, err := str(dec, what)
	if err == nil && text == "" {
		err = fmt.Errorf("%s: empty", what)
	}
	return text, err
}

// unexpected returns an error that says what was found in place of the wanted value. For malformed JSON, it
// returns the decoder's error.
func unexpected(dec *jsontext.Decoder, what, want string) error {
	kind := dec.PeekKind()
	if kind == 0 || kind == '}' || kind == ']' {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %s, where %s belongs", what, kindName(kind), want)
}

func kindName(kind jsontext.Kind) string { return cmp.Or(kindNames[kind], "nothing") }

var kindNames = map[jsontext.Kind]string{'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string",
	'0': "a number", '{': "an object", '[': "an array"}
