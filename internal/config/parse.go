package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	yaml "go.yaml.in/yaml/v3"
)

// parse reads a configuration. It also returns the document, for edits; its kind is zero if the text has
// none.
func parse(data []byte) (f File, doc *yaml.Node, wrong *Error) {
	if doc, wrong = parseYAML(data); wrong != nil {
		return File{}, nil, wrong
	}
	f.Profiles = map[string]Profile{}
	if doc.Kind != 0 {
		f.read(value{doc.Content[0], theTop, &wrong})
	}
	if wrong != nil {
		return File{}, nil, wrong
	}
	return f, doc, nil
}

func (f *File) read(v value) {
	top := v.mapping(oneOf(theTop, "current", keyCurrency, keyLayouts, "profiles"))
	f.Current = top["current"].text()
	f.Currencies = currencies(top[keyCurrency], money.NewRegistry())
	named := func(key, _ string) error { return checkProfileName(key) }
	layouts, profiles := top[keyLayouts].mapping(named), top["profiles"].mapping(named)
	f.Layouts = map[string]sheet.Layout{}
	for _, name := range slices.Sorted(maps.Keys(layouts)) {
		f.Layouts[name] = layout(layouts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		f.Profiles[name] = f.profile(profiles[name])
	}
}

// profile reads one profile. It reads the currencies first, because limits are amounts in them.
func (f File) profile(v value) Profile {
	p := Profile{Values: map[string]string{}, Lists: map[string][]string{}}
	values := v.mapping(oneOf("a profile", ProfileKeys()...))
	p.Currencies = currencies(values[keyCurrency], money.NewRegistry().With(f.Currencies...))
	registry := f.registry(p)
	for _, s := range table {
		setting := values[s.key]
		switch {
		case setting.Node == nil, s.key == keyCurrency:
		case s.list:
			for _, item := range setting.items(s.example != "") {
				text, err := p.add(s.key, item.text(), registry)
				item.check(err)
				p.Lists[s.key] = append(p.Lists[s.key], text)
			}
		default:
			p.Values[s.key] = setting.text(s.tag)
			setting.check(s.checkValue(p.Values[s.key]))
		}
	}
	if base := p.Values["base_url"]; base != "" {
		p.Values["base_url"], _ = NormalizeBaseURL(base)
	}
	return p
}

// add adds an item of a list to what it means. It returns the item as it is shown.
func (p *Profile) add(key, text string, registry money.Registry) (string, error) {
	switch key {
	case keyCommand, keyOnFinish:
		switch { // the arguments may be any text, even empty
		case strings.ContainsRune(text, 0):
			return "", errors.New("an argument has a NUL character: remove it")
		case len(p.Lists[key]) == 0 && !filepath.IsAbs(text): // another user could put one into a directory of PATH
			return "", errors.New("the command does not begin with an absolute path: write it as " + find(key).example)
		}
		return text, nil
	case keyAllow:
		p.Limits.AllowAddresses = append(p.Limits.AllowAddresses, text)
		return text, cmp.Or(checkText(text), registry.CheckAllowed(text))
	case keyUnlimited:
		c, err := registry.ParseCurrency(text)
		p.Limits.Unlimited = append(p.Limits.Unlimited, c)
		return c.Code, err
	}
	limits := map[string]*[]api.Amount{
		keyAbove: &p.ApprovalsAbove, keyMax: &p.Limits.MaxPerWithdrawal, keyMaxRun: &p.Limits.MaxPerRun,
		keyMaxDay: &p.Limits.MaxPerDay, keyMaxMonth: &p.Limits.MaxPerMonth,
	}[key]
	a, err := registry.ParseAmount(text, api.Currency{})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(*limits, func(b api.Amount) bool { return b.Unit() == a.Unit() }) {
		return "", fmt.Errorf("%s has two limits: take one away", a.Code)
	}
	*limits = append(*limits, a)
	return registry.Format(a), nil
}

func currencies(v value, known money.Registry) (entries []money.Entry) {
	lines := map[string]int{}
	for _, item := range v.items(true) {
		e := currency(item, known)
		code := strings.ToLower(e.Code)
		if first, double := lines[code]; double {
			item.fail("the currency %s is given twice, first in line %d: take one away", e.Code, first)
		}
		lines[code] = item.Line
		entries = append(entries, e)
	}
	return entries
}

// currency reads one entry of a list of currencies. The kind is optional if the code is already known.
func currency(v value, known money.Registry) money.Entry {
	values := v.mapping(oneOf("a currency", "code", "kind", "decimals", "memo", keyFormat))
	kinds := map[string]api.Kind{"crypto": api.Crypto, "fiat": api.Fiat}
	e := money.Entry{
		Code: values["code"].text(), Kind: kinds[values["kind"].text()], Decimals: money.Unknown,
		MemoRequired: values["memo"].text() == "required", AddressFormat: values[keyFormat].text(),
	}
	if decimals := values["decimals"]; decimals.Node != nil {
		e.Decimals, _ = strconv.Atoi(decimals.Value)
		if decimals.ShortTag() != "!!int" || strconv.Itoa(e.Decimals) != decimals.Value || e.Decimals < 0 ||
			e.Decimals > api.MaxDecimals {
			decimals.fail("it is not a number from 0 to %d: write how many decimals the service counts", api.MaxDecimals)
		}
	}
	values["code"].require(money.ValidCode(e.Code), "a code: write letters and digits, such as Btc")
	values["kind"].require(e.Kind != "", "a kind: write crypto or fiat")
	values["memo"].require(e.MemoRequired, "one of its values: write required, or remove it")
	values[keyFormat].require(slices.Contains(address.Formats(), e.AddressFormat), "a format: write "+near.Or(address.Formats()))
	is, _ := known.Lookup(e.Code)
	switch {
	case values["code"].Node == nil:
		v.fail("an entry has no code: write it as {code: Btc, kind: crypto, decimals: N}")
	case e.Kind == "" && is.Kind == "":
		v.fail("%s has no kind: add kind: crypto or kind: fiat", e.Code)
	}
	e.Kind = cmp.Or(e.Kind, is.Kind)
	switch builtin, found := money.NewRegistry().Lookup(e.Code); {
	case found && builtin.Kind != e.Kind:
		v.fail("%s is a %s currency and cannot be made another: use a code of its own",
			builtin.Currency().Code, strings.ToLower(string(builtin.Kind)))
	case found && builtin.Code == "USD" && e.Decimals != money.Unknown && e.Decimals != builtin.Decimals:
		v.failKey(values["decimals"].Node,
			"%s: the service counts USD with %d decimals, and others would move the point of every amount: leave them out",
			v.name, builtin.Decimals)
	}
	return e
}

// layout reads how a person's files are to be read. Its keys are those of the JSON of sheet.Layout, whose Check
// says whether the values mean something.
func layout(v value) (l sheet.Layout) {
	values := v.mapping(oneOf("a layout", "columns", "other_columns", "skip_lines", "until_blank", "delimiter",
		"encoding", "decimal", "group", "currency", "sheet"))
	columns := values["columns"].mapping(oneOf("a layout's columns", sheet.Names()...))
	if *v.wrong != nil { // it may be no mapping
		return l
	}
	for _, named := range slices.AppendSeq(slices.Collect(maps.Values(values)), maps.Values(columns)) {
		if tag := named.ShortTag(); tag == "!!timestamp" || tag == "!!null" { // JSON would have another text, or none
			named.text()
		}
	}
	var content any
	text := []byte("null")
	err := v.Decode(&content)
	if err == nil {
		text, err = json.Marshal(content)
	}
	err = cmp.Or(err, json.Unmarshal(text, &l))
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		kinds := map[string]string{"int": "a number", "bool": "true or false", "string": "a text, such as one in quotes,"}
		key, _, _ := strings.Cut(wrong.Field, ".")
		values[key].fail("%s belongs here", cmp.Or(kinds[wrong.Type.String()], "another value"))
	} else if err != nil {
		v.fail("%w", err)
	}
	if l.Delimiter == "tab" {
		l.Delimiter = "\t"
	}
	if err := l.Check(); err != nil {
		key, _, _ := strings.Cut(err.Error(), ":")
		v.failKey(cmp.Or(values[key].Node, v.Node), "%s.%w", v.name, err)
	}
	return l
}

