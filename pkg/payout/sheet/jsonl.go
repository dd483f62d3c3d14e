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

// jsonRows reads a file of JSON lines.
type jsonRows struct {
	text *textLines
	dec  jsontext.Decoder
}

// JSONLines reads a file that has one JSON object on each line, with till's own names and texts as values.
func JSONLines(in io.Reader) Rows {
	return func(yield func(Row, error) bool) {
		r := &jsonRows{text: newLines(in, UTF8)}
		r.text.json = true
		for {
			text, wrong, err := r.text.next()
			row := Row{Line: r.text.line, Wrong: wrong}
			switch {
			case err == io.EOF:
				return
			case err == nil && wrong == nil && text == "":
				continue
			case err == nil && wrong == nil:
				if row.Cells, row.Wrong, err = r.object(text, row.Line); err != nil {
					row.Wrong, err = Wrongf(row.Line, "", "it is not JSON: %s", Shorten(syntax(err))), nil
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// object reads the JSON object of a line. The error is a syntax error.
func (r *jsonRows) object(text string, line int) (row Cells, wrong []Detail, err error) {
	// repeated names are reported below, in plain words
	r.dec.Reset(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	if r.dec.PeekKind() != '{' {
		value, err := r.dec.ReadValue()
		if err != nil {
			return row, nil, err
		}
		return row, Wrongf(line, "", "it is %s: one object belongs on a line, such as %s", kindNames[value.Kind()],
			`{"order_id":"5001","currency":"Btc","amount":"0.015","address":"..."}`), nil
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return row, nil, err
	}
	var given [Columns]bool
	for r.dec.PeekKind() != '}' {
		token, err := r.dec.ReadToken()
		if err != nil {
			return row, nil, err
		}
		name := token.String()
		value, err := r.dec.ReadValue()
		if err != nil {
			return row, nil, err
		}
		col := Column(slices.Index(columnNames[:], name))
		switch {
		case col == noColumn:
			wrong = append(wrong, Wrongf(line, Shorten(name), "%s", unknownName(name))...)
			if col = meantColumn(name); col != noColumn && row[col] == "" { // it is not missing as well
				row[col], _ = textOf(col, value)
			}
			continue
		case given[col]:
			wrong = append(wrong, Wrongf(line, name, "it is there twice")...)
			continue
		}
		given[col] = true
		var why string
		if row[col], why = textOf(col, value); why != "" {
			wrong = append(wrong, Wrongf(line, name, "%s", why)...)
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return row, nil, err
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return row, Wrongf(line, "", "there is more behind its object: one object belongs on a line"), nil
	}
	return row, wrong, nil
}

// textOf returns the text of a member, or says what is wrong with it.
func textOf(col Column, value jsontext.Value) (text, why string) {
	switch value.Kind() {
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", "it is not a text that can be read"
		}
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

// syntax returns the reason of a decoder's error.
func syntax(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is cut off"
	}
	return Cause(err)
}

// Cause returns the reason of an error of the JSON decoder, without the names of Go types.
func Cause(err error) string {
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
