package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// parseYAML reads a text that is one YAML document without aliases. The document's kind is zero where there is nothing in it.
func parseYAML(data []byte) (*yaml.Node, error) {
	if len(data) > maxFile {
		return nil, problemf(0, "it is larger than 1 MiB: it cannot be a configuration")
	}
	if !utf8.Valid(data) {
		line := 1 + bytes.Count(data[:validPrefix(data)], []byte("\n"))
		return nil, problemf(line, "the text is not UTF-8: save the file in that encoding")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc := new(yaml.Node)
	if err := dec.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
	second := new(yaml.Node)
	switch err := dec.Decode(second); {
	case err == nil:
		return nil, problemf(second.Line, "a second document begins: keep one, without a line of ---")
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

func validPrefix(data []byte) int {
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// syntaxProblem turns the library's "yaml: line 3: did not find expected key" into ours.
func syntaxProblem(err error) *problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^(?:unmarshal errors:\s*)?line (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		return problemf(line, "this is not YAML (%s): check indentation, colons and quotes", m[2])
	}
	return problemf(0, "this is not YAML (%s): check indentation, colons and quotes", message)
}

// refuseAliases keeps every value where it is written: an alias could also make a small file expand into a huge one.
func refuseAliases(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return problemf(n.Line, "anchors and aliases (& and *) are not taken: write the value out, or put it in quotes")
	}
	for _, c := range n.Content {
		if err := refuseAliases(c); err != nil {
			return err
		}
	}
	return nil
}

const theTop = "the configuration" // the name of the outermost mapping

// pair is one key of a mapping, under its full name for messages.
type pair struct {
	key, name string
	line      int
	value     *yaml.Node
}

// isNull says whether the value is empty. A quoted or tagged nothing (!!null "") is not taken for it: the library would
// write it back as a text.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Style == 0
}

// mapping returns the keys of a mapping in order. Each must be a text, and occur once.
func mapping(n *yaml.Node, name string) ([]pair, error) {
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		return nil, problemf(n.Line, "%s: %s, where keys with values belong", name, kindName(n))
	}
	pairs := make([]pair, 0, len(n.Content)/2)
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
			return nil, problemf(k.Line, "%s: %s as a key, where a name belongs", name, kindName(k))
		}
		if first, double := seen[k.Value]; double {
			return nil, problemf(k.Line, "the key %s is given twice, first in line %d: take one away", fullName(name, k.Value), first)
		}
		seen[k.Value] = k.Line
		pairs = append(pairs, pair{key: k.Value, name: fullName(name, k.Value), line: k.Line, value: n.Content[i+1]})
	}
	return pairs, nil
}

func fullName(in, key string) string {
	if key = short(key); in != theTop {
		return in + "." + key
	}
	return key
}

// short shows a key of any length and content in a message.
func short(key string) string {
	const most = 80
	if len(key) > most {
		return fmt.Sprintf("%.*q...", most, key)
	}
	if plain := strings.Trim(strconv.Quote(key), `"`); plain == key {
		return key
	}
	return strconv.Quote(key)
}

func quoted(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q...", text[:80])
	}
	return strconv.Quote(text)
}

// text reads a value that is one text. Numbers, booleans and the like are refused, because YAML would not keep how they are
// written: 010 is 8, and no is false.
func text(p pair) (string, error) {
	if isNull(p.value) {
		return "", noValue(p)
	}
	if p.value.Kind == yaml.ScalarNode {
		switch tag := p.value.ShortTag(); {
		case tag == "!!str":
			return p.value.Value, nil
		case tag == "!!timestamp" && p.key == "lookup_since", tag == "!!int" && p.key == "first_page":
			return p.value.Value, nil
		case tag == "!!int" || tag == "!!float":
			switch p.key {
			case "lookup_timeout", "settle_after", "duplicate_window":
				return "", problemf(p.value.Line, "%s: %s is a number without a unit: write a duration such as 15m", p.name, quoted(p.value.Value))
			}
		}
	}
	return "", problemf(p.value.Line, "%s: %s, where a text belongs: put it in quotes", p.name, kindName(p.value))
}

func noValue(p pair) *problem {
	return problemf(p.value.Line, "%s: it has no value: write one, or take the line away", p.name)
}

// list reads a list of texts.
func list(p pair) ([]pair, error) {
	if isNull(p.value) {
		return nil, nil
	}
	if p.value.Kind != yaml.SequenceNode || p.value.ShortTag() != "!!seq" {
		return nil, problemf(p.value.Line, "%s: %s, where a list belongs: write it as [first, second]", p.name, kindName(p.value))
	}
	items := make([]pair, len(p.value.Content))
	for i, n := range p.value.Content {
		items[i] = pair{key: p.key, name: p.name, line: n.Line, value: n}
	}
	return items, nil
}

func texts(p pair) ([]string, error) {
	if isNull(p.value) { // somebody meant to allow something, not everything
		return nil, noValue(p)
	}
	items, err := list(p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		if err := checkText(s); err != nil {
			return nil, problemf(item.line, "%s: %v", p.name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!int", "!!float":
			return "a number"
		case "!!bool":
			return "true or false"
		case "!!str":
			return "a text"
		case "!!null":
			return "nothing"
		case "!!timestamp":
			return "a date"
		case "!!merge":
			return "a merge (<<)"
		}
	}
	return "a value of an unknown kind"
}
