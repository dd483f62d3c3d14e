package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
)

// usageOf runs a wrong command line and returns its error line.
func usageOf(t *testing.T, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	code := Run(context.Background(), append([]string{"till"}, args...), cmdutil.IO{
		In: strings.NewReader(""), Out: io.Discard, Err: &stderr, Now: time.Now,
		Environ: func() []string { return []string{"HOME=" + t.TempDir()} },
	})
	if code != cmdutil.ExitUsage {
		t.Errorf("till %q ended with %d: %s", args, code, &stderr)
	}
	return strings.TrimSuffix(stderr.String(), "\n")
}

func TestEmptyFlagsAreRefused(t *testing.T) {
	send := []string{"withdraw", "create", "--sandbox", "--yes", "--currency", "Btc", "--amount", "1", "--address", "a"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{append(send, "--memo", ""), "--memo is empty"},
		{append(send, "--order-id="), "--order-id is empty"},
		{append(send, "--callback", ""), "--callback is empty"},
		{append(send, "--template", ""), "--template is empty"},
		{append(send, "--profile", ""), "--profile is empty"},
		{[]string{"withdraw", "list", "--sandbox", "--from", ""}, "--from is empty"},
		{[]string{"withdraw", "list", "--sandbox", "--status", ""}, "--status is empty"},
		{[]string{"withdraw", "list", "--sandbox", "--currency", "Btc", "--currency", ""},
			"one of the values of --currency is empty"},
		{[]string{"withdraw", "list", "--sandbox", "--columns", ""}, "--columns is empty"},
		{[]string{"withdraw", "wait", "w-1", "--sandbox", "--status", "New,,Done"}, "one of the values of --status is empty"},
		{[]string{"auth", "login", "--store", ""}, "--store is empty"},
		{[]string{"--output", ""}, "--output is empty"},
	} {
		if got, want := usageOf(t, c.args...), "till: "+c.says+"; "+cmdutil.UnsetHint; got != want {
			t.Errorf("till %q says %q, want %q", c.args, got, want)
		}
	}
}

