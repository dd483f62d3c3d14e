package api

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// These limit an answer for the same reason as maxAnswer: a value of three bytes takes far more memory once
// it is decoded.
const (
	maxItems  = 50_000  // elements of one list, or keys of one object
	maxRows   = 10_000  // withdrawals on one page; several pages are read at a time
	maxValues = 200_000 // commas in total: one comes before every further element and key
)

// A reader reads an answer token by token, because a decoder of structs accepts errors that are dangerous
// in a payment: a null in place of a number, a number with a fraction or exponent, a second key.
type reader struct {
	jsontext.Decoder
	body  []byte
	texts [256]string // that came before, such as statuses and codes: they come again
}

// readers are reused because each takes about 10 KB, and most answers take less than one.
var readers = sync.Pool{New: func() any { return new(reader) }}

// value is a type that reads itself from the next tokens.
type value interface{ read(r *reader) error }

// decode reads a complete answer. It refuses what encoding/json accepts but is dangerous in a payment:
// duplicate keys, keys in another case, invalid UTF-8, trailing data.
func decode(body []byte, into any) error {
	if n := bytes.Count(body, []byte{','}); n > maxValues {
		return fmt.Errorf("%w: more than %d values", ErrTooLarge, maxValues)
	}
	return within(body, func(r *reader) error {
		if _, open := into.(*stdjson.RawMessage); !open && r.PeekKind() == 'n' {
			return errors.New("null, where the answer belongs")
		}
		err := r.value(into)
		if id, ok := into.(*string); ok && err == nil && *id == "" {
			return errors.New("an empty string, where the new id belongs")
		}
		return err
	})
}

// lenient is for finding values in a page or record. Those that count are then read as strictly as any others.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)}

// within reads a text, and refuses trailing data.
func within(body []byte, read func(r *reader) error, how ...jsontext.Options) error {
	r := readers.Get().(*reader)
	r.body = body
	r.Reset(bytes.NewBuffer(body), how...)
	defer func() {
		r.Reset(&bytes.Buffer{}) // and leave the body
		r.body = nil
		readers.Put(r)
	}()
	err := read(r)
	if err == nil {
		if _, err = r.ReadToken(); err == io.EOF {
			return nil
		} else if err == nil {
			err = errors.New("there is more after its end")
		}
	}
	return r.readable(err)
}

// errMarkup is about an answer of which the message quotes the beginning.
var errMarkup = errors.New("it is a web page or XML, not JSON")

// readable says what is wrong with an answer and where, without the decoder's own jargon.
func (r *reader) readable(err error) error {
	text := bytes.TrimSpace(r.body)
	switch syntactic := (*jsontext.SyntacticError)(nil); {
	case len(text) == 0:
		return errors.New("its body is empty")
	case text[0] == '<':
		return errMarkup
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is cut off after %d bytes", len(r.body))
	case errors.As(err, &syntactic):
		return fmt.Errorf("at byte %d: %w", syntactic.ByteOffset, syntactic.Err)
	}
	// The names as they are: a key in one of them would not be found in its JSON Pointer form.
	if at := r.StackPointer(); at != "" {
		return fmt.Errorf("at %s: %w", strings.NewReplacer("~1", "/", "~0", "~").Replace(string(at)), err)
	}
	return err
}

// since returns the text of the value that began after an offset. It is clipped, so that appending to it does
// not change what comes next.
func (r *reader) since(offset int64) []byte {
	return slices.Clip(bytes.TrimLeft(r.body[offset:r.InputOffset()], " \t\r\n,:"))
}

var seed = maphash.MakeSeed()

// shared returns a text that may have come before, without allocating it again.
func (r *reader) shared(text []byte) string {
	if len(text) > 64 {
		return string(text)
	}
	place := &r.texts[maphash.Bytes(seed, text)%uint64(len(r.texts))]
	if *place != string(text) {
		*place = string(text)
	}
	return *place
}
