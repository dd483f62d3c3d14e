package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
)

// Document says how a row is written as JSON, and which Go type that JSON has. The schemas of what till prints
// are made from these types.
type Document[T any] struct {
	Type reflect.Type
	Text func(T) []byte
}

// Encoded returns the document of rows that are encoded as another type.
func Encoded[T, J any](of func(T) J) Document[T] {
	return Document[T]{reflect.TypeFor[J](), func(row T) []byte { return Encode(of(row)) }}
}

// Value returns the document of rows that are encoded as they are.
func Value[T any]() Document[T] { return Encoded(func(row T) T { return row }) }

// Received returns the document of rows that are printed as they were received: as the JSON of a J.
func Received[J, T any, B ~[]byte](text func(T) B) Document[T] {
	return Document[T]{reflect.TypeFor[J](), func(row T) []byte { return text(row) }}
}

// Encode returns the JSON of one of till's own values, on one line.
func Encode(value any) []byte {
	text, err := encodeJSON(value)
	if err != nil {
		panic(err) // every printed type encodes
	}
	return []byte(text)
}

// listJSON writes the array as its elements come. If they break off, the array stays open: see the package
// documentation. A single thing is not an array.
func (b bound) listJSON(out *bufio.Writer, rows iter.Seq[error], single bool) error {
	begin, end, prefix := "[\n  ", "\n]\n", "  "
	if single {
		begin, end, prefix = "", "\n", ""
	}
	var indented bytes.Buffer
	started := false
	for err := range rows {
		indented.Reset()
		if err == nil {
			err = indent(&indented, b.json(), prefix)
		}
		if err != nil {
			if started {
				out.WriteByte('\n')
			}
			return err
		}
		if started {
			out.WriteString(",\n  ")
		} else {
			out.WriteString(begin)
		}
		started = true
		if _, err := out.Write(indented.Bytes()); err != nil {
			return err
		}
	}
	if !started {
		end = "[]\n"
	}
	_, err := out.WriteString(end)
	return err
}

// listLines writes a line for each row. A million rows are common, so it looks at nothing twice and allocates
// nothing: text without a line break is already a line.
func (b bound) listLines(out *bufio.Writer, rows iter.Seq[error]) error {
	var compacted bytes.Buffer
	for err := range rows {
		if err != nil {
			return err
		}
		text := b.json()
		if len(text) == 0 || bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
			compacted.Reset()
			if err := json.Compact(&compacted, text); err != nil {
				return notJSON(err)
			}
			text = compacted.Bytes()
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// value returns the JSON of all rows as one array, or that of a single thing.
func (b bound) value(rows iter.Seq[error], single bool) ([]byte, error) {
	array := []byte{'['}
	for err := range rows {
		if err != nil {
			return nil, err
		}
		if single {
			return b.json(), nil
		}
		if len(array) > 1 {
			array = append(array, ',')
		}
		array = append(array, b.json()...)
	}
	return append(array, ']'), nil
}

// indent is json.Indent without the spaces around the text.
func indent(to *bytes.Buffer, text []byte, prefix string) error {
	if err := json.Indent(to, bytes.TrimSpace(text), prefix, "  "); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	return &WriteError{Err: fmt.Errorf("it is not JSON: %w", err)}
}
