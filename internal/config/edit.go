package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/money"
	"example.com/till/internal/place"
	"example.com/till/internal/usage"
	yaml "go.yaml.in/yaml/v3"
)

// Edit changes the configuration file at path, which need not exist, and keeps its comments and order. It
// checks the result as Load does, and replaces the old file as a whole or not at all. A symbolic link stays,
// and its target is changed. Only one process edits the file at a time.
//
// If the result is not a valid configuration, the error is a *usage.Error. If the file was wrong before, it is
// an *Error.
func Edit(path string, change func(*Document) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return failf("the directory of the configuration cannot be made: %w", err)
	}
	if err := CheckTrust("the configuration file "+path, filepath.Dir(path), nil); err != nil {
		return err
	}
	target, err := place.Follow(path)
	if info, missing := os.Lstat(target); err == nil && missing == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", target) // a rename would replace /dev/null with a file
	}
	if err != nil {
		return failf("the configuration file cannot be changed: %w", err)
	}
	unlock, err := atomicfile.Lock(target, 10*time.Second)
	switch {
	case errors.Is(err, atomicfile.ErrLocked):
		return failf("the configuration file %s is not changed: another process is changing it; run the command again when that has ended", path)
	case err == nil: // some network file systems cannot lock a directory: there, the later of two changes wins
		defer unlock()
	}
	old, err := readTrusted("the configuration file "+path, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d, wrong := newDocument(old)
	if wrong != nil {
		return located(wrong, path)
	}
	if err := change(d); err != nil {
		return err
	}
	content, err := d.encode()
	if err != nil {
		return failf("the configuration cannot be written as YAML: %w", err)
	}
	if bytes.Equal(content, old) {
		return nil
	}
	if _, _, wrong := parse(content); wrong != nil {
		return &usage.Error{Msg: "nothing was changed, because the configuration would be wrong: " + wrong.Msg,
			Advice: wrong.Advice}
	}
	if err := atomicfile.Write(target, 0o600, content); err != nil {
		return failf("the configuration file %s cannot be written: %w; look at the permissions of its directory, and at the space on its disk", path,
			atomicfile.WithoutPath(err))
	}
	return nil
}

// Document is a configuration file during an edit.
type Document struct {
	before string // a text without YAML, whose comments the YAML library would lose
	doc    *yaml.Node
	File   File // before the edit
}

func newDocument(text []byte) (*Document, *Error) {
	f, doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	d := &Document{doc: doc, File: f}
	if doc.Kind == 0 {
		*doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		if d.before = string(text); len(text) > 0 {
			d.before = strings.TrimSuffix(d.before, "\n") + "\n"
		}
	}
	fill(d.top(), yaml.MappingNode)
	spellNulls(doc, false)
	return d, nil
}

// spellNulls writes out the missing values in braces and brackets: the library would write {a: } as {a: ""},
// which is a text.
func spellNulls(n *yaml.Node, inFlow bool) {
	if inFlow && isNull(n) {
		n.Value = "null"
	}
	for _, c := range n.Content {
		spellNulls(c, n.Style&yaml.FlowStyle != 0)
	}
}

func (d *Document) encode() ([]byte, error) {
	out := bytes.NewBufferString(d.before)
	enc := yaml.NewEncoder(out)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(d.doc), enc.Close())
	return out.Bytes(), err
}

func (d *Document) top() *yaml.Node { return d.doc.Content[0] }

// get returns the value of a key in a mapping, or nil.
func get(m *yaml.Node, key string) *yaml.Node {
	for pair := range slices.Chunk(m.Content, 2) {
		if pair[0].Value == key {
			return pair[1]
		}
	}
	return nil
}

// set sets a key of a mapping, in its present place or else at the end. The new value gets the comments of the old
// one. No value removes the key.
func set(m *yaml.Node, key string, value *yaml.Node) {
	old := get(m, key)
	at := slices.Index(m.Content, old)
	switch {
	case old == nil && value != nil:
		m.Content = append(m.Content, textNode(key), value)
	case old != nil && value == nil:
		m.Content = slices.Delete(m.Content, at-1, at+1)
	case old != nil:
		value.HeadComment, value.LineComment, value.FootComment = old.HeadComment, old.LineComment, old.FootComment
		m.Content[at] = value
	}
}

// child returns the mapping or list under a key. It makes one if it is missing or empty.
func child(m *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	n := get(m, key)
	if n == nil {
		n = &yaml.Node{Kind: kind}
		set(m, key, n)
	}
	fill(n, kind)
	return n
}

