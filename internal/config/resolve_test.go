package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/spf13/pflag"
)

const two = `
current: live
currencies: [{code: Btc, kind: crypto, decimals: 8}]
profiles:
  live:
    base_url: https://pay.example.com
    account: acme
    journal: ~/journal.db
    max_per_run: ["0.5 Btc"]
    unlimited: [xlr]
    time_zone: Europe/Berlin
    lookup: never
    settle_after: 20m
  test:
    currencies: [{code: Btc, kind: crypto, decimals: 4}]
`

// Each setting from each of its sources, with rising precedence.
func TestPrecedence(t *testing.T) {
	type source struct {
		args         []string
		env          []string
		want, origin string
	}
	get := map[string]func(Settings) string{
		"output":   func(s Settings) string { return s.Output },
		"base_url": func(s Settings) string { return s.BaseURL },
		"journal":  func(s Settings) string { return filepath.Base(s.Journal) },
		"timeout":  func(s Settings) string { return s.Timeout.String() },
		"retries":  func(s Settings) string { return strconv.Itoa(s.Retries) },
		"lookup":   func(s Settings) string { return s.Lookup },
	}
	for key, sources := range map[string][]source{
		"output": {
			{nil, nil, "table", "default"},
			{nil, []string{"TILL_OUTPUT", "yaml"}, "yaml", "environment TILL_OUTPUT"},
			{[]string{"-o", "csv"}, []string{"TILL_OUTPUT", "yaml"}, "csv", "flag --output"},
			// the default, but typed
			{[]string{"-o", "table"}, []string{"TILL_OUTPUT", "yaml"}, "table", "flag --output"},
			{[]string{"-o", "csv"}, []string{"TILL_OUTPUT", "nonsense"}, "csv", "flag --output"},
			{[]string{"--jq", "."}, []string{"TILL_OUTPUT", "yaml"}, "json", "flag --jq"},
			{[]string{"--jq", ".", "-o", "jsonl"}, nil, "jsonl", "flag --output"},
			{[]string{"--template", "x"}, nil, "json", "flag --template"},
		},
		"base_url": {
			{nil, nil, "https://pay.example.com", "profile live"},
			{nil, []string{"TILL_BASE_URL", "https://Env.example/"}, "https://env.example", "environment TILL_BASE_URL"},
			{[]string{"--base-url", "http://127.0.0.1:80/x/"}, []string{"TILL_BASE_URL", "https://env.example"},
				"http://127.0.0.1/x", "flag --base-url"},
			{[]string{"--profile", "test"}, nil, "", "default"},
			{[]string{"--sandbox"}, nil, "", "default"},
			{[]string{"--sandbox"}, []string{"TILL_BASE_URL", "http://[::1]:8080"}, "http://[::1]:8080",
				"environment TILL_BASE_URL"},
		},
		"journal": {
			{nil, nil, "journal.db", "profile live"},
			{nil, []string{"TILL_JOURNAL", "rel/e.db"}, "e.db", "environment TILL_JOURNAL"},
			{[]string{"--journal", "f.db"}, []string{"TILL_JOURNAL", "e.db"}, "f.db", "flag --journal"},
		},
		"timeout": {
			{nil, nil, "0s", "default"},
			{nil, []string{"TILL_TIMEOUT", "5s"}, "5s", "environment TILL_TIMEOUT"},
			{[]string{"--timeout", "1m"}, []string{"TILL_TIMEOUT", "5s"}, "1m0s", "flag --timeout"},
		},
		"retries": {
			{nil, nil, "3", "default"},
			{nil, []string{"TILL_RETRIES", "7"}, "7", "environment TILL_RETRIES"},
			{[]string{"--retries", "0"}, []string{"TILL_RETRIES", "7"}, "0", "flag --retries"},
		},
		"lookup": {
			{nil, nil, "never", "profile live"},
			{nil, []string{"TILL_LOOKUP", "auto"}, "auto", "environment TILL_LOOKUP"},
			{[]string{"--profile", "test"}, nil, "auto", "default"},
		},
	} {
		for _, c := range sources {
			s := resolve(t, write(t, two), env(c.env...), c.args...)
			if got := get[key](s); got != c.want || s.Origin(key).String() != c.origin {
				t.Errorf("%s with %q and %q: %q (%s), want %q (%s)", key, c.args, c.env, got, s.Origin(key), c.want, c.origin)
			}
		}
	}
}

