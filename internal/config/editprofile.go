package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"example.com/till/internal/usage"
	yaml "go.yaml.in/yaml/v3"
)

// SetProfile sets keys of a profile, each as KEY=VALUE, and makes the profile if it does not exist. An empty
// value removes the key. Lists are written with commas (max_per_run=10000.00 USD,0.5 Btc), a command with
// spaces (api_key_command=/usr/bin/pass show till/live), and both also in brackets, as in the file. The first
// profile becomes the current one.
func (d *Document) SetProfile(name string, settings ...string) error {
	if err := checkProfileName(name); err != nil {
		return usage.Errorf("%v", err)
	}
	profile := d.profile(name)
	seen := map[string]bool{}
	for _, text := range settings {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return usage.Errorf("the setting %s has no value: write KEY=VALUE, or KEY= to remove it", nameOnly(text))
		}
		if seen[key] {
			return usage.Errorf("the setting %s is given twice: leave one out", key)
		}
		seen[key] = true
		node, err := settingNode(key, value)
		if err != nil {
			return err
		}
		set(profile, key, node)
	}
	if _, at := get(d.top(), "current"); at < 0 && len(d.file.Profiles) == 0 {
		d.setCurrent(name)
	}
	return nil
}

// CheckApprovers refuses a profile that requires approvals and does not name a file that says who may
// approve.
func (d *Document) CheckApprovers(name, home string) error {
	profile := d.profile(name)
	persons, _ := get(profile, "approvals")
	path, _ := get(profile, "approvers")
	if path == nil && persons != nil && persons.Value != "0" {
		return usage.Errorf("approvals: the profile %s does not say who may approve: add approvers=/etc/till/allowed_signers", name)
	}
	if path == nil {
		return nil
	}
	if _, err := os.Stat(expandHome(home, path.Value)); errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("approvers: the file %s does not exist: write a line for each person first, in the format allowed_signers of ssh-keygen",
			path.Value)
	}
	return nil
}

// profile returns the mapping of a profile. It makes one if it is missing.
func (d *Document) profile(name string) *yaml.Node {
	return child(child(d.top(), "profiles", yaml.MappingNode), name, yaml.MappingNode)
}

// settingNode checks one value and returns it as YAML, or nil if the value is empty.
func settingNode(key, value string) (*yaml.Node, error) {
	s := find(key)
	if err := oneOf("a profile", ProfileKeys()...)(key, nameOnly(key)); err != nil {
		return nil, &usage.Error{Msg: err.Error(), Advice: hint(err)}
	}
	switch {
	case key == keyCurrency:
		return nil, &usage.Error{Msg: "currencies: they have a command of their own",
			Advice: "type: till currency set CODE --kind crypto --decimals N"}
	case value == "":
		return nil, nil
	case s.list:
		return listNode(key, value)
	}
	if err := s.checkValue(value); err != nil {
		return nil, wrongValue(true, key, err)
	}
	if info, err := os.Stat(value); key == keyPath && err == nil && info.IsDir() {
		return nil, usage.Errorf("%s: %s is a directory: write the path of a file that holds the key", key, value)
	}
	return textNode(value), nil
}

// nameOnly returns a wrong name of a setting, for a message. It does not show a name that may be a key
// written there by mistake: one with digits, capitals or a great length.
func nameOnly(name string) string {
	if len(name) > 30 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return "that was written"
	}
	return fmt.Sprintf("%q", name)
}

// listNode returns a list as YAML. What is in it is checked with the whole configuration.
func listNode(key, value string) (*yaml.Node, error) {
	var words []string
	example := find(key).example
	switch {
	case strings.HasPrefix(value, "["):
		if err := yaml.Unmarshal([]byte(value), &words); err != nil {
			return nil, usage.Errorf("%s: it is not a list: write it as [first, second]", key)
		}
	case example != "" && strings.ContainsAny(value, `'"\`):
		return nil, usage.Errorf("%s: no shell reads quotes or backslashes here: write the command as a list, %s", key, example)
	case example != "":
		words = strings.Fields(value)
	default:
		words = strings.Split(value, ",")
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, w := range words {
		if example == "" {
			w = strings.TrimSpace(w)
		}
		n.Content = append(n.Content, textNode(w))
	}
	return n, nil
}

// UseProfile makes a profile the current one.
func (d *Document) UseProfile(name string) error {
	if err := d.file.MustExist(name, ""); err != nil {
		return err
	}
	d.setCurrent(name)
	return nil
}

func (d *Document) setCurrent(name string) {
	top := d.top()
	if _, at := get(top, "current"); at < 0 { // readers look for it at the top
		top.Content = slices.Insert(top.Content, 0, textNode("current"), textNode(name))
	}
	set(top, "current", textNode(name))
}

// RemoveProfile removes a profile. If it was the current one, there is no current profile any more.
func (d *Document) RemoveProfile(name string) error {
	if _, exists := d.file.Profiles[name]; !exists {
		others := "there is none"
		if len(d.file.Profiles) > 0 {
			others = "choose one of " + strings.Join(d.file.Names(), ", ")
		}
		return &Error{Msg: fmt.Sprintf("the profile %q does not exist: %s", name, others)}
	}
	set(child(d.top(), "profiles", yaml.MappingNode), name, nil)
	if d.file.Current == name {
		set(d.top(), "current", nil)
	}
	return nil
}
