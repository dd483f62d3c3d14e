package config

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/till/internal/money"
)

// Origin returns the origin of the setting with this key.
func (s Settings) Origin(key string) Origin { return s.origins[key] }

// Row is one setting as `config show` prints it.
type Row struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Explain returns all settings in a fixed order, without secrets. The key's row shows only where the key
// would come from.
func (s Settings) Explain(keys Keys) []Row {
	rows := []Row{
		{"config_file", s.ConfigFile, s.Origin("config_file").String()},
		{"profile", s.Profile, s.Origin("profile").String()},
	}
	shown := map[string]string{"base_url": s.BaseURL, "output": s.Output, "color": s.Color,
		"columns": strings.Join(s.Columns, ","), "journal": RedactJournal(s.Journal)}
	if s.Timeout == 0 {
		shown["timeout"] = "30s for reads, 90s for creates"
	}
	for _, t := range table() {
		if t.key == "api_key_flag" || t.key == keyPath || t.list {
			continue
		}
		text, changed := shown[t.key]
		if _, yes := t.def.(bool); yes { // true or false, even if it was written as 1 or t
			text = strconv.FormatBool(s.merged.GetBool(t.key))
		} else if !changed {
			text = s.merged.GetString(t.key)
		}
		rows = append(rows, Row{t.key, text, s.Origin(t.key).String()})
	}
	rows = append(rows, Row{keyOnFinish, strings.Join(s.OnFinish, " "), s.Origin(keyOnFinish).String()})
	for _, key := range []string{keyMax, keyMaxRun, keyMaxDay, keyMaxMonth, keyUnlimited, keyAbove, keyAllow} {
		rows = append(rows, Row{key, strings.Join(s.profile.Lists[key], ", "), s.Origin(key).String()})
	}
	rows = append(rows, Row{keyCurrency, currencyTexts(s.profile.Currencies), s.Origin(keyCurrency).String()})
	if len(s.common) > 0 && !s.Sandbox {
		rows = append(rows, Row{keyCurrency, currencyTexts(s.common), Origin{Kind: FromFile, Name: keyCurrency}.String()})
	}
	return append(rows, Row{"api_key", "not shown", keys.Source(s).String()})
}

func currencyTexts(entries []money.Entry) string {
	var texts []string
	for _, e := range entries {
		text := e.Code + " " + strings.ToLower(string(e.Kind))
		if e.Decimals != money.Unknown {
			text += fmt.Sprintf(" %d", e.Decimals)
		}
		if e.MemoRequired {
			text += " memo"
		}
		if e.AddressFormat != "" {
			text += " " + e.AddressFormat
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
