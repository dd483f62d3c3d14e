package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"example.com/till/internal/cmdutil"
	"github.com/go-json-experiment/json/jsontext"
	yaml "go.yaml.in/yaml/v3"
)

// A seed is the initial state of a sandbox. The sandbox reads it as JSON. A person may write YAML, which
// needs fewer marks. The conversion to JSON keeps every digit: a number never passes through a float.

// isSeed reports whether name is a built-in seed and not a file.
func isSeed(name string) bool { return name == "demo" || name == "none" }

const seedHint = "name demo, none, or a file: till sandbox seed --help shows one"

// readSeed reads the file of a seed, or standard input if the name is -, and returns it as JSON.
func readSeed(s *cmdutil.Session, name string) (json.RawMessage, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(s.IO.In)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, cmdutil.UsageError(fmt.Sprintf("the seed cannot be read: %v", err), seedHint)
	}
	seed, err := seedJSON(text, strings.ToLower(filepath.Ext(name)))
	if err == nil {
		_, err = jsontext.NewDecoder(bytes.NewReader(seed)).ReadValue() // it detects duplicate keys
	}
	if err != nil {
		return nil, cmdutil.UsageError(fmt.Sprintf("the seed %s: %v", name, err), "")
	}
	return seed, nil
}

// seedJSON chooses the format by the extension of the file's name. For other extensions, it reads valid JSON
// as JSON and everything else as YAML.
func seedJSON(text []byte, extension string) (json.RawMessage, error) {
	isYAML := extension == ".yaml" || extension == ".yml"
	var seed json.RawMessage
	err := json.Unmarshal(text, &seed)
	if !isYAML && err == nil {
		return seed, nil
	}
	if extension == ".json" {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
			return nil, fmt.Errorf("line %d is not JSON: %w", line, err)
		}
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	doc, second := new(yaml.Node), new(yaml.Node)
	if err := dec.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	if err := dec.Decode(second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins; keep one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it holds no fields such as resellers and invoices")
	}
	var b bytes.Buffer
	if err := writeJSON(jsontext.NewEncoder(&b), doc.Content[0]); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func notYAML(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: ") + ": check indentation, colons and quotes")
}

var plainNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
})

// writeJSON writes a YAML value as JSON. It refuses values that JSON does not have, and duplicate keys.
func writeJSON(enc *jsontext.Encoder, n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fmt.Errorf("line %d: anchors and aliases are not for a seed; write it out", n.Line)
	}
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.SequenceNode:
		enc.WriteToken(jsontext.BeginArray)
		for _, item := range n.Content {
			if err := writeJSON(enc, item); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndArray)
	case n.Kind == yaml.MappingNode:
		return writeObject(enc, n)
	case tag == "!!str", tag == "!!timestamp":
		return enc.WriteToken(jsontext.String(n.Value))
	case tag == "!!null":
		return enc.WriteToken(jsontext.Null)
	case tag == "!!bool":
		return enc.WriteToken(jsontext.Bool(strings.EqualFold(n.Value, "true")))
	case tag != "!!int" && tag != "!!float":
		return fmt.Errorf("line %d: the tag %s is not for a seed", n.Line, tag)
	case !plainNumber().MatchString(n.Value):
		return fmt.Errorf("line %d: %s is not a plain decimal number; write one, or put quotes around text",
			n.Line, n.Value)
	}
	return enc.WriteValue(jsontext.Value(n.Value))
}

func writeObject(enc *jsontext.Encoder, n *yaml.Node) error {
	given := map[string]bool{}
	enc.WriteToken(jsontext.BeginObject)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "":
			return fmt.Errorf("line %d: the name of a field must be plain text", key.Line)
		case given[key.Value]:
			return fmt.Errorf("line %d: %s is given twice; give it once", key.Line, key.Value)
		}
		given[key.Value] = true
		enc.WriteToken(jsontext.String(key.Value))
		if err := writeJSON(enc, n.Content[i+1]); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