func TestSettingsOfAProfile(t *testing.T) {
	in := input(t, write(t, two), nil)
	s, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if s.Profile != "live" || s.Account != "acme" || s.Sandbox || s.SettleAfter != 20*time.Minute ||
		s.DuplicateWindow != 10*time.Minute || s.LookupTimeout != 10*time.Minute ||
		s.TimeZone.String() != "Europe/Berlin" || s.FirstPage != "auto" || s.ResellerAuth != "bearer" ||
		s.TimeLayout != "2006-01-02T15:04:05" ||
		s.Registry.Decimals("btc") != 8 || len(s.Limits.MaxPerRun) != 1 || s.Retries != 3 || s.Color != "auto" ||
		s.Journal != filepath.Join(in.Home, "journal.db") || s.ProfileJournal != s.Journal ||
		s.SandboxState != filepath.Join(in.Home, ".local/state/till/sandbox.db") {
		t.Errorf("%+v", s)
	}
	s = resolve(t, write(t, two), nil, "--profile", "test")
	if s.Account != "test" || s.Registry.Decimals("btc") != 4 || s.Limits.MaxPerRun != nil || s.ProfileJournal != "" {
		t.Errorf("%+v", s)
	}
	s = resolve(t, "", nil)
	if s.Profile != "" || s.Account != "default" || s.Registry.Decimals("btc") != money.Unknown ||
		s.Origin("profile") != (Origin{}) {
		t.Errorf("%+v", s)
	}
}

func TestFlagsArrive(t *testing.T) {
	s := resolve(t, "", nil, "--columns", "id,current", "--sort", "-id", "--no-headers", "-q", "-y", "--no-input",
		"--dry-run", "--debug")
	if strings.Join(s.Columns, "|") != "id|current" || s.Sort != "-id" || !s.NoHeaders || !s.Quiet || !s.Yes ||
		!s.NoInput || !s.DryRun || !s.Debug {
		t.Errorf("%+v", s)
	}
	s = resolve(t, "", nil)
	if len(s.Columns) > 0 || s.NoHeaders || s.Quiet || s.Yes || s.NoInput || s.DryRun || s.Debug {
		t.Errorf("%+v", s)
	}
	s = resolve(t, "", env("TILL_NO_INPUT", "1", "TILL_DEBUG", "true"))
	if !s.NoInput || !s.Debug {
		t.Errorf("%+v", s)
	}
	s = resolve(t, "", env("TILL_NO_INPUT", "1"), "--no-input=false")
	if s.NoInput {
		t.Error("a flag that says false does not go before the environment")
	}
}

// The command's own --lookup is read, and its own --timeout (of a wait) is not.
func TestCommandFlags(t *testing.T) {
	in := input(t, write(t, two), env("TILL_LOOKUP", "never"))
	in.Command = pflag.NewFlagSet("create", pflag.ContinueOnError)
	in.Command.String("lookup", "auto", "")
	in.Command.String("lookup-since", "", "")
	in.Command.Duration("timeout", 0, "")
	if err := in.Command.Parse([]string{"--lookup", "auto", "--lookup-since", "7d", "--timeout", "10m"}); err != nil {
		t.Fatal(err)
	}
	s, err := Resolve(in)
	if err != nil || s.Lookup != "auto" || s.LookupSince != "7d" || s.Timeout != 0 ||
		s.Origin("lookup").String() != "flag --lookup" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := in.Command.Set("lookup", "often"); err != nil {
		t.Fatal(err)
	}
	_, err = Resolve(in)
	fails(t, "lookup", err, "usage", "--lookup", "auto, always or never")
}

