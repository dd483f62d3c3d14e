package config

import (
	"strings"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	yaml "go.yaml.in/yaml/v3"
)

// parse reads a configuration. It walks the YAML nodes itself, because only they know lines, keys given twice, and
// whether a value was a text or a number. The document is returned for edits; its kind is zero where there is none. The
// error is a *problem.
func parse(data []byte) (File, *yaml.Node, error) {
	doc, err := parseYAML(data)
	if err != nil {
		return File{}, nil, err
	}
	f := File{Profiles: map[string]Profile{}}
	if doc.Kind == 0 {
		return f, doc, nil
	}
	top, err := mapping(doc.Content[0], theTop)
	if err != nil {
		return File{}, nil, err
	}
	for _, p := range top {
		switch p.key {
		case "current":
			f.Current, err = text(p)
			if err == nil && !ValidProfileName(f.Current) {
				err = problemf(p.value.Line, "current: %q cannot be the name of a profile: write one that stands under profiles", f.Current)
			}
		case keyCurrency:
			f.Currencies, err = currencies(p, money.NewRegistry())
		case "profiles":
		default:
			err = unknownKey(p, theTop, []string{"current", keyCurrency, "profiles"})
		}
		if err != nil {
			return File{}, nil, err
		}
	}
	for _, p := range top {
		if p.key != "profiles" || isNull(p.value) {
			continue
		}
		profiles, err := mapping(p.value, "profiles")
		if err != nil {
			return File{}, nil, err
		}
		for _, p := range profiles { // after the common currencies, wherever the file has them
			if err := checkProfileName(p.key); err != nil {
				return File{}, nil, problemf(p.line, "profiles: %v", err)
			}
			if f.Profiles[p.key], err = profile(p, f); err != nil {
				return File{}, nil, err
			}
		}
	}
	return f, doc, nil
}

func profile(p pair, f File) (Profile, error) {
	out := Profile{Values: map[string]string{}}
	pairs, err := mapping(p.value, p.name)
	if err != nil {
		return Profile{}, err
	}
	for _, p := range pairs { // limits are read in this profile's currencies, wherever the file has them
		if p.key == keyCurrency {
			if out.Currencies, err = currencies(p, money.NewRegistry().With(f.Currencies...)); err != nil {
				return Profile{}, err
			}
		}
	}
	registry := f.registry(out)
	for _, p := range pairs {
		switch p.key {
		case keyCurrency:
		case keyCommand:
			out.APIKeyCommand, err = command(p)
		case keyAllow:
			out.Limits.AllowAddresses, err = addresses(p, registry)
		case keyMax:
			out.Limits.MaxPerWithdrawal, err = limits(p, registry)
		case keyMaxRun:
			out.Limits.MaxPerRun, err = limits(p, registry)
		default:
			s, known := scalar(p.key)
			if !known {
				err = unknownKey(p, "a profile", ProfileKeys())
				break
			}
			var value string
			if value, err = text(p); err != nil {
				break
			}
			if e := s.check(value); e != nil {
				err = problemf(p.value.Line, "%s: %v", p.name, e)
				break
			}
			if p.key == "base_url" {
				value, _ = NormalizeBaseURL(value)
			}
			out.Values[p.key] = value
		}
		if err != nil {
			return Profile{}, err
		}
	}
	return out, nil
}

func command(p pair) ([]string, error) {
	items, err := list(p)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, item := range items { // an argument may be anything, even empty
		word, err := text(item)
		if err != nil {
			return nil, err
		}
		if strings.ContainsRune(word, 0) {
			return nil, problemf(item.line, "%s: an argument has a NUL character: take it away", p.name)
		}
		words = append(words, word)
	}
	if words == nil {
		return nil, nil
	}
	if e := checkCommand(words); e != nil {
		return nil, problemf(p.value.Line, "%s: %v", p.name, e)
	}
	return words, nil
}

// addresses reads a list of addresses, each of which some currency of the registry has to take.
func addresses(p pair, registry money.Registry) ([]string, error) {
	all, err := texts(p)
	if err != nil {
		return nil, err
	}
	for i, text := range all {
		if err := registry.CheckAllowed(text); err != nil {
			return nil, problemf(p.value.Content[i].Line, "%s: %v", p.name, err)
		}
	}
	return all, nil
}

func limits(p pair, registry money.Registry) ([]api.Amount, error) {
	if isNull(p.value) { // somebody meant to set a limit
		return nil, noValue(p)
	}
	items, err := list(p)
	if err != nil {
		return nil, err
	}
	var amounts []api.Amount
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		a, err := registry.ParseAmount(s, api.Currency{})
		if err != nil {
			return nil, &problem{line: item.line, msg: p.name + ": " + err.Error(), advice: advice(err)}
		}
		for _, other := range amounts {
			if other.Kind == a.Kind && strings.EqualFold(other.Code, a.Code) {
				return nil, problemf(item.line, "%s: %s has two limits: take one away", p.name, a.Code)
			}
		}
		amounts = append(amounts, a)
	}
	return amounts, nil
}

func unknownKey(p pair, where string, known []string) error {
	if p.key == "api_key" {
		return &problem{line: p.line, msg: "api_key: no setting holds a key, because files are copied and shown: keep the key elsewhere and take this line away",
			advice: "till auth login, or api_key_command, or api_key_file in a profile, or the variable TILL_API_KEY"}
	}
	if where == theTop {
		if _, ok := scalar(p.key); ok {
			return problemf(p.line, "%s: it belongs to a profile: write it under profiles and the profile's name", p.key)
		}
	}
	return problemf(p.line, "the key %s is not known: %s has %s", p.name, where, strings.Join(known, ", "))
}
