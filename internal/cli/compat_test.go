//go:build unix

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
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

func TestIncompatible(t *testing.T) {
	const old = `{"type":"array","items":{"$ref":"#/$defs/order"},"$defs":{"order":{"type":"object","properties":{
		"id":{"type":"string","pattern":"^a$"},"state":{"type":"string","enum":["new","paid"]},"note":{"type":["string","null"]},
		"parts":{"type":"array","items":{"type":"integer"}},"sums":{"type":"object","additionalProperties":{"type":"integer"}},
		"at":{"type":"string","format":"date-time"},"kind":{"type":"object","minProperties":1,"maxProperties":1},
		"ref":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^b$"}]},
		"from":{"$ref":"#/$defs/person"},"by":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]}},
		"required":["id","state"],"additionalProperties":false},
		"person":{"type":"object","properties":{"name":{"type":"string"},"boss":{"$ref":"#/$defs/person"}},"required":["name"]}}}`
	for _, test := range []struct{ name, from, to, want string }{
		{"nothing", "", "", ""},
		{"a new member", `"id":`, `"more":{"type":"string"},"id":`, ""},
		{"a new required member", `"required":["id",`, `"required":["note","id",`, ""},
		{"a new value", `"new","paid"`, `"new","paid","late"`, ""},
		{"an alternative less", `,{"type":"null"}]`, `]`, ""},
		{"a member is gone", `"note":{"type":["string","null"]},`, ``, "[].note: it is gone"},
		{"a member may be missing", `["id","state"]`, `["id"]`, "[].state: it was always there and may now be missing"},
		{"another type", `"note":{"type":["string","null"]}`, `"note":{"type":"integer"}`,
			"[].note: it was null or string and may now be integer"},
		{"null", `"items":{"type":"integer"}`, `"items":{"type":["integer","null"]}`,
			"[].parts[]: it was integer and may now be null"},
		{"anything", `"additionalProperties":{"type":"integer"}`, `"additionalProperties":{}`,
			"[].sums.*: it was integer and may now be anything"},
		{"no values", `"additionalProperties":{"type":"integer"}`, `"required":[]`, "[].sums.*: it is gone"},
		{"a value is gone", `"new","paid"`, `"new"`, "[].state: the value paid is gone"},
		{"another format", `"format":"date-time"`, `"format":"date"`, "[].at: its format was date-time and is now date"},
		{"empty", `"minProperties":1,`, ``, "[].kind: its minProperties was 1 and is now nothing"},
		{"another pattern of an alternative", `^b$`, `^c$`, "[].ref: its pattern was ^b$ and is now ^c$"},
		{"no pattern", `,"pattern":"^a$"`, ``, "[].id: its pattern was ^a$ and is now nothing"},
		{"open", `,"additionalProperties":false`, ``, "[]: it may now have members that the schema does not name"},
		{"a new alternative", `,{"type":"null"}]`, `,{"type":"null"},{"type":"string"}]`,
			"[].by: it was null or object and may now be string"},
		{"below an alternative", `"name":{"type":"string"}`, `"name":{"type":"number"}`,
			"[].by.name: it was string and may now be number; [].from.name: it was string and may now be number"},
		{"no list", `{"type":"array","items":{"$ref":"#/$defs/order"},`, `{"$ref":"#/$defs/order",`,
			"the whole output: it was array and may now be object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.ReplaceAll(old, test.from, test.to)
			if test.from == "" {
				changed = old
			} else if changed == old {
				t.Fatal("nothing was changed")
			}
			if got := strings.Join(incompatible([]byte(old), []byte(changed)), "; "); got != test.want {
				t.Errorf("it says %q, and not %q", got, test.want)
			}
		})
	}
}
