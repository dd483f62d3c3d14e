package described

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address names the description in messages.
const address = "http://127.0.0.1/openapi.json"

// A reader compiles the schemas of a description. It panics if one is not there.
type reader struct {
	doc      any
	compiler *jsonschema.Compiler
}

// object returns the object at a place, and the place that it has after a reference.
func (r *reader) object(place jsontext.Pointer) (jsontext.Pointer, map[string]any) {
	node := r.doc
	for key := range place.Tokens() {
		switch in := node.(type) {
		case map[string]any:
			node = in[key]
		case []any:
			i, _ := strconv.Atoi(key)
			node = in[i]
		}
	}
	object, ok := node.(map[string]any)
	if !ok {
		panic(fmt.Sprintf("there is no object at %s", place))
	}
	if ref, ok := object["$ref"].(string); ok {
		return r.object(jsontext.Pointer(strings.TrimPrefix(ref, "#")))
	}
	return place, object
}

func (r *reader) operation(place jsontext.Pointer) *operation {
	o := &operation{parameters: map[string]parameter{}, answers: map[string]map[string]*jsonschema.Schema{}}
	_, node := r.object(place)
	parameters, _ := node["parameters"].([]any)
	for i := range parameters {
		at, one := r.object(place + jsontext.Pointer(fmt.Sprintf("/parameters/%d", i)))
		o.parameters[one["name"].(string)] = parameter{r.schema(at + "/schema"), one["required"] == true}
	}
	if node["requestBody"] != nil {
		o.body = r.content(place + "/requestBody")["application/json"]
	}
	for status := range node["responses"].(map[string]any) {
		o.answers[status] = r.content((place + "/responses").AppendToken(status))
	}
	return o
}

// content returns the schemas of a body by media type.
func (r *reader) content(place jsontext.Pointer) map[string]*jsonschema.Schema {
	place, node := r.object(place)
	schemas := map[string]*jsonschema.Schema{}
	types, _ := node["content"].(map[string]any)
	for media := range types {
		schemas[media] = r.schema((place + "/content").AppendToken(media) + "/schema")
	}
	return schemas
}

func (r *reader) schema(place jsontext.Pointer) *jsonschema.Schema {
	return r.compiler.MustCompile(address + "#" + string(place))
}

// shut makes a description stricter: an object has no fields but those described. The service may add fields.
// The sandbox adds none, so one that is not described is a mistake. A part of an allOf stays open, and the whole
// is shut instead.
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