func TestChoosingAProfile(t *testing.T) {
	path := write(t, two)
	for _, c := range []struct {
		env          []string
		args         []string
		want, origin string
	}{
		{nil, nil, "live", "configuration current"},
		{[]string{"TILL_PROFILE", "test"}, nil, "test", "environment TILL_PROFILE"},
		{[]string{"TILL_PROFILE", "test"}, []string{"--profile", "live"}, "live", "flag --profile"},
		{[]string{"TILL_PROFILE", "nonsense"}, []string{"--sandbox"}, "sandbox", "flag --sandbox"},
		{nil, []string{"--sandbox", "--profile", "sandbox"}, "sandbox", "flag --profile"},
		{nil, []string{"--sandbox=false"}, "live", "configuration current"},
	} {
		s := resolve(t, path, env(c.env...), c.args...)
		if s.Profile != c.want || s.Origin("profile").String() != c.origin || s.Sandbox != (c.want == "sandbox") {
			t.Errorf("%q %q: %s (%s), want %s (%s)", c.env, c.args, s.Profile, s.Origin("profile"), c.want, c.origin)
		}
	}
	_, err := Resolve(input(t, path, nil, "--sandbox", "--profile", "live"))
	fails(t, "two", err, "usage", "--sandbox and --profile live")
	_, err = Resolve(input(t, path, nil, "--profile", "prod"))
	fails(t, "unknown", err, "config", `"prod"`, "live, test, sandbox", "till profile set")
	_, err = Resolve(input(t, write(t, "current: gone\n"), nil))
	fails(t, "stale", err, "config", `"gone" (configuration current)`)
	_, err = Resolve(input(t, path, nil, "--profile", ""))
	fails(t, "empty", err, "usage", "--profile is empty")
}

