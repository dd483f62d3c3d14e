package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"example.com/till/pkg/payout/sheet"
)

const whole = `# a comment
current: live
currencies:
  - {code: Doge, kind: crypto, decimals: 8}
profiles:
  live:
    base_url: HTTPS://Pay.Example.com:443/api/   # normalised
    account: acme
    api_key_command: [/usr/bin/pass, show, till/live]
    reseller_auth: none
    first_page: 0
    time_layout: "2006-01-02T15:04:05"
    time_zone: Europe/Berlin
    journal: postgres://till@db/till
    lookup: never
    lookup_since: 2026-05-01
    lookup_timeout: 1h
    settle_after: 20m
    duplicate_window: 0s
    metrics: ~/till.prom
    on_finish: [/usr/local/bin/report, payroll, ""]
    max_per_withdrawal: ["0.5 Btc", "1000.00 USD", "1.5 doge"]
    max_per_run: ["10000.00 USD"]
    allow_addresses: [one, two]
    ca_file: ~/ca.pem
    api_key_file: /run/key
    currencies:
      - {code: Btc, kind: crypto, decimals: 8, address_format: bitcoin}
      - {code: Xlr, decimals: 7, memo: required}
  empty:
  other: {first_page: auto}
layouts:
  payroll:
    columns: {address: IBAN, memo: ""}
    other_columns: ignore
    skip_lines: 2
    until_blank: true
    delimiter: tab
    decimal: ","
`

