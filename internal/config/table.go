package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/near"
	"example.com/till/internal/place"
	"example.com/till/internal/usage"
	"github.com/spf13/pflag"
)

// Sandbox is the name of the built-in profile.
const Sandbox = "sandbox"

// setting is one line of the table of settings: its name in each source, and its possible values.
type setting struct {
	key     string // in a profile, in `config show`, and in the struct tags of Settings
	flag    string // of the program; empty: none
	letter  string // short for the flag
	local   string // a flag of single commands only
	env     string
	def     any      // the default; its type is the flag's, a text if nil
	values  []string // the possible values; empty: any that check accepts
	check   func(text string) error
	home    bool   // a path: in the file it is absolute or begins with ~/
	profile bool   // whether a profile may have it
	list    bool   // not one text; only a profile has it
	tag     string // in the file, what YAML may take it for without quotes, beside a text
	example string // of a list that is a program with its arguments
	about   string
}

// choices returns the flags and variables that choose the profile and the file, before there are settings.
func choices() []setting {
	return []setting{
		{flag: "profile", env: "TILL_PROFILE", about: "profile of the configuration to use; sandbox is built in"},
		{flag: "sandbox", def: false, about: "short for --profile sandbox"},
		{flag: "config", env: "TILL_CONFIG", about: "configuration file"},
	}
}

