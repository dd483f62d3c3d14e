//go:build unix

package cli

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

// This makes the JSON Schemas of what till prints from the Go types that are printed. It reads
// their fields and the tags json and schema. The program contains the
// finished schemas, see pkg/schema.
//
// The tag schema has what a type cannot say, as words between commas:
//
//	optional   the service may leave the member out, or send null
//	object     a slice of records that is encoded as one object
//
// Any other word is a name in Facts.Named, for a text with a known form.

// Facts are what the types themselves do not say.
type Facts struct {
	// As has the types that encode themselves, with the types that have the same JSON. If there are several,
	// the JSON is that of one of them.
	As map[reflect.Type][]reflect.Type
	// Values has the texts of types that are enumerations.
	Values map[reflect.Type][]string
	// Named has the forms of texts that the tag schema names.
	Named map[string]Node
	// Cases has the cases of types whose members depend on each other: a value is one of exactly one case.
	Cases map[reflect.Type][]*Node
	// Open reports whether a type is the service's, which may add members.
	Open func(reflect.Type) bool
}

// OneOf is an object with exactly one of some members, for Facts.As.
type OneOf[K ~string, V any] map[K]V

func isOneOf(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Facts]().PkgPath() && strings.HasPrefix(t.Name(), "OneOf[")
}

