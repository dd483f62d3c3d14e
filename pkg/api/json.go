package api

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The exported types have only the methods of encoding/json, so that a program reads them as strictly with
// either package as this one does. Calling these for each field of each record would be slow, because it
// makes one more pass over the text of the field: decode uses the unexported method read.

// source is the JSON text that a value came from.
type source struct{ raw stdjson.RawMessage }

// RawJSON returns the JSON text that the value came from, with every field that the service sent, or nil if
// the value was not decoded from JSON.
func (s source) RawJSON() stdjson.RawMessage { return s.raw }

// unmarshal implements UnmarshalJSON. It decodes as an answer is decoded, and leaves value unchanged if that
// fails. It copies text, because the caller may reuse it and a resource keeps it.
func unmarshal[T any](text []byte, value *T) error {
	var got T
	err := decode(bytes.Clone(text), &got)
	if err == nil {
		*value = got
	}
	return err
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

type entry interface {
	entry() (key string, value any)
}

// object writes an object with a key for each item.
func object[T entry](items ...T) ([]byte, error) {
	b := []byte{'{'}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		key, value := item.entry()
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		if b, err = jsontext.AppendQuote(b, key); err != nil {
			return nil, err
		}
		b = append(append(b, ':'), text...)
	}
	b = append(b, '}')
	if !jsontext.Value(b).IsValid() {
		return nil, errors.New("a key that occurs twice")
	}
	return b, nil
}

// entries reads an object into an item for each of its keys. read reads the value of the key.
func entries[L ~[]T, T any](r *reader, items *L, read func(item *T, key string) error) error {
	*items = L{}
	return r.eachKey(func(key []byte) error {
		*items = append(*items, *new(T))
		return read(&(*items)[len(*items)-1], r.shared(key))
	})
}

// one implements UnmarshalJSON for an object that has one key of a list.
func one[L ~[]T, T any](text []byte, value *T) error {
	var list L
	if err := unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("an object with %d keys, where exactly one belongs", len(list))
	}
	*value = list[0]
	return nil
}
