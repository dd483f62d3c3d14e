package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/till/internal/near"
	yaml "go.yaml.in/yaml/v3"
)

// parseYAML reads a text that is one YAML document without aliases. The document's kind is zero if the text
// is empty.
func parseYAML(data []byte) (*yaml.Node, *Error) {
	if len(data) > maxFile {
		return nil, atLine(0, "it is larger than 1 MiB: it cannot be a configuration")
	}
	number := 0
	for line := range bytes.Lines(data) {
		if number++; !utf8.Valid(line) {
			return nil, atLine(number, "the text is not UTF-8: save the file in that encoding")
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc, second := new(yaml.Node), new(yaml.Node)
	if err := dec.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
	switch err := dec.Decode(second); {
	case err == nil:
		return nil, atLine(second.Line, "a second document begins: keep one, without a line of ---")
	case !errors.Is(err, io.EOF):
		return nil, syntaxProblem(err)
	}
	if err := refuseAliases(doc); err != nil {
		return nil, err
	}
	if doc.Kind == yaml.DocumentNode && isNull(doc.Content[0]) {
		*doc = yaml.Node{}
	}
	return doc, nil
}

// syntaxProblem turns the library's "yaml: line 3: did not find expected key" into an error about that line.
func syntaxProblem(err error) *Error {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return atLine(line, "this is not YAML (%s): check indentation, colons and quotes", message)
}

// refuseAliases refuses aliases, so that every value is in the place where it is written. An alias could also
// expand a small file into a huge one.
func refuseAliases(n *yaml.Node) *Error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return atLine(n.Line, "anchors and aliases (& and *) are not taken: write the value out, or put it in quotes")
	}
	for _, c := range n.Content {
		if err := refuseAliases(c); err != nil {
			return err
		}
	}
	return nil
}

// isNull reports whether the value is empty. A quoted or tagged null (!!null "") is not: the library would
// write it back as a text.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Style == 0
}

const theTop = "the configuration" // the name of the outermost mapping

// reader reads the nodes of a configuration and keeps the first problem. After a problem, its results mean
// nothing.
type reader struct{ err *Error }

// fail records a problem with a node.
func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	if r.err == nil {
		err := fmt.Errorf(format, args...)
		r.err = &Error{Msg: err.Error(), Advice: hint(err), line: n.Line}
	}
}

// mapping returns the values of a mapping by key. A missing or empty mapping has none. Each key must be a
// text, occur once, and pass the check, which gets the key and its full name. yaml.v3 could decode into
// structs and refuse unknown keys too, but its messages name Go types, and it takes a number for a text and a
// missing value for an empty one.
func (r *reader) mapping(n *yaml.Node, name string, check func(key, full string) error) map[string]*yaml.Node {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		r.fail(n, "%s: %s, where keys with values belong", name, kindName(n))
		return nil
	}
	values, lines := map[string]*yaml.Node{}, map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		switch key.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		default:
			r.fail(key, "%s: %s as a key, where a name belongs", name, kindName(key))
		}
		full := short(key.Value)
		if name != theTop {
			full = name + "." + full
		}
		if first, double := lines[key.Value]; double {
			r.fail(key, "the key %s is given twice, first in line %d: take one away", full, first)
		}
		if err := check(key.Value, full); err != nil {
			r.fail(key, "%w", err)
		}
		values[key.Value], lines[key.Value] = pair[1], key.Line
	}
	return values
}

// oneOf returns a check that accepts only the known keys.
func oneOf(what string, known ...string) func(key, full string) error {
	return func(key, full string) error {
		switch {
		case slices.Contains(known, key):
			return nil
		case key == "api_key":
			return failf("api_key: keys are not stored in the configuration: remove this line").
				advise("till auth login, or api_key_command, or api_key_file in a profile, or the variable TILL_API_KEY")
		case what == theTop && find(key).profile && !find(key).list:
			return fmt.Errorf("%s: it belongs to a profile: write it under profiles and the profile's name", key)
		}
		return failf("the key %s is not known: %s has %s", full, what, strings.Join(known, ", ")).
			advise("%s", near.Question(key, "", known))
	}
}

// list returns the items of a list. A missing or empty list has none.
func (r *reader) list(n *yaml.Node, name string) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case isNull(n):
		if key := lastKey(name); key != keyCurrency && find(key).example == "" { // the author meant to set a limit
			r.noValue(n, name)
		}
		return nil
	case n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq":
		r.fail(n, "%s: %s, where a list belongs: write it as [first, second]", name, kindName(n))
		return nil
	}
	for _, item := range n.Content {
		if isNull(item) {
			r.noValue(item, name)
		}
	}
	return n.Content
}

// texts adds each text of a list.
func (r *reader) texts(n *yaml.Node, name string, add func(text string) error) {
	for _, item := range r.list(n, name) {
		text := r.text(item, name)
		if err := add(text); err != nil {
			r.fail(item, "%s: %w", name, err)
		}
	}
}

// text returns a value that is a text. It refuses numbers, booleans and the like, because YAML does not keep
// how they are written: 010 is 8, and no is false.
func (r *reader) text(n *yaml.Node, name string) string {
	switch key, tag := lastKey(name), n.ShortTag(); {
	case isNull(n):
		r.noValue(n, name)
	case n.Kind == yaml.ScalarNode &&
		(tag == "!!str" || tag == "!!timestamp" && key == "lookup_since" || tag == "!!bool" && key == "read_only" ||
			tag == "!!int" && (key == "first_page" || key == "approvals")):
		return n.Value
	case (tag == "!!int" || tag == "!!float") &&
		slices.Contains([]string{"lookup_timeout", "settle_after", "duplicate_window"}, key):
		r.fail(n, "%s: %s is a number without a unit: write a duration such as 15m", name, quoted(n.Value))
	default:
		r.fail(n, "%s: %s, where a text belongs: put it in quotes", name, kindName(n))
	}
	return ""
}

func (r *reader) noValue(n *yaml.Node, name string) {
	r.fail(n, "%s: it has no value: write one, or take the line away", name)
}

func lastKey(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// short returns a key of any length and content, in a form that fits a message.
func short(key string) string {
	if len(key) > 80 || strconv.Quote(key) != `"`+key+`"` {
		return quoted(key)
	}
	return key
}

func quoted(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q...", text[:80])
	}
	return strconv.Quote(text)
}

func kindName(n *yaml.Node) string {
	names := map[string]string{
		"!!map": "a mapping", "!!seq": "a list", "!!str": "a text", "!!int": "a number", "!!float": "a number",
		"!!bool":      "true or false",
		"!!timestamp": "a date", "!!null": "nothing", "!!merge": "a merge (<<)",
	}
	return cmp.Or(names[n.ShortTag()], "a value of an unknown kind")
}
