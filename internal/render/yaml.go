package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlOf writes a row as a sequence of one. Together, these lines are the sequence of all rows. A single thing
// is not a sequence.
func yamlOf(single bool) func(*bytes.Buffer, []byte) ([]byte, error) {
	return func(b *bytes.Buffer, text []byte) ([]byte, error) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		node, err := yamlNode(decoder)
		if err != nil {
			return nil, notJSON(err)
		}
		if !single {
			node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
		}
		encoder := yaml.NewEncoder(b) // it panics if its writer fails, but a buffer does not
		encoder.SetIndent(2)
		if err = encoder.Encode(node); err == nil {
			err = encoder.Close()
		}
		return bytes.TrimSuffix(b.Bytes(), []byte("\n")), unwritable(err)
	}
}

// yamlNode reads one JSON value token by token, so that keys keep their order. Numbers keep their digits, as
// plain scalars without a tag.
func yamlNode(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			node.Kind = yaml.MappingNode
		}
		for decoder.More() { // keys and values alternate
			child, err := yamlNode(decoder)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := decoder.Token() // the closing bracket
		return node, err
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t}
		if !plainYAML(t) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil // a number or a bool
}

// word matches text that every YAML reader takes for a string, unless plainYAML lists it.
var word = lazily(`^[A-Za-z_]([A-Za-z_0-9./ -]*[A-Za-z_0-9./-])?$`)

// plainYAML reports whether a string needs no quotes. YAML readers differ in what they take for a number, a
// time or a boolean. A word of letters that is none of their special words is a string to all of them.
func plainYAML(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "none", "nan", "inf", "infinity":
		return false
	}
	return word().MatchString(s)
}
