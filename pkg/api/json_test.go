package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sampled tests the JSON of a type.
type sampled interface{ test(t *testing.T) }

// samples has valid texts of a type, and invalid ones in addition to null, truncated texts and duplicate
// keys.
type samples[T any] struct {
	texts   []string
	refused []string
	// sdk decodes a text as an answer is decoded. If nil, decode does.
	sdk func(text string) (T, error)
}

// noJSON says why a type has no JSON form in the service's interface.
type noJSON string

func (noJSON) test(*testing.T) {}

const (
	sampleInvite   = `{"invite":"` + someID + `","label":"Ann","more":[1.50]}`
	sampleReseller = `{"id":"` + someID + `","invite_info":{"invite":"` + someID +
		`","label":"Ann"},"rebates":{"Usd":{"Fiat":{"USD":5}},"Btc":{"Crypto":{"Btc":1}}},"x":null}`
	sampleInvoice = `{"id":"i-1","external_order_id":"A","external_number":9007199254740993,"tittle":"Tea",` +
		`"currency":{"Fiat":"Usd"},"items":[{"amount":"2500","name":"Tea"}],` +
		`"created_date":"2026-05-01T10:00:00","due_date":"x","choosen":{"a":1.0},"status":"Awaiting","state":"s"}`
	sampleStats = `{"id":"r","label":"Ann","invoice_stats":{"Paid":2,"Awaiting":1},"invoice_rebates":{"i":{"id":"i",` +
		`"paid_amount":{"USD":5},"rebate":{},"created":"c"}},` +
		`"total_volume":{"Btc":{"USD":5,"Btc":9223372036854775807}},"total_rebates":{}}`
	sampleUnread = `{"id":7,"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1e3}},"address":"a",` +
		`"external_order_id":"4711"}`
)

