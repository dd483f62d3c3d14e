package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gojson "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sampled tests the JSON of a type.
type sampled interface {
	test(t *testing.T)
	invalid() []string // texts that are refused
}

// samples has valid texts of a type, by the value that each is read as, if that is told, and invalid ones in
// addition to null and truncated texts.
type samples[T any] struct {
	texts   []string
	values  []T // of the first texts
	refused []string
	// sdk decodes a text as an answer is decoded. If nil, decode does.
	sdk func(text string) (T, error)
}

// noJSON says why a type has no JSON form in the service's interface.
type noJSON string

func (noJSON) test(*testing.T)   {}
func (noJSON) invalid() []string { return nil }

func (s samples[T]) invalid() []string { return s.refused }

// withMember returns withdrawals that have one more member each.
func withMember(members ...string) (all []string) {
	for _, member := range members {
		all = append(all, `{"id":"w","currency":{"Crypto":"Btc"},"address":"a","amount":{"Crypto":{"Btc":1}},`+member+`}`)
	}
	return all
}

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
	"Currency": samples[Currency]{texts: []string{`{ "Crypto" : "UsdtErc20" }`, `{"Fiat":"U\u0073d"}`,
		`{"Fiat":"a\"b\\é"}`},
		values: []Currency{{Crypto, "UsdtErc20"}, {Fiat, "Usd"}, {Fiat, "a\"b\\é"}},
		refused: []string{`{}`, `{"Crypto":""}`, `{"Crypto":null}`, `{"Crypto":1}`, `{"Crypto":"Btc","Fiat":"Usd"}`,
			`{"Crypto":"Btc","Crypto":"Btc"}`, `{"crypto":"Btc"}`, `{"CRYPTO":"Btc"}`, `{"Metal":"Au"}`, `{"":"Btc"}`, `"Btc"`,
			`["Crypto","Btc"]`, `1`, `true`, `{"Crypto":{"Btc":1}}`, `{"Crypto":"\ud800"`}},
	"Amount": samples[Amount]{texts: []string{`{"Fiat": {"USD": 2500}}`, `{"Crypto":{"Btc":9223372036854775807}}`,
		`{"Crypto":{"Btc":-9223372036854775808}}`, `{"Crypto":{"Btc":-0}}`, `{"Crypto":{"Btc":9007199254740993}}`},
		values: []Amount{{Fiat, "USD", 2500}, {Crypto, "Btc", math.MaxInt64}, {Crypto, "Btc", math.MinInt64},
			{Crypto, "Btc", 0}, {Crypto, "Btc", 1<<53 + 1}},
		refused: []string{`{}`, `{"Fiat":{}}`, `{"Fiat":null}`, `{"Fiat":{"USD":null}}`, `{"Fiat":{"USD":"1"}}`,
			`{"Fiat":{"USD":1.0}}`, `{"Fiat":{"USD":1e2}}`, `{"Fiat":{"USD":1E0}}`, `{"Fiat":{"USD":+1}}`,
			`{"Fiat":{"USD":true}}`, `{"Fiat":{"USD":NaN}}`, `{"Fiat":{"USD":[1]}}`, `{"Metal":{"Au":1}}`,
			`{"Fiat":{"USD":1},"Fiat":{"USD":1}}`, `{"Fiat":{"USD":9223372036854775808}}`,
			`{"Fiat":{"USD":-9223372036854775809}}`, `{"Fiat":{"USD":1,"EUR":1}}`, `{"Fiat":{"USD":1,"USD":1}}`,
			`{"Fiat":{"USD":1},"Crypto":{"Btc":1}}`, `{"Fiat":{"":1}}`, `{"fiat":{"USD":1}}`, `{"Fiat":"USD"}`, `{"Fiat":[1]}`,
			`1`, `"1"`, `[]`, `{"Fiat":{"USD":01}}`, `{"Fiat":{"USD":0x1}}`}},
	"Sum":       noJSON("the service has no sums"),
	"BigAmount": noJSON("the service has no amounts of this size; see TestSum"),
	"CodeAmount": samples[CodeAmount]{texts: []string{`{"USD":2500}`},
		refused: []string{`{}`, `{"USD":1,"EUR":2}`, `{"USD":null}`}},
	"CodeAmounts": samples[CodeAmounts]{texts: []string{`{"USD":5,"Btc":-1,"":0}`, `{}`},
		values: []CodeAmounts{{{"USD", 5}, {"Btc", -1}, {"", 0}}},
		refused: []string{`{"USD":1.5}`, `{"USD":null}`, `{"USD":"1"}`, `{"USD":1,"USD":1}`, `[]`, `{"USD":{}}`,
			`{"USD":1e1}`}},
	"Address": samples[Address]{texts: []string{`"bc1q\u0022x"`, `{"Crypto":{"currency":"Btc","address":"a"}}`,
		`{"Fiat":{"currency":"Usd","address":"a"}}`, `{"Crypto":{"address":"a","tag":[1],"currency":"Btc"}}`},
		values: []Address{{Text: `bc1q"x`}, {"a", "Btc", Crypto}, {"a", "Usd", Fiat}, {"a", "Btc", Crypto}},
		refused: []string{`""`, `{}`, `[]`, `1`, `{"Crypto":{}}`, `{"Crypto":{"address":"a"}}`,
			`{"Crypto":{"currency":"Btc"}}`, `{"Crypto":{"currency":"","address":"a"}}`,
			`{"Crypto":{"currency":"Btc","address":""}}`, `{"Metal":{"currency":"Au","address":"a"}}`,
			`{"Fiat":{"currency":"Usd"}}`, `{"Crypto":"a"}`, `{"Crypto":{"currency":"Btc","address":"a"},"Fiat":{}}`,
			`{"Crypto":{"currency":"Btc","address":"a","address":"b"}}`, `{"Crypto":{"currency":1,"address":"a"}}`,
			`{"crypto":{"currency":"Btc","address":"a"}}`, `{"Crypto":{"Currency":"Btc","address":"a"}}`}},
	"Status": samples[Status]{texts: []string{`{"status":"New","at":"2026-05-01T10:00:00"}`},
		refused: []string{`[]`, `"New"`, `{"status":1}`}},
	"Withdrawal": samples[Withdrawal]{texts: []string{sampleWithdrawal, goodRecord,
		`{"id":"w","currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":1}},"address":{"Crypto":{"currency":"Btc",` +
			`"address":"a"}},"statuses":null,"memo":"m","fee":1.10}`},
		refused: append([]string{`{}`, strings.Replace(goodRecord, `"id"`, `"ID"`, 1), "[" + goodRecord + "]",
			goodRecord + "{}",
			strings.Replace(goodRecord, `"amount"`, `"Amount"`, 1), strings.Replace(goodRecord, `"w1"`, `""`, 1),
			strings.Replace(goodRecord, `"w1"`, `5`, 1), strings.Replace(goodRecord, `{"Crypto":"Btc"}`, `"Btc"`, 1),
			strings.Replace(goodRecord, `"address":"a",`, "", 1), strings.Replace(goodRecord, `{"Btc":5}`, `{"Btc":5.0}`, 1),
			strings.Replace(goodRecord, `"a"`, `{"Fiat":{"currency":"Usd","address":"a"}}`, 1)},
			withMember(`"id":"w-2"`, `"amount":{"Crypto":{"Btc":2}}`, `"external_id":1.5`, `"external_id":9223372036854775808`,
				`"external_id":"1"`, `"is_testnet":"false"`, `"is_testnet":0`, `"statuses":{}`, `"statuses":[null,1]`,
				`"statuses":[null]`, `"callback":{}`, `"current":"\xff"`)...)},
	"WithdrawalPage": samples[WithdrawalPage]{texts: []string{`{"page_content":[` + goodRecord + `,` + sampleWithdrawal +
		`],"page_count":3,"total":250}`, `{"page_content":[],"page_count":0,"total":0}`,
		`{"page_content":null,"page_count":0,"total":7}`}, // null may be in place of an empty list
		refused: []string{`{}`, `[]`, `{"Page_Content":[],"page_count":0,"total":0}`,
			`{"page_content":[` + sampleUnread + `],"page_count":1,"total":1}`, `{"page_content":[],"page_count":1}`,
			`{"page_content":[null],"page_count":1,"total":1}`, `{"page_content":[{}],"page_count":1,"total":1}`,
			`{"page_content":[[]],"page_count":1,"total":1}`, `{"page_content":[,],"page_count":1,"total":1}`,
			`{"page_content":{},"page_count":1,"total":1}`, `{"page_content":[],"total":1}`, `{"page_count":1,"total":1}`,
			`{"page_content":[],"page_count":-1,"total":1}`, `{"page_content":[],"page_count":1,"total":-1}`,
			`{"page_content":[],"page_count":1.0,"total":1}`, `{"page_content":[],"page_count":1,"total":1e9}`,
			`{"page_content":[],"page_count":1,"total":null}`, `{"page_content":[],"page_count":1,"total":1,"total":1}`}},
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
		refused: []string{`{}`, `{"id":"i"}`, `{"currency":{"Fiat":"Usd"}}`, `{"id":"i","Currency":{"Fiat":"Usd"}}`,
			`{"id":"i","currency":{"Fiat":"Usd"},"items":[null]}`, `{"id":"i","currency":{"Fiat":"Usd"},"items":{}}`,
			`{"id":"i","currency":{"Fiat":"Usd"},"items":[{"name":"n"}]}`,
			`{"id":"i","currency":{"Fiat":"Usd"},"external_number":1.5}`}},
	"InvoiceItem": samples[InvoiceItem]{texts: []string{`{"amount":"2500","name":"Tea"}`,
		`{"amount":"-9223372036854775808","name":""}`, `{"name":"Tea","sku":{"a":1.5},"amount":"1"}`},
		values: []InvoiceItem{{"Tea", 2500}, {"", math.MinInt64}, {"Tea", 1}},
		refused: []string{`{}`, `{"name":"Tea"}`, `{"amount":1,"name":"Tea"}`, `{"Amount":"1","name":"Tea"}`,
			`{"amount":"","name":"Tea"}`, `{"amount":"1.0"}`, `{"amount":"1e3"}`, `{"amount":"+1"}`, `{"amount":" 1"}`,
			`{"amount":"01"}`, `{"amount":"-0"}`, `{"amount":"9223372036854775808"}`, `{"amount":"0x1"}`, `{"amount":"1_0"}`,
			`{"amount":"١"}`, `{"amount":null}`, `{"amount":"1","name":null}`, `{"amount":"1","amount":"1"}`, `[]`, `"1"`}},
	"CreateInvoice": samples[CreateInvoice]{texts: []string{`{"title":"t","currency":{"Fiat":"Usd"},` +
		`"items":[{"amount":"1","name":"n"}]}`,
		`{"order_id":"o","number":0,"title":"t","currency":{"Fiat":"Usd"},"items":[],"callback_url":"https://x.example"}`},
		refused: []string{`{}`, `{"title":"t","Currency":{"Fiat":"Usd"},"items":[]}`}},
	"Invite": samples[Invite]{texts: []string{sampleInvite, `{"invite":"` + someID + `","label":"l","url":"u"}`},
		refused: []string{`{}`, `{"Invite":"` + someID + `"}`, `{"invite":"x"}`, `{"label":"l"}`,
			`{"invite":"` + someID + `","label":5}`}},
	"Reseller": samples[Reseller]{texts: []string{sampleReseller},
		refused: []string{`{}`, `{"ID":"` + someID + `"}`, `{"id":"` + someID + `","rebates":null}`,
			`{"id":"` + someID + `","rebates":{"Btc":1}}`, `{"id":"` + someID + `","rebates":[]}`,
			`{"id":"` + someID + `","rebates":{"Btc":{"Crypto":{"Btc":1}},"Btc":{"Crypto":{"Btc":1}}}}`}},
	"Rebates": samples[Rebates]{texts: []string{`{"Usd":{"Fiat":{"USD":5}},"Btc":{"Crypto":{"Btc":1}}}`, `{}`},
		values:  []Rebates{{{"Usd", Amount{Fiat, "USD", 5}}, {"Btc", Amount{Crypto, "Btc", 1}}}},
		refused: []string{`[]`, `{"Usd":null}`}},
	"Rebate": samples[Rebate]{texts: []string{`{"Usd":{"Fiat":{"USD":5}}}`},
		refused: []string{`{}`, `{"Usd":{"Fiat":{"USD":5}},"Eur":{"Fiat":{"EUR":5}}}`}},
	"RebateList": samples[RebateList]{texts: []string{`[{"Fiat":{"USD":5}},{"Crypto":{"Btc":1}}]`, `[]`},
		refused: []string{`{}`, `[null]`, `[{"Fiat":{"USD":1.5}}]`}},
	"RebateMap": samples[RebateMap]{texts: []string{`{"Usd":{"Fiat":{"USD":5}}}`, `{}`},
		refused: []string{`[]`, `{"Usd":{"fiat":{"USD":5}}}`, `{"USD":{"Fiat":{"USD":null}}}`}},
	"ResellerStats": samples[ResellerStats]{texts: []string{sampleStats},
		refused: []string{`{}`, strings.Replace(sampleStats, `"total_volume"`, `"Total_Volume"`, 1),
			strings.Replace(sampleStats, `"id":"i"`, `"id":"j"`, 1), strings.Replace(sampleStats, `"rebate":{},`, "", 1),
			strings.Replace(sampleStats, `"Paid":2`, `"Paid":-1`, 1), strings.Replace(sampleStats, `"Paid":2`, `"Paid":2.0`, 1),
			strings.Replace(sampleStats, `"Paid":2`, `"Awaiting":1`, 1),
			strings.Replace(sampleStats, `{"USD":5}`, `{"USD":1.5}`, 1),
			strings.Replace(sampleStats, `9223372036854775807`, `9223372036854775808`, 1)}},
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
	for i, text := range s.texts {
		for _, around := range []string{text, " \n" + text + "\t "} {
			want, err := sdk(around)
			if err != nil || i < len(s.values) && !same(want, s.values[i], true) {
				t.Fatalf("%s is read as %+v, %v", text, want, err)
			}
			s.compare(t, []byte(around), want)
		}
		s.refuse(t, sdk, text[:len(text)-1], text+"x", "")
	}
	s.refuse(t, sdk, s.refused...)
	// null is not a withdrawal, but may be a record of a list.
	if _, unreadable := any(*new(T)).(UnreadableWithdrawal); !unreadable {
		s.refuse(t, sdk, "null")
	}
	var none, again T
	if text, err := json.Marshal(none); err == nil && json.Unmarshal(text, &again) == nil && !same(again, none, false) {
		t.Errorf("the zero value is written as %s, which is read as %+v", text, again)
	}
}

