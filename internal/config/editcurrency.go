package config

import (
	"strconv"
	"strings"

	"example.com/till/internal/money"
	yaml "go.yaml.in/yaml/v3"
)

// SetCurrency adds a currency to a profile's list, or to the common one where profile is empty, or changes the entry of the
// same code. What the entry leaves unknown stays: decimals that are money.Unknown, a kind or an address format that is
// empty, a memo that is not required.
func (d *Document) SetCurrency(profile string, e money.Entry) error {
	if !money.ValidCode(e.Code) {
		return usagef("the currency %q is not a code: write letters and digits, such as Btc", e.Code)
	}
	list, err := d.currencyList(profile)
	if err != nil {
		return err
	}
	entry, _ := findCurrency(list, e.Code)
	if entry == nil {
		entry = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
		list.Content = append(list.Content, entry)
	}
	put(entry, "code", textNode(e.Code))
	if e.Kind == "" {
		if _, at := get(entry, "kind"); at < 0 {
			known, ok := d.file.registry(d.file.Profiles[profile]).Lookup(e.Code)
			if !ok {
				return usagef("the kind of %s is not known: say --kind crypto or --kind fiat", e.Code)
			}
			e.Kind = known.Kind
		}
	}
	if e.Kind != "" {
		put(entry, "kind", textNode(strings.ToLower(string(e.Kind))))
	}
	if e.Decimals != money.Unknown {
		put(entry, "decimals", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(e.Decimals)})
	}
	if e.MemoRequired {
		put(entry, "memo", textNode("required"))
	}
	if e.AddressFormat != "" {
		put(entry, keyFormat, textNode(e.AddressFormat))
	}
	return nil
}

// RemoveCurrency removes an entry that SetCurrency added. What the built-in registry knows stays known.
func (d *Document) RemoveCurrency(profile, code string) error {
	list, err := d.currencyList(profile)
	if err != nil {
		return err
	}
	entry, at := findCurrency(list, code)
	if entry == nil {
		where := "the common list"
		if profile != "" {
			where = "the profile " + profile
		}
		return usagef("%s has no currency %q of its own: `till currency list` shows what there is", where, code)
	}
	list.Content = append(list.Content[:at:at], list.Content[at+1:]...)
	if len(list.Content) == 0 {
		if profile == "" {
			drop(d.top(), keyCurrency)
		} else {
			drop(section(section(d.top(), "profiles"), profile), keyCurrency)
		}
	}
	return nil
}

func (d *Document) currencyList(profile string) (*yaml.Node, error) {
	in := d.top()
	if profile == Sandbox {
		return nil, usagef("the profile %s has currencies of its own: choose another profile with --profile", Sandbox)
	}
	if profile != "" {
		if err := d.mustExist(profile); err != nil {
			return nil, err
		}
		in = section(section(in, "profiles"), profile)
	}
	list, at := get(in, keyCurrency)
	if at < 0 {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		put(in, keyCurrency, list)
	} else if isNull(list) {
		list.Kind, list.Tag, list.Value, list.Style = yaml.SequenceNode, "!!seq", "", 0
	}
	return list, nil
}

func findCurrency(list *yaml.Node, code string) (*yaml.Node, int) {
	for i, entry := range list.Content {
		if value, at := get(entry, "code"); at >= 0 && strings.EqualFold(value.Value, code) {
			return entry, i
		}
	}
	return nil, -1
}
