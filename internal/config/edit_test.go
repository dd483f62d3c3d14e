package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
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
	if err := Edit(path, change); err != nil {
		t.Fatal(err)
	}
}

func TestEditKeepsCommentsAndOrder(t *testing.T) {
	path := write(t, commented)
	edit(t, path, func(d *Document) error {
		if err := d.SetProfile("live", "account=acme", "base_url=https://new.example", "max_per_run=20.00 USD,1 Btc",
			"first_page=0"); err != nil {
			return err
		}
		return d.SetCurrency("live", money.Entry{Code: "xlr", Kind: api.Crypto, Decimals: 7, MemoRequired: true})
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
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	// An edit that changes nothing leaves the file alone.
	edit(t, path, func(d *Document) error { return nil })
	if read(t, path) != want {
		t.Error("changed")
	}
}

func TestEditKeepsAFileOfComments(t *testing.T) {
	path := write(t, "# my till\n\n# base_url: later\n")
	edit(t, path, func(d *Document) error { return nil })
	edit(t, path, func(d *Document) error {
		return d.SetCurrency("", money.Entry{Code: "Btc", Decimals: 8})
	})
	want := "# my till\n# base_url: later\ncurrencies:\n  - {code: Btc, kind: crypto, decimals: 8}\n"
	if got := read(t, path); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestSetProfileValues(t *testing.T) {
	path := write(t, commented)
	edit(t, path, func(d *Document) error {
		return d.SetProfile("live", "api_key_command=/usr/bin/pass show till/live", `allow_addresses=["a,b", c]`,
			"lookup_since=2026-05-01",
			"time_layout=2006-01-02", "max_per_run=", "settle_after=1h", "account=true", "journal=postgres://till@db/till")
	})
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Profiles["live"]
	if strings.Join(p.Lists["api_key_command"], "|") != "/usr/bin/pass|show|till/live" ||
		strings.Join(p.Limits.AllowAddresses, "|") != "a,b|c" ||
		p.Limits.MaxPerRun != nil || p.Values["lookup_since"] != "2026-05-01" || p.Values["account"] != "true" ||
		p.Values["time_layout"] != "2006-01-02" {
		t.Errorf("%+v", p)
	}
}

func TestEditRefuses(t *testing.T) {
	set := func(profile string, settings ...string) func(*Document) error {
		return func(d *Document) error { return d.SetProfile(profile, settings...) }
	}
	for name, c := range map[string]struct {
		change func(*Document) error
		kind   string
		parts  []string
	}{
		"sandbox":  {set("sandbox"), "usage", []string{"built in"}},
		"name":     {set("Live"), "usage", []string{"lower-case"}},
		"no value": {set("live", "account"), "usage", []string{"KEY=VALUE"}},
		"twice":    {set("live", "account=a", "account=b"), "usage", []string{"given twice"}},
		"unknown":  {set("live", "baseurl=x"), "usage", []string{`"baseurl" is not known`, "base_url"}},
		"flag":     {set("live", "output=json"), "usage", []string{"not known"}},
		"key": {set("live", "api_key=s3cret"), "usage",
			[]string{"keys are not stored in the configuration", "till auth login"}},
		"currencies":       {set("live", "currencies=Btc"), "usage", []string{"till currency set"}},
		"url":              {set("live", "base_url=x"), "usage", []string{"base_url: "}},
		"http":             {set("live", "base_url=http://x"), "config", []string{"plain http"}},
		"time zone":        {set("live", "time_zone=Mars"), "usage", []string{"time_zone: "}},
		"command quotes":   {set("live", `api_key_command=/bin/sh -c "echo x"`), "usage", []string{"as a list"}},
		"command relative": {set("live", "api_key_command=pass show"), "usage", []string{"absolute"}},
		"program quotes":   {set("live", `on_finish=/bin/sh -c "echo x"`), "usage", []string{"as a list"}},
		"program relative": {set("live", "on_finish=report payroll"), "usage", []string{"absolute"}},
		"list":             {set("live", "allow_addresses=a,,b"), "usage", []string{"empty part"}},
		"broken list":      {set("live", "allow_addresses=[a"), "usage", []string{"not a list"}},
		"limit": {set("live", "max_per_run=1,000 USD"), "usage",
			[]string{"nothing was changed", "has no currency"}},
		"limit decimals": {set("live", "max_per_run=1 Xlr"), "usage",
			[]string{"nothing was changed", "till currency set Xlr --decimals 7"}},
		"invalid UTF-8": {set("live", "account=\xff"), "usage", []string{"nothing was changed"}},
		"use": {func(d *Document) error { return d.UseProfile("prod") }, "config",
			[]string{"choose one of live, test"}},
		"remove": {func(d *Document) error { return d.RemoveProfile("prod") }, "config",
			[]string{"choose one of live, test"}},
		"currency needed": {func(d *Document) error { return d.RemoveCurrency("live", "xlr") }, "usage",
			[]string{"has no currency"}},
		"currency code": {func(d *Document) error { return d.SetCurrency("", money.Entry{Code: "a b"}) }, "usage",
			[]string{"not a code"}},
		"currency kind": {func(d *Document) error { return d.SetCurrency("", money.Entry{Code: "Doge", Decimals: -1}) },
			"usage", []string{"--kind crypto"}},
		"currency number": {func(d *Document) error { return d.SetCurrency("", money.Entry{Code: "Btc", Decimals: 19}) },
			"usage", []string{"0 to 18"}},
		"currency format": {func(d *Document) error {
			return d.SetCurrency("", money.Entry{Code: "Btc", Decimals: 8, AddressFormat: "btc"})
		}, "usage", []string{"not a format"}},
		"currency profile": {func(d *Document) error { return d.SetCurrency("prod", money.Entry{Code: "Btc"}) }, "config",
			[]string{"does not exist"}},
	} {
		path := write(t, commented)
		err := Edit(path, c.change)
		fails(t, name, err, c.kind, c.parts...)
		if read(t, path) != commented {
			t.Errorf("%s: the file has changed", name)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a secret", name)
		}
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
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	edit(t, link, func(d *Document) error { return d.UseProfile("test") })
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	if !strings.Contains(read(t, target), "current: test") {
		t.Error("the target has not changed")
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
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
	f, err := Load(path)
	if err = errors.Join(append(errs, err)...); err != nil || len(f.Profiles) != n {
		t.Errorf("%d profiles, %v", len(f.Profiles), err)
	}
}

// A failed write leaves only the old file.
func TestEditThatCannotWrite(t *testing.T) {
	path := write(t, commented)
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if f, err := os.CreateTemp(dir, ""); err == nil {
		f.Close()
		t.Skip("this user writes everywhere")
	}
	fails(t, "read-only", Edit(path, func(d *Document) error { return d.UseProfile("test") }), "config",
		"cannot be written")
	if read(t, path) != commented {
		t.Error("the file has changed")
	}
}
