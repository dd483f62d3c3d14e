package schemagen

import (
	"bytes"
	"encoding/json"
)

// Node is a schema, as far as the schemas of till use the language.
type Node struct {
	Schema               string           `json:"$schema,omitempty"`
	Title                string           `json:"title,omitempty"`
	Description          string           `json:"description,omitempty"`
	Ref                  string           `json:"$ref,omitempty"`
	Type                 any              `json:"type,omitempty"` // a name, or several
	Format               string           `json:"format,omitempty"`
	Pattern              string           `json:"pattern,omitempty"`
	Enum                 []any            `json:"enum,omitempty"`
	AnyOf                []*Node          `json:"anyOf,omitempty"`
	OneOf                []*Node          `json:"oneOf,omitempty"`
	Not                  *Node            `json:"not,omitempty"`
	Items                *Node            `json:"items,omitempty"`
	Contains             *Node            `json:"contains,omitempty"`
	Properties           Members          `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AdditionalProperties any              `json:"additionalProperties,omitempty"` // false, or a schema
	MinProperties        int              `json:"minProperties,omitempty"`
	MaxProperties        int              `json:"maxProperties,omitempty"`
	Defs                 map[string]*Node `json:"$defs,omitempty"`
}

// Members are the members of an object in the order in which they are printed.
type Members []Member

// Member is a member of an object.
type Member struct {
	Name   string
	Schema *Node
}

// MarshalJSON writes the object of the members.
func (m Members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(one.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), schema...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func typesOf(n *Node) []string {
	switch t := n.Type.(type) {
	case string:
		return []string{t}
	case []string:
		return t
	}
	return nil
}

// nullable returns a schema that also takes null.
func nullable(n *Node) *Node {
	switch {
	case n.Type == nil && n.Ref == "" && len(n.AnyOf) == 0:
		return n // takes anything
	case n.Ref != "" || n.Enum != nil || len(n.AnyOf) > 0:
		return &Node{AnyOf: []*Node{n, {Type: "null"}}}
	}
	other := *n
	other.Type = append(append([]string{}, typesOf(n)...), "null")
	return &other
}

func texts(values []string) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
