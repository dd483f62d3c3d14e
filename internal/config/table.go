package config

// Sandbox is the name of the profile that is built in.
const Sandbox = "sandbox"

// setting is one line of the table of settings: under which name each source knows it, and what it may be.
type setting struct {
	key     string // in a profile, in `config show`, and in the struct tags of Settings
	flag    string // of the program; empty: none
	local   string // of single commands only
	env     string
	def     string
	profile bool // whether a profile may have it
	check   check
}

// table returns all settings that are one text. Lists, which only a profile has, are read in parse.go.
func table() []setting {
	return []setting{
		{key: "base_url", flag: "base-url", env: "TILL_BASE_URL", profile: true, check: checkBaseURL},
		{key: "account", profile: true, check: checkText},
		{key: "api_key_flag", flag: "api-key-file", check: checkKeyPlace},
		{key: "api_key_file", profile: true, check: checkKeyFile},
		{key: "ca_file", env: "TILL_CA_FILE", profile: true, check: checkPath},
		{key: "output", flag: "output", env: "TILL_OUTPUT", def: "table", check: oneOf("table", "json", "jsonl", "csv", "yaml")},
		{key: "jq", flag: "jq"},
		{key: "template", flag: "template"},
		{key: "columns", flag: "columns"},
		{key: "sort", flag: "sort"},
		{key: "no_headers", flag: "no-headers"},
		{key: "quiet", flag: "quiet"},
		{key: "yes", flag: "yes"},
		{key: "no_input", flag: "no-input", env: "TILL_NO_INPUT", check: checkBool},
		{key: "dry_run", flag: "dry-run"},
		{key: "timeout", flag: "timeout", env: "TILL_TIMEOUT", check: checkPositiveDuration},
		{key: "retries", flag: "retries", env: "TILL_RETRIES", def: "3", check: checkCount},
		{key: "debug", flag: "debug", env: "TILL_DEBUG", check: checkBool},
		{key: "color", flag: "color", def: "auto", check: oneOf("auto", "always", "never")},
		{key: "journal", flag: "journal", env: "TILL_JOURNAL", profile: true, check: checkProfileJournal},
		{key: "sandbox_state", env: "TILL_SANDBOX_STATE"},
		{key: "reseller_auth", def: "bearer", profile: true, check: oneOf("bearer", "none")},
		{key: "first_page", def: "auto", profile: true, check: oneOf("auto", "0", "1")},
		{key: "time_layout", def: "2006-01-02T15:04:05", profile: true, check: checkTimeLayout},
		{key: "time_zone", def: "UTC", profile: true, check: checkTimeZone},
		{key: "lookup", local: "lookup", env: "TILL_LOOKUP", def: "auto", profile: true, check: oneOf("auto", "always", "never")},
		{key: "lookup_since", local: "lookup-since", profile: true, check: checkText},
		{key: "lookup_timeout", def: "10m", profile: true, check: checkPositiveDuration},
		{key: "settle_after", def: "15m", profile: true, check: checkDuration},
		{key: "duplicate_window", def: "10m", profile: true, check: checkDuration},
	}
}

// checkTyped is the check of a value from a flag or the environment, where a path may be relative: the person who
// types it sees the directory.
func (s setting) checkTyped(text string) error {
	switch s.key {
	case "journal":
		return checkJournal(text)
	case "ca_file":
		return checkText(text)
	}
	if s.check == nil {
		return nil
	}
	return s.check(text)
}

// scalar finds a setting that a profile may have.
func scalar(key string) (setting, bool) {
	for _, s := range table() {
		if s.profile && s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// The settings of a profile that are lists.
const (
	keyCommand  = "api_key_command"
	keyMax      = "max_per_withdrawal"
	keyMaxRun   = "max_per_run"
	keyAllow    = "allow_addresses"
	keyCurrency = "currencies"
	keyFormat   = "address_format" // of a currency
)

// ProfileKeys returns the keys that a profile may have in the file, for help and completion.
func ProfileKeys() []string {
	var keys []string
	for _, s := range table() {
		if s.profile {
			keys = append(keys, s.key)
		}
	}
	return append(keys, keyCommand, keyMax, keyMaxRun, keyAllow, keyCurrency)
}
