package api

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// These limit an answer for the same reason as maxAnswer: a value of three bytes takes far more memory once
// it is decoded.
const (
	maxItems  = 50_000  // elements of one list, or keys of one object
	maxRows   = 10_000  // withdrawals on one page; several pages are read at a time
	maxValues = 200_000 // commas in total: one comes before every further element and key
)

// value is a type that reads itself from the next tokens.
type value interface {
	read(dec *jsontext.Decoder) error
}

// resource is a type of record that keeps its text. An answer has one or many. check refuses a record that
// lacks something on which money depends.
type resource interface {
	value
	keep(text stdjson.RawMessage)
	check() error
}

// document is a type of answer whose records keep their parts of the body.
type document interface {
	decode(dec *jsontext.Decoder, body []byte) error
}

// decode reads a complete answer. It refuses what encoding/json accepts but is dangerous in a payment:
// duplicate keys, keys in another case, invalid UTF-8, trailing data.
func decode(body []byte, into any) error {
	if n := bytes.Count(body, []byte{','}); n > maxValues {
		return fmt.Errorf("%w: more than %d values", ErrTooLarge, maxValues)
	}
	var err error
	switch v := into.(type) {
	case document:
		err = within(body, func(dec *jsontext.Decoder) error { return v.decode(dec, body) })
	case value:
		err = within(body, v.read)
	case *stdjson.RawMessage:
		err = within(body, (*jsontext.Decoder).SkipValue)
		*v = bytes.TrimSpace(body)
	case *string:
		err = decodeString(body, v)
	case *bool:
		if kind := jsontext.Value(body).Kind(); kind != 't' && kind != 'f' && kind != 0 {
			err = fmt.Errorf("%s, where a boolean belongs", kindName(kind))
		} else {
			err = json.Unmarshal(body, v)
		}
	default:
		err = json.Unmarshal(body, into)
	}
	if v, ok := into.(interface{ keep(stdjson.RawMessage) }); ok {
		v.keep(bytes.TrimSpace(body))
	}
	if v, ok := into.(interface{ check() error }); ok && err == nil {
		err = v.check()
	}
	return readable(err, body)
}

// decodeString reads the answer of a create: one JSON string that is not empty.
func decodeString(body []byte, s *string) error {
	if kind := jsontext.Value(body).Kind(); kind != '"' && kind != 0 {
		return fmt.Errorf("%s, where the new id belongs", kindName(kind))
	}
	if err := json.Unmarshal(body, s); err != nil {
		return err
	}
	if *s == "" {
		return errors.New("an empty string, where the new id belongs")
	}
	return nil
}

// errMarkup is about an answer of which the message quotes the beginning.
var errMarkup = errors.New("it is a web page or XML, not JSON")

// readable says what is wrong with an answer, without the decoder's own jargon.
func readable(err error, body []byte) error {
	if err == nil {
		return nil
	}
	text := bytes.TrimSpace(body)
	switch {
	case len(text) == 0:
		return errors.New("its body is empty")
	case text[0] == '<':
		return errMarkup
	}
	if semantic := new(json.SemanticError); errors.As(err, &semantic) {
		// The names as they are: a key in one of them would not be found in its JSON Pointer form.
		where := strings.NewReplacer("~1", "/", "~0", "~").Replace(string(semantic.JSONPointer))
		if where == "" {
			where = "the top"
		}
		switch {
		case semantic.JSONKind != 0 &&
			(semantic.Err == nil || errors.Is(semantic.Err, strconv.ErrSyntax) ||
				errors.Is(semantic.Err, strconv.ErrRange)):
			return fmt.Errorf("at %s there is %s, which does not belong there", where, kindName(semantic.JSONKind))
		case semantic.Err != nil:
			return fmt.Errorf("at %s: %w", where, semantic.Err)
		}
		return fmt.Errorf("at %s there is something else than belongs there", where)
	}
	if syntactic := new(jsontext.SyntacticError); errors.As(err, &syntactic) {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("it is cut off after %d bytes", len(body))
		}
		return fmt.Errorf("at byte %d: %w", syntactic.ByteOffset, syntactic.Err)
	}
	return err
}

// decoders are reused because each takes about 6 KB, and most answers take less than one.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// within decodes a value that must be read token by token, and refuses trailing data.
func within(body []byte, read func(dec *jsontext.Decoder) error) error {
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(body))
	defer func() {
		dec.Reset(&bytes.Buffer{}) // and leave the body
		decoders.Put(dec)
	}()
	if err := read(dec); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("there is more after its end")
	default:
		return err
	}
}

// readFields decodes the next value into a struct. A null within a list is left for the check of the record.
func readFields(dec *jsontext.Decoder, into any, opts ...json.Options) error {
	if dec.PeekKind() == 'n' && dec.StackDepth() == 0 {
		return errors.New("null, where an object belongs")
	}
	return json.UnmarshalDecode(dec, into, opts...)
}

// element decodes the next value into a resource and gives it its text, which is a part of body.
func element(dec *jsontext.Decoder, body []byte, record resource) error {
	start := dec.InputOffset()
	if err := record.read(dec); err != nil {
		return err
	}
	// The text is clipped, so that appending to it does not change the next element.
	record.keep(slices.Clip(bytes.TrimLeft(body[start:dec.InputOffset()], " \t\r\n,:")))
	if err := record.check(); err != nil {
		return fmt.Errorf("at %q: %w", string(dec.StackPointer()), err)
	}
	return nil
}

// list decodes an array of resources.
func list[T any, P interface {
	*T
	resource
}](dec *jsontext.Decoder, body []byte, what string, most int) ([]T, error) {
	items := []T{}
	err := eachElement(dec, what, most, func() error {
		start := dec.InputOffset()
		items = append(items, *new(T))
		err := element(dec, body, P(&items[len(items)-1]))
		if len(items) == 1 {
			// Elements have about the same size, so the first one predicts how many there are.
			size := int(dec.InputOffset()-start) + 1
			items = append(make([]T, 0, min(len(body)/size+1, most)), items[0])
		}
		return err
	})
	return items, err
}

// count reads an integer that must not be negative.
func count(dec *jsontext.Decoder, what string) (int64, error) {
	n, err := integer(dec, what)
	if err == nil && n < 0 {
		return 0, fmt.Errorf("%s: %d is negative", what, n)
	}
	return n, err
}
