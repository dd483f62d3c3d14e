// Package described checks requests and answers with the OpenAPI description that the
// sandbox serves. Only tests use it.
package described

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/till/pkg/api/sandbox"
)

// address names the description in messages.
const address = "http://127.0.0.1/openapi.json"

// An API is the description, ready to check with. It is safe for concurrent use.
type API struct {
	doc      any
	mu       sync.Mutex
	compiler *jsonschema.Compiler // which keeps what it has compiled
}

type object = map[string]any

// Load asks a sandbox for its description, once.
var Load = sync.OnceValues(load)

func load() (*API, error) {
	box, err := sandbox.New(sandbox.WithSeed("none"))
	if err != nil {
		return nil, err
	}
	defer box.Close()
	w := httptest.NewRecorder()
	box.ServeHTTP(w, httptest.NewRequest("GET", address, nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("the sandbox answers %d: %s", w.Code, w.Body)
	}
	a := &API{compiler: jsonschema.NewCompiler()}
	if a.doc, err = jsonschema.UnmarshalJSON(w.Body); err != nil {
		return nil, err
	}
	fields, _ := a.at("/components/schemas/WithdrawalFields/properties")
	fields["memo"] = object{"type": "string"} // the sandbox's own, see the setting memo_shown
	shut(a.doc, false)
	a.compiler.AssertFormat()
	a.compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: isInt64})
	return a, a.compiler.AddResource(address, a.doc)
}

// at returns the object at a place, or nil, and the place that it has after references.
func (a *API) at(place jsontext.Pointer) (object, jsontext.Pointer) {
	node, at := a.doc, jsontext.Pointer("")
	for key := range place.Tokens() {
		at = at.AppendToken(key)
		switch in := node.(type) {
		case object:
			node = in[key]
		case []any:
			i, _ := strconv.Atoi(key)
			node = in[i]
		}
		if one, _ := node.(object); one["$ref"] != nil {
			node, at = a.at(jsontext.Pointer(strings.TrimPrefix(one["$ref"].(string), "#")))
		}
	}
	found, _ := node.(object)
	return found, at
}

// operation returns an operation and its place.
func (a *API) operation(method, path string) (object, jsontext.Pointer) {
	return a.at(jsontext.Pointer("/paths").AppendToken(path).AppendToken(strings.ToLower(method)))
}

// valid checks a value with the schema at a place.
func (a *API) valid(place jsontext.Pointer, value any) error {
	a.mu.Lock()
	schema, err := a.compiler.Compile(address + "#" + string(place))
	a.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (a *API) validJSON(place jsontext.Pointer, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return a.valid(place, value)
}

// Operations returns every operation of the description as METHOD PATH, sorted.
func (a *API) Operations() (all []string) {
	paths, _ := a.at("/paths")
	for path, methods := range paths {
		for method := range methods.(object) {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// Answers returns every answer of the description as METHOD PATH STATUS, sorted. The
// status of an error is default.
func (a *API) Answers() (all []string) {
	for _, name := range a.Operations() {
		operation, _ := a.operation(strings.Fields(name)[0], strings.Fields(name)[1])
		for status := range operation["responses"].(object) {
			all = append(all, name+" "+status)
		}
	}
	slices.Sort(all)
	return all
}

// CheckRequest checks the query and the body of a request that the service is to
// carry out.
func (a *API) CheckRequest(method string, to *url.URL, body []byte) error {
	about := method + " " + to.Path
	operation, place := a.operation(method, to.Path)
	if operation == nil {
		return fmt.Errorf("%s is not described", about)
	}
	values, err := url.ParseQuery(to.RawQuery)
	if err != nil {
		return err
	}
	parameters, _ := operation["parameters"].([]any)
	for i := range parameters {
		parameter, at := a.at(place + jsontext.Pointer(fmt.Sprintf("/parameters/%d", i)))
		name := parameter["name"].(string)
		given := values[name]
		delete(values, name)
		switch {
		case given != nil:
			err = a.validQuery(at+"/schema", given)
		case parameter["required"] == true:
			err = errors.New("it is missing")
		}
		if err != nil {
			return fmt.Errorf("%s: the parameter %s: %w", about, name, err)
		}
	}
	if len(values) > 0 {
		return fmt.Errorf("%s has parameters that are not described: %v", about, slices.Sorted(maps.Keys(values)))
	}
	wanted, at := a.at(place + "/requestBody")
	switch {
	case wanted == nil && len(body) > 0:
		return fmt.Errorf("%s has a body, which is not described", about)
	case wanted == nil:
		return nil
	}
	if err := a.validJSON(at+"/content/application~1json/schema", body); err != nil {
		return fmt.Errorf("the request %s: %w: %s", about, err, body)
	}
	return nil
}

// validQuery checks the values of a parameter: as an array or a number if that is
// described, else as one string.
func (a *API) validQuery(place jsontext.Pointer, given []string) error {
	schema, place := a.at(place)
	switch {
	case schema["type"] == "array":
		all := make([]any, len(given))
		for i, text := range given {
			all[i] = text
		}
		return a.valid(place, all)
	case len(given) != 1:
		return fmt.Errorf("it is given %d times", len(given))
	case schema["type"] == "integer":
		return a.valid(place, json.Number(given[0]))
	}
	return a.valid(place, given[0])
}

// CheckAnswer checks an answer. The answer to what is not an operation must be an
// error, and so must every answer other than 200.
func (a *API) CheckAnswer(method, path string, status int, header http.Header, body []byte) error {
	about := fmt.Sprintf("the answer %d of %s %s", status, method, path)
	operation, place := a.operation(method, path)
	if operation == nil {
		if status < 400 {
			return fmt.Errorf("%s, which is not described", about)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s has no type: %w", about, err)
	}
	schema, at := a.at((place + "/responses").AppendToken(StatusOf(status)).AppendToken("content").AppendToken(media) +
		"/schema")
	switch {
	case schema == nil:
		return fmt.Errorf("%s is %s, which is not described: %s", about, media, body)
	case media == "text/plain":
		err = a.valid(at, string(body))
	default:
		err = a.validJSON(at, body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", about, err, body)
	}
	return nil
}

// StatusOf returns a status as the description has it.
func StatusOf(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return "default"
}

func isInt64(value any) error {
	if n, ok := value.(json.Number); ok {
		_, err := strconv.ParseInt(n.String(), 10, 64)
		return err
	}
	return nil
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
	case object:
		switch {
		case node["allOf"] != nil:
			node["unevaluatedProperties"] = false
		case node["properties"] != nil && node["additionalProperties"] == nil && !part:
			node["additionalProperties"] = false
		}
		for key, inner := range node {
			shut(inner, key == "allOf" || key == "WithdrawalFields")
		}
	}
}
