// Package schemagen makes the JSON Schemas of what till prints from the Go types that are printed. It reads
// their fields and the tags json and schema. Only tests import it: the program contains the finished schemas,
// see pkg/schema.
//
// The tag schema has what a type cannot say, as words between commas:
//
//	optional   the service may leave the member out, or send null
//	object     a slice of records that is encoded as one object
//
// Any other word is a name in Facts.Named, for a text with a known form.
package schemagen

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

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

// isOneOf reports whether a type is an instance of OneOf.
func isOneOf(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Facts]().PkgPath() && strings.HasPrefix(t.Name(), "OneOf[")
}

// Document is the output that a schema describes.
type Document struct {
	Title string
	Types []reflect.Type    // the output is of one of these
	About map[string]string // what the members of the outermost objects mean
}

// Schema returns the schema of a document as indented JSON.
func Schema(f Facts, d Document) (text []byte, err error) {
	g := &generator{facts: f, defs: map[string]*Node{}, types: map[string]reflect.Type{}}
	defer func() {
		if wrong, ok := recover().(unclear); ok {
			err = fmt.Errorf("%s: %s", d.Title, string(wrong))
		}
	}()
	var kinds []*Node
	for _, t := range d.Types {
		n := g.node(t)
		if !slices.ContainsFunc(kinds, func(other *Node) bool { return reflect.DeepEqual(n, other) }) {
			kinds = append(kinds, n)
		}
		for name, about := range d.About {
			g.describe(t, name, about)
		}
	}
	root := kinds[0]
	if len(kinds) > 1 {
		g.setApart(kinds)
		root = &Node{AnyOf: kinds}
	}
	whole := *root
	whole.Schema, whole.Title, whole.Defs = "https://json-schema.org/draft/2020-12/schema", d.Title, g.defs
	text, err = json.MarshalIndent(whole, "", "  ")
	return append(text, '\n'), err
}

// setApart keeps what may be anything from being what has a schema of its own.
func (g *generator) setApart(kinds []*Node) {
	for i, n := range kinds {
		if !reflect.DeepEqual(n, &Node{}) {
			continue
		}
		others := &Node{}
		for _, other := range kinds {
			if like := g.like(other); like != nil {
				others.AnyOf = append(others.AnyOf, like)
			}
		}
		kinds[i] = &Node{Description: "what the service sent", Not: others}
	}
}

// like returns the schema of everything that has the required members of an object or, if n is a list, of a
// list that contains such a thing. It returns nil if n is neither.
func (g *generator) like(n *Node) *Node {
	if n.Items != nil {
		if item := g.like(n.Items); item != nil {
			return &Node{Type: "array", Contains: item}
		}
		return nil
	}
	if n.Ref == "" {
		return nil
	}
	return &Node{Type: "object", Required: g.defs[strings.TrimPrefix(n.Ref, refPrefix)].Required}
}

// unclear says why there is no schema of a type.
type unclear string

type generator struct {
	facts Facts
	defs  map[string]*Node
	types map[string]reflect.Type // of defs
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	received      = reflect.TypeFor[interface{ RawJSON() json.RawMessage }]()
)