// everyType has every exported type of the package.
var everyType = map[string]sampled{
	"Kind": samples[Kind]{texts: []string{`"Crypto"`, `"Fiat"`}, refused: []string{`"crypto"`, `""`, `1`}},
	"Currency": samples[Currency]{texts: []string{`{"Crypto":"Btc"}`, `{"Fiat":"Usd"}`},
		refused: []string{`{"crypto":"Btc"}`, `{}`, `{"Crypto":""}`}},
	"Amount": samples[Amount]{texts: []string{`{"Fiat":{"USD":2500}}`, `{"Crypto":{"Btc":9007199254740993}}`},
		refused: []string{`{"Fiat":{"USD":1.0}}`, `{"fiat":{"USD":1}}`}},
	"Sum":       noJSON("the service has no sums"),
	"BigAmount": noJSON("the service has no amounts of this size; see TestSum"),
	"CodeAmount": samples[CodeAmount]{texts: []string{`{"USD":2500}`},
		refused: []string{`{}`, `{"USD":1,"EUR":2}`, `{"USD":null}`}},
	"CodeAmounts": samples[CodeAmounts]{texts: []string{`{"USD":5,"Btc":-1}`, `{}`},
		refused: []string{`{"USD":null}`, `[]`}},
	"Address": samples[Address]{texts: []string{`"bc1q"`, `{"Crypto":{"currency":"Btc","address":"a"}}`,
		`{"Fiat":{"currency":"Usd","address":"a"}}`},
		refused: []string{`""`, `{"crypto":{"currency":"Btc","address":"a"}}`,
			`{"Crypto":{"Currency":"Btc","address":"a"}}`}},
	"Status": samples[Status]{texts: []string{`{"status":"New","at":"2026-05-01T10:00:00"}`},
		refused: []string{`[]`, `"New"`, `{"status":1}`}},
	"Withdrawal": samples[Withdrawal]{texts: []string{sampleWithdrawal, goodRecord,
		`{"id":"w","currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":1}},"address":{"Crypto":{"currency":"Btc",` +
			`"address":"a"}},"statuses":null,"memo":"m","fee":1.10}`},
		refused: []string{`{}`, strings.Replace(goodRecord, `"id"`, `"ID"`, 1),
			strings.Replace(goodRecord, `"amount"`, `"Amount"`, 1),
			strings.Replace(goodRecord, `"statuses":[]`, `"statuses":[null]`, 1)}},
	"WithdrawalPage": samples[WithdrawalPage]{texts: []string{`{"page_content":[` + goodRecord + `,` + sampleWithdrawal +
		`],"page_count":3,"total":250}`, `{"page_content":[],"page_count":0,"total":0}`},
		refused: []string{`{}`, `{"Page_Content":[],"page_count":0,"total":0}`,
			`{"page_content":[` + sampleUnread + `],"page_count":1,"total":1}`}},
	"UnreadableWithdrawal": samples[UnreadableWithdrawal]{texts: []string{sampleUnread, `7`},
		refused: []string{goodRecord},
		sdk: func(text string) (UnreadableWithdrawal, error) {
			var page lenientPage
			err := decode([]byte(`{"page_content":[`+text+`],"page_count":1,"total":1}`), &page)
			if err != nil || len(page.Unreadable) == 0 {
				return UnreadableWithdrawal{}, errors.Join(err, errors.New("it can be read"))
			}
			return page.Unreadable[0], nil
		}},
	"WithdrawalFilter": samples[WithdrawalFilter]{texts: []string{`{"currencies":[],"tags":[]}`,
		`{"from":"a","to":"b","currencies":[{"Crypto":"Btc"}],"tags":["New"]}`},
		refused: []string{`[]`, `{"currencies":[null],"tags":[]}`}},
	"CreateWithdrawal": samples[CreateWithdrawal]{texts: []string{`{"currency":{"Crypto":"Btc"},` +
		`"amount":{"Crypto":{"Btc":5}},"address":"a"}`,
		`{"currency":{"Crypto":"Xlr"},"amount":{"Fiat":{"USD":5}},"address":"a","callback":"https://x.example",` +
			`"external_order_id":"4711","memo":"7"}`},
		refused: []string{`{}`, `{"currency":{"Crypto":"Btc"},"Amount":{"Crypto":{"Btc":5}},"address":"a"}`}},
	"Invoice": samples[Invoice]{texts: []string{sampleInvoice, `{"id":"i","currency":{"Fiat":"Usd"}}`},
		refused: []string{`{}`, `{"id":"i","Currency":{"Fiat":"Usd"}}`,
			`{"id":"i","currency":{"Fiat":"Usd"},"items":[null]}`}},
	"InvoiceItem": samples[InvoiceItem]{texts: []string{`{"amount":"2500","name":"Tea"}`},
		refused: []string{`{"amount":2500,"name":"Tea"}`, `{"Amount":"1","name":"Tea"}`}},
	"CreateInvoice": samples[CreateInvoice]{texts: []string{`{"title":"t","currency":{"Fiat":"Usd"},` +
		`"items":[{"amount":"1","name":"n"}]}`,
		`{"order_id":"o","number":0,"title":"t","currency":{"Fiat":"Usd"},"items":[],"callback_url":"https://x.example"}`},
		refused: []string{`{}`, `{"title":"t","Currency":{"Fiat":"Usd"},"items":[]}`}},
	"Invite": samples[Invite]{texts: []string{sampleInvite, `{"invite":"` + someID + `","label":"l","url":"u"}`},
		refused: []string{`{}`, `{"Invite":"` + someID + `"}`}},
	"Reseller": samples[Reseller]{texts: []string{sampleReseller},
		refused: []string{`{}`, `{"ID":"` + someID + `"}`, `{"id":"` + someID + `","rebates":null}`}},
	"Rebates": samples[Rebates]{texts: []string{`{"Usd":{"Fiat":{"USD":5}},"Btc":{"Crypto":{"Btc":1}}}`, `{}`},
		refused: []string{`[]`, `{"Usd":null}`}},
	"Rebate": samples[Rebate]{texts: []string{`{"Usd":{"Fiat":{"USD":5}}}`},
		refused: []string{`{}`, `{"Usd":{"Fiat":{"USD":5}},"Eur":{"Fiat":{"EUR":5}}}`}},
	"RebateList": samples[RebateList]{texts: []string{`[{"Fiat":{"USD":5}},{"Crypto":{"Btc":1}}]`, `[]`},
		refused: []string{`{}`, `[null]`}},
	"RebateMap": samples[RebateMap]{texts: []string{`{"Usd":{"Fiat":{"USD":5}}}`, `{}`},
		refused: []string{`[]`, `{"Usd":{"fiat":{"USD":5}}}`}},
	"ResellerStats": samples[ResellerStats]{texts: []string{sampleStats},
		refused: []string{`{}`, strings.Replace(sampleStats, `"total_volume"`, `"Total_Volume"`, 1),
			strings.Replace(sampleStats, `"id":"i"`, `"id":"j"`, 1)}},
	"StatusCount": samples[StatusCount]{texts: []string{`{"Awaiting":3}`},
		refused: []string{`{}`, `{"Awaiting":null}`, `{"Awaiting":-1}`}},
	"InvoiceRebate": samples[InvoiceRebate]{texts: []string{`{"id":"i","paid_amount":{"USD":5},"rebate":{"USD":1},` +
		`"created":"c"}`}, refused: []string{`{}`, `{"id":"i","Paid_Amount":{},"rebate":{}}`}},
	"CodeTotal": samples[CodeTotal]{texts: []string{`{"Btc":{"USD":5,"EUR":6}}`},
		refused: []string{`{}`, `{"Btc":null}`}},

	"Client": noJSON("it makes calls"), "Withdrawals": noJSON("it makes calls"), "Invoices": noJSON("it makes calls"),
	"Invites": noJSON("it makes calls"), "Resellers": noJSON("it makes calls"),
	"Option": noJSON("an option"), "ListOptions": noJSON("an option"), "PageBase": noJSON("an option"),
	"Poll": noJSON("an option"), "Wait": noJSON("an option"), "Reading": noJSON("of a wait"),
	"WaitError": noJSON("an error"),
	"Outcome":   noJSON("not the service's: see TestOutcomeIsWritten"), "Error": noJSON("an error"),
	"InvalidError": noJSON("an error"), "ProxyError": noJSON("an error"),
}

