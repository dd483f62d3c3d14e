package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/exit"
)

// TestUsageErrorTexts checks the texts of usage errors. Some are made from the messages of libraries, so
// the test shows when a new version of them has other messages. In a command line, ” is an empty argument.
func TestUsageErrorTexts(t *testing.T) {
	const (
		create  = "withdraw create --sandbox --currency Btc --address a "
		isEmpty = " is empty; " + cmdline.UnsetHint
		columns = "use version, commit, committed, modified, go, platform; "
	)
	for _, c := range []struct{ line, says string }{
		{create + "--amount 1 --memo ''", "--memo" + isEmpty},
		{create + "--amount 1 --order-id=", "--order-id" + isEmpty},
		{create + "--amount 1 --profile ''", "--profile" + isEmpty},
		{"withdraw list --sandbox --currency Btc --currency ''", "one of the values of --currency" + isEmpty},
		{"withdraw list --sandbox --columns ''", "--columns" + isEmpty},
		{"withdraw wait w-1 --sandbox --status New,,Done", "one of the values of --status" + isEmpty},
		{"api GET ''", "api: PATH" + isEmpty},

		{create + "--amount 1 --amount 2", "--amount is given twice; leave one out"},
		{"invoice create --title T --currency Usd --item A=1.00 --item A=1.00 --number 1 --number 2",
			"--number is given twice; leave one out"},

		{"withdraw list --limit abc", `--limit: "abc" is not a whole number; see: till withdraw list --help`},
		{"withdraw list --retries 99999999999999999999",
			`--retries: the number "99999999999999999999" does not fit into 64 bits; see: till help flags`},
		{"withdraw list --timeout 5",
			`--timeout: "5" is not a duration: write a number and a unit, such as 90s, 15m or 2h; see: till help flags`},
		{"withdraw list --all=maybe", `--all: "maybe" is neither true nor false; see: till withdraw list --help`},
		{`withdraw list --columns a"b`,
			`--columns: "a\"b" has a quote that is out of place: write values with commas between; see: till help flags`},
		{"withdraw list -o", "--output needs a value; see: till help flags"},

		{"withdraw list --nonsense", "withdraw list has no flag --nonsense; see: till withdraw list --help"},
		{"withdraw list --curency Btc", "withdraw list has no flag --curency; did you mean --currency?"},
		{"withdraw create -amount 1", "withdraw create has no flag -a; did you mean --amount?"},
		{"withdraw list -qx", "withdraw list has no flag -x; see: till withdraw list --help"},
		{"withdraw list --=x", `"--=x" is not the name of a flag; see: till withdraw list --help`},
		{"withdraw list --cols id", "withdraw list has no flag --cols; did you mean --columns?"},
		{"version --vers", "version has no flag --vers; see: till version --help"},
		{"--profil x", "there is no flag --profil; did you mean --profile?"},
		{"--nonsense", "there is no flag --nonsense; see: till help flags"},

		{"withdraw list -o jsno",
			`--output: "jsno" is not one of its values: write table, json, jsonl, csv or yaml; did you mean json?`},
		{"version --columns versoin", `unknown column "versoin": ` + columns + "did you mean version?"},
		{"version --sort -commited", `unknown column "commited" in --sort: ` + columns + "did you mean committed?"},
		{"sandbox settings frist_page", `there is no setting "frist_page"; did you mean first_page?`},
		{"currency set Btc --address-format bitcion",
			`--address-format: there is no format "bitcion"; did you mean bitcoin?`},
		{"withdraw create --sandbox --currency Bct --amount 1 --address a",
			`--currency: the sandbox has no currency "Bct": the known ones are Btc, Eth, EUR, GBP, JPY, KWD, Ltc, USD, ` +
				"UsdcXlr, UsdtErc20, UsdtTrc20, Xlr and the fiat currencies of ISO 4217."},
		{"completion bahs", `till completion: there is no script for the shell "bahs"; did you mean bash?`},
		{"auth login --store fiel", "--store: a key is kept in the keyring or a file; did you mean file?"},
		{"payout plan - --out p --format cvs", `--format: there is no format "cvs"; did you mean csv?`},
		{"withdraw list --sandbox --currency Btc,Eth",
			`--currency: "Btc,Eth" is not one currency; give --currency again for each`},

		{"pay", `there is no command "pay"; did you mean till withdraw create or till payout apply?`},
		{"journal ls", `journal has no command "ls"; did you mean till journal list?`},
		{"payout send", `payout has no command "send"; did you mean till payout apply?`},
		{"help exit-code", `there is no help about "exit-code": till has no command or topic of that name; ` +
			"did you mean exit-codes?"},
		{"help withdraw crate", `there is no help about "crate": till withdraw has no command or topic of that name; ` +
			"did you mean create?"},
		{"help withdraw nonsense", `there is no help about "nonsense": till withdraw has no command or topic of that ` +
			"name; see: till help withdraw"},
		{"xyzzy", `there is no command "xyzzy"; see the commands: till --help`},
		{"withdraw xyzzy", `withdraw has no command "xyzzy"; see the commands: till withdraw --help`},

		{"withdraw create --sandbox", "withdraw create needs --currency and --address; see: till withdraw create --help"},
		{create, "withdraw create needs --amount or --amount-minor; see: till withdraw create --help"},
		{create + "--amount 1 --amount-minor 1", "--amount and --amount-minor cannot be used together; leave one out"},
		{"currency set Btc",
			"currency set needs --kind, --decimals, --memo or --address-format; see: till currency set --help"},
		{"withdraw get", "withdraw get needs ID, or --order-id N; see: till withdraw get --help"},
		{"withdraw get a b", `withdraw get: "b" is an extra argument; see: till withdraw get --help`},
		{"sandbox run true",
			"sandbox run needs two dashes before its command; write it after two dashes: till sandbox run -- COMMAND"},
	} {
		args := strings.Fields(c.line)
		for i, arg := range args {
			args[i] = strings.TrimPrefix(arg, "''")
		}
		f := till(t, nil, args...)
		if got, want := strings.TrimSuffix(f.err, "\n"), "till: "+c.says; f.code != exit.Usage || got != want {
			t.Errorf("till %s ended with %d and says\n%q, want\n%q", c.line, f.code, got, want)
		}
	}
}

func TestErrorsAreRed(t *testing.T) {
	if f := till(t, []string{"CLICOLOR_FORCE=1"}, "xyzzy"); !strings.HasPrefix(f.err, "\x1b[31mtill:\x1b[0m there is") {
		t.Errorf("got %q", f.err)
	}
}

// A command in a hint that changes a configuration changes the one that is in use.
func TestHintNamesTheConfiguration(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "c.yaml"),
		"profiles: {test: {base_url: http://127.0.0.1:1, read_only: true}}\n")
	for line, says := range map[string]string{
		"invite create": "--config " + path + " profile set test read_only=false\n",
		"withdraw create --currency Doge --amount-minor 5 --address x": "--profile test --config " + path +
			" currency set Doge --kind KIND --decimals N\n",
	} {
		f := till(t, nil, append([]string{"--profile", "test", "--config", path}, strings.Fields(line)...)...)
		if !strings.HasSuffix(f.err, ": till "+says) {
			t.Errorf("%s says %q, want %q", line, f.err, says)
		}
	}
}
