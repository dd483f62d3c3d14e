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
	"example.com/till/pkg/api"
	yaml "go.yaml.in/yaml/v3"
)

// parse reads a configuration. It also returns the document, for edits; its kind is zero if the text has
// none. The error is a *problem.
func parse(data []byte) (File, *yaml.Node, error) {
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

// profile reads one profile. It reads the currencies first, because limits are amounts in them.
func (r *reader) profile(n *yaml.Node, name string, f File) Profile {
	p := Profile{Values: map[string]string{}}
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
	p.APIKeyCommand = r.command(values[keyCommand], name, keyCommand)
	p.OnFinish = r.command(values[keyOnFinish], name, keyOnFinish)
	r.texts(values[keyAllow], name+keyAllow, func(address string) error {
		p.Limits.AllowAddresses = append(p.Limits.AllowAddresses, address)
		return cmp.Or(checkText(address), registry.CheckAllowed(address))
	})
	p.Limits.MaxPerWithdrawal = r.limits(values[keyMax], name+keyMax, registry)
	p.ApprovalsAbove = r.limits(values[keyAbove], name+keyAbove, registry)
	p.Limits.MaxPerRun = r.limits(values[keyMaxRun], name+keyMaxRun, registry)
	p.Limits.MaxPerDay = r.limits(values[keyMaxDay], name+keyMaxDay, registry)
	p.Limits.MaxPerMonth = r.limits(values[keyMaxMonth], name+keyMaxMonth, registry)
	r.texts(values[keyUnlimited], name+keyUnlimited, func(code string) error {
		c, err := registry.ParseCurrency(code)
		p.Limits.Unlimited = append(p.Limits.Unlimited, c)
		return err
	})
	return p
}

// command reads a program and its arguments, each of which may be any text, even empty.
func (r *reader) command(n *yaml.Node, profile, key string) (words []string) {
	r.texts(n, profile+key, func(word string) error {
		if strings.ContainsRune(word, 0) {
			return errors.New("an argument has a NUL character: remove it")
		}
		words = append(words, word)
		return checkCommand(key, words)
	})
	return words
}

func (r *reader) limits(n *yaml.Node, name string, registry money.Registry) (amounts []api.Amount) {
	r.texts(n, name, func(text string) error {
		a, err := registry.ParseAmount(text, api.Currency{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(amounts,
			func(b api.Amount) bool { return b.Kind == a.Kind && strings.EqualFold(b.Code, a.Code) }) {
			return fmt.Errorf("%s has two limits: take one away", a.Code)
		}
		amounts = append(amounts, a)
		return nil
	})
	return amounts
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
	wrong := func(key, why string) {
		r.fail(nodes[key], "%s.%s: %s is not %s", name, key, quoted(values[key]), why)
	}
	is, _ := known.Lookup(e.Code)
	switch {
	case nodes["code"] == nil:
		r.fail(n, "%s: an entry has no code: write it as {code: Btc, kind: crypto, decimals: N}", name)
	case !money.ValidCode(e.Code):
		wrong("code", "a code: write letters and digits, such as Btc")
	case nodes["kind"] != nil && e.Kind == "":
		wrong("kind", "a kind: write crypto or fiat")
	case nodes["memo"] != nil && values["memo"] != "required":
		wrong("memo", "one of its values: write required, or remove it")
	case nodes[keyFormat] != nil && !slices.Contains(address.Formats(), e.AddressFormat):
		wrong(keyFormat, "a format: write "+oneOfThem(address.Formats()))
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
