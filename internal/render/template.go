package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"text/template"

	"example.com/till/internal/usage"
)

// parseTemplate parses a template. A template gets the decoded JSON: an object for one thing, and for a list
// the array of all its rows, so it begins with {{range .}}. Numbers are json.Number and print digit for
// digit. A missing field prints "<no value>". In addition to the standard functions there is json, which
// prints a value as JSON, and decimal, which prints an amount in units. If the output does not end with a line
// feed, one is added.
func (o Options) parseTemplate() (*template.Template, error) {
	return template.New("template").Funcs(template.FuncMap{"json": encodeJSON, "decimal": o.Decimal}).Parse(o.Template)
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

func execute(out *bufio.Writer, o Options, text []byte) error {
	t, err := o.parseTemplate()
	if err != nil {
		return usage.Errorf("--template does not parse: %v", err) // Check has already found it
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return notJSON(err)
	}
	var result bytes.Buffer
	err = t.Execute(&result, value)
	if _, failed := out.Write(result.Bytes()); failed != nil { // including the output before an error
		return failed
	}
	if err != nil {
		return unwritable(usage.Errorf("--template: %v", err))
	}
	if result.Len() > 0 && !bytes.HasSuffix(result.Bytes(), []byte("\n")) {
		return out.WriteByte('\n')
	}
	return nil
}