// parseYAML reads a text that is one YAML document without aliases. The document's kind is zero if the text
// has none.
func parseYAML(data []byte) (*yaml.Node, *Error) {
	number := 0
	for line := range bytes.Lines(data) {
		if number++; !utf8.Valid(line) {
			return nil, atLine(number, "the text is not UTF-8: save the file in that encoding")
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc, second := new(yaml.Node), new(yaml.Node)
	err := dec.Decode(doc)
	if err == nil {
		if err = dec.Decode(second); err == nil {
			return nil, atLine(second.Line, "a second document begins: keep one, without a line of ---")
		}
	}
	if !errors.Is(err, io.EOF) { // such as "yaml: line 3: did not find expected key"
		message, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
		if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
			_, message, _ = strings.Cut(message, ": ")
		}
		return nil, atLine(line, "this is not YAML (%s): check indentation, colons and quotes", message)
	}
	if err := refuseAliases(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// refuseAliases refuses aliases, so that every value is in the place where it is written. An alias could also
// expand a small file into a huge one.
func refuseAliases(n *yaml.Node) *Error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return atLine(n.Line, "anchors and aliases (& and *) are not taken: write the value out, or put it in quotes")
	}
	for _, c := range n.Content {
		if err := refuseAliases(c); err != nil {
			return err
		}
	}
	return nil
}

// isNull reports whether the value is empty. A quoted or tagged null (!!null "") is not: the library would
// write it back as a text.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Style == 0
}

const theTop = "the configuration" // the name of the outermost mapping

// A value is a node of a configuration with its full name. The zero value is one that is missing.
type value struct {
	*yaml.Node
	name  string
	wrong **Error // the first error of the configuration; after it, what is read means nothing
}

