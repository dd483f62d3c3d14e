package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const commented = `# who pays whom
current: live # for now
profiles:
  # the real one
  live:
    base_url: https://pay.example.com # the merchant panel says so
    # ask Ann before you change these
    max_per_run: ["10.00 USD"]
    currencies:
      # counted in satoshi
      - {code: Btc, kind: crypto, decimals: 8}
  test: {account: t}
# the end
`

func edit(t *testing.T, path string, change func(*Document) error) {
	t.Helper()
	must(t, Edit(path, change))
}

func TestEditKeepsCommentsAndOrder(t *testing.T) {
	path := write(t, commented)
	edit(t, path, func(d *Document) error {
		if err := d.SetProfile("live", "account=acme", "base_url=https://new.example", "max_per_run=20.00 USD,1 Btc",
			"first_page=0"); err != nil {
			return err
		}
		return d.SetCurrency("live", "xlr", map[string]string{"kind": "crypto", "decimals": "7", "memo": "required"})
	})
	want := `# who pays whom
current: live # for now
profiles:
  # the real one
  live:
    base_url: https://new.example # the merchant panel says so
    # ask Ann before you change these
    max_per_run: [20.00 USD, 1 Btc]
    currencies:
      # counted in satoshi
      - {code: Btc, kind: crypto, decimals: 8}
      - {code: xlr, kind: crypto, decimals: 7, memo: required}
    account: acme
    first_page: "0"
  test: {account: t}
# the end
`
	if got := read(t, path); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestEditKeepsAFileOfComments(t *testing.T) {
	path := write(t, "# my till\n\n# base_url: later\n")
	edit(t, path, func(d *Document) error {
		return d.SetCurrency("", "Btc", map[string]string{"decimals": "8"})
	})
	want := "# my till\n\n# base_url: later\ncurrencies:\n  - {code: Btc, kind: crypto, decimals: 8}\n"
	if got := read(t, path); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestSetProfileValues(t *testing.T) {
	path := write(t, commented+"layouts:\nlayouts:\n  a: {}\nlayouts: {b: {}}\n") // as they were appended
	edit(t, path, func(d *Document) error {
		return d.SetProfile("live", "api_key_command=/usr/bin/pass show till/live", `allow_addresses=["a,b", c]`,
			"lookup_since=2026-05-01",
			"time_layout=2006-01-02", "max_per_run=", "settle_after=1h", "account=true", "journal=postgres://till@db/till")
	})
	f, err := load(t, path)
	must(t, err)
	p := f.Profiles["live"]
	if len(f.Layouts) != 2 || strings.Join(p.Lists["api_key_command"], "|") != "/usr/bin/pass|show|till/live" ||
		strings.Join(p.Limits.AllowAddresses, "|") != "a,b|c" ||
		p.Limits.MaxPerRun != nil || p.Values["lookup_since"] != "2026-05-01" || p.Values["account"] != "true" ||
		p.Values["time_layout"] != "2006-01-02" {
		t.Errorf("%+v", p)
	}
}

// refusedEdits has settings of the profile live, each with the kind of the error and parts of what it says.
const refusedEdits = `
account => usage write KEY=VALUE
baseurl=x => usage the key "baseurl" is not known: a profile has base_url, account
output=json => usage not known
api_key=s3cret => usage keys are not stored in the configuration
currencies=Btc => usage till currency set
base_url=x => usage base_url: "x" does not begin with https://
base_url=http://x => config plain http
lookup_since=2026-13 => usage lookup_since: "2026-13" is not a time
time_zone=Mars => usage time_zone: "Mars" is not a time zone
api_key_command=/bin/sh -c "echo x" => usage as a list
api_key_command=pass show => usage absolute
on_finish=/bin/sh -c "echo x" => usage as a list
on_finish=report payroll => usage absolute
allow_addresses=a,,b => usage allow_addresses: it is empty
allow_addresses=[a => usage not a list
max_per_run=1,000 USD => usage because the configuration would be wrong: profiles.live.max_per_run: 
max_per_run=1 Xlr => usage till currency set Xlr --decimals 7
`

func TestEditRefuses(t *testing.T) {
	refused := func(name string, change func(*Document) error, kind, says string) {
		path := write(t, commented)
		err := Edit(path, change)
		fails(t, name, err, kind, says)
		if read(t, path) != commented || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the file has changed, or the error shows a secret: %v", name, err)
		}
	}
	set := func(profile string, settings ...string) func(*Document) error {
		return func(d *Document) error { return d.SetProfile(profile, settings...) }
	}
	currency := func(profile, code, key, value string) func(*Document) error {
		return func(d *Document) error { return d.SetCurrency(profile, code, map[string]string{key: value}) }
	}
	for row := range strings.SplitSeq(strings.Trim(refusedEdits, "\n"), "\n") {
		setting, want, _ := strings.Cut(row, " => ")
		kind, says, _ := strings.Cut(want, " ")
		refused(setting, set("live", setting), kind, says)
	}
	for _, c := range []struct {
		change     func(*Document) error
		kind, says string
	}{
		{set("sandbox"), "usage", "built in"}, {set("Live"), "usage", "lower-case"},
		{set("_a"), "usage", "lower-case"}, {set(strings.Repeat("a", 65)), "usage", "at most 64"},
		{set("live", "account=a", "account=b"), "usage", "given twice"},
		{set("live", "account=\xff"), "usage", "nothing was changed"},
		{func(d *Document) error { return d.UseProfile("prod") }, "config", "choose one of live, test"},
		{func(d *Document) error { return d.RemoveProfile("prod") }, "config", "choose one of live, test"},
		{func(d *Document) error { return d.RemoveCurrency("live", "xlr") }, "usage", "has no currency"},
		{currency("", "a b", "kind", "fiat"), "usage", "not a code"},
		{currency("", "Doge", "memo", "required"), "usage", "--kind crypto"},
		{currency("", "Btc", "decimals", "19"), "usage", "0 to 18"},
		{currency("", "Btc", "address_format", "btc"), "usage", "not a format"},
		{currency("prod", "Btc", "decimals", "8"), "config", "does not exist"},
	} {
		refused(c.says, c.change, c.kind, c.says)
	}
	// A limit needs its currency.
	path := write(t, "currencies: [{code: Btc, decimals: 8}]\nprofiles: {live: {max_per_run: [1 Btc]}}\n")
	fails(t, "used", Edit(path, func(d *Document) error { return d.RemoveCurrency("", "BTC") }), "usage",
		"decimals of Btc are not known")
	// An error in the old file is not a usage error.
	path = write(t, "nonsense: 1\n")
	fails(t, "wrong before", Edit(path, set("live")), "config", path+":1: ")
	fails(t, "device", Edit(os.DevNull, set("live")), "config", "not a regular file")
}

func TestEditThroughASymbolicLink(t *testing.T) {
	target := write(t, commented)
	link := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.Symlink(target, link))
	edit(t, link, func(d *Document) error { return d.UseProfile("test") })
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	if !strings.Contains(read(t, target), "current: test") {
		t.Error("the target has not changed")
	}
	must(t, os.Remove(target))
	fails(t, "dangling", Edit(link, func(d *Document) error { return d.SetProfile("live") }), "config",
		"cannot be changed")
	if _, err := os.Lstat(target); err == nil {
		t.Error("a file was made through a link that led nowhere")
	}
}

// All concurrent edits take effect. The lock belongs to the open file, so goroutines act as processes.
func TestEditsDoNotLoseEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	const n = 20
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() {
			errs[i] = Edit(path, func(d *Document) error { return d.SetProfile(fmt.Sprintf("p%02d", i)) })
		})
	}
	group.Wait()
	f, err := load(t, path)
	if err = errors.Join(append(errs, err)...); err != nil || len(f.Profiles) != n {
		t.Errorf("%d profiles, %v", len(f.Profiles), err)
	}
}
