package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (v View[T]) oneYAML(out *bufio.Writer, item T) error {
	return writeYAML(out, v.JSON(item), false)
}

// listYAML writes each row as a sequence of one: one below the other they are
// the sequence of all.
func (v View[T]) listYAML(out *bufio.Writer, items iter.Seq2[T, error]) error {
	empty := true
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := writeYAML(out, v.JSON(item), true); err != nil {
			return err
		}
		empty = false
	}
	if empty {
		_, err := out.WriteString("[]\n")
		return err
	}
	return nil
}

func writeYAML(out *bufio.Writer, text []byte, element bool) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	node, err := yamlNode(decoder)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return notJSON(err)
	}
	if element {
		node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
	}
	// The encoder panics when its writer fails, so it is given one that cannot.
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return unwritable(err)
	}
	if err := encoder.Close(); err != nil {
		return unwritable(err)
	}
	_, err = out.Write(b.Bytes())
	return err
}

// yamlNode reads one JSON value token by token: so keys keep their order, and
// numbers their digits, as plain scalars without a tag.
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
		for decoder.More() { // keys and values come in turn
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
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t}
		if !plainYAML(t) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case bool:
		if t {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: "true"}, nil
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "false"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
}

// plainYAML says whether a string needs no quotes. YAML readers differ
// in what they take for a number, a time or a boolean; a word of letters that is
// none of theirs is a string to all.
func plainYAML(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.' || c == '/'):
		case c == ' ' && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "none", "nan", "inf", "infinity":
		return false
	}
	return true
}
