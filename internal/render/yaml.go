package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// listYAML writes each row as a sequence of one. Together, these lines are the sequence of all rows. A single
// thing is not a sequence.
func listYAML(out *bufio.Writer, texts iter.Seq2[[]byte, error], single bool) error {
	empty := true
	for text, err := range texts {
		if err == nil {
			err = writeYAML(out, text, !single)
		}
		if err != nil {
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
	if err != nil {
		return notJSON(err)
	}
	if element {
		node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
	}
	// The encoder panics if its writer fails, so it gets one that cannot fail.
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err = encoder.Encode(node); err == nil {
		err = encoder.Close()
	}
	if err != nil {
		return unwritable(err)
	}
	_, err = out.Write(b.Bytes())
	return err
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
