package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/money"
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

// given resolves a command line of words with the configuration two. Words such as TILL_OUTPUT=csv are variables.
func given(t *testing.T, path, line string) (Settings, Keys, error) {
	var variables, args []string
	for _, word := range strings.Fields(line) {
		if name, value, found := strings.Cut(word, "="); found && strings.ToUpper(name) == name {
			variables = append(variables, name, value)
		} else {
			args = append(args, word)
		}
	}
	s, err := Resolve(input(t, path, env(variables...), args...))
	return s, Keys{Env: env(variables...)}, err
}

// resolved has command lines, each with what config show says then: a setting, its value and its origin. Of a path
// only the last part is compared.
const resolved = `
=> output table (default)
TILL_OUTPUT=yaml => output yaml (environment TILL_OUTPUT)
TILL_OUTPUT=yaml -o csv => output csv (flag --output)
TILL_OUTPUT=nonsense -o csv => output csv (flag --output)
TILL_OUTPUT=yaml --jq . => output json (flag --jq)
--jq . -o jsonl => output jsonl (flag --output)
--template x => output json (flag --template)
=> base_url https://pay.example.com (profile live)
TILL_BASE_URL=https://Env.example/ => base_url https://env.example (environment TILL_BASE_URL)
TILL_BASE_URL=https://env.example --base-url http://127.0.0.1:80/x/ => base_url http://127.0.0.1/x (flag --base-url)
--profile test => base_url  (default)
--sandbox => base_url  (default)
TILL_BASE_URL=http://[::1]:80 --sandbox => base_url http://[::1] (environment TILL_BASE_URL)
=> journal journal.db (profile live)
TILL_JOURNAL=rel/e.db => journal e.db (environment TILL_JOURNAL)
TILL_JOURNAL=e.db --journal f.db => journal f.db (flag --journal)
TILL_JOURNAL=postgres://till:s3cret@db/till => journal till (environment TILL_JOURNAL)
=> timeout 30s for reads, 90s for creates (default)
TILL_TIMEOUT=5s --timeout 1m => timeout 1m0s (flag --timeout)
--profile test => lookup auto (default)
=> profile live (configuration current)
TILL_PROFILE=nonsense --sandbox => profile sandbox (flag --sandbox)
--sandbox --profile sandbox => profile sandbox (flag --profile)
--sandbox=false => profile live (configuration current)
=> account acme (profile live)
--sandbox => account sandbox (default)
NO_COLOR=1 => color never (environment NO_COLOR)
CLICOLOR_FORCE=1 => color always (environment CLICOLOR_FORCE)
CLICOLOR_FORCE=0 => color auto (default)
NO_COLOR=1 CLICOLOR_FORCE=1 => color never (environment NO_COLOR)
=> sandbox_state sandbox.db (default)
=> max_per_run 0.50000000 Btc (profile live)
=> unlimited Xlr (profile live)
=> yes false (default)
TILL_DEBUG=t => debug true (environment TILL_DEBUG)
TILL_NO_INPUT=1 --no-input=false => no_input false (flag --no-input)
=> currencies Btc crypto 8 (configuration currencies)
TILL_API_KEY=s3cret => api_key not shown (environment TILL_API_KEY)
`

func TestPrecedence(t *testing.T) {
	path := write(t, two)
	for row := range strings.SplitSeq(strings.Trim(resolved, "\n"), "\n") {
		line, want, _ := strings.Cut(row, "=> ")
		s, keys, err := given(t, path, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		key, _, _ := strings.Cut(want, " ")
		got := ""
		for _, shown := range s.Explain(keys) {
			if shown.Name == key {
				if key == "journal" || key == "sandbox_state" {
					shown.Value = filepath.Base(shown.Value)
				}
				got = fmt.Sprintf("%s %s (%s)", key, shown.Value, shown.Origin)
			}
			if shown.Origin == "" || strings.Contains(shown.Value, "s3cret") {
				t.Errorf("%s: %+v", line, shown)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestSettingsOfAProfile(t *testing.T) {
	in := input(t, write(t, two), nil)
	s, err := Resolve(in)
	must(t, err)
	if s.SettleAfter != 20*time.Minute || s.DuplicateWindow != 10*time.Minute || s.LookupTimeout != 10*time.Minute ||
		s.TimeZone.String() != "Europe/Berlin" || s.Money.Decimals("btc") != 8 || len(s.Limits.MaxPerRun) != 1 ||
		s.Journal != filepath.Join(in.Home, "journal.db") || s.ProfileJournal != s.Journal ||
		s.SandboxState != filepath.Join(in.Home, ".local/state/till/sandbox.db") {
		t.Errorf("%+v", s)
	}
	s = resolve(t, write(t, two), nil, "--profile", "test")
	if s.Money.Decimals("btc") != 4 || s.Limits.MaxPerRun != nil || s.ProfileJournal != "" {
		t.Errorf("%+v", s)
	}
	s = resolve(t, "", nil)
	if s.Profile != "" || s.Account != "default" || s.Money.Decimals("btc") != money.Unknown ||
		s.Origin("profile") != (Origin{}) {
		t.Errorf("%+v", s)
	}
}

// unresolved has command lines, each with the kind of its error and parts of what it says.
const unresolved = `
-o xml => usage --output: "xml" is not one of its values: write table, json, jsonl, csv or yaml
TILL_NO_INPUT=maybe => config TILL_NO_INPUT: "maybe"
TILL_TIMEOUT=5 => config TILL_TIMEOUT: "5" is not a duration: write a number and a unit
--timeout 0s => usage --timeout: "0s" is no time
TILL_RETRIES=0x3 => config TILL_RETRIES
--retries 1001 => usage --retries: "1001" is not a number from 0 to 1000
--base-url pay.example.com => usage --base-url
--base-url http://pay.example.com => config --base-url: plain http
TILL_BASE_URL=http://localhost => config TILL_BASE_URL: plain http to another machine
--sandbox --base-url https://localhost => usage https://localhost (flag --base-url) is elsewhere
--journal postgres://till:s3cret@db/till => usage --journal has a password
--journal postgres://till@db/till?p%61ssword=s3cret => usage --journal has a password
--journal postgres:/till:s3cret@db/till => config --journal: it looks like an address
TILL_JOURNAL=till:s3cret@db/till => config TILL_JOURNAL: it looks like an address
--journal= => usage --journal
--jq . -o table => usage --jq works on JSON
--jq . --template x => usage --jq and --template
--config= => usage --config is empty
TILL_CONFIG=/c.yaml --config=/none => config the configuration file that --config names does not exist
--sandbox --profile live => usage --sandbox and --profile live
--profile prod => config the profile "prod" (flag --profile) does not exist: choose one of live, test, sandbox
--profile= => usage --profile is empty
`

func TestResolveRefuses(t *testing.T) {
	path := write(t, two)
	for row := range strings.SplitSeq(strings.Trim(unresolved, "\n"), "\n") {
		line, want, _ := strings.Cut(row, " => ")
		kind, says, _ := strings.Cut(want, " ")
		_, _, err := given(t, path, line)
		fails(t, line, err, kind, says)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a secret: %v", line, err)
		}
	}
	_, err := Resolve(input(t, write(t, "current: gone\n"), nil))
	fails(t, "stale", err, "config", `"gone" (configuration current)`)
	const journal = "postgres://till:s3cret@db/till"
	if s, _, err := given(t, path, "TILL_JOURNAL="+journal); s.Journal != journal {
		t.Errorf("a password in the environment must arrive: %v", err)
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
}
