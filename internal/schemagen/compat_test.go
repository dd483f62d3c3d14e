package schemagen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIncompatible(t *testing.T) {
	const old = `{"type":"array","items":{"$ref":"#/$defs/order"},"$defs":{"order":{"type":"object","properties":{
		"id":{"type":"string","pattern":"^a$"},"state":{"type":"string","enum":["new","paid"]},"note":{"type":["string","null"]},
		"parts":{"type":"array","items":{"type":"integer"}},"sums":{"type":"object","additionalProperties":{"type":"integer"}},
		"at":{"type":"string","format":"date-time"},"kind":{"type":"object","minProperties":1,"maxProperties":1},
		"ref":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^b$"}]},
		"from":{"$ref":"#/$defs/person"},"by":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]}},
		"required":["id","state"],"additionalProperties":false},
		"person":{"type":"object","properties":{"name":{"type":"string"},"boss":{"$ref":"#/$defs/person"}},"required":["name"]}}}`
	for _, test := range []struct {
		name, from, to string
		want           []string
	}{
		{"nothing", "", "", nil},
		{"a new member", `"id":`, `"more":{"type":"string"},"id":`, nil},
		{"a new required member", `"required":["id",`, `"required":["note","id",`, nil},
		{"a new value", `"new","paid"`, `"new","paid","late"`, nil},
		{"no more null", `["string","null"]`, `"string"`, nil},
		{"an alternative less", `,{"type":"null"}]`, `]`, nil},
		{"a renamed definition", `person`, `human`, nil},
		{"a member is gone", `"note":{"type":["string","null"]},`, ``, []string{"[].note: the member is gone"}},
		{"a member may be missing", `["id","state"]`, `["id"]`,
			[]string{"[].state: the member was always there and may now be missing"}},
		{"another type", `"note":{"type":["string","null"]}`, `"note":{"type":"integer"}`,
			[]string{"[].note: it was string or null and may now be integer"}},
		{"null", `"items":{"type":"integer"}`, `"items":{"type":["integer","null"]}`,
			[]string{"[].parts[]: it was integer and may now be null"}},
		{"anything", `"additionalProperties":{"type":"integer"}`, `"additionalProperties":{}`,
			[]string{"[].sums.*: it was integer and may now be anything"}},
		{"no values", `"additionalProperties":{"type":"integer"}`, `"required":[]`,
			[]string{"[].sums.*: it was integer and may now be anything"}},
		{"any value", `,"enum":["new","paid"]`, ``,
			[]string{"[].state: the value new is gone", "[].state: the value paid is gone"}},
		{"another format", `"format":"date-time"`, `"format":"date"`,
			[]string{"[].at: its format was date-time and is now date"}},
		{"empty", `"minProperties":1,`, ``, []string{"[].kind: its minProperties was 1 and is now nothing"}},
		{"more members at once", `"maxProperties":1`, `"maxProperties":2`,
			[]string{"[].kind: its maxProperties was 1 and is now 2"}},
		{"a value is gone", `"new","paid"`, `"new"`, []string{"[].state: the value paid is gone"}},
		{"another pattern", `^a$`, `^d$`, []string{"[].id: its pattern was ^a$ and is now ^d$"}},
		{"another pattern of an alternative", `^b$`, `^c$`, []string{"[].ref: its pattern was ^b$ and is now ^c$"}},
		{"no pattern", `,"pattern":"^a$"`, ``, []string{"[].id: its pattern was ^a$ and is now nothing"}},
		{"open", `,"additionalProperties":false`, ``,
			[]string{"[]: it may now have members that the schema does not name"}},
		{"a new alternative", `,{"type":"null"}]`, `,{"type":"null"},{"type":"string"}]`,
			[]string{"[].by: it was object and may now be string"}},
		{"below an alternative", `"name":{"type":"string"}`, `"name":{"type":"number"}`,
			[]string{"[].by.name: it was string and may now be number", "[].from.name: it was string and may now be number"}},
		{"no list", `{"type":"array","items":{"$ref":"#/$defs/order"},`, `{"$ref":"#/$defs/order",`,
			[]string{"the whole output: it was array and may now be object"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.ReplaceAll(old, test.from, test.to)
			if test.from == "" {
				changed = old
			} else if changed == old {
				t.Fatal("nothing was changed")
			}
			if diff := cmp.Diff(test.want, Incompatible([]byte(old), []byte(changed))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
