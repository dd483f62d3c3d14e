package config

import (
	"cmp"
	"strconv"
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/place"
)

// Origin says where a setting or a key comes from. The zero Origin is the built-in default.
type Origin struct {
	Kind    OriginKind
	Name    string // of the flag, the variable, the profile or the key of the file; empty for the other kinds
	Setting string // for a key of the service: the setting of that profile that names it; otherwise empty
}

// OriginKind is the kind of an Origin, as String writes it before the name.
type OriginKind string

// The kinds of origins.
const (
	FromDefault  OriginKind = ""
	FromFlag     OriginKind = "flag --"
	FromVariable OriginKind = "environment "
	FromProfile  OriginKind = "profile "
	FromFile     OriginKind = "configuration " // the file, but none of its profiles
	FromKeyring  OriginKind = "keyring"
	FromSandbox  OriginKind = "the sandbox"
	FromCaller   OriginKind = "given" // a key to be stored
)

// IsDefault reports whether the value is the built-in default.
func (o Origin) IsDefault() bool { return o.Kind == FromDefault }

// String returns the origin as `config show` prints it.
func (o Origin) String() string {
	text := cmp.Or(string(o.Kind)+o.Name, "default")
	if o.Setting != "" {
		text += ", " + o.Setting
	}
	return text
}

// Phrase returns the origin as a part of a sentence.
func (o Origin) Phrase() string {
	switch {
	case o.Kind == FromFlag:
		return o.typed()
	case o.Kind == FromVariable:
		return "the variable " + o.Name
	case o.Kind == FromProfile && o.Setting != "":
		return "the " + o.Setting + " of the profile " + o.Name
	case o.Kind == FromKeyring:
		return "the keyring"
	}
	return o.String()
}

// typed returns the flag or variable that a person set, such as --output or TILL_OUTPUT, and "" for other
// origins.
func (o Origin) typed() string {
	return map[OriginKind]string{FromFlag: "--" + o.Name, FromVariable: o.Name}[o.Kind]
}

// Origin returns the origin of the setting with this key.
func (s Settings) Origin(key string) Origin { return s.origins[key] }

// Row is one setting as `config show` prints it.
type Row struct {
	Name   string `json:"name" column:"own: name of the setting"`
	Value  string `json:"value" column:"own: value in effect"`
	Origin string `json:"origin" column:"own: where the value comes from"`
}

// Explain returns all settings in a fixed order, without secrets. The key's row shows only where the key
// would come from.
func (s Settings) Explain(keys Keys) (rows []Row) {
	add := func(key, value string) { rows = append(rows, Row{key, value, s.Origin(key).String()}) }
	add("config_file", s.ConfigFile)
	add("profile", s.Profile)
	shown := map[string]string{"base_url": s.BaseURL, "output": s.Output, "color": s.Color,
		"columns": strings.Join(s.Columns, ","), "journal": place.Redact(s.Journal)}
	if s.Timeout == 0 {
		shown["timeout"] = "30s for reads, 90s for creates"
	}
	for _, t := range table {
		text, changed := shown[t.key]
		if _, yes := t.def.(bool); yes { // true or false, even if it was written as 1 or t
			text = strconv.FormatBool(s.merged.GetBool(t.key))
		} else if !changed {
			text = s.merged.GetString(t.key)
		}
		if t.key != "api_key_flag" && t.key != keyPath && !t.list {
			add(t.key, text)
		}
	}
	add(keyOnFinish, strings.Join(s.OnFinish, " "))
	for _, key := range []string{keyMax, keyMaxRun, keyMaxDay, keyMaxMonth, keyUnlimited, keyAbove, keyAllow} {
		add(key, s.profile.Text(key))
	}
	add(keyCurrency, currencyTexts(s.Own))
	if len(s.Common) > 0 && !s.Sandbox {
		rows = append(rows, Row{keyCurrency, currencyTexts(s.Common), Origin{Kind: FromFile, Name: keyCurrency}.String()})
	}
	return append(rows, Row{"api_key", "not shown", keys.Source(s).String()})
}

func currencyTexts(entries []money.Entry) string {
	var texts []string
	for _, e := range entries {
		text := []string{e.Code, strings.ToLower(string(e.Kind))}
		if e.Decimals != money.Unknown {
			text = append(text, strconv.Itoa(e.Decimals))
		}
		if e.MemoRequired {
			text = append(text, "memo")
		}
		texts = append(texts, strings.TrimSpace(strings.Join(append(text, e.AddressFormat), " ")))
	}
	return strings.Join(texts, ", ")
}