// TestEncodingJSON checks that encoding/json reads and writes every type as this package does: the same value
// with the same text, or an error.
func TestEncodingJSON(t *testing.T) {
	for name, s := range everyType {
		t.Run(name, s.test)
	}
	for _, name := range exportedTypes(t) {
		if everyType[name] == nil {
			t.Errorf("%s is not tested: add samples of its JSON to everyType, or why it has none", name)
		}
	}
}

func (s samples[T]) test(t *testing.T) {
	sdk := s.sdk
	if sdk == nil {
		sdk = func(text string) (value T, err error) {
			err = decode([]byte(text), &value)
			return value, err
		}
	}
	for _, text := range s.texts {
		for _, around := range []string{text, " \n" + text + "\t "} {
			want, err := sdk(around)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			s.compare(t, []byte(around), want)
		}
		s.refuse(t, sdk, append(doubledKeys(t, text), text[:len(text)-1], text+"x", "")...)
	}
	s.refuse(t, sdk, s.refused...)
	// null is not a withdrawal, but may be a record of a list.
	if _, unreadable := any(*new(T)).(UnreadableWithdrawal); !unreadable {
		s.refuse(t, sdk, "null")
	}
	var none T
	if text, err := json.Marshal(none); err == nil {
		var again T
		if err := json.Unmarshal(text, &again); err == nil && !equalButText(again, none) {
			t.Errorf("the zero value is written as %s, which is read as %+v", text, again)
		}
	}
}