// Schema returns the schema of an output as indented JSON. The output is of one of the types, and about says what the
// members of the outermost objects mean. It panics if there is none.
func Schema(f Facts, title string, about map[string]string, types ...reflect.Type) string {
	g := &generator{Facts: f, defs: map[string]*Node{}, types: map[string]reflect.Type{}}
	var kinds []*Node
	for _, t := range types {
		n := g.node(t)
		if !slices.ContainsFunc(kinds, func(other *Node) bool { return reflect.DeepEqual(n, other) }) {
			kinds = append(kinds, n)
		}
		for name, text := range about {
			g.describe(t, name, text)
		}
	}
	whole := *kinds[0]
	if len(kinds) > 1 {
		g.setApart(kinds)
		whole = Node{AnyOf: kinds}
	}
	whole.Schema, whole.Title, whole.Defs = "https://json-schema.org/draft/2020-12/schema", title, g.defs
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// setApart keeps what may be anything from being what has a schema of its own.
func (g *generator) setApart(kinds []*Node) {
	others := &Node{}
	for _, n := range kinds {
		if like := g.like(n); like != nil {
			others.AnyOf = append(others.AnyOf, like)
		}
	}
	for i, n := range kinds {
		if reflect.DeepEqual(n, &Node{}) {
			kinds[i] = &Node{Description: "what the service sent", Not: others}
		}
	}
}

// like returns the schema of everything that has the required members of an object or, if n is a list, of a
// list that contains such a thing. It returns nil if n is neither.
func (g *generator) like(n *Node) *Node {
	if n.Ref != "" {
		return &Node{Type: "object", Required: g.referred(n).Required}
	}
	if n.Items != nil {
		if item := g.like(n.Items); item != nil {
			return &Node{Type: "array", Contains: item}
		}
	}
	return nil
}

func (g *generator) referred(n *Node) *Node { return g.defs[strings.TrimPrefix(n.Ref, refPrefix)] }

type generator struct {
	Facts
	defs  map[string]*Node
	types map[string]reflect.Type // of defs
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	received      = reflect.TypeFor[interface{ RawJSON() json.RawMessage }]()

	schemas = map[reflect.Type]Node{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[big.Int]():         {Type: "integer"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}
	kindSchemas = map[reflect.Kind]Node{
		reflect.Bool: {Type: "boolean"}, reflect.String: {Type: "string"}, reflect.Float64: {Type: "number"},
		reflect.Int: {Type: "integer"}, reflect.Int64: {Type: "integer", Format: "int64"},
	}
)

// node returns the schema of a type. That of a struct is a reference to $defs.
func (g *generator) node(t reflect.Type) *Node {
	if n, ok := schemas[t]; ok {
		return &n
	}
	if as, ok := g.As[t]; ok {
		return g.define(t, func() *Node { return g.oneOf(as) })
	}
	if values, ok := g.Values[t]; ok {
		n := &Node{Type: "string"}
		for _, v := range values {
			n.Enum = append(n.Enum, v)
		}
		return n
	}
	n, ok := kindSchemas[t.Kind()]
	switch {
	case t.Kind() == reflect.Struct && (t.Implements(received) || !t.Implements(jsonMarshaler)):
		return g.define(t, func() *Node { return g.object(t) })
	case t.Kind() == reflect.Pointer:
		return nullable(g.node(t.Elem()))
	case t.Implements(jsonMarshaler):
		panic(fmt.Sprintf("%s encodes itself: say in the facts as which type", t))
	case t.Implements(textMarshaler), t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8: // base64
		return &Node{Type: "string"}
	case t.Kind() == reflect.Slice:
		return &Node{Type: "array", Items: g.node(t.Elem())}
	case t.Kind() == reflect.Map:
		return g.mapping(t)
	case !ok:
		panic(fmt.Sprintf("%s has no schema", t))
	}
	return &n
}

// oneOf returns the schema of a value of one of some types.
func (g *generator) oneOf(types []reflect.Type) *Node {
	if len(types) == 1 && types[0].Kind() == reflect.Struct {
		return g.object(types[0])
	}
	n := &Node{}
	for _, t := range types {
		n.AnyOf = append(n.AnyOf, g.node(t))
	}
	if len(types) == 1 {
		return n.AnyOf[0]
	}
	return n
}

// mapping returns the schema of an object with any keys or, if the keys are an enumeration, with those.
func (g *generator) mapping(t reflect.Type) *Node {
	n := &Node{Type: "object"}
	if isOneOf(t) {
		n.MinProperties, n.MaxProperties = 1, 1
	}
	value := g.node(t.Elem())
	n.AdditionalProperties = value
	for _, name := range g.Values[t.Key()] {
		n.Properties, n.AdditionalProperties = append(n.Properties, Member{name, value}), false
	}
	return n
}

// define puts the schema of a type under $defs, once, and returns a reference to it.
func (g *generator) define(t reflect.Type, schema func() *Node) *Node {
	name := defName(t)
	if other, ok := g.types[name]; ok && other != t {
		panic(fmt.Sprintf("%s and %s would both be %q: rename one", t, other, name))
	}
	if g.types[name] == nil {
		g.types[name] = t
		n := schema()
		if n.Ref != "" {
			n = g.referred(n)
		}
		g.defs[name] = n
	}
	return &Node{Ref: refPrefix + name}
}

const refPrefix = "#/$defs/"

// defName returns the name of a type under $defs.
func defName(t reflect.Type) string {
	name := t.Name()
	for _, suffix := range []string{"Line", "JSON"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// object returns the schema of a struct.
func (g *generator) object(t reflect.Type) *Node {
	n := &Node{Type: "object", OneOf: g.Cases[t]}
	if !g.Open(t) && !t.Implements(received) { // what embeds the service's has its members
		n.AdditionalProperties = false
	}
	all := fields(t, 0, true)
	for _, f := range all {
		outer := func(o schemaField) bool { return o.name == f.name && o.depth < f.depth }
		if slices.ContainsFunc(all, outer) { // which encoding/json takes
			continue
		}
		n.Properties = append(n.Properties, Member{f.name, g.member(f)})
		if f.required {
			n.Required = append(n.Required, f.name)
		}
	}
	return n
}

// schemaField is a field of a struct, or of one that it embeds.
type schemaField struct {
	reflect.StructField
	name     string // of the member
	depth    int
	omitted  bool // if it is empty
	required bool
}

// fields returns the fields that become members.
func fields(t reflect.Type, depth int, required bool) (all []schemaField) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		omitted := strings.Contains(options, "omit")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			all = append(all, fields(f.Type.Elem(), depth+1, false)...)
		case f.Anonymous && name == "":
			all = append(all, fields(f.Type, depth+1, required)...)
		case !f.IsExported(), name == "-":
		case name == "":
			panic(fmt.Sprintf("%s.%s has no json tag", t, f.Name))
		default:
			all = append(all, schemaField{f, name, depth, omitted, required && !omitted && !slices.Contains(words(f), "optional")})
		}
	}
	return all
}

func words(f reflect.StructField) []string {
	return strings.FieldsFunc(f.Tag.Get("schema"), func(r rune) bool { return r == ',' })
}

// member returns the schema of the member that a field becomes.
func (g *generator) member(f schemaField) *Node {
	t := f.Type
	if t.Kind() == reflect.Pointer && f.omitted { // a member that is there is not null
		t = t.Elem()
	}
	if slices.Contains(words(f.StructField), "object") {
		t = reflect.MapOf(reflect.TypeFor[string](), g.valueOf(t.Elem()))
	}
	n := g.node(t)
	for _, word := range words(f.StructField) {
		switch word {
		case "object":
		case "optional":
			n = nullable(n)
		default:
			form, ok := g.Named[word]
			if !ok {
				panic(fmt.Sprintf("%q of %s is no known form", word, f.name))
			}
			_, null := n.Type.([]string)
			if n = &form; null {
				n = nullable(n)
			}
		}
	}
	return n
}

// valueOf returns the type of a member of the object that a slice of records becomes.
func (g *generator) valueOf(record reflect.Type) reflect.Type {
	if as := g.As[record]; len(as) == 1 && isOneOf(as[0]) {
		return as[0].Elem()
	}
	return record
}

// describe says what a member of the outermost objects of a type means.
func (g *generator) describe(t reflect.Type, name, about string) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || g.types[defName(t)] != t {
		return
	}
	for i, m := range g.defs[defName(t)].Properties {
		if m.Name == name {
			described := *m.Schema
			described.Description = about
			g.defs[defName(t)].Properties[i].Schema = &described
		}
	}
}

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
