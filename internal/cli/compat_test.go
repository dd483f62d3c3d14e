//go:build unix

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// incompatible returns what programs that read the old output cannot expect of the new one: a member is gone
// or may be missing, a value may have another type or form, or an object may have members that no schema
// describes. A new member of an object is compatible, and so is a new value of an enumeration: a program must
// expect values that it does not know.
func incompatible(old, new []byte) (wrong []string) {
	was, is, skip := promises(old), promises(new), "\x00"
	for _, path := range slices.Sorted(maps.Keys(was)) {
		say := func(format string, args ...any) {
			wrong = append(wrong, cmp.Or(path, "the whole output")+": "+fmt.Sprintf(format, args...))
		}
		before, now := was[path], is[path]
		lost := func(key string) []string { return minus(before[key], now[key]) }
		added := func(key string) []string { return minus(now[key], before[key]) }
		switch {
		case strings.HasPrefix(path, skip): // what is in it is not there either
			continue
		case now == nil:
			say("it is gone")
			skip = path
			continue
		case before["type"] != nil && (now["type"] == nil || added("type") != nil):
			say("it was %s and may now be %s", strings.Join(before["type"], " or "),
				cmp.Or(strings.Join(added("type"), " or "), "anything"))
			skip = path
			continue
		}
		for _, key := range []string{"pattern", "format", "minProperties", "maxProperties"} {
			if before[key] != nil && (now[key] == nil || added(key) != nil) {
				say("its %s was %s and is now %s", key, strings.Join(before[key], " or "),
					cmp.Or(strings.Join(now[key], " or "), "nothing"))
			}
		}
		for _, value := range lost("enum") {
			say("the value %s is gone", value)
		}
		if lost("required") != nil {
			say("it was always there and may now be missing")
		}
		if lost("closed") != nil {
			say("it may now have members that the schema does not name")
		}
	}
	return wrong
}

func minus(from, those []string) []string {
	if left := slices.DeleteFunc(slices.Clone(from), func(s string) bool { return slices.Contains(those, s) }); len(left) > 0 {
		return left
	}
	return nil
}

type object = map[string]any

// promises returns what a schema says, by key, of the value at each path, such as "[].amount". What it says of
// alternatives is together.
func promises(schema []byte) map[string]map[string][]string {
	var document object
	if err := json.Unmarshal(schema, &document); err != nil {
		panic(err)
	}
	all := map[string]map[string][]string{}
	add := func(path, key string, values ...any) {
		if all[path] == nil {
			all[path] = map[string][]string{}
		}
		for _, value := range values {
			all[path][key] = append(all[path][key], fmt.Sprint(value))
		}
		slices.Sort(all[path][key])
		all[path][key] = slices.Compact(all[path][key])
	}
	var walk func(path string, schema object, within []any)
	walk = func(path string, schema object, within []any) {
		add(path, "")
		if ref := schema["$ref"]; ref != nil {
			if !slices.Contains(within, ref) {
				walk(path, as[object](as[object](document["$defs"])[strings.TrimPrefix(ref.(string), refPrefix)]), append(within, ref))
			}
			return
		}
		for _, one := range as[[]any](schema["anyOf"]) {
			walk(path, as[object](one), within)
		}
		for _, key := range []string{"type", "pattern", "format", "minProperties", "maxProperties", "enum"} {
			if values, several := schema[key].([]any); several {
				add(path, key, values...)
			} else if schema[key] != nil {
				add(path, key, schema[key])
			}
		}
		for name, member := range as[object](schema["properties"]) {
			at := strings.TrimPrefix(path+"."+name, ".")
			walk(at, as[object](member), within)
			if slices.Contains(as[[]any](schema["required"]), any(name)) {
				add(at, "required", "yes")
			}
		}
		if schema["items"] != nil {
			walk(path+"[]", as[object](schema["items"]), within)
		}
		if rest, ok := schema["additionalProperties"].(object); ok {
			walk(path+".*", rest, within)
		} else if schema["additionalProperties"] == false {
			add(path, "closed", "yes")
		}
	}
	walk("", document, nil)
	for _, of := range all {
		delete(of, "")
	}
	return all
}

// as returns a value of a type, or the zero value if v has another one.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}