// table has all settings: those of the service, the output and the calls, and then those without a global flag.
var table = []setting{
	{key: "base_url", flag: "base-url", env: "TILL_BASE_URL", profile: true,
		check: func(text string) error { _, err := parseBaseURL(text); return err },
		about: "address of the service"},
	{key: "account", profile: true, check: checkText,
		about: "whose payments these are; the profile's name if unset"},
	{key: "api_key_flag", flag: "api-key-file", check: checkKeyPlace,
		about: "file that holds the key; - is standard input"},
	{key: keyPath, profile: true, check: checkKeyFile, home: true,
		about: "file that holds the key, readable by you alone"},
	{key: "ca_file", env: "TILL_CA_FILE", profile: true, check: checkText, home: true,
		about: "certificate authorities to trust, in PEM form"},
	{key: "output", flag: "output", letter: "o", env: "TILL_OUTPUT", def: "table",
		values: []string{"table", "json", "jsonl", "csv", "yaml"},
		about:  "table, json, jsonl, csv or yaml"},
	{key: "jq", flag: "jq", about: "filter the JSON with a jq expression"},
	{key: "template", flag: "template", about: "print the JSON with a Go template"},
	{key: "columns", flag: "columns", def: []string(nil),
		about: "columns of a table or CSV; help explains them"},
	{key: "sort", flag: "sort", about: "sort a table or CSV by this column; -COLUMN is descending"},
	{key: "csv_for", flag: "csv-for", values: []string{"", "excel"}, about: "write CSV for a program: excel"},
	{key: "locale", flag: "locale", def: "en", about: "whose decimal mark --csv-for writes, such as de"},
	{key: "no_headers", flag: "no-headers", def: false, about: "leave out the header of a table or CSV"},
	{key: "quiet", flag: "quiet", letter: "q", def: false, about: "print nothing but ids, each on a line"},
	{key: "yes", flag: "yes", letter: "y", def: false, about: "never ask; what needs more than a yes ends with 12"},
	{key: "no_input", flag: "no-input", env: "TILL_NO_INPUT", def: false, check: checkBool,
		about: "never ask for input"},
	{key: "dry_run", flag: "dry-run", def: false, about: "show the exact request and send nothing"},
	{key: "timeout", flag: "timeout", env: "TILL_TIMEOUT", def: time.Duration(0), check: checkPositiveDuration,
		about: "limit of each call (default 30s, creates 90s)"},
	{key: "retries", flag: "retries", env: "TILL_RETRIES", def: 3, check: upTo(1000, "write digits"),
		about: "how often a read is tried again"},
	{key: "debug", flag: "debug", env: "TILL_DEBUG", def: false, check: checkBool,
		about: "trace HTTP on standard error, without secrets"},
	{key: "color", flag: "color", def: "auto", values: []string{"auto", "always", "never"},
		about: "colour: auto, always, never"},
	{key: "journal", flag: "journal", env: "TILL_JOURNAL", profile: true, check: checkJournal, home: true,
		about: "record of sends: a file, or postgres://USER@HOST/DATABASE"},
	{key: "sandbox_state", env: "TILL_SANDBOX_STATE", about: "file of the sandbox inside till"},
	{key: "reseller_auth", def: "bearer", profile: true, values: []string{"bearer", "none"},
		about: "bearer, or none to send resellers' calls without key"},
	{key: "first_page", def: "auto", profile: true, tag: "!!int", values: []string{"auto", "0", "1"},
		about: "number of a list's first page: auto, 0 or 1"},
	{key: "time_layout", def: "2006-01-02T15:04:05", profile: true, check: checkTimeLayout,
		about: "how times are written, as 2006-01-02T15:04:05"},
	{key: "time_zone", def: "UTC", profile: true, check: checkTimeZone,
		about: "zone of dates and months, such as Europe/Berlin"},
	{key: "lookup", local: "lookup", env: "TILL_LOOKUP", def: "auto", profile: true,
		values: []string{"auto", "always", "never"},
		about:  "when to read the service's list: auto, always, never"},
	{key: "lookup_since", local: "lookup-since", profile: true, tag: "!!timestamp", check: checkTime,
		about: "how far back to read the list then"},
	{key: "lookup_timeout", def: "10m", profile: true, tag: "!!int", check: checkPositiveDuration,
		about: "how long that may take"},
	{key: "settle_after", def: "15m", profile: true, tag: "!!int", check: checkDuration,
		about: "how long an unknown payment may still arrive"},
	{key: "duplicate_window", def: "10m", profile: true, tag: "!!int", check: checkDuration,
		about: "how long an accepted payment counts as a duplicate"},
	{key: "metrics", local: "metrics", profile: true, check: checkText, home: true,
		about: "file for Prometheus that tells how the last runs ended"},
	{key: "read_only", def: false, profile: true, tag: "!!bool", check: checkBool,
		about: "refuse everything that creates something"},
	{key: "approvals", def: "0", profile: true, tag: "!!int", check: upTo(100, "write how many persons must approve"),
		about: "how many persons must approve what is sent"},
	{key: "approvers", profile: true, check: checkText, home: true,
		about: "file of those who may, in the format allowed_signers"},
	{key: keyAbove, profile: true, list: true, about: "totals up to which nobody must approve, by currency"},
	{key: keyCommand, profile: true, list: true, example: "[/usr/bin/pass, show, till/live]",
		about: "program that prints the key, with an absolute path"},
	{key: keyOnFinish, local: "on-finish", profile: true, list: true, check: checkProgramPath,
		example: "[/usr/local/bin/report, payroll]",
		about:   "program that gets a report of each run"},
	{key: keyMax, profile: true, list: true, about: "the most that one withdrawal may be, by currency"},
	{key: keyMaxRun, profile: true, list: true, about: "the most that one run may come to, by currency"},
	{key: keyMaxDay, profile: true, list: true, about: "the most that may be sent in a day, by currency"},
	{key: keyMaxMonth, profile: true, list: true, about: "the most that may be sent in a month, by currency"},
	{key: keyUnlimited, profile: true, list: true, about: "currencies that need no limit where others have one"},
	{key: keyAllow, profile: true, list: true, about: "the only addresses that may be paid"},
	{key: keyCurrency, profile: true, list: true, about: "what the service counts in; till currency set writes it"},
}

