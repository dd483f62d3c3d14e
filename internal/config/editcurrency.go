package config

import (
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/money"
	yaml "go.yaml.in/yaml/v3"
)

// SetCurrency adds a currency to a profile's list, or to the common list if profile is empty, or changes the
// entry with the same code. It keeps what e does not say: decimals that are money.Unknown, an empty kind or
// address format, a memo that is not required.
func (d *Document) SetCurrency(profile string, e money.Entry) error {
	if !money.ValidCode(e.Code) {
		return usagef("the currency %q is not a code: write letters and digits, such as Btc", e.Code)
	}
	in, err := d.currenciesIn(profile)
	if err != nil {
		return err
	}
	list := child(in, keyCurrency, yaml.SequenceNode)
	at := findCurrency(list, e.Code)
	if at < 0 {
		at = len(list.Content)
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle})
	}
	entry := list.Content[at]
	if _, at := get(entry, "kind"); at < 0 && e.Kind == "" {
		known, ok := d.file.registry(d.file.Profiles[profile]).Lookup(e.Code)
		if !ok {
			return usagef("the kind of %s is not known: say --kind crypto or --kind fiat", e.Code)
		}
		e.Kind = known.Kind
	}
	put(entry, "code", textNode(e.Code))
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

// RemoveCurrency removes an entry that SetCurrency added. Built-in currencies stay known.
func (d *Document) RemoveCurrency(profile, code string) error {
	in, err := d.currenciesIn(profile)
	if err != nil {
		return err
	}
	list := child(in, keyCurrency, yaml.SequenceNode)
	at := findCurrency(list, code)
	if at < 0 {
		where := "the common list"
		if profile != "" {
			where = "the profile " + profile
		}
		return usagef("%s has no currency %q of its own: `till currency list` shows what there is", where, code)
	}
	if list.Content = slices.Delete(list.Content, at, at+1); len(list.Content) == 0 {
		drop(in, keyCurrency)
	}
	return nil
}

// currenciesIn returns the mapping that holds the list of a profile, or the common list.
func (d *Document) currenciesIn(profile string) (*yaml.Node, error) {
	switch profile {
	case Sandbox:
		return nil, usagef("the profile %s has currencies of its own: choose another profile with --profile", Sandbox)
	case "":
		return d.top(), nil
	}
	return d.profile(profile), d.mustExist(profile)
}

func findCurrency(list *yaml.Node, code string) int {
	return slices.IndexFunc(list.Content, func(entry *yaml.Node) bool {
		value, _ := get(entry, "code")
		return strings.EqualFold(value.Value, code) // every entry has a code
	})
}
