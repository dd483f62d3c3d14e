package schemagen

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type object = map[string]any

// Incompatible returns what programs that read the old output cannot expect of the new one: a member is gone
// or may be missing, a value may have another type or form, or an object may have members that no schema
// describes. A new member of an object is compatible, and so is a new value of an enumeration: a program must
// expect values that it does not know. It panics if one of them is not JSON.
func Incompatible(old, new []byte) (wrong []string) {
	var c comparison
	if err := errors.Join(json.Unmarshal(old, &c.was), json.Unmarshal(new, &c.is)); err != nil {
		panic(err)
	}
	c.seen = map[[2]string]bool{}
	return c.compare("", c.was, c.is)
}

type comparison struct {
	was, is object             // the documents
	seen    map[[2]string]bool // pairs of definitions that are being compared
}

func incompatible(path, format string, args ...any) string {
	return cmp.Or(path, "the whole output") + ": " + fmt.Sprintf(format, args...)
}

// compare returns what is incompatible at a path, such as "[].amount".
func (c *comparison) compare(path string, was, is object) (wrong []string) {
	if refs := [2]string{as[string](was["$ref"]), as[string](is["$ref"])}; refs[0] != "" && refs[1] != "" {
		if c.seen[refs] {
			return nil
		}
		c.seen[refs] = true
		defer delete(c.seen, refs)
	}
	before, after := alternatives(c.was, was), alternatives(c.is, is)
	if len(before) == 1 && len(after) == 1 {
		return c.one(path, resolve(c.was, before[0]), resolve(c.is, after[0]))
	}
	for _, now := range after {
		var nearest []string
		for i, one := range before {
			found := c.compare(path, one, now)
			if i == 0 || len(found) == 0 || slices.Equal(types(resolve(c.was, one)), types(resolve(c.is, now))) {
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
func (c *comparison) one(path string, was, is object) (wrong []string) {
	before, now := types(was), types(is)
	added := slices.DeleteFunc(slices.Clone(now), func(t string) bool { return slices.Contains(before, t) })
	if len(before) > 0 && (len(added) > 0 || len(now) == 0) {
		return []string{incompatible(path, "it was %s and may now be %s",
			strings.Join(before, " or "), cmp.Or(strings.Join(added, " or "), "anything"))}
	}
	for _, key := range []string{"pattern", "format", "minProperties", "maxProperties"} {
		if was[key] != nil && was[key] != is[key] {
			wrong = append(wrong, incompatible(path, "its %s was %v and is now %v", key, was[key], cmp.Or(is[key], any("nothing"))))
		}
	}
	for _, value := range as[[]any](was["enum"]) {
		if !slices.Contains(as[[]any](is["enum"]), value) {
			wrong = append(wrong, incompatible(path, "the value %v is gone", value))
		}
	}
	wrong = append(wrong, c.members(path, was, is)...)
	if was["items"] != nil {
		wrong = append(wrong, c.compare(path+"[]", as[object](was["items"]), as[object](is["items"]))...)
	}
	return wrong
}

// members compares the members of objects.
func (c *comparison) members(path string, was, is object) (wrong []string) {
	before, now := as[object](was["properties"]), as[object](is["properties"])
	for _, name := range slices.Sorted(maps.Keys(before)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if now[name] == nil {
			wrong = append(wrong, incompatible(at, "the member is gone"))
			continue
		}
		if slices.Contains(as[[]any](was["required"]), any(name)) && !slices.Contains(as[[]any](is["required"]), any(name)) {
			wrong = append(wrong, incompatible(at, "the member was always there and may now be missing"))
		}
		wrong = append(wrong, c.compare(at, as[object](before[name]), as[object](now[name]))...)
	}
	switch rest := was["additionalProperties"].(type) {
	case bool:
		if is["additionalProperties"] != false {
			wrong = append(wrong, incompatible(path, "it may now have members that the schema does not name"))
		}
	case object:
		wrong = append(wrong, c.compare(path+".*", rest, as[object](is["additionalProperties"]))...)
	}
	return wrong
}

func resolve(document, schema object) object {
	if name, ok := strings.CutPrefix(as[string](schema["$ref"]), refPrefix); ok {
		return as[object](as[object](document["$defs"])[name])
	}
	return schema
}

// alternatives returns the schemas of which a value has one.
func alternatives(document, schema object) (all []object) {
	schema = resolve(document, schema)
	for _, one := range as[[]any](schema["anyOf"]) {
		all = append(all, as[object](one))
	}
	if all == nil {
		return []object{schema}
	}
	return all
}

func types(schema object) (all []string) {
	if one := as[string](schema["type"]); one != "" {
		return []string{one}
	}
	for _, one := range as[[]any](schema["type"]) {
		all = append(all, as[string](one))
	}
	return all
}

// as returns a value of a type, or the zero value if v has another one.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}
