package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"text/template"
)

// A template is given the decoded JSON: an object for one thing, and for a list
// the array of all its rows, so that it begins with {{range .}}. Numbers are
// json.Number and print digit for digit. A missing field prints <no value>.
// Beside the standard functions there is one, json, which prints a value as
// JSON. Output that does not end with a line feed is given one.
func parseTemplate(text string) (*template.Template, error) {
	return template.New("template").Funcs(template.FuncMap{"json": encodeJSON}).Parse(text)
}

func encodeJSON(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func (v View[T]) listTemplate(out *bufio.Writer, o Options, items iter.Seq2[T, error]) error {
	array, err := v.array(items)
	if err != nil {
		return err
	}
	return execute(out, o, array)
}

func execute(out *bufio.Writer, o Options, text []byte) error {
	t, err := parseTemplate(o.Template)
	if err != nil {
		return usagef("--template does not parse: %v", err) // Check found it before
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return notJSON(err)
	}
	last := &lastByte{w: out, last: '\n'}
	if err := t.Execute(last, value); err != nil {
		return unwritable(err)
	}
	if last.last != '\n' {
		return out.WriteByte('\n')
	}
	return nil
}

// lastByte remembers the last byte that went through it.
type lastByte struct {
	w    io.Writer
	last byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return l.w.Write(p)
}
