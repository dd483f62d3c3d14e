package schemagen

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// MarshalJSON writes the object of the members, whose names are in snake_case.
func (m Members) MarshalJSON() ([]byte, error) {
	var b []byte
	for _, one := range m {
		schema, err := json.Marshal(one.Schema)
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, ",%q:%s", one.Name, schema)
	}
	return fmt.Appendf(nil, "{%s}", bytes.TrimPrefix(b, []byte(","))), nil
}

// nullable returns a schema that also takes null.
func nullable(n *Node) *Node {
	switch name, one := n.Type.(string); {
	case n.Ref != "" || n.Enum != nil || len(n.AnyOf) > 0:
		return &Node{AnyOf: []*Node{n, {Type: "null"}}}
	case one:
		other := *n
		other.Type = []string{name, "null"}
		return &other
	}
	return n // takes it already
}
