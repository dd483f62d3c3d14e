package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
)

// Document says how a row is written as JSON, and which Go type that JSON has. The schemas of what till
// prints are made from these types.
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

// Line is Encode with the invisible characters in strings escaped, as in Safe.
func Line(value any) string { return escapeJSON(string(Encode(value)), hidden) }

// listIDs writes a line for each row.
func listIDs(out *bufio.Writer, ids iter.Seq2[string, error]) error {
	for id, err := range ids {
		if err != nil {
			return err
		}
		if _, err := out.WriteString(Safe(id) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// listTexts writes the JSON of rows, or what --jq, --template or YAML make of it.
func (o Options) listTexts(out *bufio.Writer, texts iter.Seq2[[]byte, error], single bool) error {
	if o.Filter == nil && o.Template == "" {
		switch o.Format {
		case JSON:
			return listJSON(out, texts, single)
		case JSONL:
			return listLines(out, texts)
		}
		return listYAML(out, texts, single)
	}
	value, err := join(texts, single)
	switch {
	case err != nil:
		return err
	case o.Filter != nil:
		return unwritable(o.Filter(value, out))
	}
	return execute(out, o, value)
}

// listJSON writes the array as its elements come. If they break off, the array stays open: see the package
// documentation. A single thing is not an array.
func listJSON(out *bufio.Writer, texts iter.Seq2[[]byte, error], single bool) error {
	begin, end, prefix := "[\n  ", "\n]\n", "  "
	if single {
		begin, end, prefix = "", "\n", ""
	}
	var indented bytes.Buffer
	before := begin
	for text, err := range texts {
		indented.Reset()
		if err == nil {
			err = indent(&indented, text, prefix)
		}
		if err != nil {
			if before != begin {
				out.WriteByte('\n')
			}
			return err
		}
		out.WriteString(before)
		if _, err := out.Write(indented.Bytes()); err != nil {
			return err
		}
		before = ",\n  "
	}
	if before == begin {
		end = "[]\n"
	}
	_, err := out.WriteString(end)
	return err
}

// listLines writes a line for each row. A million rows are common, so it looks at nothing twice and allocates
// nothing: text without a line break is already a line.
func listLines(out *bufio.Writer, texts iter.Seq2[[]byte, error]) error {
	var compacted bytes.Buffer
	for text, err := range texts {
		if err != nil {
			return err
		}
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

// join returns the JSON of all rows as one array, or that of a single thing.
func join(texts iter.Seq2[[]byte, error], single bool) ([]byte, error) {
	array := []byte{'['}
	for text, err := range texts {
		if err != nil {
			return nil, err
		}
		if single {
			return text, nil
		}
		if len(array) > 1 {
			array = append(array, ',')
		}
		array = append(array, text...)
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