// compare reads a text with either package, alone and within other values, writes it, and reads the result.
func (s samples[T]) compare(t *testing.T, text []byte, want T) {
	t.Helper()
	var alone T
	type holder struct {
		Value  T
		Values []T
		Map    map[string]*T
	}
	var within, fast holder
	whole := fmt.Appendf(nil, `{"Value":%[1]s,"Values":[%[1]s],"Map":{"a":%[1]s}}`, text)
	if err := errors.Join(json.Unmarshal(text, &alone), json.Unmarshal(whole, &within),
		gojson.Unmarshal(whole, &fast)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	copy(whole, bytes.Repeat([]byte("#"), len(whole))) // its memory is reused
	for _, got := range []T{alone, within.Value, within.Values[0], *within.Map["a"], fast.Value, fast.Values[0]} {
		if !same(got, want, true) {
			t.Errorf("%s is read as %+v, want %+v", text, got, want)
		}
	}
	kept, keeps := any(&alone).(interface {
		RawJSON() json.RawMessage
		keep(json.RawMessage)
	})
	s.write(t, alone, want)
	if !keeps {
		return
	}
	var compact bytes.Buffer
	json.Compact(&compact, text)
	written, err := json.Marshal(alone)
	if got := kept.RawJSON(); !bytes.Equal(got, bytes.TrimSpace(text)) || string(written) != compact.String() {
		t.Errorf("%s keeps the text %s, and is written as %s, %v", text, got, written, err)
	}
	kept.keep(nil) // as a program would make it
	if _, unreadable := any(alone).(UnreadableWithdrawal); !unreadable {
		s.write(t, alone, want)
	} else if written, err := json.Marshal(alone); err == nil {
		t.Errorf("a record without a text is written as %s", written)
	}
}

// keep replaces the text that a value came from.
func (s *source) keep(text json.RawMessage) { s.raw = text }

// write writes a value with either package, and reads the results.
func (s samples[T]) write(t *testing.T, value, want T) {
	t.Helper()
	written, err := json.Marshal(value)
	fast, errFast := gojson.Marshal(value)
	for _, text := range [][]byte{written, fast} {
		var again T
		if err := errors.Join(err, errFast, json.Unmarshal(text, &again)); err != nil || !same(again, want, false) {
			t.Errorf("%+v is written as %s, which is read as %+v, %v", value, text, again, err)
		}
	}
}

// refuse expects each decoder to return an error and to leave the value unchanged.
func (s samples[T]) refuse(t *testing.T, sdk func(string) (T, error), texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := sdk(text); err == nil {
			t.Errorf("%s: this package reads it", text)
		}
		var got, other, none T
		err, fast := json.Unmarshal([]byte(text), &got), gojson.Unmarshal([]byte(text), &other)
		if err == nil || fast == nil || !reflect.DeepEqual(got, none) {
			t.Errorf("%s: it is read as %+v, %v, %v", text, got, err, fast)
		}
	}
}