func TestLoad(t *testing.T) {
	path := write(t, whole)
	f, err := load(t, path)
	live := f.Profiles["live"]
	for _, c := range []struct {
		got  any
		want string
	}{
		{err, "<nil>"}, {f.Path, path}, {f.Current, "live"}, {f.Currencies, "[{Doge Crypto 8 false }]"},
		{f.Names(), "[empty live other]"},
		{live.Values, "map[account:acme api_key_file:/run/key base_url:https://pay.example.com/api ca_file:~/ca.pem " +
			"duplicate_window:0s first_page:0 journal:postgres://till@db/till lookup:never lookup_since:2026-05-01 " +
			"lookup_timeout:1h metrics:~/till.prom reseller_auth:none settle_after:20m time_layout:2006-01-02T15:04:05 " +
			"time_zone:Europe/Berlin]"},
		{live.Lists, "map[allow_addresses:[one two] api_key_command:[/usr/bin/pass show till/live] " +
			"max_per_run:[10000.00 USD] max_per_withdrawal:[0.50000000 Btc 1000.00 USD 1.50000000 Doge] " +
			"on_finish:[/usr/local/bin/report payroll ]]"},
		{live.Limits.MaxPerWithdrawal, "[50000000 Btc (minor units) 100000 USD (minor units) 150000000 Doge (minor units)]"},
		{live.Limits.MaxPerRun, "[1000000 USD (minor units)]"}, {live.Limits.AllowAddresses, "[one two]"},
		{live.Currencies, "[{Btc Crypto 8 false bitcoin} {Xlr Crypto 7 true }]"},
		{f.Profiles["empty"].Values, "map[]"}, {f.Profiles["other"].Values, "map[first_page:auto]"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	want := sheet.Layout{Columns: map[string]string{"address": "IBAN", "memo": ""}, Other: sheet.Ignore, SkipLines: 2,
		UntilBlank: true, Delimiter: "\t", Decimal: ","}
	if got := f.Layouts["payroll"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLoadEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "\ufeff", "profiles:\ncurrencies:\n", "{}"} {
		f, err := load(t, write(t, text))
		if err != nil || f.Current != "" || len(f.Profiles) != 0 || len(f.Currencies) != 0 {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

// refusedSettings has settings of a profile, each with a part of its error.
const refusedSettings = `
baseurl: https://x => profiles.live.baseurl is not known
output: json => not known
api_key: s3cret => keys are not stored in the configuration
account: 4711 => a number, where a text belongs: put it in quotes
account: => has no value
account: [a] => a list, where a text belongs
account: !secret x => unknown kind
account: "" => is empty
<<: {account: x} => not known
allow_addresses: a => where a list belongs
allow_addresses: [a, 1] => a number
allow_addresses: => allow_addresses: it has no value
settle_after: 900 => write a number and a unit
lookup_timeout: 0s => no time at all
first_page: 2 => auto, 0 or 1
time_zone: Mars/Olympus => not a time zone
time_layout: "15:04:05" => lacks the year
time_layout: "Mon Jan 2006" => the day
base_url: http://pay.example.com => plain http
base_url: http://localhost:1 => 127.0.0.1 instead of localhost
base_url: https://u:s3cret@x => user name or a password
base_url: https://u:s3cret => cannot be understood
journal: journal.db => relative
journal: postgres:/till:s3cret@db/till => looks like an address
journal: host=db password=s3cret => list of connection settings
journal: postgres://u:s3cret@x:y/z => cannot be understood
api_key_file: key => no absolute path
metrics: till.prom => relative path
api_key_command: [pass, show] => absolute path
on_finish: [report, payroll] => as [/usr/local/bin/report, payroll]
max_per_run: ["1"] => has no currency
max_per_run: ["1 Btc"] => decimals of Btc are not known
max_per_run: ["1 Btc"] => currencies: [{code: Btc, kind: crypto, decimals: 8}]
max_per_run: ["1 USD", "2 usd"] => USD has two limits
max_per_run: ~ => max_per_run: it has no value
unlimited: [Xyz] => unlimited: the currency "Xyz" is not known
`

// refusedFiles has whole files, with \n for the end of a line, each with the line and a part of its error.
const refusedFiles = `
# c\n\nfoo: 1 => 3: the key foo is not known: the configuration has current, currencies, layouts, profiles
base_url: https://x => 1: belongs to a profile
current: a\ncurrent: b => 2: the key current is given twice, first in line 1
profiles:\n  live:\n    account: a\n    account: b => 4: given twice, first in line 3
profiles:\n  sandbox: {} => 2: built in
profiles:\n  Live: {} => 2: lower-case
profiles:\n  live: https://x => 2: a text, where keys
#\r&0 => 2: anchors and aliases
a: &a [x]\nb: [*a, *a] => 1: anchors and aliases
current: a\n---\ncurrent: b => 2: second document
current: [ => 1: this is not YAML
profiles:\n\tlive: {} => 2: this is not YAML
current: a\n# \xff => 2: not UTF-8
layouts:\n  a: x => 2: layouts.a: 
layouts:\n  a: {}\n  b: {}\nlayouts:\n  b: {} => 5: the key layouts.b is given twice, first in line 3: take one away
layouts:\n  a: {}\nlayouts: [b, {}] => 3: the key layouts is given twice
layouts:\n  a:\n    skip: 1 => 3: the key layouts.a.skip is not known
layouts:\n  a:\n    columns:\n      iban: x => 4: layouts.a.columns.iban
layouts:\n  a:\n    skip_lines: two => 3: layouts.a.skip_lines: a number belongs here
layouts:\n  a:\n    columns: {memo: 2} => 3: layouts.a.columns: a text
layouts:\n  a:\n    sheet: => 3: layouts.a.sheet: it has no value
layouts:\n  a:\n    group: "." => 3: layouts.a.group: "." is the decimal mark already
layouts:\n  a:\n    skip_lines: 2\n    decimal: ";" => 4: layouts.a.decimal: there is no ";"
currencies: [Btc] => 1: a text
currencies:\n- {kind: crypto} => 2: has no code
currencies:\n- {code: Doge} => 2: Doge has no kind
currencies:\n- {code: "a b", kind: crypto} => 2: is not a code
currencies:\n- {code: Btc}\n- {code: BTC} => 3: given twice, first in line 2
currencies:\n- {code: Btc, decimals: 08} => 2: 0 to 18
currencies:\n- code: usd\n  decimals: 0 => 3: the service counts USD with 2 decimals
currencies:\n- {code: Xlr, kind: fiat, decimals: 7} => 2: Xlr is a crypto currency
currencies:\n- {code: Btc, memo: none} => 2: write required
currencies:\n- {code: Btc, decimal: 8} => 2: code, kind, decimals, memo, address_format
currencies:\n- {code: Btc, address_format: btc} => 2: "btc" is not a format: write bitcoin, bitcoin-testnet, 
currencies:\n- {code: Btc, address_format: } => 2: address_format: it has no value
`

func TestLoadRefuses(t *testing.T) {
	refused := func(text, line, says string) {
		f, err := load(t, write(t, text))
		fails(t, text, err, "config", ":"+line+": ", says)
		if err != nil && strings.Contains(err.Error(), "s3cret") || !reflect.DeepEqual(f, File{}) {
			t.Errorf("%q: returned %+v, or shows a secret: %v", text, f, err)
		}
	}
	for row := range strings.SplitSeq(strings.Trim(refusedSettings, "\n"), "\n") {
		line, says, _ := strings.Cut(row, " => ")
		refused("profiles:\n  live:\n    "+line+"\n", "3", says)
	}
	for row := range strings.SplitSeq(strings.Trim(refusedFiles, "\n"), "\n") {
		text, says, _ := strings.Cut(row, " => ")
		line, says, _ := strings.Cut(says, ": ")
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\xff`, "\xff").Replace(text)
		refused(text+"\n", line, says)
	}
}

func TestLoadRefusesUnusableFiles(t *testing.T) {
	_, err := load(t, t.TempDir())
	fails(t, "directory", err, "config", "is a directory")
	_, err = load(t, write(t, strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 1025)))
	fails(t, "huge", err, "config", "larger than 1 MiB")
	if _, err = load(t, os.DevNull); err != nil {
		t.Errorf("%s is an empty configuration: %v", os.DevNull, err)
	}
}