// compare reads a text with encoding/json, alone and within other values, writes it, and reads the result.
func (s samples[T]) compare(t *testing.T, text []byte, want T) {
	t.Helper()
	var alone T
	var within struct {
		Value  T
		Values []T
		Map    map[string]*T
	}
	if err := json.Unmarshal(text, &alone); err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	whole := fmt.Appendf(nil, `{"Value":%[1]s,"Values":[%[1]s],"Map":{"a":%[1]s}}`, text)
	if err := json.Unmarshal(whole, &within); err != nil {
		t.Errorf("%s: %v", whole, err)
		return
	}
	copy(whole, bytes.Repeat([]byte("#"), len(whole))) // its memory is reused
	for where, got := range map[string]T{"alone": alone, "in a struct": within.Value, "in a slice": within.Values[0],
		"in a map": *within.Map["a"]} {
		if !sameValue(got, want) {
			t.Errorf("%s %s is read as %+v, want %+v", text, where, got, want)
		}
	}
	written, err := json.Marshal(alone)
	if err != nil {
		t.Errorf("%s is not written again: %v", text, err)
		return
	}
	var again T
	if err := json.Unmarshal(written, &again); err != nil || !equalButText(again, want) {
		t.Errorf("%s is written as %s, which is read as %+v, %v", text, written, again, err)
	}
	if got, ok := any(again).(interface{ RawJSON() json.RawMessage }); ok {
		if got := got.RawJSON(); !bytes.Equal(compact(t, got), compact(t, text)) {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	if fields := withoutText(alone); !reflect.DeepEqual(fields, alone) { // one that was not decoded
		written, err := json.Marshal(fields)
		if _, unreadable := any(alone).(UnreadableWithdrawal); unreadable {
			if err == nil {
				t.Errorf("a record without a text is written as %s", written)
			}
			return
		}
		var again T
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		if err != nil || !equalButText(again, want) {
			t.Errorf("%+v is written as %s, which is read as %+v, %v", fields, written, again, err)
		}
	}
}

// refuse expects both decoders to return an error and to leave the value unchanged.
func (s samples[T]) refuse(t *testing.T, sdk func(string) (T, error), texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := sdk(text); err == nil {
			t.Errorf("%s: this package reads it", text)
		}
		var got, none T
		if err := json.Unmarshal([]byte(text), &got); err == nil || !reflect.DeepEqual(got, none) {
			t.Errorf("%s: encoding/json reads it as %+v, %v", text, got, err)
		}
	}
}

func compact(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sameValue compares two values completely, with the texts that they keep, except for the size of a page,
// which is that of the whole answer.
func sameValue(a, b any) bool {
	return fmt.Sprintf("%#v", plain(a, true)) == fmt.Sprintf("%#v", plain(b, true))
}

func equalButText(a, b any) bool {
	return fmt.Sprintf("%#v", plain(a, false)) == fmt.Sprintf("%#v", plain(b, false))
}

// plain returns a value as maps, slices and texts.
func plain(value any, text bool) any {
	var of func(v reflect.Value) any
	of = func(v reflect.Value) any {
		switch v.Kind() {
		case reflect.Struct:
			fields := map[string]any{}
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if name == "size" || name == "raw" && !text {
					continue
				}
				fields[name] = of(v.Field(i))
			}
			return fields
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return string(v.Bytes())
			}
			all := []any{}
			for i := range v.Len() {
				all = append(all, of(v.Index(i)))
			}
			return all
		case reflect.Pointer:
			if v.IsNil() {
				return nil
			}
			return of(v.Elem())
		case reflect.Interface:
			return fmt.Sprint(v) // an error
		}
		return fmt.Sprintf("%#v", v)
	}
	return of(reflect.ValueOf(value))
}

// withoutText returns a value as a program would make it.
func withoutText[T any](value T) T {
	switch v := any(&value).(type) {
	case *Withdrawal:
		v.raw = nil
	case *Invoice:
		v.raw = nil
	case *Invite:
		v.raw = nil
	case *Reseller:
		v.raw = nil
	case *RebateList:
		v.raw = nil
	case *RebateMap:
		v.raw = nil
	case *ResellerStats:
		v.raw = nil
	case *UnreadableWithdrawal:
		v.raw = nil
	}
	return value
}

// doubledKeys returns copies of the text, each with one key given twice.
func doubledKeys(t *testing.T, text string) (all []string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	for depth, inObject, atKey := 0, []bool{false}, false; ; {
		token, err := dec.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case token == json.Delim('{') || token == json.Delim('['):
			inObject = append(inObject, token == json.Delim('{'))
			depth, atKey = depth+1, token == json.Delim('{')
			continue
		case token == json.Delim('}') || token == json.Delim(']'):
			inObject, depth = inObject[:depth], depth-1
			atKey = inObject[depth]
			continue
		case atKey:
			end := int(dec.InputOffset())
			key, _ := json.Marshal(token)
			var value json.RawMessage
			rest := strings.TrimLeft(text[end:], " :")
			if err := json.NewDecoder(strings.NewReader(rest)).Decode(&value); err != nil {
				t.Fatal(err)
			}
			all = append(all, text[:end-len(key)]+string(key)+":"+string(value)+","+text[end-len(key):])
			atKey = false
			continue
		}
		atKey = inObject[depth]
	}
}

