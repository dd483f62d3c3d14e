//go:build unix

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/planfile"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/schema"
	gocmp "github.com/google/go-cmp/cmp"
)

const (
	schemaFolder = repository + "/pkg/schema/json"
	// promiseFile has every schema as it was promised last: a compatible change extends it, and an
	// incompatible one does not get past it.
	promiseFile = repository + "/pkg/schema/promise.json"
)

// facts returns what the printed types do not say.
func facts(all map[string]printed) Facts {
	is := reflect.TypeFor[string]
	var states []string
	for _, s := range payout.States() {
		states = append(states, string(s))
	}
	return Facts{
		As: map[reflect.Type][]reflect.Type{
			all["profile show"].JSON[0]:        {profileMembers(all["currency list"].Line[0])},
			reflect.TypeFor[api.Currency]():    {reflect.TypeFor[OneOf[api.Kind, string]]()},
			reflect.TypeFor[api.Amount]():      {reflect.TypeFor[OneOf[api.Kind, OneOf[string, int64]]]()},
			reflect.TypeFor[api.BigAmount]():   {reflect.TypeFor[OneOf[api.Kind, OneOf[string, big.Int]]]()},
			reflect.TypeFor[api.Address]():     {is(), reflect.TypeFor[OneOf[api.Kind, listedAddress]]()},
			reflect.TypeFor[api.InvoiceItem](): {reflect.TypeFor[invoiceItem]()},
			reflect.TypeFor[api.CodeAmounts](): {reflect.TypeFor[map[string]int64]()},
			reflect.TypeFor[api.Rebates]():     {reflect.TypeFor[map[string]api.Amount]()},
			reflect.TypeFor[api.RebateList]():  {reflect.TypeFor[[]api.Amount]()},
			reflect.TypeFor[api.RebateMap]():   {reflect.TypeFor[api.Rebates]()},
			reflect.TypeFor[api.StatusCount](): {reflect.TypeFor[OneOf[string, int64]]()},
			reflect.TypeFor[api.CodeTotal]():   {reflect.TypeFor[OneOf[string, api.CodeAmounts]]()}},
		Values: map[reflect.Type][]string{reflect.TypeFor[api.Kind](): {string(api.Crypto), string(api.Fiat)},
			reflect.TypeFor[payout.State](): states,
			reflect.TypeFor[cmdline.Deed](): {"money", "service", "sandbox", "files"}},
		Named: map[string]Node{
			"kind":      {Type: "string", Enum: kinds(func(e exit.ErrorKind) any { return e.Kind })},
			"exit-code": {Type: "integer", Enum: kinds(func(e exit.ErrorKind) any { return e.Code })},
			"rule":      {Type: "string", Enum: rules()},
			"integer":   {Type: "string", Pattern: `^-?(0|[1-9][0-9]*)$`},
			"decimal":   {Type: "string", Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`},
			"moment":    {Type: "string", Pattern: `^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$`},
			"order-id":  {Type: "string", Pattern: `^[1-9][0-9]{0,15}$`},
			"digest":    {Type: "string", Pattern: `^sha256:[0-9a-f]{64}$`},
			"run":       {Type: "string", Pattern: `^[0-9a-f]{8}$`},
			"ending":    oneOf("", "accepted", "rejected", "said nothing", "unknown"),
			"decision":  oneOf("paid-as", "not-sent"),
			"required":  oneOf("required"),

			"currency-kind":    oneOf("crypto", "fiat"),
			"currency-finding": oneOf("compare", "matches", "unseen", "unset"),
			"delivery-state":   oneOf("pending", "delivered", "failed", "refused", "lost"),
		},
		Cases: map[reflect.Type][]*Node{reflect.TypeFor[errorContent](): errorCases()},
		Open: func(t reflect.Type) bool {
			return t.PkgPath() == reflect.TypeFor[api.Withdrawal]().PkgPath() ||
				slices.Contains([]reflect.Type{reflect.TypeFor[listedAddress](), reflect.TypeFor[invoiceItem](),
					reflect.TypeFor[schemaJSON]()}, t)
		},
	}
}

// profileMembers returns a struct with the members of a profile: a text for each setting that is one, and currencies.
func profileMembers(currency reflect.Type) reflect.Type {
	var all []reflect.StructField
	add := func(tag string, is reflect.Type) {
		all = append(all, reflect.StructField{Name: fmt.Sprint("M", len(all)), Type: is, Tag: reflect.StructTag(tag)})
	}
	add(`json:"name"`, reflect.TypeFor[string]())
	add(`json:"current"`, reflect.TypeFor[bool]())
	add(`json:"built_in"`, reflect.TypeFor[bool]())
	for _, s := range config.ProfileSettings() {
		is := reflect.TypeFor[string]()
		switch {
		case s.Name == "currencies":
			is = reflect.SliceOf(currency)
		case s.List:
			is = reflect.TypeFor[[]string]()
		}
		add(`json:"`+s.Name+`,omitempty"`, is)
	}
	return reflect.StructOf(all)
}

// errorCases returns what the kind of an error says of its exit code and its rule.
func errorCases() (cases []*Node) {
	for _, kind := range kinds(func(e exit.ErrorKind) any { return e.Kind }) {
		codes := slices.DeleteFunc(kinds(func(e exit.ErrorKind) any { return e.Code }),
			func(code any) bool { return exit.KindOf(code.(int)).Kind != kind })
		n := &Node{Properties: Members{
			{Name: "kind", Schema: &Node{Enum: []any{kind}}},
			{Name: "exit_code", Schema: &Node{Enum: codes}},
		}}
		rule := &Node{Not: &Node{}}
		switch kind {
		case "refused":
			rule, n.Required = &Node{}, []string{"rule"}
		case "unknown", "busy": // another order with the same content is unknown or being sent
			rule = &Node{Enum: []any{payout.RuleDuplicate}}
		}
		n.Properties = append(n.Properties, Member{Name: "rule", Schema: rule})
		cases = append(cases, n)
	}
	return cases
}

// oneOf is a text with one of some values.
func oneOf(values ...string) Node {
	n := Node{Type: "string"}
	for _, v := range values {
		n.Enum = append(n.Enum, v)
	}
	return n
}

func rules() (all []any) {
	for _, r := range exit.Rules() {
		all = append(all, r.Name)
	}
	return all
}

// kinds returns a property of every exit code that is an error's.
func kinds(of func(exit.ErrorKind) any) (all []any) {
	for _, e := range exit.Codes() {
		if value := of(e); e.Code != exit.Done && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

// The JSON of types that encode themselves.
type (
	listedAddress struct {
		Currency string `json:"currency"`
		Address  string `json:"address"`
	}
	invoiceItem struct {
		Amount string `json:"amount" schema:"integer"`
		Name   string `json:"name"`
	}
)

// generated returns the schemas, by the names of their files.
func generated() map[string]string {
	files, all := map[string]string{}, allPrinted()
	add := func(name, title string, about map[string]string, types ...reflect.Type) {
		files[schema.File(name)] = Schema(facts(all), title, about, types...)
	}
	for name, p := range all {
		about := map[string]string{}
		for _, c := range p.Columns {
			about[c.Name] = c.About
		}
		title := "till " + name + " -o json"
		if name == "callback listen" { // with every format
			title = "a line of till " + name
		}
		add(name, title, about, p.JSON...)
		if line := itemOf(p.JSON); !reflect.DeepEqual(line, p.Line) {
			add(name+schema.LineSuffix, "a line of till "+name+" -o jsonl", about, p.Line...)
		}
	}
	add("error", "an error on standard error, with -o json or -o jsonl", nil, reflect.TypeFor[errorLine]())
	add("note", "a note on standard error, with -o json or -o jsonl", nil, reflect.TypeFor[cmdutil.NoteLine]())
	add("warning", "a warning on standard error, with -o json or -o jsonl", nil, reflect.TypeFor[cmdutil.WarningLine]())
	add("request", "a request that --dry-run shows, with -o json or -o jsonl", nil, reflect.TypeFor[cmdutil.RequestLine]())
	add("plan", "the file of a plan", nil, reflect.TypeFor[planfile.File]())
	add("finish", "the report that the program of on_finish gets", nil, reflect.TypeFor[cmdutil.Finished]())
	files[schema.File("report")] = files[schema.File("reseller report")]
	return files
}

// itemOf returns the types of the lines that schema.Line finds by itself.
func itemOf(types []reflect.Type) []reflect.Type {
	if len(types) == 1 && types[0].Kind() == reflect.Slice && types[0].Name() == "" {
		return []reflect.Type{types[0].Elem()}
	}
	return types
}

// TestSchemas compares the committed schemas with those of the printed types. With TILL_UPDATE_SCHEMAS=1, it
// writes them unless a change is incompatible, and with TILL_UPDATE_SCHEMAS=break always.
func TestSchemas(t *testing.T) {
	want := generated()
	if update := os.Getenv("TILL_UPDATE_SCHEMAS"); update != "" {
		if update != "break" {
			keepsPromise(t, want)
		}
		if !t.Failed() {
			writeSchemas(t, want)
		}
		return
	}
	committed := committedSchemas(t)
	for _, name := range slices.Sorted(maps.Keys(committed)) {
		if want[name] == "" {
			t.Errorf("pkg/schema/json/%s describes nothing that till prints: run make schemas", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := gocmp.Diff(committed[name], want[name]); diff != "" {
			t.Errorf("pkg/schema/json/%s is not what the types say (committed -, types +): run make schemas\n%s", name, diff)
		}
	}
}

func TestSchemasKeepTheirPromise(t *testing.T) {
	committed := committedSchemas(t)
	keepsPromise(t, committed)
	if !t.Failed() && string(promise(t, committed)) != contents(t, promiseFile) {
		t.Error("pkg/schema/promise.json does not promise all of pkg/schema/json: run make schemas")
	}
}

func keepsPromise(t *testing.T, files map[string]string) {
	t.Helper()
	var promised map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(contents(t, promiseFile)), &promised))
	const advice = "Programs rely on it, so keep it. If all of them have to change, run make schemas SCHEMAS=break, " +
		"and say so in CHANGELOG.md"
	for _, name := range slices.Sorted(maps.Keys(promised)) {
		if files[name] == "" {
			t.Errorf("%s: the schema is gone. %s", name, advice)
			continue
		}
		for _, text := range incompatible(promised[name], []byte(files[name])) {
			t.Errorf("%s: %s. %s", name, text, advice)
		}
	}
}

func committedSchemas(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(schemaFolder)
	must(t, err)
	committed := map[string]string{}
	for _, e := range entries {
		committed[e.Name()] = contents(t, filepath.Join(schemaFolder, e.Name()))
	}
	return committed
}

func writeSchemas(t *testing.T, files map[string]string) {
	t.Helper()
	must(t, os.RemoveAll(schemaFolder))
	must(t, os.MkdirAll(schemaFolder, 0o755))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(schemaFolder, name), []byte(text), 0o644))
	}
	must(t, os.WriteFile(promiseFile, promise(t, files), 0o644))
}

// promise returns what the file of the promise has of schemas.
func promise(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var all bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(files)) {
		all.WriteString([]string{"{", ","}[min(i, 1)] + fmt.Sprintf("\n%q:", name))
		must(t, json.Compact(&all, []byte(files[name])))
	}
	all.WriteString("\n}\n")
	return all.Bytes()
}

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
