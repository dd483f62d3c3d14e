package schemagen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type object = map[string]any

// Incompatible returns what programs that read the old output cannot expect of the new one: a member is gone
// or may be missing, a value may have another type or form, or an object may have members that no schema
// describes. A new member of an object is compatible, and so is a new value of an enumeration: a program must
// expect values that it does not know.
func Incompatible(old, new []byte) (wrong []string, err error) {
	var was, is object
	if err := json.Unmarshal(old, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(new, &is); err != nil {
		return nil, err
	}
	c := comparison{was: was, is: is, seen: map[[2]string]bool{}}
	c.compare("", was, is)
	return c.wrong, nil
}

type comparison struct {
	was, is object             // the documents
	seen    map[[2]string]bool // pairs of definitions that are being compared
	wrong   []string
}

func (c *comparison) say(path, format string, args ...any) {
	c.wrong = append(c.wrong, cmp.Or(path, "the whole output")+": "+fmt.Sprintf(format, args...))
}

// compare says what is incompatible at a path, such as "[].amount".
func (c *comparison) compare(path string, was, is object) {
	if refs := [2]string{as[string](was["$ref"]), as[string](is["$ref"])}; refs[0] != "" && refs[1] != "" {
		if c.seen[refs] {
			return
		}
		c.seen[refs] = true
		defer delete(c.seen, refs)
	}
	before, after := alternatives(c.was, was), alternatives(c.is, is)
	if len(before) == 1 && len(after) == 1 {
		c.one(path, resolve(c.was, before[0]), resolve(c.is, after[0]))
		return
	}
	wrong := c.wrong
	for _, now := range after {
		var nearest []string
		for i, one := range before {
			c.wrong = nil
			c.compare(path, one, now)
			if i == 0 || len(c.wrong) == 0 || slices.Equal(types(resolve(c.was, one)), types(resolve(c.is, now))) {
				nearest = c.wrong
			}
			if len(nearest) == 0 {
				break
			}
		}
		wrong = append(wrong, nearest...)
	}
	c.wrong = wrong
}

// one compares schemas without alternatives.
func (c *comparison) one(path string, was, is object) {
	before, now := types(was), types(is)
	added := slices.DeleteFunc(slices.Clone(now), func(t string) bool { return slices.Contains(before, t) })
	if len(before) > 0 && (len(added) > 0 || len(now) == 0) {
		c.say(path, "it was %s and may now be %s", strings.Join(before, " or "), cmp.Or(strings.Join(added, " or "), "anything"))
		return
	}
	for _, key := range []string{"pattern", "format", "minProperties", "maxProperties"} {
		if was[key] != nil && was[key] != is[key] {
			c.say(path, "its %s was %v and is now %v", key, was[key], cmp.Or(is[key], any("nothing")))
		}
	}
	for _, value := range as[[]any](was["enum"]) {
		if !slices.Contains(as[[]any](is["enum"]), value) {
			c.say(path, "the value %v is gone", value)
		}
	}
	c.members(path, was, is)
	if was["items"] != nil {
		c.compare(path+"[]", as[object](was["items"]), as[object](is["items"]))
	}
}

// members compares the members of objects.
func (c *comparison) members(path string, was, is object) {
	before, now := as[object](was["properties"]), as[object](is["properties"])
	for _, name := range slices.Sorted(maps.Keys(before)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if now[name] == nil {
			c.say(at, "the member is gone")
			continue
		}
		if slices.Contains(as[[]any](was["required"]), any(name)) && !slices.Contains(as[[]any](is["required"]), any(name)) {
			c.say(at, "the member was always there and may now be missing")
		}
		c.compare(at, as[object](before[name]), as[object](now[name]))
	}
	switch rest := was["additionalProperties"].(type) {
	case bool:
		if is["additionalProperties"] != false {
			c.say(path, "it may now have members that the schema does not name")
		}
	case object:
		c.compare(path+".*", rest, as[object](is["additionalProperties"]))
	}
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