// TestChangedValuesAreWritten checks that a changed value is written with its changes, not as it was read.
func TestChangedValuesAreWritten(t *testing.T) {
	var w Withdrawal
	var p WithdrawalPage
	if err := errors.Join(json.Unmarshal([]byte(goodRecord), &w),
		json.Unmarshal([]byte(`{"page_content":[`+goodRecord+`],"page_count":1,"total":1}`), &p)); err != nil {
		t.Fatal(err)
	}
	w.Amount.Minor, p.Items[0].Current = 6, "Done"
	if text, err := json.Marshal(w); err != nil || !strings.Contains(string(text), `{"Btc":6}`) {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"current":"Done"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPageIsWrittenInOrder checks that a page keeps its records in their places.
func TestPageIsWrittenInOrder(t *testing.T) {
	other := strings.ReplaceAll(goodRecord, "w1", "w2")
	for _, records := range [][]string{{sampleUnread, goodRecord, other}, {goodRecord, sampleUnread, `7`, other},
		{goodRecord, other, sampleUnread}, {`7`}} {
		want := `{"page_content":[` + strings.Join(records, ",") + `],"page_count":1,"total":3}`
		var page lenientPage
		if err := decode([]byte(want), &page); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(page.WithdrawalPage); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

// exportedTypes returns the names of the exported types in the source.
func exportedTypes(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
						names = append(names, spec.Name.Name)
					}
				}
			}
		}
	}
	for name := range maps.Keys(everyType) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no type %s", name)
		}
	}
	return names
}

func sourceFiles(t *testing.T) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fileSet, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

var fileSet = token.NewFileSet()

// TestNoExperimentalTypes checks that no exported name has a type of the experimental package, whose next
// version may differ.
func TestNoExperimentalTypes(t *testing.T) {
	list := exec.Command("go", "list", "-trimpath", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=") // as make build compiles it
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	compiled := importer.ForCompiler(fileSet, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	pkg, err := (&types.Config{Importer: compiled}).Check("example.com/till/pkg/api", fileSet, sourceFiles(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := experimentalNames(pkg); len(found) > 0 {
		t.Errorf("types of the experimental package are exported by %q", found)
	}
	file, err := parser.ParseFile(fileSet, "x.go",
		`package x; import "github.com/go-json-experiment/json/jsontext"; type A struct{ b }; type b struct{}; func (b) `+
			`M(map[string][]*jsontext.Value) {}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if pkg, err = (&types.Config{Importer: compiled}).Check("x", fileSet, []*ast.File{file}, nil); err != nil ||
		len(experimentalNames(pkg)) != 1 {
		t.Errorf("an example is not found: %v", err)
	}
}

// experimentalNames returns the exported names of a package that lead to a type of the experimental package.
func experimentalNames(pkg *types.Package) (found []string) {
	var leads func(typ types.Type, seen map[types.Type]bool) bool
	leads = func(typ types.Type, seen map[types.Type]bool) bool {
		if seen[typ] {
			return false
		}
		seen[typ] = true
		to := func(typ types.Type) bool { return leads(typ, seen) }
		switch typ := typ.(type) {
		case *types.Alias:
			return to(types.Unalias(typ))
		case *types.Named:
			if of := typ.Obj().Pkg(); of != pkg {
				return of != nil && strings.Contains(of.Path(), "go-json-experiment")
			}
			methods := types.NewMethodSet(types.NewPointer(typ))
			for i := range methods.Len() {
				if method := methods.At(i).Obj(); method.Exported() && to(method.Type()) {
					return true
				}
			}
			return to(typ.Underlying())
		case *types.Struct:
			for i := range typ.NumFields() {
				if field := typ.Field(i); field.Exported() && to(field.Type()) {
					return true
				}
			}
		case *types.Signature:
			return to(typ.Params()) || to(typ.Results())
		case *types.Tuple:
			for i := range typ.Len() {
				if to(typ.At(i).Type()) {
					return true
				}
			}
		case *types.Interface:
			for i := range typ.NumMethods() {
				if to(typ.Method(i).Type()) {
					return true
				}
			}
		case *types.Map:
			return to(typ.Key()) || to(typ.Elem())
		case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
			return to(typ.Elem())
		}
		return false
	}
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() && leads(object.Type(), map[types.Type]bool{}) {
			found = append(found, name)
		}
	}
	return found
}
