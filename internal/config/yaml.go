package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// The file as YAML has it. The types say which keys there are and of which kind their values are.
type (
	fileYAML struct {
		Current    value                  `yaml:"current"`
		Currencies []currencyYAML         `yaml:"currencies"`
		Profiles   map[string]profileYAML `yaml:"profiles"`
	}
	profileYAML struct {
		Command    []value          `yaml:"api_key_command"`
		Most       []value          `yaml:"max_per_withdrawal"`
		MostInARun []value          `yaml:"max_per_run"`
		Allow      []value          `yaml:"allow_addresses"`
		Currencies []currencyYAML   `yaml:"currencies"`
		Values     map[string]value `yaml:",inline"` // the settings of the table
	}
	currencyYAML struct {
		line     int
		Code     value     `yaml:"code"`
		Kind     value     `yaml:"kind"`
		Decimals yaml.Node `yaml:"decimals"`
		Memo     value     `yaml:"memo"`
		Format   value     `yaml:"address_format"`
	}
	// value is a text. Its line is 0 where the file does not have it.
	value struct {
		text string
		line int
	}
)

func (v *value) UnmarshalYAML(n *yaml.Node) error {
	*v = value{n.Value, n.Line}
	return nil
}

func (c *currencyYAML) UnmarshalYAML(n *yaml.Node) error {
	type plain currencyYAML
	c.line = n.Line
	return n.Decode((*plain)(c))
}

// parseYAML reads a text that is one YAML document without aliases. The document's kind is zero where there
// is nothing in it.
func parseYAML(data []byte) (*yaml.Node, error) {
	if len(data) > maxFile {
		return nil, problemf(0, "it is larger than 1 MiB: it cannot be a configuration")
	}
	number := 0
	for line := range bytes.Lines(data) {
		if number++; !utf8.Valid(line) {
			return nil, problemf(number, "the text is not UTF-8: save the file in that encoding")
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc, second := new(yaml.Node), new(yaml.Node)
	if err := dec.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
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

// syntaxProblem turns the library's "yaml: line 3: did not find expected key" into ours.
func syntaxProblem(err error) *problem {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return problemf(line, "this is not YAML (%s): check indentation, colons and quotes", message)
}

// refuseAliases keeps every value where it is written: an alias could also make a small file expand into a
// huge one.
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

// isNull says whether the value is empty. A quoted or tagged nothing (!!null "") is not taken for it: the
// library would write it back as a text.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Style == 0
}

const theTop = "the configuration" // the name of the outermost mapping

// checkNode checks that a node can be decoded into a type as it is written. yaml.v3 refuses unknown keys as
// well (Decoder.KnownFields), but its message has Go's types instead of the file's names, and it takes a
// number for a text and a missing value for an empty one.
func checkNode(n *yaml.Node, t reflect.Type, name string) error {
	key := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case t == reflect.TypeFor[yaml.Node](): // its reader checks it
		return nil
	case t == reflect.TypeFor[value]():
		return checkScalar(n, key, name)
	case t.Kind() != reflect.Slice:
		return checkMapping(n, t, name)
	}
	if isNull(n) {
		switch key {
		case keyMax, keyMaxRun, keyAllow: // somebody meant to set a limit
			return noValue(n, name)
		}
		return nil
	}
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		return problemf(n.Line, "%s: %s, where a list belongs: write it as [first, second]", name, kindName(n))
	}
	for _, item := range n.Content {
		if isNull(item) {
			return noValue(item, name)
		}
		if err := checkNode(item, t.Elem(), name); err != nil {
			return err
		}
	}
	return nil
}

// checkMapping checks the keys of a mapping, and their values. Each key must be a text, and occur once.
func checkMapping(n *yaml.Node, t reflect.Type, name string) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		return problemf(n.Line, "%s: %s, where keys with values belong", name, kindName(n))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch k.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		default:
			return problemf(k.Line, "%s: %s as a key, where a name belongs", name, kindName(k))
		}
		full := short(k.Value)
		if name != theTop {
			full = name + "." + full
		}
		if first, double := seen[k.Value]; double {
			return problemf(k.Line, "the key %s is given twice, first in line %d: take one away", full, first)
		}
		seen[k.Value] = k.Line
		valueType, err := typeOfKey(t, k, full)
		if err != nil {
			return err
		}
		if err := checkNode(n.Content[i+1], valueType, full); err != nil {
			return err
		}
	}
	return nil
}

// typeOfKey returns the type of the value of a key that a mapping may have.
func typeOfKey(t reflect.Type, k *yaml.Node, full string) (reflect.Type, error) {
	if t.Kind() == reflect.Map {
		if err := checkProfileName(k.Value); err != nil {
			return nil, problemf(k.Line, "profiles: %v", err)
		}
		return t.Elem(), nil
	}
	var known []string
	for f := range t.Fields() {
		tag := f.Tag.Get("yaml")
		if tag != "" && tag == k.Value {
			return f.Type, nil
		}
		known = append(known, tag)
	}
	where := theTop
	switch _, scalar := scalar(k.Value); {
	case t == reflect.TypeFor[currencyYAML]():
		where, known = "a currency", known[1:]
	case t == reflect.TypeFor[profileYAML]() && scalar:
		return reflect.TypeFor[value](), nil
	case t == reflect.TypeFor[profileYAML]():
		where, known = "a profile", ProfileKeys()
	case scalar:
		return nil, problemf(k.Line, "%s: it belongs to a profile: write it under profiles and the profile's name", k.Value)
	}
	if k.Value == "api_key" {
		return nil, &problem{line: k.Line, msg: "api_key: no setting holds a key, because files are copied and shown: keep the key elsewhere and take this line away",
			advice: "till auth login, or api_key_command, or api_key_file in a profile, or the variable TILL_API_KEY"}
	}
	return nil, problemf(k.Line, "the key %s is not known: %s has %s", full, where, strings.Join(known, ", "))
}

// checkScalar checks that a value is a text. Numbers, booleans and the like are refused, because YAML would
// not keep how they are written: 010 is 8, and no is false.
func checkScalar(n *yaml.Node, key, name string) error {
	switch tag := n.ShortTag(); {
	case isNull(n):
		return noValue(n, name)
	case n.Kind != yaml.ScalarNode:
	case tag == "!!str", tag == "!!timestamp" && key == "lookup_since", tag == "!!int" && key == "first_page":
		return nil
	case (tag == "!!int" || tag == "!!float") && slices.Contains([]string{"lookup_timeout", "settle_after", "duplicate_window"}, key):
		return problemf(n.Line, "%s: %s is a number without a unit: write a duration such as 15m", name, quoted(n.Value))
	}
	return problemf(n.Line, "%s: %s, where a text belongs: put it in quotes", name, kindName(n))
}

func noValue(n *yaml.Node, name string) *problem {
	return problemf(n.Line, "%s: it has no value: write one, or take the line away", name)
}

// short shows a key of any length and content in a message.
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
		"!!map": "a mapping", "!!seq": "a list", "!!str": "a text", "!!int": "a number", "!!float": "a number", "!!bool": "true or false",
		"!!timestamp": "a date", "!!null": "nothing", "!!merge": "a merge (<<)",
	}
	return cmp.Or(names[n.ShortTag()], "a value of an unknown kind")
}