// The settings of a profile that have their own code.
const (
	keyPath      = "api_key_file"
	keyCommand   = "api_key_command"
	keyOnFinish  = "on_finish"
	keyMax       = "max_per_withdrawal"
	keyMaxRun    = "max_per_run"
	keyMaxDay    = "max_per_day"
	keyMaxMonth  = "max_per_month"
	keyAllow     = "allow_addresses"
	keyUnlimited = "unlimited"
	keyAbove     = "approvals_above"
	keyCurrency  = "currencies"
	keyLayouts   = "layouts"
	keyFormat    = "address_format" // of a currency
)

// AddFlags declares the global flags. Resolve reads them back.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range slices.Concat(choices(), table) {
		if s.flag == "" {
			continue
		}
		switch def := s.def.(type) {
		case bool:
			fs.BoolP(s.flag, s.letter, def, s.about)
		case int:
			fs.IntP(s.flag, s.letter, def, s.about)
		case time.Duration:
			fs.DurationP(s.flag, s.letter, def, s.about)
		case []string:
			fs.StringSliceP(s.flag, s.letter, def, s.about)
		default:
			text, _ := def.(string)
			fs.StringP(s.flag, s.letter, text, s.about)
		}
	}
}

// checkTyped checks a value from a flag or the environment. The error is a sentence that says what to write
// instead.
func (s setting) checkTyped(text string) error {
	switch {
	case s.values != nil && !slices.Contains(s.values, text):
		named := slices.DeleteFunc(slices.Clone(s.values), func(value string) bool { return value == "" })
		return &usage.Error{
			Msg:    fmt.Sprintf("%q is not one of its values: write %s", text, near.Or(named)),
			Advice: near.Question(text, "", s.values),
		}
	case s.check != nil:
		return s.check(text)
	}
	return nil
}

// checkValue checks a value of the file. A path there must not depend on the directory that a command runs in;
// a person who types one knows that directory.
func (s setting) checkValue(text string) error {
	if err := s.checkTyped(text); err != nil || !s.home {
		return err
	}
	if !filepath.IsAbs(text) && !strings.HasPrefix(text, "~/") && !place.IsPostgres(text) {
		return fmt.Errorf("%q is a relative path: write an absolute one, or one that begins with ~/", text)
	}
	return nil
}

// find finds a setting, or returns an empty one.
func find(key string) setting {
	for _, s := range table {
		if s.key == key {
			return s
		}
	}
	return setting{}
}

// Values returns the possible values of a setting, for completion.
func Values(key string) []string { return find(key).values }

// Described is a name with its description.
type Described struct {
	Name, About string
	List        bool // a setting that is not one text
}

// ProfileSettings returns the keys that a profile may have in the file, for help and completion.
func ProfileSettings() []Described {
	var all []Described
	for _, s := range table {
		if s.profile {
			all = append(all, Described{s.key, s.about, s.list})
		}
	}
	return all
}

// ProfileKeys returns the names of ProfileSettings.
func ProfileKeys() []string {
	var keys []string
	for _, s := range ProfileSettings() {
		keys = append(keys, s.Name)
	}
	return keys
}

// Variables returns the environment variables of the settings, the key and the directories.
func Variables() []Described {
	var all []Described
	for _, s := range slices.Concat(choices(), table) {
		if s.env == "" {
			continue
		}
		if s.flag != "" {
			s.about += " (--" + s.flag + ")"
		}
		all = append(all, Described{Name: s.env, About: s.about})
	}
	return append(all,
		Described{Name: "TILL_API_KEY", About: "the key itself"},
		Described{Name: "NO_COLOR", About: "no colour, unless it is empty"},
		Described{Name: "CLICOLOR_FORCE", About: "colour also where there is no terminal, unless it is 0"},
		Described{Name: "XDG_CONFIG_HOME", About: "directory of configurations, ~/.config if unset"},
		Described{Name: "XDG_STATE_HOME", About: "directory of what programs remember, ~/.local/state if unset"},
	)
}