func fill(n *yaml.Node, kind yaml.Kind) {
	if isNull(n) {
		n.Kind, n.Tag, n.Value = kind, "", ""
	}
	if len(n.Content) == 0 {
		n.Style = 0 // what was emptied is written as {}, and what comes in stands on lines of its own
	}
}

func textNode(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	return n
}

// SetCurrency adds a currency to a profile's list, or to the common list if profile is empty, or changes the entry
// with the same code. The settings are those of an entry of the file, by key. What they do not say stays.
func (d *Document) SetCurrency(profile, code string, settings map[string]string) error {
	if !money.ValidCode(code) {
		return usage.Errorf("the currency %q is not a code: write letters and digits, such as Btc", code)
	}
	_, list, at, err := d.findCurrency(profile, code)
	if err != nil {
		return err
	}
	if at < 0 {
		at = len(list.Content)
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle})
	}
	entry := list.Content[at]
	set(entry, "code", textNode(code))
	if get(entry, "kind") == nil && settings["kind"] == "" {
		known, ok := d.File.registry(d.File.Profiles[profile]).Lookup(code)
		if !ok {
			return usage.Errorf("the kind of %s is not known: say --kind crypto or --kind fiat", code)
		}
		set(entry, "kind", textNode(strings.ToLower(string(known.Kind))))
	}
	for _, key := range []string{"kind", "decimals", "memo", keyFormat} {
		if text := settings[key]; key == "decimals" && text != "" {
			set(entry, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text})
		} else if text != "" {
			set(entry, key, textNode(text))
		}
	}
	return nil
}

// RemoveCurrency removes an entry that SetCurrency added. Built-in currencies stay known.
func (d *Document) RemoveCurrency(profile, code string) error {
	in, list, at, err := d.findCurrency(profile, code)
	if err != nil {
		return err
	}
	if at < 0 {
		where := "the common list"
		if profile != "" {
			where = "the profile " + profile
		}
		return usage.Errorf("%s has no currency %q: `till currency list` shows where each is, and those that all profiles share are under currencies in the configuration", where, code)
	}
	if list.Content = slices.Delete(list.Content, at, at+1); len(list.Content) == 0 {
		set(in, keyCurrency, nil)
	}
	return nil
}

// findCurrency returns the list of a profile, or the common list, the mapping that holds it, and where in it a
// currency is: -1 if it is missing.
func (d *Document) findCurrency(profile, code string) (in, list *yaml.Node, at int, err error) {
	if in = d.top(); profile != "" {
		in, err = d.profile(profile), d.File.MustExist(profile, "")
	}
	list = child(in, keyCurrency, yaml.SequenceNode)
	return in, list, slices.IndexFunc(list.Content, func(entry *yaml.Node) bool {
		return strings.EqualFold(get(entry, "code").Value, code) // every entry has a code
	}), err
}

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
		if key == "journal" {
			if err := checkPassword("journal", value); err != nil {
				return err
			}
		}
		node, err := settingNode(key, value)
		if err != nil {
			return err
		}
		set(profile, key, node)
	}
	if get(d.top(), "current") == nil && len(d.File.Profiles) == 0 {
		d.setCurrent(name)
	}
	return nil
}

// CheckApprovers refuses a profile that requires approvals and does not name a file that says who may
// approve.
func (d *Document) CheckApprovers(name, home string) error {
	profile := d.profile(name)
	persons, path := get(profile, "approvals"), get(profile, "approvers")
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
	if err := d.File.MustExist(name, ""); err != nil {
		return err
	}
	d.setCurrent(name)
	return nil
}

func (d *Document) setCurrent(name string) {
	top := d.top()
	if get(top, "current") == nil { // readers look for it at the top
		top.Content = slices.Insert(top.Content, 0, textNode("current"), textNode(name))
	}
	set(top, "current", textNode(name))
}

// RemoveProfile removes a profile. If it was the current one, there is no current profile any more.
func (d *Document) RemoveProfile(name string) error {
	if _, exists := d.File.Profiles[name]; !exists {
		others := "there is none"
		if len(d.File.Profiles) > 0 {
			others = "choose one of " + strings.Join(d.File.Names(), ", ")
		}
		return &Error{Msg: fmt.Sprintf("the profile %q does not exist: %s", name, others)}
	}
	set(child(d.top(), "profiles", yaml.MappingNode), name, nil)
	if d.File.Current == name {
		set(d.top(), "current", nil)
	}
	return nil
}
