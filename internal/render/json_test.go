package render

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// odd is JSON that a careless program changes: large and exact numbers, HTML characters, an unknown field,
// the order of the keys, a duplicate key.
const odd = `{"z":12345678901234567890,"a":1.50,"e":1E400,"html":"<a&b>","u":"\u00e9é","n":null,"l":[],"o":{},"a":-0}`

const oddIndented = `{
  "z": 12345678901234567890,
  "a": 1.50,
  "e": 1E400,
  "html": "<a&b>",
  "u": "\u00e9é",
  "n": null,
  "l": [],
  "o": {},
  "a": -0
}
`

func TestJSONIsIndented(t *testing.T) {
	equal(t, one(t, Options{Format: JSON}, payment{json: odd}), oddIndented)
	equal(t, one(t, Options{Format: JSON}, payment{json: "\n" + oddIndented + "\n"}), oddIndented)
	equal(t, one(t, Options{Format: JSON}, payment{json: `[1,{"a":2}]`}), "[\n  1,\n  {\n    \"a\": 2\n  }\n]\n")
	equal(t, list(t, Options{Format: JSON}), "[]\n")
	equal(t, list(t, Options{Format: JSON}, payment{json: `{"a":1}`}, payment{json: `true`}, payment{json: "{\n}"}),
		"[\n  {\n    \"a\": 1\n  },\n  true,\n  {}\n]\n")
}

func TestJSONLHasOneLinePerItem(t *testing.T) {
	equal(t, list(t, Options{Format: JSONL}), "")
	equal(t, list(t, Options{Format: JSONL}, payment{json: odd}, payment{json: `{"a": 1}`}), odd+"\n"+`{"a": 1}`+"\n")
	equal(t, list(t, Options{Format: JSONL}, payment{json: "{\n \"a\": [1,\r\n2.0]\n}\n"}, payment{json: "{\"a\":\r1}"}),
		"{\"a\":[1,2.0]}\n{\"a\":1}\n")
	equal(t, one(t, Options{Format: JSONL}, payment{json: oddIndented}), odd+"\n")
}

func TestFilter(t *testing.T) {
	var given string
	failure := error(nil)
	o := Options{Filter: func(value any, w io.Writer) error {
		given = string(Encode(value))
		io.WriteString(w, "result\n")
		return failure
	}}
	equal(t, list(t, o, both...), "result\n")
	equal(t, given, "["+first.json+","+second.json+"]")
	list(t, o)
	equal(t, given, "[]")
	equal(t, one(t, o, first), "result\n")
	equal(t, given, first.json)
	failure = errors.New("cannot index a number")
	var b strings.Builder
	var failed *WriteError
	if err := payments.One(&b, o, first); !errors.Is(err, failure) || !errors.As(err, &failed) || b.String() != "result\n" {
		t.Errorf("a filter that fails: %v, %q", err, &b)
	}
}
