package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSONLines reads a file that has one JSON object on each line, with till's own names and texts as values.
func JSONLines(in io.Reader) Rows {
	return func(yield func(Row, error) bool) {
		lines := newLines(in, UTF8)
		lines.json = true
		var dec jsontext.Decoder
		for {
			text, why, err := lines.next()
			row := Row{Line: lines.line}
			switch {
			case err == io.EOF:
				return
			case why != "":
				row.wrong("", "%s", why)
			case err == nil && text == "":
				continue
			case err == nil:
				row.object(&dec, text)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// object reads the JSON object of a line.
func (row *Row) object(dec *jsontext.Decoder, text string) {
	// repeated names are reported below, in plain words
	dec.Reset(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	object, err := dec.ReadValue()
	if err != nil {
		row.wrong("", "it is not JSON: %s", Shorten(Cause(err)))
		return
	}
	if kind := object.Kind(); kind != '{' {
		row.wrong("", "it is %s: one object belongs on a line, such as %s", kindNames[kind],
			`{"order_id":"5001","currency":"Btc","amount":"0.015","address":"..."}`)
		return
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		row.wrong("", "there is more behind its object: one object belongs on a line")
		return
	}
	dec.Reset(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	_, _ = dec.ReadToken() // nothing fails: the whole was read before
	var given [Columns]bool
	for dec.PeekKind() != '}' {
		token, _ := dec.ReadToken()
		name := token.String()
		value, _ := dec.ReadValue()
		col := Column(slices.Index(columnNames[:], name))
		switch {
		case col == noColumn:
			row.wrong(Shorten(name), "%s", unknownName(name))
			if col = meantColumn(name); col != noColumn && row.Cells[col] == "" { // it is not missing as well
				row.Cells[col], _ = textOf(col, value)
			}
		case given[col]:
			row.wrong(name, "it is there twice")
		default:
			given[col] = true
			var why string
			if row.Cells[col], why = textOf(col, value); why != "" {
				row.wrong(name, "%s", why)
			}
		}
	}
}

// textOf returns the text of a member, or says what is wrong with it.
func textOf(col Column, value jsontext.Value) (text, why string) {
	switch value.Kind() {
	case '"':
		unquoted, _ := jsontext.AppendUnquote(nil, value) // the whole was read before
		return string(unquoted), ""
	case 'n':
		return "", "it is null: leave it out"
	case '0':
		literal := string(value)
		switch whole := strings.Trim(strings.TrimPrefix(literal, "-"), "0123456789") == ""; {
		case col == AmountMinor && whole:
			return literal, ""
		case col == AmountMinor:
			return "", "it is a number with a point or an exponent: write all digits of the minor units"
		case col == OrderID:
			return "", fmt.Sprintf("it is a number, and many programs round large ones: write it as text, in quotes: %q", Shorten(literal))
		}
		return "", fmt.Sprintf("it is a number: write it as text, in quotes: %q", Shorten(literal))
	}
	return "", fmt.Sprintf("it is %s, and a text belongs there", kindNames[value.Kind()])
}

// kindNames has the kinds of JSON values in words.
var kindNames = map[jsontext.Kind]string{'n': "null", 't': "true or false", 'f': "true or false", '"': "a text",
	'0': "a number", '{': "an object", '[': "a list"}

// Cause returns the reason of an error of the JSON decoder, without the names of Go types.
func Cause(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is cut off"
	}
	if e := (*json.SemanticError)(nil); errors.As(err, &e) {
		if e.Err != nil {
			return fmt.Sprintf("at %q: %v", string(e.JSONPointer), e.Err)
		}
		return fmt.Sprintf("at %q there is something else than belongs there", string(e.JSONPointer))
	}
	if e := (*jsontext.SyntacticError)(nil); errors.As(err, &e) {
		return fmt.Sprintf("at byte %d: %v", e.ByteOffset, e.Err)
	}
	return err.Error()
}