func TestSandboxProfile(t *testing.T) {
	in := input(t, write(t, two), nil, "--sandbox")
	in.SandboxCurrencies = func() []money.Entry { return []money.Entry{{Code: "Btc", Kind: api.Crypto, Decimals: 5}} }
	s, err := Resolve(in)
	if err != nil || s.Registry.Decimals("Btc") != 5 || s.Account != "sandbox" || s.Limits.MaxPerRun != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if url, err := s.RequireBaseURL(); url != "" || err != nil {
		t.Errorf("%q, %v", url, err)
	}
	in = input(t, write(t, two), nil)
	in.SandboxCurrencies = func() []money.Entry { t.Error("asked for without need"); return nil }
	if _, err := Resolve(in); err != nil {
		t.Error(err)
	}
	for _, url := range []string{"https://pay.example.com", "https://localhost"} {
		_, err = Resolve(input(t, "", nil, "--sandbox", "--base-url", url))
		fails(t, url, err, "usage", "is elsewhere", "flag --base-url")
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		env   []string
		args  []string
		kind  string
		parts []string
	}{
		"output flag":      {nil, []string{"-o", "xml"}, "usage", []string{"--output", "table, json, jsonl, csv or yaml"}},
		"output variable":  {[]string{"TILL_OUTPUT", "xml"}, nil, "config", []string{"TILL_OUTPUT", `"xml"`}},
		"no input":         {[]string{"TILL_NO_INPUT", "maybe"}, nil, "config", []string{"TILL_NO_INPUT", `"maybe"`}},
		"debug":            {[]string{"TILL_DEBUG", "yes"}, nil, "config", []string{"TILL_DEBUG"}},
		"timeout":          {[]string{"TILL_TIMEOUT", "5"}, nil, "config", []string{"TILL_TIMEOUT", "a unit"}},
		"no timeout":       {nil, []string{"--timeout", "0s"}, "usage", []string{"--timeout", "no time"}},
		"negative timeout": {nil, []string{"--timeout", "-1s"}, "usage", []string{"--timeout", "is not a duration"}},
		"retries":          {[]string{"TILL_RETRIES", "many"}, nil, "config", []string{"TILL_RETRIES"}},
		"hex retries":      {[]string{"TILL_RETRIES", "0x3"}, nil, "config", []string{"TILL_RETRIES"}},
		"many retries":     {nil, []string{"--retries", "1001"}, "usage", []string{"--retries", "0 to 1000"}},
		"negative retries": {nil, []string{"--retries", "-1"}, "usage", []string{"--retries"}},
		"color":            {nil, []string{"--color", "yes"}, "usage", []string{"--color", "auto, always or never"}},
		"url":              {nil, []string{"--base-url", "pay.example.com"}, "usage", []string{"--base-url"}},
		"empty url":        {nil, []string{"--base-url", ""}, "usage", []string{"--base-url"}},
		"http": {nil, []string{"--base-url", "http://pay.example.com"}, "config",
			[]string{"--base-url", "plain http"}},
		"http variable": {[]string{"TILL_BASE_URL", "http://localhost"}, nil, "config",
			[]string{"TILL_BASE_URL", "127.0.0.1"}},
		"journal password": {nil, []string{"--journal", "postgres://till:s3cret@db/till"}, "usage",
			[]string{"--journal has a password", "TILL_JOURNAL"}},
		"journal query": {nil, []string{"--journal", "postgres://till@db/till?p%61ssword=s3cret"}, "usage",
			[]string{"--journal has a password"}},
		"journal flag": {nil, []string{"--journal", "postgres:/till:s3cret@db/till"}, "config",
			[]string{"--journal", "looks like an address"}},
		"journal variable": {[]string{"TILL_JOURNAL", "postgres:/till:s3cret@db/till"}, nil, "config",
			[]string{"TILL_JOURNAL", "looks like an address"}},
		"journal port": {[]string{"TILL_JOURNAL", "postgres://till:s3cret@db:none/till"}, nil, "config",
			[]string{"TILL_JOURNAL", "cannot be understood"}},
		"journal without //": {[]string{"TILL_JOURNAL", "till:s3cret@db/till"}, nil, "config",
			[]string{"TILL_JOURNAL", "looks like an address"}},
		"empty journal":   {nil, []string{"--journal", ""}, "usage", []string{"--journal"}},
		"jq and table":    {nil, []string{"--jq", ".", "-o", "table"}, "usage", []string{"--jq works on JSON"}},
		"jq and template": {nil, []string{"--jq", ".", "--template", "x"}, "usage", []string{"--jq and --template"}},
		"named file": {[]string{"TILL_CONFIG", "/nonexistent/c.yaml"}, nil, "config",
			[]string{"the configuration file that TILL_CONFIG names does not exist"}},
		"empty config flag": {nil, []string{"--config", ""}, "usage", []string{"--config is empty"}},
	} {
		_, err := Resolve(input(t, "", env(c.env...), c.args...))
		fails(t, name, err, c.kind, c.parts...)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
	s := resolve(t, "", env("TILL_JOURNAL", "postgres://till:s3cret@db/till"))
	if s.Journal != "postgres://till:s3cret@db/till" {
		t.Error("a password in the environment is fine, and must arrive")
	}
	for _, row := range s.Explain(Keys{Env: noEnv}) {
		if strings.Contains(row.Value, "s3cret") {
			t.Errorf("config show tells the password: %v", row)
		}
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		env          []string
		args         []string
		want, origin string
	}{
		{nil, nil, "auto", "default"},
		{[]string{"NO_COLOR", "1"}, nil, "never", "environment NO_COLOR"},
		{[]string{"CLICOLOR_FORCE", "1"}, nil, "always", "environment CLICOLOR_FORCE"},
		{[]string{"CLICOLOR_FORCE", "0"}, nil, "auto", "default"},
		{[]string{"NO_COLOR", "1", "CLICOLOR_FORCE", "1"}, nil, "never", "environment NO_COLOR"},
		{[]string{"NO_COLOR", "1"}, []string{"--color", "always"}, "always", "flag --color"},
	} {
		if s := resolve(t, "", env(c.env...), c.args...); s.Color != c.want || s.Origin("color").String() != c.origin {
			t.Errorf("%q %q: %s (%s)", c.env, c.args, s.Color, s.Origin("color"))
		}
	}
}

func TestPaths(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		env          []string
		config, work string
	}{
		{nil, home + "/.config/till/config.yaml", home + "/.local/state/till"},
		{[]string{"XDG_CONFIG_HOME", "/c", "XDG_STATE_HOME", "/s"}, "/c/till/config.yaml", "/s/till"},
		{[]string{"XDG_CONFIG_HOME", "c", "XDG_STATE_HOME", "./s"}, home + "/.config/till/config.yaml",
			home + "/.local/state/till"},
		{[]string{"TILL_CONFIG", "here.yaml"}, "here.yaml", home + "/.local/state/till"},
	} {
		in := input(t, "", env(c.env...))
		in.Home = home
		if path, _, err := in.Path(); path != c.config || in.StateDir() != c.work || err != nil {
			t.Errorf("%q: %s, %s, %v", c.env, path, in.StateDir(), err)
		}
	}
	homeless := input(t, "", nil)
	homeless.Home = ""
	_, err := Resolve(homeless)
	fails(t, "homeless", err, "config", "HOME", "TILL_CONFIG=/dev/null")
	homeless.Env = env("TILL_CONFIG", os.DevNull)
	if s, err := Resolve(homeless); err != nil || s.Journal != "" {
		t.Errorf("%+v, %v", s, err)
	}
	// The configuration is never read from the current directory.
	t.Chdir(t.TempDir())
	for _, name := range []string{"config.yaml", "till.yaml", ".till.yaml"} {
		if err := os.WriteFile(name, []byte("nonsense: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Resolve(input(t, "", nil)); err != nil {
		t.Error(err)
	}
}

func TestRequireBaseURL(t *testing.T) {
	_, err := resolve(t, "", nil).RequireBaseURL()
	fails(t, "nothing", err, "config", "till profile set live base_url=https://...", "till auth login")
	_, err = resolve(t, write(t, two), nil, "--profile", "test").RequireBaseURL()
	fails(t, "profile", err, "config", "till profile set test base_url=https://...")
	if url, err := resolve(t, write(t, two), nil).RequireBaseURL(); url != "https://pay.example.com" || err != nil {
		t.Errorf("%q, %v", url, err)
	}
}

// If nothing is limited, there is no row without_limit.
func TestExplainWithoutLimits(t *testing.T) {
	s := resolve(t, write(t, "profiles:\n  live: {currencies: [{code: Btc, decimals: 8, address_format: bitcoin}]}\n"),
		nil, "--profile", "live")
	for _, row := range s.Explain(Keys{Env: noEnv}) {
		if row.Name == "without_limit" {
			t.Errorf("%+v", row)
		}
		if row.Name == "currencies" && row.Value != "Btc crypto 8 bitcoin" {
			t.Errorf("%+v", row)
		}
	}
}

func TestExplain(t *testing.T) {
	s := resolve(t, write(t, two), env("TILL_OUTPUT", "json", "TILL_API_KEY", "s3cret"), "--timeout", "5s")
	got := map[string]Row{}
	for _, row := range s.Explain(Keys{Env: env("TILL_API_KEY", "s3cret")}) {
		if row.Origin == "" || strings.Contains(row.Value, "s3cret") {
			t.Errorf("%+v", row)
		}
		got[row.Name] = row
	}
	for _, want := range []Row{
		{"config_file", s.ConfigFile, "flag --config"},
		{"profile", "live", "configuration current"},
		{"output", "json", "environment TILL_OUTPUT"},
		{"timeout", "5s", "flag --timeout"},
		{"retries", "3", "default"},
		{"account", "acme", "profile live"},
		{"time_zone", "Europe/Berlin", "profile live"},
		{"first_page", "auto", "default"},
		{"max_per_run", "0.50000000 Btc", "profile live"},
		{"unlimited", "Xlr", "profile live"},
		{"yes", "false", "default"},
		{"currencies", "Btc crypto 8", "configuration currencies"},
		{"api_key", "not shown", "environment TILL_API_KEY"},
	} {
		if got[want.Name] != want {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
}