// node returns the schema of a type. That of a struct is a reference to $defs.
func (g *generator) node(t reflect.Type) *Node {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &Node{}
	case reflect.TypeFor[json.Number]():
		return &Node{Type: "number"}
	case reflect.TypeFor[big.Int]():
		return &Node{Type: "integer"}
	case reflect.TypeFor[time.Time]():
		return &Node{Type: "string", Format: "date-time"}
	}
	if as, ok := g.facts.As[t]; ok {
		return g.define(t, func() *Node {
			if len(as) == 1 && as[0].Kind() == reflect.Struct {
				return g.object(as[0])
			} else if len(as) == 1 {
				return g.node(as[0])
			}
			n := &Node{}
			for _, one := range as {
				n.AnyOf = append(n.AnyOf, g.node(one))
			}
			return n
		})
	}
	if values, ok := g.facts.Values[t]; ok {
		return &Node{Type: "string", Enum: texts(values)}
	}
	if t.Kind() == reflect.Struct && (t.Implements(received) || !t.Implements(jsonMarshaler)) {
		return g.define(t, func() *Node { return g.object(t) })
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(g.node(t.Elem()))
	case t.Implements(jsonMarshaler):
		panic(unclear(fmt.Sprintf("%s encodes itself: say in the facts as which type", t)))
	case t.Implements(textMarshaler):
		return &Node{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Node{Type: "boolean"}
	case reflect.String:
		return &Node{Type: "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		return &Node{Type: "integer"}
	case reflect.Int64:
		return &Node{Type: "integer", Format: "int64"}
	case reflect.Float64:
		return &Node{Type: "number"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // encoding/json writes base64
			return &Node{Type: "string"}
		}
		return &Node{Type: "array", Items: g.node(t.Elem())}
	case reflect.Map:
		return g.mapping(t)
	}
	panic(unclear(fmt.Sprintf("%s has no schema", t)))
}

// mapping returns the schema of an object with any keys or, if the keys are an enumeration, with those.
func (g *generator) mapping(t reflect.Type) *Node {
	n := &Node{Type: "object"}
	if isOneOf(t) {
		n.MinProperties, n.MaxProperties = 1, 1
	}
	value := g.node(t.Elem())
	values, ok := g.facts.Values[t.Key()]
	if !ok {
		n.AdditionalProperties = value
		return n
	}
	for _, name := range values {
		n.Properties = append(n.Properties, Member{name, value})
	}
	n.AdditionalProperties = false
	return n
}

// define puts the schema of a type under $defs, once, and returns a reference to it.
func (g *generator) define(t reflect.Type, schema func() *Node) *Node {
	name := nameOf(t)
	if other, ok := g.types[name]; ok && other != t {
		panic(unclear(fmt.Sprintf("%s and %s would both be %q: rename one", t, other, name)))
	}
	if g.types[name] == nil {
		g.types[name] = t
		n := schema()
		if n.Ref != "" {
			copied := *g.defs[strings.TrimPrefix(n.Ref, refPrefix)]
			n = &copied
		}
		g.defs[name] = n
	}
	return &Node{Ref: refPrefix + name}
}

const refPrefix = "#/$defs/"

// nameOf returns the name of a type under $defs.
func nameOf(t reflect.Type) string {
	name := t.Name()
	for _, suffix := range []string{"Line", "JSON"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// object returns the schema of a struct.
func (g *generator) object(t reflect.Type) *Node {
	n := &Node{Type: "object", OneOf: g.facts.Cases[t]}
	if !g.facts.Open(t) && !t.Implements(received) { // what embeds the service's has its members
		n.AdditionalProperties = false
	}
	taken := map[string]int{}
	for _, f := range members(t, 0, true) {
		at, twice := taken[f.name]
		if twice && at <= f.depth { // encoding/json takes the outer one
			continue
		}
		if twice {
			panic(unclear(fmt.Sprintf("%s has %q twice, the deeper one first", t, f.name)))
		}
		taken[f.name] = f.depth
		n.Properties = append(n.Properties, Member{f.name, g.member(f)})
		if f.required {
			n.Required = append(n.Required, f.name)
		}
	}
	return n
}

// field is a member of an object.
type field struct {
	name     string
	depth    int
	required bool
	omitted  bool // if it is empty
	typ      reflect.Type
	words    []string // of the tag schema
}

// members returns the members of a struct, those of embedded structs in their places but after the others of
// the same name.
func members(t reflect.Type, depth int, required bool) (all []field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			all = append(all, members(inner, depth+1, required && f.Type.Kind() != reflect.Pointer)...)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			panic(unclear(fmt.Sprintf("%s.%s has no json tag", t, f.Name)))
		}
		one := field{name: name, depth: depth, typ: f.Type}
		if tag := f.Tag.Get("schema"); tag != "" {
			one.words = strings.Split(tag, ",")
		}
		one.omitted = strings.Contains(options, "omit")
		one.required = required && !one.omitted && !slices.Contains(one.words, "optional")
		all = append(all, one)
	}
	return leastDeep(all)
}

// leastDeep keeps of the members of each name those that encoding/json prefers.
func leastDeep(all []field) []field {
	shallowest := map[string]int{}
	for _, f := range all {
		if at, ok := shallowest[f.name]; !ok || f.depth < at {
			shallowest[f.name] = f.depth
		}
	}
	return slices.DeleteFunc(all, func(f field) bool { return f.depth > shallowest[f.name] })
}

// member returns the schema of a member.
func (g *generator) member(f field) *Node {
	t := f.typ
	if t.Kind() == reflect.Pointer && f.omitted { // a member that is there is not null
		t = t.Elem()
	}
	var n *Node
	if slices.Contains(f.words, "object") {
		n = g.objectOf(t.Elem())
	} else {
		n = g.node(t)
	}
	for _, word := range f.words {
		switch word {
		case "object":
		case "optional":
			n = nullable(n)
		default:
			form, ok := g.facts.Named[word]
			if !ok {
				panic(unclear(fmt.Sprintf("%q of %s is no known form", word, f.name)))
			}
			if null := slices.Contains(typesOf(n), "null"); null {
				n = nullable(&form)
			} else {
				n = &form
			}
		}
	}
	return n
}

// objectOf returns the schema of the object that a slice of records becomes.
func (g *generator) objectOf(record reflect.Type) *Node {
	if as := g.facts.As[record]; len(as) == 1 && isOneOf(as[0]) {
		return &Node{Type: "object", AdditionalProperties: g.node(as[0].Elem())}
	}
	return &Node{Type: "object", AdditionalProperties: g.node(record)}
}

// describe says what a member of the outermost objects of a type means.
func (g *generator) describe(t reflect.Type, name, about string) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || g.types[nameOf(t)] != t {
		return
	}
	for i, m := range g.defs[nameOf(t)].Properties {
		if m.Name == name {
			described := *m.Schema
			described.Description = about
			g.defs[nameOf(t)].Properties[i].Schema = &described
		}
	}
}
