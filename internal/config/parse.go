package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	yaml "go.yaml.in/yaml/v3"
)

// parse reads a configuration: first which keys it has and of which kind their values are, then the values.
// The document is returned for edits; its kind is zero where there is none. The error is a *problem.
func parse(data []byte) (File, *yaml.Node, error) {
	doc, err := parseYAML(data)
	if err != nil {
		return File{}, nil, err
	}
	var raw fileYAML
	if doc.Kind != 0 {
		if err := checkNode(doc.Content[0], reflect.TypeOf(raw), theTop); err != nil {
			return File{}, nil, err
		}
		if err := doc.Decode(&raw); err != nil { // only what checkNode should have refused
			return File{}, nil, syntaxProblem(err)
		}
	}
	f := File{Current: raw.Current.text, Profiles: map[string]Profile{}}
	if raw.Current.line > 0 && !ValidProfileName(f.Current) {
		return File{}, nil, problemf(raw.Current.line, "current: %q cannot be the name of a profile: write one that stands under profiles", f.Current)
	}
	if f.Currencies, err = currencies(raw.Currencies, keyCurrency, money.NewRegistry()); err != nil {
		return File{}, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(raw.Profiles)) {
		if f.Profiles[name], err = f.profile(raw.Profiles[name], "profiles."+name+"."); err != nil {
			return File{}, nil, err
		}
	}
	return f, doc, nil
}

// profile reads the values of one profile. Limits are amounts in its currencies, wherever the file has those.
func (f File) profile(raw profileYAML, in string) (p Profile, err error) {
	p.Values = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(raw.Values)) {
		s, _ := scalar(key)
		v := raw.Values[key]
		if err := s.checkValue(v.text); err != nil {
			return Profile{}, problemf(v.line, "%s: %v", in+key, err)
		}
		if p.Values[key] = v.text; key == "base_url" {
			p.Values[key], _ = NormalizeBaseURL(v.text)
		}
	}
	for _, v := range raw.Command { // an argument may be anything, even empty
		if strings.ContainsRune(v.text, 0) {
			return Profile{}, problemf(v.line, "%s: an argument has a NUL character: take it away", in+keyCommand)
		}
		p.APIKeyCommand = append(p.APIKeyCommand, v.text)
	}
	if len(p.APIKeyCommand) > 0 {
		if err := checkCommand(p.APIKeyCommand); err != nil {
			return Profile{}, problemf(raw.Command[0].line, "%s: %v", in+keyCommand, err)
		}
	}
	if p.Currencies, err = currencies(raw.Currencies, in+keyCurrency, money.NewRegistry().With(f.Currencies...)); err != nil {
		return Profile{}, err
	}
	registry := f.registry(p)
	for _, v := range raw.Allow {
		err := checkText(v.text)
		if err == nil {
			err = registry.CheckAllowed(v.text)
		}
		if err != nil {
			return Profile{}, problemf(v.line, "%s: %v", in+keyAllow, err)
		}
		p.Limits.AllowAddresses = append(p.Limits.AllowAddresses, v.text)
	}
	if p.Limits.MaxPerWithdrawal, err = limits(raw.Most, in+keyMax, registry); err != nil {
		return Profile{}, err
	}
	if p.Limits.MaxPerRun, err = limits(raw.MostInARun, in+keyMaxRun, registry); err != nil {
		return Profile{}, err
	}
	return p, nil
}

func limits(raw []value, name string, registry money.Registry) (amounts []api.Amount, err error) {
	for _, v := range raw {
		a, err := registry.ParseAmount(v.text, api.Currency{})
		if err != nil {
			return nil, &problem{line: v.line, msg: name + ": " + err.Error(), advice: hint(err)}
		}
		if slices.ContainsFunc(amounts, func(b api.Amount) bool { return b.Kind == a.Kind && strings.EqualFold(b.Code, a.Code) }) {
			return nil, problemf(v.line, "%s: %s has two limits: take one away", name, a.Code)
		}
		amounts = append(amounts, a)
	}
	return amounts, nil
}

func currencies(raw []currencyYAML, name string, known money.Registry) (entries []money.Entry, err error) {
	seen := map[string]int{}
	for _, c := range raw {
		e, err := c.entry(name, known)
		if err != nil {
			return nil, err
		}
		code := strings.ToLower(e.Code)
		if first, double := seen[code]; double {
			return nil, problemf(c.line, "%s: the currency %s is given twice, first in line %d: take one away", name, e.Code, first)
		}
		seen[code] = c.line
		entries = append(entries, e)
	}
	return entries, nil
}

// entry reads one entry of a list of currencies. Its kind may be left out where the code is known without it.
func (c currencyYAML) entry(name string, known money.Registry) (money.Entry, error) {
	kinds := map[string]api.Kind{"crypto": api.Crypto, "fiat": api.Fiat}
	e := money.Entry{Code: c.Code.text, Kind: kinds[c.Kind.text], Decimals: money.Unknown, MemoRequired: c.Memo.line > 0, AddressFormat: c.Format.text}
	is, _ := known.Lookup(e.Code)
	builtin, _ := money.NewRegistry().Lookup(e.Code)
	line := c.line // of the decimals
	if c.Decimals.Kind != 0 {
		n, err := strconv.Atoi(c.Decimals.Value)
		line = c.Decimals.Line
		if c.Decimals.ShortTag() != "!!int" || err != nil || strconv.Itoa(n) != c.Decimals.Value || n < 0 || n > api.MaxDecimals {
			return e, problemf(line, "%s.decimals: it is not a number from 0 to %d: write how many decimals the service counts", name, api.MaxDecimals)
		}
		e.Decimals = n
	}
	switch {
	case c.Code.line == 0:
		return e, problemf(c.line, "%s: an entry has no code: write it as {code: Btc, kind: crypto, decimals: N}", name)
	case !money.ValidCode(e.Code):
		return e, problemf(c.Code.line, "%s.code: %s is not a code: write letters and digits, such as Btc", name, quoted(e.Code))
	case c.Kind.line > 0 && e.Kind == "":
		return e, problemf(c.Kind.line, "%s.kind: %s is not a kind: write crypto or fiat", name, quoted(c.Kind.text))
	case c.Memo.line > 0 && c.Memo.text != "required":
		return e, problemf(c.Memo.line, "%s.memo: %s is not one of its values: write required, or take it away", name, quoted(c.Memo.text))
	case c.Format.line > 0 && !slices.Contains(address.Formats(), c.Format.text):
		return e, problemf(c.Format.line, "%s.%s: %s is not a format: write %s", name, keyFormat, quoted(c.Format.text), oneOfThem(address.Formats()))
	case e.Kind == "" && is.Kind == "":
		return e, problemf(c.line, "%s: %s has no kind: add kind: crypto or kind: fiat", name, e.Code)
	case e.Kind == "":
		e.Kind = is.Kind
	}
	switch {
	case builtin.Kind != "" && builtin.Kind != e.Kind:
		return e, problemf(c.line, "%s: %s is a %s currency and cannot be made another: use a code of its own", name, builtin.Currency().Code, strings.ToLower(string(builtin.Kind)))
	case builtin.Kind != "" && builtin.Decimals != money.Unknown && e.Decimals != money.Unknown && e.Decimals != builtin.Decimals:
		return e, problemf(line, "%s: %s has %d decimals in ISO 4217, and others would move the point of every amount: leave them out", name, builtin.Code, builtin.Decimals)
	}
	return e, nil
}