func (v value) fail(format string, args ...any) {
	v.failKey(v.Node, "%s: %w", v.name, fmt.Errorf(format, args...))
}

// check records an error about the value, if there is one.
func (v value) check(err error) {
	if err != nil {
		v.fail("%w", err)
	}
}

// require refuses a value that is there and is not what it must be.
func (v value) require(ok bool, what string) {
	if v.Node != nil && !ok {
		v.fail("%.80q is not %s", v.Value, what)
	}
}

// failKey records an error about a node, such as a key of the value.
func (v value) failKey(n *yaml.Node, format string, args ...any) {
	if *v.wrong == nil {
		err := fmt.Errorf(format, args...)
		*v.wrong = &Error{Msg: err.Error(), Advice: hint(err), line: n.Line}
	}
}

// mapping returns the values of a mapping by key. A missing or empty mapping has none. Each key must occur once
// and pass the check, which gets the key and its full name. yaml.v3 could decode into structs and refuse unknown
// keys too, but its messages name Go types, and it takes a number for a text and a missing value for an empty one.
func (v value) mapping(check func(key, full string) error) map[string]value {
	if v.Node == nil || isNull(v.Node) {
		return nil
	}
	if v.Kind != yaml.MappingNode || v.ShortTag() != "!!map" {
		v.fail("%s, where keys with values belong", kindName(v.Node))
		return nil
	}
	values, lines := map[string]value{}, map[string]int{}
	for pair := range slices.Chunk(v.Content, 2) {
		key, node, full := pair[0], pair[1], strings.TrimPrefix(v.name+"."+short(pair[0].Value), theTop+".")
		switch first, double := values[key.Value]; {
		case double && full == keyLayouts && node.Kind == yaml.MappingNode && (first.Kind == node.Kind || isNull(first.Node)):
			joined := *node // what payout layout -o yaml prints was appended to the file
			joined.Content = slices.Concat(first.Content, node.Content)
			node = &joined
		case double:
			v.failKey(key, "the key %s is given twice, first in line %d: take one away", full, lines[key.Value])
		}
		if key.Kind != yaml.ScalarNode {
			v.failKey(key, "%s as a key, where a name belongs", kindName(key))
		} else if err := check(key.Value, full); err != nil {
			v.failKey(key, "%w", err)
		}
		values[key.Value], lines[key.Value] = value{node, full, v.wrong}, key.Line
	}
	return values
}

// oneOf returns a check that accepts only the known keys.
func oneOf(what string, known ...string) func(key, full string) error {
	return func(key, full string) error {
		switch {
		case slices.Contains(known, key):
			return nil
		case key == "api_key":
			return failf("api_key: keys are not stored in the configuration").
				advise("leave it out, and use till auth login, or api_key_command, or api_key_file in a profile, or the variable TILL_API_KEY")
		case what == theTop && find(key).profile && !find(key).list:
			return fmt.Errorf("%s: it belongs to a profile: write it under profiles and the profile's name", key)
		}
		return failf("the key %s is not known: %s has %s", full, what, strings.Join(known, ", ")).
			advise("%s", near.Question(key, "", known))
	}
}

// items returns the items of a list, each with the name of the list. A missing list has none, and so has an empty one
// if it may be: who wrote down an empty list of limits meant to set one.
func (v value) items(mayBeEmpty bool) (items []value) {
	switch {
	case v.Node == nil || mayBeEmpty && isNull(v.Node):
		return nil
	case isNull(v.Node):
		v.fail(noValue)
	case v.Kind != yaml.SequenceNode || v.ShortTag() != "!!seq":
		v.fail("%s, where a list belongs: write it as [first, second]", kindName(v.Node))
	}
	for _, n := range v.Content {
		item := value{n, v.name, v.wrong}
		if isNull(n) {
			item.fail(noValue)
		}
		items = append(items, item)
	}
	return items
}

// text returns a value that is a text, or has one of the other tags. It refuses other numbers, booleans and the
// like, because YAML does not keep how they are written: 010 is 8, and no is false. A missing value is empty.
func (v value) text(others ...string) string {
	switch {
	case v.Node == nil:
		return ""
	case isNull(v.Node):
		v.fail(noValue)
	case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" && !slices.Contains(others, v.ShortTag()):
		v.fail("%s, where a text belongs: put it in quotes", kindName(v.Node))
	}
	return v.Value
}

const noValue = "it has no value: write one, or take the line away"

// short returns a key of any length and content, in a form that fits a message.
func short(key string) string {
	if quoted := fmt.Sprintf("%.80q", key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}

func kindName(n *yaml.Node) string {
	names := map[string]string{
		"!!map": "a mapping", "!!seq": "a list", "!!str": "a text", "!!int": "a number", "!!float": "a number",
		"!!bool":      "true or false",
		"!!timestamp": "a date", "!!null": "nothing", "!!merge": "a merge (<<)",
	}
	return cmp.Or(names[n.ShortTag()], "a value of an unknown kind")
}
