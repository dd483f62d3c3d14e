package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
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
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := File{
		Path: path, Current: "live",
		Currencies: []money.Entry{{Code: "Doge", Kind: api.Crypto, Decimals: 8}},
		Layouts: map[string]sheet.Layout{"payroll": {Columns: map[string]string{"address": "IBAN", "memo": ""},
			Other:     sheet.Ignore,
			SkipLines: 2, UntilBlank: true, Delimiter: "\t", Decimal: ","}},
		Profiles: map[string]Profile{
			"live": {
				Values: map[string]string{
					"base_url": "https://pay.example.com/api", "account": "acme", "reseller_auth": "none", "first_page": "0",
					"time_layout": "2006-01-02T15:04:05", "time_zone": "Europe/Berlin", "journal": "postgres://till@db/till",
					"lookup": "never", "lookup_since": "2026-05-01", "lookup_timeout": "1h", "settle_after": "20m",
					"duplicate_window": "0s",
					"ca_file":          "~/ca.pem", "metrics": "~/till.prom", "api_key_file": "/run/key",
				},
				Lists: map[string][]string{
					"api_key_command": {"/usr/bin/pass", "show", "till/live"}, "on_finish": {"/usr/local/bin/report", "payroll", ""},
					"max_per_withdrawal": {"0.50000000 Btc", "1000.00 USD", "1.50000000 Doge"}, "max_per_run": {"10000.00 USD"},
					"allow_addresses": {"one", "two"},
				},
				Limits: money.Limits{
					MaxPerWithdrawal: []api.Amount{
						{Kind: api.Crypto, Code: "Btc", Minor: 50_000_000}, {Kind: api.Fiat, Code: "USD", Minor: 100_000},
						{Kind: api.Crypto, Code: "Doge", Minor: 150_000_000},
					},
					MaxPerRun:      []api.Amount{{Kind: api.Fiat, Code: "USD", Minor: 1_000_000}},
					AllowAddresses: []string{"one", "two"},
				},
				Currencies: []money.Entry{
					{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "bitcoin"},
					{Code: "Xlr", Kind: api.Crypto, Decimals: 7, MemoRequired: true},
				},
			},
			"empty": {Values: map[string]string{}, Lists: map[string][]string{}},
			"other": {Values: map[string]string{"first_page": "auto"}, Lists: map[string][]string{}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "\ufeff", "profiles:\ncurrencies:\n", "{}"} {
		f, err := Load(write(t, text))
		if err != nil || f.Current != "" || len(f.Profiles) != 0 || len(f.Currencies) != 0 {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	live := func(line string) string { return "profiles:\n  live:\n    " + line + "\n" }
	for name, c := range map[string]struct {
		text  string
		parts []string // the first is the line
	}{
		"a layout's key": {"layouts:\n  a:\n    skip: 1\n", []string{":3: ", "the key layouts.a.skip is not known",
			"skip_lines"}},
		"a layout's column": {"layouts:\n  a:\n    columns:\n      iban: x\n", []string{":4: ", "layouts.a.columns.iban",
			"address"}},
		"a layout's number": {"layouts:\n  a:\n    skip_lines: two\n", []string{":3: ",
			"layouts.a.skip_lines: a number belongs here"}},
		"a layout's text": {"layouts:\n  a:\n    skip_lines: \"2\"\n", []string{":3: ",
			"layouts.a.skip_lines: a number belongs here"}},
		"a layout's truth": {"layouts:\n  a:\n    until_blank: \"true\"\n", []string{":3: ",
			"layouts.a.until_blank: true or false belongs here"}},
		"a layout's meaning": {"layouts:\n  a:\n    group: \".\"\n", []string{":3: ",
			`layouts.a.group: "." is the decimal mark already`}},
		"a layout's own line": {"layouts:\n  a:\n    skip_lines: 2\n    decimal: \";\"\n", []string{":4: ",
			`layouts.a.decimal: there is no ";"`}},
		"a layout's columns": {"layouts:\n  a:\n    decimal: \",\"\n    columns: {address: IBAN, memo: iban}\n", []string{":4: ",
			`layouts.a.columns: "iban" is both`}},
		"a layout's name": {"layouts:\n  \"a b\": {}\n", []string{":2: ", "a b"}},
		"unknown key": {"# c\n\nfoo: 1\n",
			[]string{":3: ", "the key foo is not known", "current, currencies, layouts, profiles"}},
		"unknown in a profile": {live("baseurl: https://x"),
			[]string{":3: ", "profiles.live.baseurl is not known", "base_url"}},
		"another case":          {live("Base_URL: https://x"), []string{":3: ", "not known"}},
		"setting at the top":    {"base_url: https://x\n", []string{":1: ", "belongs to a profile"}},
		"flags are no settings": {live("output: json"), []string{":3: ", "not known"}},
		"a dotted key":          {"profiles.live.base_url: https://x\n", []string{":1: ", "not known"}},
		"key at the top": {"api_key: s3cret\n",
			[]string{":1: ", "keys are not stored in the configuration", "till auth login"}},
		"key in a profile": {live("api_key: s3cret"),
			[]string{":3: ", "keys are not stored in the configuration", "api_key_command"}},
		"given twice": {"current: a\ncurrent: b\n",
			[]string{":2: ", "the key current is given twice, first in line 1"}},
		"given twice in a profile": {live("account: a\n    account: b"), []string{":4: ", "given twice, first in line 3"}},
		"profile twice":            {"profiles:\n  a: {}\n  a: {}\n", []string{":3: ", "given twice"}},
		"sandbox":                  {"profiles:\n  sandbox: {}\n", []string{":2: ", "built in"}},
		"profile name":             {"profiles:\n  Live: {}\n", []string{":2: ", "lower-case"}},
		"profile name with dot":    {"profiles:\n  a.b: {}\n", []string{":2: ", "lower-case"}},
		"current":                  {"current: Live\n", []string{":1: ", "cannot be the name"}},
		"profiles as a list":       {"profiles: [a]\n", []string{":1: ", "a list, where keys with values belong"}},
		"profile as a text":        {"profiles:\n  live: https://x\n", []string{":2: ", "a text, where keys"}},
		"top as a list":            {"- a\n", []string{":1: ", "a list"}},
		"top as a text":            {"hello\n", []string{":1: ", "a text"}},
		"number for a text": {live("account: 4711"),
			[]string{":3: ", "a number, where a text belongs: put it in quotes"}},
		"boolean for a text": {live("account: true"), []string{":3: ", "true or false, where a text belongs"}},
		"date for a text":    {live("account: 2026-05-01"), []string{":3: ", "a date, where a text belongs"}},
		"no value":           {live("account:"), []string{":3: ", "has no value"}},
		"list for a text":    {live("account: [a]"), []string{":3: ", "a list, where a text belongs"}},
		"text for a list":    {live("allow_addresses: a"), []string{":3: ", "where a list belongs"}},
		"number in a list":   {live("allow_addresses: [a, 1]"), []string{":3: ", "a number"}},
		"empty in a list":    {live(`allow_addresses: [""]`), []string{":3: ", "is empty"}},
		"other tag":          {live("account: !!binary YQ=="), []string{":3: ", "unknown kind"}},
		"own tag":            {live("account: !secret x"), []string{":3: ", "unknown kind"}},
		"anchor":             {live("account: &a x"), []string{":3: ", "anchors and aliases"}},
		"anchor on nothing":  {"#\r&0", []string{"anchors and aliases"}},
		"alias":              {live("account: x\n    <<: *a"), []string{"this is not YAML", "anchor"}},
		"merge":              {live("<<: {account: x}"), []string{":3: ", "is not known"}},
		"list as a key":      {live("[a]: x"), []string{":3: ", "is not known"}},
		"second document":    {"current: a\n---\ncurrent: b\n", []string{":2: ", "second document"}},
		"not YAML":           {"current: [\n", []string{"this is not YAML"}},
		"tab":                {"profiles:\n\tlive: {}\n", []string{":2: ", "this is not YAML"}},
		"not UTF-8":          {"current: a\n# \xff\n", []string{":2: ", "not UTF-8"}},
		"UTF-16":             {"\xff\xfec\x00", []string{":1: ", "not UTF-8"}},

		"duration without unit":  {live("settle_after: 900"), []string{":3: ", "write a number and a unit"}},
		"time-out without unit":  {live("lookup_timeout: 600"), []string{":3: ", "write a number and a unit"}},
		"no time at all":         {live("lookup_timeout: 0s"), []string{":3: ", "no time at all"}},
		"duration":               {live("settle_after: soon"), []string{":3: ", `"soon" is not a duration`}},
		"negative duration":      {live("duplicate_window: -1m"), []string{":3: ", "is not a duration"}},
		"first page":             {live("first_page: 2"), []string{":3: ", "auto, 0 or 1"}},
		"reseller auth":          {live("reseller_auth: basic"), []string{":3: ", "bearer or none"}},
		"lookup":                 {live("lookup: often"), []string{":3: ", "auto, always or never"}},
		"time zone":              {live("time_zone: Mars/Olympus"), []string{":3: ", "not a time zone"}},
		"time zone path":         {live("time_zone: ../../etc/passwd"), []string{":3: ", "not a time zone"}},
		"layout without a date":  {live(`time_layout: "15:04:05"`), []string{":3: ", "lacks the year"}},
		"layout with a weekday":  {live(`time_layout: "Mon Jan 2006"`), []string{":3: ", "the day"}},
		"layout without a month": {live(`time_layout: "2006 02"`), []string{":3: ", "the month"}},
		"empty layout":           {live(`time_layout: ""`), []string{":3: ", "is empty"}},
		"empty account":          {live(`account: ""`), []string{":3: ", "is empty"}},
		"spaced account":         {live(`account: " a"`), []string{":3: ", "space"}},
		"base url: dots":         {live("base_url: https://pay.example.com/x/.."), []string{":3: ", "another spelling"}},
		"base url: http":         {live("base_url: http://pay.example.com"), []string{":3: ", "plain http"}},
		"base url: localhost": {live("base_url: http://localhost:1"), []string{":3: ",
			"127.0.0.1 instead of localhost"}},
		"base url: user":         {live("base_url: https://u:s3cret@x"), []string{":3: ", "user name or a password"}},
		"base url: query":        {live("base_url: https://x?a=b"), []string{":3: ", "query"}},
		"base url: fragment":     {live(`base_url: "https://x#"`), []string{":3: ", "fragment"}},
		"base url: relative":     {live("base_url: pay.example.com"), []string{":3: ", "does not begin with https://"}},
		"base url: no host":      {live("base_url: https:///a"), []string{":3: ", "and a host"}},
		"base url: port":         {live("base_url: https://x:99999"), []string{":3: ", "no such port"}},
		"base url: secret port":  {live("base_url: https://u:s3cret"), []string{":3: ", "cannot be understood"}},
		"base url: other scheme": {live("base_url: ftp://x"), []string{":3: ", "does not begin with https://"}},
		"relative journal":       {live("journal: journal.db"), []string{":3: ", "relative"}},
		"journal scheme":         {live("journal: mysql://u:s3cret@x/y"), []string{":3: ", "is not one that is known"}},
		"journal one slash": {live("journal: postgres:/till:s3cret@db/till"),
			[]string{":3: ", "looks like an address"}},
		"journal settings": {live("journal: host=db password=s3cret"),
			[]string{":3: ", "list of connection settings"}},
		"journal broken":    {live("journal: postgres://u:s3cret@x:y/z"), []string{":3: ", "cannot be understood"}},
		"relative key file": {live("api_key_file: key"), []string{":3: ", "no absolute path"}},
		"relative ca":       {live("ca_file: ./ca.pem"), []string{":3: ", "relative"}},
		"relative command":  {live("api_key_command: [pass, show]"), []string{":3: ", "absolute path"}},
		"relative program": {live("on_finish: [report, payroll]"),
			[]string{":3: ", "absolute path", "[/usr/local/bin/report, payroll]"}},
		"program as a text": {live("on_finish: /usr/local/bin/report"), []string{":3: ", "a list belongs"}},
		"relative metrics":  {live("metrics: till.prom"), []string{":3: ", "relative path"}},
		"command as a text": {live("api_key_command: /usr/bin/pass show"), []string{":3: ", "a list belongs"}},
		"limit: no code":    {live(`max_per_run: ["1"]`), []string{":3: ", "has no currency"}},
		"limit: spelling":   {live(`max_per_run: ["1,000 USD"]`), []string{":3: ", "separator"}},
		"limit: decimals unknown": {live(`max_per_run: ["1 Btc"]`),
			[]string{":3: ", "decimals of Btc are not known", "till currency set Btc --decimals 8"}},
		"limit: twice":         {live(`max_per_run: ["1 USD", "2 usd"]`), []string{":3: ", "USD has two limits"}},
		"limit: unlimited":     {live("unlimited: [Xyz]"), []string{":3: ", `unlimited: the currency "Xyz" is not known`}},
		"limit: none":          {live("max_per_withdrawal:"), []string{":3: ", "max_per_withdrawal: it has no value"}},
		"limit: none in a run": {live("max_per_run: ~"), []string{":3: ", "max_per_run: it has no value"}},
		"addresses: none": {live("account: x\n    allow_addresses:"),
			[]string{":4: ", "allow_addresses: it has no value"}},
		"limit: zero":       {live(`max_per_run: ["0 USD"]`), []string{":3: ", "is zero"}},
		"currency: no code": {"currencies:\n- {kind: crypto}\n", []string{":2: ", "has no code"}},
		"currency: no kind": {"currencies:\n- {code: Doge}\n", []string{":2: ", "Doge has no kind"}},
		"currency: kind":    {"currencies:\n- {code: Doge, kind: Crypto}\n", []string{":2: ", "write crypto or fiat"}},
		"currency: code":    {"currencies:\n- {code: \"a b\", kind: crypto}\n", []string{":2: ", "is not a code"}},
		"currency: twice": {"currencies:\n- {code: Btc}\n- {code: BTC}\n",
			[]string{":3: ", "given twice, first in line 2"}},
		"currency: decimals": {"currencies:\n- {code: Btc, decimals: 19}\n", []string{":2: ", "0 to 18"}},
		"currency: USD": {"currencies:\n- code: usd\n  decimals: 0\n",
			[]string{":3: ", "the service counts USD with 2 decimals"}},
		"currency: built in": {"currencies:\n- {code: Xlr, kind: fiat, decimals: 7}\n",
			[]string{":2: ", "Xlr is a crypto currency"}},
		"currency: octal":  {"currencies:\n- {code: Btc, decimals: 08}\n", []string{":2: ", "0 to 18"}},
		"currency: quoted": {"currencies:\n- {code: Btc, decimals: \"8\"}\n", []string{":2: ", "0 to 18"}},
		"currency: memo":   {"currencies:\n- {code: Btc, memo: none}\n", []string{":2: ", "write required"}},
		"currency: key": {"currencies:\n- {code: Btc, decimal: 8}\n",
			[]string{":2: ", "code, kind, decimals, memo, address_format"}},
		"currency: format": {"currencies:\n- {code: Btc, address_format: btc}\n",
			[]string{":2: ", `"btc" is not a format: write bitcoin, bitcoin-testnet, `, "iban or none"}},
		"currency: no format": {"currencies:\n- {code: Btc, address_format: }\n",
			[]string{":2: ", "address_format: it has no value"}},
		"addresses: mistyped": {live("currencies: [{code: Btc, address_format: bitcoin}]\n    allow_addresses:\n    - " +
			"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4\n    - bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"),
			[]string{":6: ", "its checksum is wrong"}},
		"addresses: another network": {"currencies: [{code: Btc, address_format: bitcoin}]\n" +
			live("allow_addresses: [TAcPMhqYruDSCUTy4CE2a3qByHuohVpMsb]"), []string{":4: ", "is a TRON address"}},
		"currency: a text": {"currencies: [Btc]\n", []string{":1: ", "a text"}},
	} {
		f, err := Load(write(t, c.text))
		fails(t, name, err, "config", c.parts...)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
		if !reflect.DeepEqual(f, File{}) {
			t.Errorf("%s: returned %+v beside the error", name, f)
		}
	}
}

// A few lines with aliases would expand to billions of values.
func TestLoadAliasBomb(t *testing.T) {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		p := string(c - 1)
		text += string(c) + ": &" + string(c) + " [*" + strings.Repeat(p+",*", 8) + p + "]\n"
	}
	_, err := Load(write(t, text))
	fails(t, "bomb", err, "config", ":1: ", "anchors and aliases")
}

func TestLoadRefusesUnusableFiles(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	fails(t, "missing", err, "config", "does not exist")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing file is not fs.ErrNotExist")
	}
	_, err = Load(t.TempDir())
	fails(t, "directory", err, "config", "is a directory")
	_, err = Load(write(t, strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 1025)))
	fails(t, "huge", err, "config", "larger than 1 MiB")
	if _, err = Load(os.DevNull); err != nil {
		t.Errorf("%s is an empty configuration: %v", os.DevNull, err)
	}

	path := write(t, "current: live\n")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o644: true, 0o606: false,
		0o602: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link.yaml")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, link} {
			_, err := Load(p)
			if ok && err != nil {
				t.Errorf("mode %o: %v", mode, err)
			} else if !ok {
				fails(t, mode.String(), err, "config", "can be written by others", "chmod go-w ")
			}
		}
	}
}
