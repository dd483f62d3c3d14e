package schemagen

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Incompatible returns what programs that read the old output cannot expect of the new one: a member is gone
// or may be missing, a value may have another type or form, or an object may have members that no schema
// describes. A new member of an object is compatible, and so is a new value of an enumeration: a program must
// expect values that it does not know.
func Incompatible(old, new []byte) (wrong []string, err error) {
	var was, is map[string]any
	if err := json.Unmarshal(old, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(new, &is); err != nil {
		return nil, err
	}
	c := comparison{was: was, is: is, seen: map[[2]string]bool{}}
	return c.compare("", was, is), nil
}

type comparison struct {
	was, is map[string]any     // the documents
	seen    map[[2]string]bool // pairs of definitions that are being compared
}

// compare returns what is incompatible at a path, such as "[].amount".
func (c comparison) compare(path string, was, is map[string]any) []string {
	if refs := [2]string{text(was["$ref"]), text(is["$ref"])}; refs[0] != "" && refs[1] != "" {
		if c.seen[refs] {
			return nil
		}
		c.seen[refs] = true
		defer delete(c.seen, refs)
	}
	was, is = resolve(c.was, was), resolve(c.is, is)
	before, after := alternatives(was), alternatives(is)
	if len(before) == 1 && len(after) == 1 {
		return c.one(path, resolve(c.was, before[0]), resolve(c.is, after[0]))
	}
	var wrong []string
	for _, now := range after {
		var nearest []string
		for i, one := range before {
			same := slices.Equal(types(resolve(c.was, one)), types(resolve(c.is, now)))
			if found := c.compare(path, one, now); i == 0 || same || len(found) == 0 {
				nearest = found
			}
			if len(nearest) == 0 {
				break
			}
		}
		wrong = append(wrong, nearest...)
	}
	return wrong
}

// one compares schemas without alternatives.
func (c comparison) one(path string, was, is map[string]any) (wrong []string) {
	say := func(format string, args ...any) {
		wrong = append(wrong, or(path, "the whole output")+": "+fmt.Sprintf(format, args...))
	}
	if added := without(types(is), types(was)); len(types(was)) > 0 && (len(added) > 0 || len(types(is)) == 0) {
		say("it was %s and may now be %s", strings.Join(types(was), " or "), or(strings.Join(added, " or "), "anything"))
		return wrong
	}
	for _, key := range []string{"pattern", "format", "minProperties", "maxProperties"} {
		if was[key] != nil && !reflect.DeepEqual(was[key], is[key]) {
			say("its %s was %v and is now %v", key, was[key], or(fmt.Sprint(is[key]), "nothing"))
		}
	}
	if values, ok := was["enum"].([]any); ok {
		now, _ := is["enum"].([]any)
		for _, v := range values {
			if !slices.Contains(now, v) {
				say("the value %v is gone", v)
			}
		}
	}
	wrong = append(wrong, c.members(path, was, is)...)
	if items, ok := was["items"].(map[string]any); ok {
		now, _ := is["items"].(map[string]any)
		wrong = append(wrong, c.compare(path+"[]", items, now)...)
	}
	return wrong
}

// members compares the members of objects.
func (c comparison) members(path string, was, is map[string]any) (wrong []string) {
	before, _ := was["properties"].(map[string]any)
	now, _ := is["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		schema, ok := now[name].(map[string]any)
		if !ok {
			wrong = append(wrong, at+": the member is gone")
			continue
		}
		if contains(was["required"], name) && !contains(is["required"], name) {
			wrong = append(wrong, at+": the member was always there and may now be missing")
		}
		wrong = append(wrong, c.compare(at, before[name].(map[string]any), schema)...)
	}
	switch rest := was["additionalProperties"].(type) {
	case bool:
		if is["additionalProperties"] != false {
			wrong = append(wrong, or(path, "the whole output")+": it may now have members that the schema does not name")
		}
	case map[string]any:
		now, _ := is["additionalProperties"].(map[string]any)
		wrong = append(wrong, c.compare(path+".*", rest, now)...)
	}
	return wrong
}

func resolve(document, schema map[string]any) map[string]any {
	name, ok := strings.CutPrefix(text(schema["$ref"]), refPrefix)
	if !ok {
		return schema
	}
	defs, _ := document["$defs"].(map[string]any)
	found, _ := defs[name].(map[string]any)
	return found
}

func alternatives(schema map[string]any) (all []map[string]any) {
	list, ok := schema["anyOf"].([]any)
	if !ok {
		return []map[string]any{schema}
	}
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

func types(schema map[string]any) (all []string) {
	switch t := schema["type"].(type) {
	case string:
		all = []string{t}
	case []any:
		for _, one := range t {
			all = append(all, text(one))
		}
	}
	return all
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(others, one) })
}

func contains(list any, name string) bool {
	all, _ := list.([]any)
	return slices.Contains(all, any(name))
}

func or(text, otherwise string) string {
	if text == "" || text == "<nil>" {
		return otherwise
	}
	return text
}