// TestUsageErrorTexts checks the texts of usage errors. Some are made from the messages of libraries, so
// the test shows when a new version of them has other messages.
func TestUsageErrorTexts(t *testing.T) {
	create := []string{"withdraw", "create", "--sandbox"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{append(create, "--currency", "Btc", "--amount", "1", "--amount", "2", "--address", "a"),
			"--amount is given twice; leave one out"},
		{[]string{"withdraw", "list", "--limit", "1", "--limit", "1"}, "--limit is given twice; leave one out"},
		{[]string{"invoice", "create", "--title", "T", "--currency", "Usd", "--item", "A=1.00", "--item", "A=1.00",
			"--number", "1", "--number", "2"}, "--number is given twice; leave one out"},
		{[]string{"invoice", "wait", "i", "--status", "Paid", "--interval", "1s", "--interval", "2s"},
			"--interval is given twice; leave one out"},
		{[]string{"withdraw", "list", "--limit", "abc"},
			`--limit: "abc" is not a whole number; see: till withdraw list --help`},
		{[]string{"withdraw", "list", "--retries", "99999999999999999999"},
			`--retries: the number "99999999999999999999" does not fit into 64 bits; see: till help flags`},
		{[]string{"withdraw", "list", "--timeout", "5"},
			`--timeout: "5" is not a duration: write a number and a unit, such as 90s, 15m or 2h; see: till help flags`},
		{[]string{"withdraw", "list", "--all=maybe"},
			`--all: "maybe" is neither true nor false; see: till withdraw list --help`},
		{[]string{"withdraw", "list", "--columns", `a"b`},
			`--columns: "a\"b" has a quote that is out of place: write values with commas between; see: till help flags`},
		{[]string{"withdraw", "list", "-o"}, "--output needs a value; see: till help flags"},
		{[]string{"withdraw", "list", "--limit"}, "--limit needs a value; see: till withdraw list --help"},
		{[]string{"withdraw", "list", "--nonsense"}, "withdraw list has no flag --nonsense; see: till withdraw list --help"},
		{[]string{"withdraw", "list", "--curency", "Btc"}, "withdraw list has no flag --curency; did you mean --currency?"},
		{[]string{"withdraw", "list", "--outptu=json"}, "withdraw list has no flag --outptu; did you mean --output?"},
		{[]string{"withdraw", "create", "-amount", "1"}, "withdraw create has no flag -a; did you mean --amount?"},
		{[]string{"withdraw", "list", "-o", "jsno"},
			`--output: "jsno" is not one of its values: write table, json, jsonl, csv or yaml; did you mean json?`},
		{[]string{"--profil", "x"}, "there is no flag --profil; did you mean --profile?"},
		{[]string{"version", "--columns", "versoin"},
			`unknown column "versoin": use version, commit, committed, modified, go, platform; did you mean version?`},
		{[]string{"version", "--sort", "-commited"},
			`unknown column "commited" in --sort: use version, commit, committed, modified, go, platform; did you mean committed?`},
		{[]string{"sandbox", "settings", "frist_page"}, `there is no setting "frist_page"; did you mean first_page?`},
		{[]string{"sandbox", "serve", "--set", "frist_page=1"},
			`--set: there is no setting "frist_page"; did you mean first_page?`},
		{[]string{"currency", "set", "Btc", "--address-format", "bitcion"},
			`--address-format: there is no format "bitcion"; did you mean bitcoin?`},
		{[]string{"withdraw", "list", "--cols", "id"}, "withdraw list has no flag --cols; did you mean --columns?"},
		{[]string{"version", "--vers"}, "version has no flag --vers; see: till version --help"},
		{append(create, "--currency", "Bct", "--amount", "1", "--address", "a"),
			`--currency: the currency "Bct" is not known: write crypto:Bct or fiat:Bct with an amount in minor units, or ` +
				`make it known; the known ones are Btc, Eth, EUR, GBP, JPY, KWD, Ltc, USD, UsdcXlr, UsdtErc20, UsdtTrc20, Xlr and the ` +
				`fiat currencies of ISO 4217. To add Bct, as crypto or fiat: till currency set Bct --kind KIND --decimals N`},
		{[]string{"completion", "bahs"}, `till completion: there is no script for the shell "bahs"; did you mean bash?`},
		{[]string{"auth", "login", "--store", "fiel"}, "--store: a key is kept in the keyring or a file; did you mean file?"},
		{[]string{"payout", "plan", "-", "--out", "p", "--format", "cvs"},
			`--format: there is no format "cvs"; did you mean csv?`},
		{[]string{"withdraw", "list", "--sandbox", "--currency", "Btc,Eth"},
			`--currency: "Btc,Eth" is not one currency; give --currency again for each`},
		{[]string{"pay"}, `there is no command "pay"; did you mean till withdraw create or till payout apply?`},
		{[]string{"ls"}, `there is no command "ls"; did you mean till withdraw list or till journal list?`},
		{[]string{"journal", "ls"}, `journal has no command "ls"; did you mean till journal list?`},
		{[]string{"payout", "send"}, `payout has no command "send"; did you mean till payout apply?`},
		{[]string{"withdraw", "list", "-qx"}, "withdraw list has no flag -x; see: till withdraw list --help"},
		{[]string{"--nonsense"}, "there is no flag --nonsense; see: till help flags"},
		{[]string{"withdraw", "list", "--=x"}, `"--=x" is not the name of a flag; see: till withdraw list --help`},
		{create, "withdraw create needs --currency and --address; see: till withdraw create --help"},
		{append(create, "--currency", "Btc", "--address", "a"),
			"withdraw create needs --amount or --amount-minor; see: till withdraw create --help"},
		{append(create, "--currency", "Btc", "--address", "a", "--amount", "1", "--amount-minor", "1"),
			"--amount and --amount-minor cannot be used together; leave one out"},
		{[]string{"currency", "set", "Btc"},
			"currency set needs --kind, --decimals, --memo or --address-format; see: till currency set --help"},
		{[]string{"api", "GET", ""}, "api: PATH is empty; " + cmdutil.UnsetHint},
		{[]string{"withdraw", "get"}, "withdraw get needs ID, or --order-id N; see: till withdraw get --help"},
		{[]string{"withdraw", "get", "a", "b"}, `withdraw get: "b" is an extra argument; see: till withdraw get --help`},
		{[]string{"xyzzy"}, `there is no command "xyzzy"; see the commands: till --help`},
		{[]string{"withdraw", "xyzzy"}, `withdraw has no command "xyzzy"; see the commands: till withdraw --help`},
		{[]string{"sandbox", "run", "true"},
			"sandbox run needs two dashes before its command; write it after two dashes: till sandbox run -- COMMAND"},
	} {
		if got, want := usageOf(t, c.args...), "till: "+c.says; got != want {
			t.Errorf("till %q says\n%q, want\n%q", c.args, got, want)
		}
	}
}

func TestCountedFlagsLookTheSame(t *testing.T) {
	a := &cmdutil.App{IO: cmdutil.IO{Environ: func() []string { return nil }}}
	listen, _, err := root(a).Find([]string{"callback", "listen"})
	if err != nil {
		t.Fatal(err)
	}
	text := namedFlags(listen.LocalFlags()).FlagUsages()
	for _, want := range []string{"--timeout DURATION ", "--count N ", "--respond N ", "(default 200)",
		"(default 127.0.0.1:0)", "--exec COMMAND "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "default 0") || strings.Contains(text, `default ""`) {
		t.Errorf("defaults that say nothing are shown:\n%s", text)
	}
}
