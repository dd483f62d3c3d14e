package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // every printed type encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Line is Encode with the invisible characters in strings escaped, as in Safe.
func Line(value any) string { return escapeJSON(string(Encode(value)), hidden) }

// notation is how rows are written one after another.
type notation struct {
	begin, between, end string
	empty               string // in place of begin and end if there are no rows

	// row returns the text of a row, which it may make in the buffer. Nil: as it is.
	row func(b *bytes.Buffer, text []byte) ([]byte, error)
}

// lines has one row a line, as it is.
func lines() notation { return notation{between: "\n", end: "\n"} }

// notation returns how JSON is written, for a filter as one value. A single thing is not in an array.
func (o Options) notation(single bool) notation {
	switch n := lines(); {
	case o.Filter != nil && single:
		return notation{}
	case o.Filter != nil:
		return notation{begin: "[", between: ",", end: "]", empty: "[]"}
	case o.Format == JSONL:
		n.row = onOneLine
		return n
	case o.Format == YAML:
		n.empty, n.row = "[]\n", yamlOf(single)
		return n
	case single:
		n.row = indented("")
		return n
	}
	return notation{begin: "[\n  ", between: ",\n  ", end: "\n]\n", empty: "[]\n", row: indented("  ")}
}

// write writes the rows as they come. If they break off, an array stays open: see the package documentation. A
// million rows are common, so it looks at nothing twice and allocates nothing.
func (n notation) write(out io.Writer, rows iter.Seq2[[]byte, error]) error {
	var b bytes.Buffer
	before, end := n.begin, n.empty
	for text, err := range rows {
		if b.Reset(); err == nil && n.row != nil {
			text, err = n.row(&b, text)
		}
		if err != nil {
			if end == n.end { // after another row
				io.WriteString(out, "\n")
			}
			return err
		}
		io.WriteString(out, before) // out keeps its first error
		if _, err := out.Write(text); err != nil {
			return err
		}
		before, end = n.between, n.end
	}
	_, err := io.WriteString(out, end)
	return err
}

// listTexts writes the JSON of rows, or what a filter or YAML make of it.
func (o Options) listTexts(out *bufio.Writer, texts iter.Seq2[[]byte, error], single bool) error {
	if o.Filter == nil {
		return o.notation(single).write(out, texts)
	}
	var text bytes.Buffer
	if err := o.notation(single).write(&text, texts); err != nil {
		return err
	}
	decoder := json.NewDecoder(&text)
	decoder.UseNumber() // keeps every digit
	var value any
	if err := decoder.Decode(&value); err != nil {
		return notJSON(err)
	}
	return unwritable(o.Filter(value, out))
}

// onOneLine returns JSON on one line. Text without a line break is one already.
func onOneLine(b *bytes.Buffer, text []byte) ([]byte, error) {
	if len(text) > 0 && bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text, nil
	}
	err := json.Compact(b, text)
	return b.Bytes(), notJSON(err)
}

// indented is json.Indent without the spaces around the text.
func indented(prefix string) func(*bytes.Buffer, []byte) ([]byte, error) {
	return func(b *bytes.Buffer, text []byte) ([]byte, error) {
		err := json.Indent(b, bytes.TrimSpace(text), prefix, "  ")
		return b.Bytes(), notJSON(err)
	}
}

// yamlOf writes a row as a sequence of one. Together, these lines are the sequence of all rows. A single thing
// is not a sequence.
func yamlOf(single bool) func(*bytes.Buffer, []byte) ([]byte, error) {
	return func(b *bytes.Buffer, text []byte) ([]byte, error) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		node, err := yamlNode(decoder)
		if err != nil {
			return nil, notJSON(err)
		}
		if !single {
			node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
		}
		encoder := yaml.NewEncoder(b) // it panics if its writer fails, but a buffer does not
		encoder.SetIndent(2)
		if err = encoder.Encode(node); err == nil {
			err = encoder.Close()
		}
		return bytes.TrimSuffix(b.Bytes(), []byte("\n")), unwritable(err)
	}
}

// yamlNode reads one JSON value token by token, so that keys keep their order. Numbers keep their digits, as
// plain scalars without a tag.
func yamlNode(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			node.Kind = yaml.MappingNode
		}
		for decoder.More() { // keys and values alternate
			child, err := yamlNode(decoder)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := decoder.Token() // the closing bracket
		return node, err
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t}
		if !plainYAML(t) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil // a number or a bool
}

// word matches text that every YAML reader takes for a string, unless plainYAML lists it.
var word = lazily(`^[A-Za-z_]([A-Za-z_0-9./ -]*[A-Za-z_0-9./-])?$`)

// plainYAML reports whether a string needs no quotes. YAML readers differ in what they take for a number, a
// time or a boolean. A word of letters that is none of their special words is a string to all of them.
func plainYAML(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "none", "nan", "inf", "infinity":
		return false
	}
	return word().MatchString(s)
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{Err: fmt.Errorf("it is not JSON: %w", err)}
}

// output is the function output, with escapes if w is a terminal. Tables and ids are safe already.
func (o Options) output(w io.Writer, print func(*bufio.Writer) error) error {
	if o.Width == 0 || o.Quiet || o.tabular() && o.Format != CSV {
		return output(w, print)
	}
	screen := &screenWriter{w: w}
	err := output(screen, print)
	if flushed := screen.flush(); err == nil && flushed != nil {
		err = &WriteError{Err: flushed}
	}
	return err
}

// output runs print with a buffer in front of w, and flushes the buffer even if print failed. A failure of w
// is always a *WriteError. Another error of print takes precedence, because it says more.
func output(w io.Writer, print func(*bufio.Writer) error) error {
	out := bufio.NewWriterSize(w, 64<<10)
	err := print(out)
	if failed := out.Flush(); failed != nil && (err == nil || errors.Is(err, failed)) { // out keeps its first error
		return &WriteError{Err: failed}
	}
	return err
}

// unwritable wraps an error between a result and the output.
func unwritable(err error) error {
	var failed *WriteError
	if err == nil || errors.As(err, &failed) {
		return err
	}
	return &WriteError{Err: err}
}
