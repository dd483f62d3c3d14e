package described

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address names the description in messages.
const address = "http://127.0.0.1/openapi.json"

// A reader compiles the schemas of a description. Places in it are JSON pointers.
type reader struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	problems []error
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// at returns the value at a place, or nil.
func (r *reader) at(place string) any {
	var node any = r.doc
	for key := range strings.SplitSeq(strings.TrimPrefix(place, "/"), "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch in := node.(type) {
		case map[string]any:
			node = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return nil
			}
			node = in[i]
		default:
			return nil
		}
	}
	return node
}

// object returns the object at a place, and the place that it has after a reference.
func (r *reader) object(place string) (string, map[string]any) {
	node, ok := r.at(place).(map[string]any)
	if !ok {
		r.problems = append(r.problems, fmt.Errorf("there is no object at %s", place))
	}
	if ref, ok := node["$ref"].(string); ok {
		return r.object(strings.TrimPrefix(ref, "#"))
	}
	return place, node
}

func (r *reader) operation(place string) *operation {
	o := &operation{parameters: map[string]parameter{}, answers: map[string]map[string]*jsonschema.Schema{}}
	_, node := r.object(place)
	parameters, _ := node["parameters"].([]any)
	for i := range parameters {
		at, one := r.object(fmt.Sprintf("%s/parameters/%d", place, i))
		o.parameters[one["name"].(string)] = parameter{r.schema(at + "/schema"), one["required"] == true}
	}
	if node["requestBody"] != nil {
		o.body = r.content(place + "/requestBody")["application/json"]
	}
	for status := range node["responses"].(map[string]any) {
		o.answers[status] = r.content(place + "/responses/" + status)
	}
	return o
}

// content returns the schemas of a body by media type.
func (r *reader) content(place string) map[string]*jsonschema.Schema {
	place, node := r.object(place)
	schemas := map[string]*jsonschema.Schema{}
	types, _ := node["content"].(map[string]any)
	for media := range types {
		schemas[media] = r.schema(place + "/content/" + escape(media) + "/schema")
	}
	return schemas
}

func (r *reader) schema(place string) *jsonschema.Schema {
	schema, err := r.compiler.Compile(address + "#" + place)
	if err != nil {
		r.problems = append(r.problems, err)
	}
	return schema
}

// shut makes the description stricter: an object has no fields but those described.
// The service may add fields. The sandbox adds none, so one that is not described is
// a mistake. Only memo is the sandbox's own, see the setting memo_shown.
func (r *reader) shut() {
	fields, _ := r.at("/components/schemas/WithdrawalFields/properties").(map[string]any)
	fields["memo"] = map[string]any{"type": "string"}
	shut(r.doc, false)
}

// shut shuts a schema and those in it. A part of an allOf stays open, and the whole is
// shut instead.
func shut(node any, part bool) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			shut(one, part)
		}
	case map[string]any:
		_, fields := node["properties"]
		_, more := node["additionalProperties"]
		_, whole := node["allOf"]
		switch {
		case whole:
			node["unevaluatedProperties"] = false
		case fields && !more && !part:
			node["additionalProperties"] = false
		}
		for key, inner := range node {
			shut(inner, key == "allOf" || key == "WithdrawalFields")
		}
	}
}
