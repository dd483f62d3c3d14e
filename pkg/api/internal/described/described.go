// Package described checks requests and answers with the OpenAPI description that the
// sandbox serves. Only tests use it.
package described

import (
	"bytes"
	"encoding/json"
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

// An API is the description, ready to check with. It is safe for concurrent use.
type API struct {
	operations map[string]*operation // by METHOD PATH
}

type operation struct {
	parameters map[string]parameter
	body       *jsonschema.Schema                       // nil: none
	answers    map[string]map[string]*jsonschema.Schema // by status or default, then by media type
}

type parameter struct {
	schema   *jsonschema.Schema
	required bool
}

// Load asks a sandbox for its description, once.
var Load = sync.OnceValues(load)

func load() (*API, error) {
	box, err := sandbox.New(sandbox.WithSeed("none"))
	if err != nil {
		return nil, err
	}
	defer box.Close()
	w := httptest.NewRecorder()
	box.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/openapi.json", nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("the sandbox answers %d: %s", w.Code, w.Body)
	}
	doc, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		return nil, err
	}
	r := reader{doc: doc, compiler: jsonschema.NewCompiler()}
	_, fields := r.object("/components/schemas/WithdrawalFields/properties")
	fields["memo"] = map[string]any{"type": "string"} // the sandbox's own, see the setting memo_shown
	shut(doc, false)
	r.compiler.AssertFormat()
	r.compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: isInt64})
	if err := r.compiler.AddResource(address, doc); err != nil {
		return nil, err
	}
	a := &API{map[string]*operation{}}
	_, paths := r.object("/paths")
	for path, methods := range paths {
		for method := range methods.(map[string]any) {
			place := jsontext.Pointer("/paths").AppendToken(path).AppendToken(method)
			a.operations[strings.ToUpper(method)+" "+path] = r.operation(place)
		}
	}
	return a, nil
}

// Operations returns every operation of the description as METHOD PATH, sorted.
func (a *API) Operations() []string { return slices.Sorted(maps.Keys(a.operations)) }

// Answers returns every answer of the description as METHOD PATH STATUS, sorted. The
// status of an error is default.
func (a *API) Answers() (all []string) {
	for name, o := range a.operations {
		for status := range o.answers {
			all = append(all, name+" "+status)
		}
	}
	slices.Sort(all)
	return all
}

// CheckRequest checks the query and the body of a request that the service is to
// carry out.
func (a *API) CheckRequest(method string, to *url.URL, body []byte) error {
	o := a.operations[method+" "+to.Path]
	if o == nil {
		return fmt.Errorf("%s %s is not described", method, to.Path)
	}
	values, err := url.ParseQuery(to.RawQuery)
	if err != nil {
		return err
	}
	for name, p := range o.parameters {
		if p.required && !values.Has(name) {
			return fmt.Errorf("%s %s lacks the parameter %s", method, to.Path, name)
		}
	}
	for name, given := range values {
		p, known := o.parameters[name]
		if !known {
			return fmt.Errorf("%s %s has the parameter %s, which is not described", method, to.Path, name)
		}
		if err := validQuery(p.schema, given); err != nil {
			return fmt.Errorf("%s %s: the parameter %s: %w", method, to.Path, name, err)
		}
	}
	if o.body == nil {
		if len(body) > 0 {
			return fmt.Errorf("%s %s has a body, which is not described", method, to.Path)
		}
		return nil
	}
	if err := valid(o.body, body); err != nil {
		return fmt.Errorf("the request %s %s: %w: %s", method, to.Path, err, body)
	}
	return nil
}

// CheckAnswer checks an answer. The answer to what is not an operation must be an
// error, and so must every answer other than 200.
func (a *API) CheckAnswer(method, path string, status int, header http.Header, body []byte) error {
	o := a.operations[method+" "+path]
	if o == nil {
		if status < 400 {
			return fmt.Errorf("%s %s, which is not described, is answered %d", method, path, status)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s %s is answered without a type: %w", method, path, err)
	}
	schema := o.answers[StatusOf(status)][media]
	switch {
	case schema == nil:
		return fmt.Errorf("%s %s is answered %d with %s, which is not described: %s", method, path, status, media, body)
	case media == "text/plain":
		err = schema.Validate(string(body))
	default:
		err = valid(schema, body)
	}
	if err != nil {
		return fmt.Errorf("the answer %d of %s %s: %w: %s", status, method, path, err, body)
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

func valid(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// validQuery checks the values of a parameter: as an array or a number if that is
// described, else as one string.
func validQuery(schema *jsonschema.Schema, given []string) error {
	has := func(name string) bool { return schema.Types != nil && slices.Contains(schema.Types.ToStrings(), name) }
	switch {
	case has("array"):
		all := make([]any, len(given))
		for i, text := range given {
			all[i] = text
		}
		return schema.Validate(all)
	case len(given) != 1:
		return fmt.Errorf("it is given %d times", len(given))
	case has("integer"):
		return schema.Validate(json.Number(given[0]))
	}
	return schema.Validate(given[0])
}

func isInt64(value any) error {
	if n, ok := value.(json.Number); ok {
		_, err := strconv.ParseInt(n.String(), 10, 64)
		return err
	}
	return nil
}
