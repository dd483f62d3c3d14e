package payout

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonRows reads a file of JSON lines.
type jsonRows struct {
	text *textLines
	dec  jsontext.Decoder
}

func (r *jsonRows) next() (row cells, wrong []Detail, err error) {
	text, wrong, err := r.text.next()
	if wrong != nil || err != nil {
		return row, wrong, err
	}
	if row, wrong, err = r.object(text, r.text.line); err != nil {
		wrong = wrongf(r.text.line, "", "it is not JSON: %s", shortenText(syntax(err)))
	}
	return row, wrong, nil
}

// object reads the JSON object of a line. The error is a syntax error.
func (r *jsonRows) object(text string, line int) (row cells, wrong []Detail, err error) {
	// repeated names are reported below, in plain words
	r.dec.Reset(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	if r.dec.PeekKind() != '{' {
		value, err := r.dec.ReadValue()
		if err != nil {
			return row, nil, err
		}
		return row, wrongf(line, "", "it is %s: one object belongs on a line, such as %s", kindNames[value.Kind()],
			`{"order_id":"5001","currency":"Btc","amount":"0.015","address":"..."}`), nil
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return row, nil, err
	}
	var given [columns]bool
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
		col, known := columnNamed(name)
		switch {
		case !known:
			wrong = append(wrong, wrongf(line, shortenText(name), "%s", unknownColumn(name))...)
			if col = meantColumn(name); col != noColumn && row[col] == "" { // it is not missing as well
				row[col], _ = textOf(col, value)
			}
			continue
		case given[col]:
			wrong = append(wrong, wrongf(line, name, "it is there twice")...)
			continue
		}
		given[col] = true
		var why string
		if row[col], why = textOf(col, value); why != "" {
			wrong = append(wrong, wrongf(line, name, "%s", why)...)
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return row, nil, err
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return row, wrongf(line, "", "there is more behind its object: one object belongs on a line"), nil
	}
	return row, wrong, nil
}

// textOf returns the text of a member, or says what is wrong with it.
func textOf(col column, value jsontext.Value) (text, why string) {
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
		case col == colAmountMinor && whole:
			return literal, ""
		case col == colAmountMinor:
			return "", "it is a number with a point or an exponent: write all digits of the minor units"
		case col == colOrderID:
			return "", fmt.Sprintf("it is a number, and many programs round large ones: write it as text, in quotes: %q", shortenText(literal))
		}
		return "", fmt.Sprintf("it is a number: write it as text, in quotes: %q", shortenText(literal))
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
	return jsonCause(err)
}