// same compares two values: with the texts that they keep or without, and without the size of a page, which is
// that of the whole answer. A missing list is an empty one.
func same(a, b any, texts bool) bool {
	return cmp.Equal(a, b, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
		cmp.FilterPath(func(p cmp.Path) bool {
			last := p.Last().String()
			return last == ".size" || last == ".raw" && !texts
		}, cmp.Ignore()))
}

// TestInvalidUnionsAreNotWritten checks that a currency or amount without a kind or code has no JSON.
func TestInvalidUnionsAreNotWritten(t *testing.T) {
	for _, value := range []any{Currency{}, Currency{Crypto, ""}, Currency{"", "Btc"}, Currency{"Metal", "Au"}, Amount{},
		Amount{Crypto, "", 1}, Amount{"", "Btc", 1}, BigAmount{}, Rebates{{"Usd", Amount{}}}, Address{}} {
		if b, err := json.Marshal(value); err == nil {
			t.Errorf("%+v is written as %s", value, b)
		}
	}
}

func TestChangedValuesAreWritten(t *testing.T) {
	var w Withdrawal
	var p WithdrawalPage
	check(t, json.Unmarshal([]byte(goodRecord), &w))
	check(t, json.Unmarshal([]byte(`{"page_content":[`+goodRecord+`],"page_count":1,"total":1}`), &p))
	w.Amount.Minor, p.Items[0].Current = 6, "Done"
	if text, err := json.Marshal(w); err != nil || !strings.Contains(string(text), `{"Btc":6}`) {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"current":"Done"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// exportedTypes returns the names of the exported types in the source.
func exportedTypes(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range must[[]string](t)(filepath.Glob("*.go")) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), name, nil, 0)), func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	for name := range maps.Keys(everyType) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no type %s", name)
		}
	}
	return names
}

// TestNoExperimentalTypes checks that no exported function, method or field has a type of the experimental
// packages, whose next version may differ.
func TestNoExperimentalTypes(t *testing.T) {
	for _, name := range []string{".", "./sandbox"} {
		text := must[[]byte](t)(exec.Command("go", "doc", "-all", name).Output())
		for _, found := range regexp.MustCompile(`\b(gojson|jsontext|json)\.\w+`).FindAllString(string(text), -1) {
			if found != "json.RawMessage" {
				t.Errorf("%s: exported is a %s", name, found)
			}
		}
	}
}
