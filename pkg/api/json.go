package api

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The exported types have only the methods of encoding/json, so that a program reads them as strictly with
// either package as this one does. Calling these methods for each field of each record of a list would be
// slow: the decoder makes one more pass over the text of such a field. So answers are read into unexported
// types with the methods of the faster package. These have the name of the exported type and the suffix JSON.

// filled is an exported type whose fields are first read into another type, or into itself without its
// methods. read decodes a value.
type filled interface {
	fill(read func(into any) error) error
}

// unmarshal implements UnmarshalJSON for the exported types. It decodes as an answer is decoded, and does not
// change value if that fails. It copies text, because the caller may reuse it and a resource keeps it.
func unmarshal[T any](text []byte, value *T) error {
	var got T
	if err := decode(bytes.Clone(text), &got); err != nil {
		return err
	}
	*value = got
	return nil
}

// marshal implements MarshalJSON for a resource: it writes the original text as long as the fields agree with
// it.
func marshal[T any](value T, text []byte, fields any) ([]byte, error) {
	if text != nil {
		var was T
		if decode(text, &was) == nil && reflect.DeepEqual(was, value) {
			return text, nil
		}
	}
	return json.Marshal(fields)
}

// entries writes an object with a key for each item.
func entries[T any](items []T, entry func(T) (key string, value any)) ([]byte, error) {
	b := []byte{'{'}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		key, value := entry(item)
		var err error
		if b, err = jsontext.AppendQuote(b, key); err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		b = append(append(b, ':'), text...)
	}
	b = append(b, '}')
	if !jsontext.Value(b).IsValid() {
		return nil, errors.New("a key that occurs twice")
	}
	return b, nil
}

// one reads an object that has one key, using the method of a list of such keys.
func one[T any, L ~[]T](text []byte, value *T, read func(*L, []byte) error) error {
	var list L
	if err := read(&list, text); err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("an object with %d keys, where exactly one belongs", len(list))
	}
	*value = list[0]
	return nil
}

// elements reads an array, or null for a missing one.
func elements[T any](dec *jsontext.Decoder, what string, read func(*T) error) ([]T, error) {
	switch kind := dec.PeekKind(); kind {
	case 'n':
		return nil, dec.SkipValue()
	case '[':
	default:
		return nil, unexpected(dec, what, "an array")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	all := []T{}
	for {
		if kind := dec.PeekKind(); kind == ']' || kind == 0 {
			break
		}
		var none T
		all = append(all, none)
		if err := read(&all[len(all)-1]); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken() // the closing bracket, or what is wrong with the array
	return all, err
}
