package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	yaml "go.yaml.in/yaml/v3"
)

// parse reads a configuration. It also returns the document, for edits; its kind is zero if the text has
// none.
func parse(data []byte) (File, *yaml.Node, *Error) {
	doc, err := parseYAML(data)
	if err != nil {
		return File{}, nil, err
	}
	f, r := File{Profiles: map[string]Profile{}}, new(reader)
	if doc.Kind != 0 {
		r.file(doc.Content[0], &f)
	}
	if r.err != nil {
		return File{}, nil, r.err
	}
	return f, doc, nil
}

func (r *reader) file(n *yaml.Node, f *File) {
	values := r.mapping(n, theTop, oneOf(theTop, "current", keyCurrency, keyLayouts, "profiles"))
	if n := values["current"]; n != nil {
		if f.Current = r.text(n, "current"); !ValidProfileName(f.Current) {
			r.fail(n, "current: %q cannot be the name of a profile: write the name of one of profiles", f.Current)
		}
	}
	f.Currencies = r.currencies(values[keyCurrency], keyCurrency, money.NewRegistry())
	f.Layouts = r.layouts(values[keyLayouts])
	profiles := r.mapping(values["profiles"], "profiles", func(key, _ string) error {
		if err := checkProfileName(key); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		f.Profiles[name] = r.profile(profiles[name], "profiles."+name, *f)
	}
}

// profile reads one profile. It reads the currencies before the lists, because limits are amounts in them.
func (r *reader) profile(n *yaml.Node, name string, f File) Profile {
	p := Profile{Values: map[string]string{}, Lists: map[string][]string{}}
	values := r.mapping(n, name, oneOf("a profile", ProfileKeys()...))
	name += "."
	for _, s := range table() {
		n := values[s.key]
		if n == nil || s.list {
			continue
		}
		value := r.text(n, name+s.key)
		if err := s.checkValue(value); err != nil {
			r.fail(n, "%s: %w", name+s.key, err)
		}
		if p.Values[s.key] = value; s.key == "base_url" {
			p.Values[s.key], _ = NormalizeBaseURL(value)
		}
	}
	p.Currencies = r.currencies(values[keyCurrency], name+keyCurrency, money.NewRegistry().With(f.Currencies...))
	registry := f.registry(p)
	for _, s := range table() {
		if !s.list || s.key == keyCurrency {
			continue
		}
		for _, item := range r.list(values[s.key], name+s.key) {
			text, err := p.add(s.key, r.text(item, name+s.key), registry)
			if err != nil {
				r.fail(item, "%s: %w", name+s.key, err)
			}
			p.Lists[s.key] = append(p.Lists[s.key], text)
		}
	}
	return p
}

// add adds an item of a list to what it means. It returns the item as it is shown.
func (p *Profile) add(key, text string, registry money.Registry) (string, error) {
	switch key {
	case keyCommand, keyOnFinish:
		if strings.ContainsRune(text, 0) {
			return "", errors.New("an argument has a NUL character: remove it")
		}
		return text, checkCommand(key, append(p.Lists[key], text)) // the arguments may be any text, even empty
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

func (r *reader) currencies(n *yaml.Node, name string, known money.Registry) (entries []money.Entry) {
	lines := map[string]int{}
	for _, item := range r.list(n, name) {
		e := r.currency(item, name, known)
		code := strings.ToLower(e.Code)
		if first, double := lines[code]; double {
			r.fail(item, "%s: the currency %s is given twice, first in line %d: take one away", name, e.Code, first)
		}
		lines[code] = item.Line
		entries = append(entries, e)
	}
	return entries
}

// currency reads one entry of a list of currencies. The kind is optional if the code is already known.
func (r *reader) currency(n *yaml.Node, name string, known money.Registry) money.Entry {
	nodes := r.mapping(n, name, oneOf("a currency", "code", "kind", "decimals", "memo", keyFormat))
	values := map[string]string{}
	for _, key := range []string{"code", "kind", "memo", keyFormat} {
		if nodes[key] != nil {
			values[key] = r.text(nodes[key], name+"."+key)
		}
	}
	kinds := map[string]api.Kind{"crypto": api.Crypto, "fiat": api.Fiat}
	e := money.Entry{
		Code: values["code"], Kind: kinds[values["kind"]], Decimals: money.Unknown,
		MemoRequired: nodes["memo"] != nil, AddressFormat: values[keyFormat],
	}
	decimals := nodes["decimals"]
	if decimals != nil {
		var err error
		e.Decimals, err = strconv.Atoi(decimals.Value)
		if decimals.ShortTag() != "!!int" || err != nil || strconv.Itoa(e.Decimals) != decimals.Value ||
			e.Decimals < 0 || e.Decimals > api.MaxDecimals {
			r.fail(decimals, "%s.decimals: it is not a number from 0 to %d: write how many decimals the service counts",
				name, api.MaxDecimals)
		}
	}
	for _, rule := range []struct {
		key string
		ok  bool
		is  string
	}{
		{"code", money.ValidCode(e.Code), "a code: write letters and digits, such as Btc"},
		{"kind", e.Kind != "", "a kind: write crypto or fiat"},
		{"memo", values["memo"] == "required", "one of its values: write required, or remove it"},
		{keyFormat, slices.Contains(address.Formats(), e.AddressFormat), "a format: write " + near.Or(address.Formats())},
	} {
		if nodes[rule.key] != nil && !rule.ok {
			r.fail(nodes[rule.key], "%s.%s: %s is not %s", name, rule.key, quoted(values[rule.key]), rule.is)
		}
	}
	is, _ := known.Lookup(e.Code)
	switch {
	case nodes["code"] == nil:
		r.fail(n, "%s: an entry has no code: write it as {code: Btc, kind: crypto, decimals: N}", name)
	case e.Kind == "" && is.Kind == "":
		r.fail(n, "%s: %s has no kind: add kind: crypto or kind: fiat", name, e.Code)
	}
	e.Kind = cmp.Or(e.Kind, is.Kind)
	switch builtin, found := money.NewRegistry().Lookup(e.Code); {
	case found && builtin.Kind != e.Kind:
		r.fail(n, "%s: %s is a %s currency and cannot be made another: use a code of its own",
			name, builtin.Currency().Code, strings.ToLower(string(builtin.Kind)))
	case found && builtin.Code == "USD" && e.Decimals != money.Unknown && e.Decimals != builtin.Decimals:
		r.fail(decimals,
			"%s: the service counts USD with %d decimals, and others would move the point of every amount: leave them out",
			name, builtin.Decimals)
	}
	return e
}

// layouts reads the layouts of files by name. Check says whether their values mean something.
func (r *reader) layouts(n *yaml.Node) map[string]sheet.Layout {
	found := r.mapping(n, keyLayouts, func(key, _ string) error { return checkProfileName(key) })
	all := map[string]sheet.Layout{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all[name] = r.layout(found[name], keyLayouts+"."+name)
	}
	return all
}

func (r *reader) layout(n *yaml.Node, name string) (l sheet.Layout) {
	values := r.mapping(n, name, oneOf("a layout", "columns", "other_columns", "skip_lines", "until_blank", "delimiter",
		"encoding", "decimal", "group", "currency", "sheet"))
	for _, text := range []struct {
		key string
		to  *string
	}{{"other_columns", &l.Other}, {"delimiter", &l.Delimiter}, {"encoding", &l.Encoding}, {"decimal", &l.Decimal},
		{"group", &l.Group}, {"currency", &l.Currency}, {"sheet", &l.Sheet}} {
		if values[text.key] != nil {
			*text.to = r.text(values[text.key], name+"."+text.key)
		}
	}
	if l.Delimiter == "tab" {
		l.Delimiter = "\t"
	}
	columns := r.mapping(values["columns"], name+".columns", oneOf("a layout's columns", sheet.Names()...))
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if l.Columns == nil {
			l.Columns = map[string]string{}
		}
		l.Columns[column] = r.text(columns[column], name+".columns."+column)
	}
	if n := values["skip_lines"]; n != nil {
		var err error
		if l.SkipLines, err = strconv.Atoi(n.Value); err != nil || n.ShortTag() != "!!int" {
			r.fail(n, "%s.skip_lines: it is not a number of lines: write one such as 2", name)
		}
	}
	if n := values["until_blank"]; n != nil {
		if l.UntilBlank = n.Value == "true"; n.ShortTag() != "!!bool" {
			r.fail(n, "%s.until_blank: write true or false", name)
		}
	}
	if err := l.Check(); err != nil {
		key, _, _ := strings.Cut(err.Error(), ":")
		r.fail(cmp.Or(values[key], n), "%s.%w", name, err)
	}
	return l
}
