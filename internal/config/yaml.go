package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/till/internal/near"
	yaml "go.yaml.in/yaml/v3"
)

// parseYAML reads a text that is one YAML document without aliases. The document's kind is zero if the text
// has none.
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
	err := dec.Decode(doc)
	if err == nil {
		if err = dec.Decode(second); err == nil {
			return nil, atLine(second.Line, "a second document begins: keep one, without a line of ---")
		}
	}
	if !errors.Is(err, io.EOF) { // such as "yaml: line 3: did not find expected key"
		message, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
		if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
			_, message, _ = strings.Cut(message, ": ")
		}
		return nil, atLine(line, "this is not YAML (%s): check indentation, colons and quotes", message)
	}
	if err := refuseAliases(doc); err != nil {
		return nil, err
	}
	return doc, nil
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

// A value is a node of a configuration with its full name. The zero value is one that is missing.
type value struct {
	*yaml.Node
	name  string
	wrong **Error // the first error of the configuration; after it, what is read means nothing
}

// fail records an error about the value.
func (v value) fail(format string, args ...any) {
	v.failKey(v.Node, "%s: %w", v.name, fmt.Errorf(format, args...))
}

// failKey records an error about a node, such as a key of the value.
func (v value) failKey(n *yaml.Node, format string, args ...any) {
	if *v.wrong == nil {
		err := fmt.Errorf(format, args...)
		*v.wrong = &Error{Msg: err.Error(), Advice: hint(err), line: n.Line}
	}
}

// mapping returns the values of a mapping by key. A missing or empty mapping has none. Each key must occur once
// and pass the check, which gets the key and its full name. yaml.v3 could decode into structs and refuse unknown
// keys too, but its messages name Go types, and it takes a number for a text and a missing value for an empty one.
func (v value) mapping(check func(key, full string) error) map[string]value {
	if v.Node == nil || isNull(v.Node) {
		return nil
	}
	if v.Kind != yaml.MappingNode || v.ShortTag() != "!!map" {
		v.fail("%s, where keys with values belong", kindName(v.Node))
		return nil
	}
	values, lines := map[string]value{}, map[string]int{}
	for pair := range slices.Chunk(v.Content, 2) {
		key, full := pair[0], strings.TrimPrefix(v.name+"."+short(pair[0].Value), theTop+".")
		if first, double := lines[key.Value]; double {
			v.failKey(key, "the key %s is given twice, first in line %d: take one away", full, first)
		}
		if key.Kind != yaml.ScalarNode {
			v.failKey(key, "%s as a key, where a name belongs", kindName(key))
		} else if err := check(key.Value, full); err != nil {
			v.failKey(key, "%w", err)
		}
		values[key.Value], lines[key.Value] = value{pair[1], full, v.wrong}, key.Line
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
			return failf("api_key: keys are not stored in the configuration").
				advise("leave it out, and use till auth login, or api_key_command, or api_key_file in a profile, or the variable TILL_API_KEY")
		case what == theTop && find(key).profile && !find(key).list:
			return fmt.Errorf("%s: it belongs to a profile: write it under profiles and the profile's name", key)
		}
		return failf("the key %s is not known: %s has %s", full, what, strings.Join(known, ", ")).
			advise("%s", near.Question(key, "", known))
	}
}

// items returns the items of a list, each with the name of the list. A missing list has none, and so has an empty one
// if it may be: who wrote down an empty list of limits meant to set one.
func (v value) items(mayBeEmpty bool) (items []value) {
	switch {
	case v.Node == nil || mayBeEmpty && isNull(v.Node):
		return nil
	case isNull(v.Node):
		v.fail(noValue)
	case v.Kind != yaml.SequenceNode || v.ShortTag() != "!!seq":
		v.fail("%s, where a list belongs: write it as [first, second]", kindName(v.Node))
	}
	for _, n := range v.Content {
		item := value{n, v.name, v.wrong}
		if isNull(n) {
			item.fail(noValue)
		}
		items = append(items, item)
	}
	return items
}

// text returns a value that is a text, or has one of the other tags. It refuses other numbers, booleans and the
// like, because YAML does not keep how they are written: 010 is 8, and no is false. A missing value is empty.
func (v value) text(others ...string) string {
	switch {
	case v.Node == nil:
		return ""
	case isNull(v.Node):
		v.fail(noValue)
	case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" && !slices.Contains(others, v.ShortTag()):
		v.fail("%s, where a text belongs: put it in quotes", kindName(v.Node))
	}
	return v.Value
}

const noValue = "it has no value: write one, or take the line away"

// short returns a key of any length and content, in a form that fits a message.
func short(key string) string {
	if quoted := fmt.Sprintf("%.80q", key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}

func kindName(n *yaml.Node) string {
	names := map[string]string{
		"!!map": "a mapping", "!!seq": "a list", "!!str": "a text", "!!int": "a number", "!!float": "a number",
		"!!bool":      "true or false",
		"!!timestamp": "a date", "!!null": "nothing", "!!merge": "a merge (<<)",
	}
	return cmp.Or(names[n.ShortTag()], "a value of an unknown kind")
}
