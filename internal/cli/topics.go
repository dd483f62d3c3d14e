package cli

import (
	"fmt"
	"strings"

	"example.com/till/internal/cmd/api"
	cmdconfig "example.com/till/internal/cmd/config"
	"example.com/till/internal/cmd/payout"
	"example.com/till/internal/cmd/reseller"
	"example.com/till/internal/cmd/sandbox"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the maximum width of the topics. They are read in terminals of 80 columns.
const helpWidth = 79

// helpTopic is a help page that belongs to no command.
type helpTopic struct {
	name, short string
	text        func() string
}

// topics returns all topics, in alphabetical order. A topic has at most 60 lines.
func topics() []helpTopic {
	return []helpTopic{
		{"approvals", "How several persons approve what is sent", payout.ApprovalsTopic},
		{"callbacks", "How callbacks are received", sandbox.CallbacksTopic},
		{"environment", "Variables, files, and which setting takes precedence", environmentTopic},
		{"exit-codes", "What the exit codes mean, and what to do next", exitCodesTopic},
		{"faults", "How the sandbox can fail", sandbox.FaultsTopic},
		{"flags", "Flags that every command has", flagsTopic},
		{"guarantees", "What till promises about payments, and what it cannot", guaranteesTopic},
		{"money", "How amounts and currencies are written", moneyTopic},
		{"monitoring", "How other programs learn how a command has ended", cmdutil.MonitoringTopic},
		{"operations", "The service's operations and their commands", api.OperationsTopic},
		{"output", "Formats, filters, and what is printed to which stream", outputTopic},
		{"payout-files", "Columns and rules of the files of payout plan", payout.FilesTopic},
		{"payouts", "How a payment is kept from being made twice", payoutsTopic},
		{"report", "Periods, groups and JSON of reseller report", reseller.ReportTopic},
		{"runs", "How a plan is applied, and what comes out", payout.RunsTopic},
		{"seeds", "What the file of a seed may have", sandbox.SeedsTopic},
		{"settings", "Settings of profiles and currencies", cmdconfig.SettingsTopic},
		{"testing", "How to test with the sandbox", sandbox.TestingTopic},
	}
}

// helpTopics returns the topics as commands. Cobra treats a command that cannot be run as a help topic.
func helpTopics() []*cobra.Command {
	var cmds []*cobra.Command
	for _, t := range topics() {
		cmds = append(cmds, topic(t.name, t.short, t.text))
	}
	return cmds
}

// flagGroups are the global flags by what they are about.
func flagGroups() []struct{ title, flags string } {
	return []struct{ title, flags string }{
		{"Account", "profile sandbox base-url api-key-file journal config"},
		{"Output", "output jq template columns sort no-headers quiet color"},
		{"Calls", "dry-run timeout retries debug"},
		{"Questions", "yes no-input"},
	}
}

func flagsTopic() string {
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(global)
	countFlags(global)
	var b strings.Builder
	b.WriteString("Every command has these flags. They can be written before or after its name.\n")
	for _, g := range flagGroups() {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		for _, name := range strings.Fields(g.flags) {
			group.AddFlag(global.Lookup(name))
		}
		fmt.Fprintf(&b, "\n%s\n%s", g.title, group.FlagUsagesWrapped(helpWidth))
	}
	b.WriteString(`
-h or --help shows the help of a command, with its own flags. till --version
shows the version.

If a flag that takes a list, such as --columns, is given more than once, all
its values count. Of the other flags above, the last one counts. A flag of a
single command is refused the second time, such as --timeout of a wait.

See: till help environment for variables, till help output for formats.
`)
	return b.String()
}

// overview returns the first screen: it has to fit 24 lines of 80 columns.
func overview(a *cmdutil.App, root *cobra.Command) string {
	all := commands(a, nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nUsage: till COMMAND [FLAGS]\nTry: %s\n\n", root.Short, strings.TrimSpace(root.Example))
	for _, g := range commandGroups() {
		label := g.title
		for _, name := range strings.Fields(g.commands) {
			fmt.Fprintf(&b, "%-11s%-12s%s\n", label, name, all[name](a).Short)
			label = ""
		}
	}
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	b.WriteString(fill("Topics", 11, strings.Join(names, ", ")))
	b.WriteString(fill("Help", 11, "till help COMMAND, till help TOPIC, till help flags"))
	return b.String()
}

// fill breaks text into lines of at most helpWidth columns. The first line begins with label, padded to
// indent. The other lines are indented by as much.
func fill(label string, indent int, text string) string {
	var b strings.Builder
	line := fmt.Sprintf("%-*s", indent, label)
	if len(label) >= indent && label != "" { // a label that is too wide gets its own line
		b.WriteString(label + "\n")
		line = strings.Repeat(" ", indent)
	}
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > helpWidth {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + line + "\n"
}

func exitCodesTopic() string {
	var b strings.Builder
	b.WriteString(`The exit code says what happened, and its tens digit who acts next.

   0  Done: there is nothing to do.
  1x  You. This command sent nothing.
  2x  You, with care. Money may be on its way: look before you send anything.
  3x  You, or the service. It said no.
  4x  The script. The same command may be run again.
  5x  You. It is done, but not all of it.
  6x  You. You stopped it.

`)
	for _, e := range cmdutil.ExitCodes() {
		b.WriteString(fill(fmt.Sprintf("  %2d  %s", e.Code, e.Kind), 21, e.Meaning))
	}
	b.WriteString(`
till sandbox run ends with the code of its command, or 128+n if signal n ended
it. Otherwise, a code that is not listed comes from a crash or from outside,
such as a kill. If money was to be sent, treat it as 20. If the message of a 20
begins with duplicate, nothing was sent: it names the other order to settle.

In a script:
  till withdraw create --order-id 5001 ... --yes
  case $? in
    0|51)     echo "accepted" ;;
    13|4?|60) echo "run the same command again" >&2 ;;
    1|1?|3?)  echo "not accepted" >&2 ;;
    *)        echo "stop: it may have been paid" >&2; exit 20 ;;
  esac
`)
	return b.String()
}

func outputTopic() string {
	var formats []string
	for _, f := range render.Formats() {
		formats = append(formats, string(f))
	}
	return `What you asked for goes to standard output and nothing else does. Errors, notes
and questions go to standard error.

` + fill("  -o, --output", 16, "The format: "+strings.Join(formats, ", ")+". Without it, table.") +
		fill("  --jq", 16,
			"Filter the JSON with a jq expression; jq itself is not needed. A string in the result is printed without quotes.") +
		fill("  --template", 16, "Print the JSON with a Go template.") +
		fill("  --columns", 16,
			"Which columns a table or CSV has, separated by commas. --columns help explains them.") +
		fill("  --sort", 16, "Sort a table or CSV by a column, descending with a minus before it: --sort=-amount. Amounts of one currency stay together. --limit cuts a list before it is sorted.") +
		fill("  --no-headers", 16, "Leave out the header of a table or CSV.") +
		fill("  -q, --quiet", 16, "Print ids only, one on each line.") + `
json and jsonl hold what the service sent, every field and every digit. A list
is an array in json, and one object on each line in jsonl, as they arrive.

csv has all columns unless some are named. An amount takes three columns: the
decimal, which is empty if the decimals are not known, the integer in minor
units, and the currency. The last two have names of their own for --columns and
--sort, such as amount_minor and amount_currency. An apostrophe is put before a
text of the service that a spreadsheet would run as a formula.

table is for reading. It fits the terminal, and shows control characters as
escapes. If a list is too wide, long texts are cut, and UUIDs and times are
shortened. In a pipe nothing is cut. A list has the main columns; --columns
shows others, and json and csv have all. In scripts, use another format.

With json and jsonl, every line on standard error is an object with one key:
  {"note":{"message":"results in staff.csv","run":"1f60bd0c"}}
  {"warning":{"message":"...","line":3,"order_id":"5002"}}
  {"error":{"kind":"usage","exit_code":10,"message":"...","hint":"..."}}
Each has order_id, or order_ids if it is about several, and id and run if they
are known. An error of the service also has its status, code, reason and
description, and that of a guard has the rule. The errors in a file are a list
"details", each with its line, field and message; as text, a line for each.
Lines of --debug and of commands that till runs are notes. Questions on a
terminal stay text, and so does what the command of sandbox run prints.

Colour is used on terminals, unless --color says otherwise, or without --color
the variables NO_COLOR or CLICOLOR_FORCE.
`
}

func moneyTopic() string {
	return `The service counts in whole minor units: 2500 is 25.00 USD, because a dollar
has two decimals. till does so too, and never computes with fractions.

Amounts
  --amount "25.00 USD"        a decimal and its currency, one space between
  --amount 0.015              a decimal in the currency that is withdrawn
  --amount-minor "2500 USD"   minor units and their currency
  --amount-minor 1500000      minor units of the currency that is withdrawn

There is one way to write each number. 1e3, 1,000, +5, .5, 007, 0 and numbers
with more decimals than the currency has are refused, and so are numbers that
do not fit into 64 bits.

Currencies
  Write a code in any case. It is sent as the service spells it: Usd names a
  currency, and USD is its code in an amount. The decimals of fiat currencies
  are those of ISO 4217.

  The interface does not show how many decimals the service counts in a crypto
  currency, and till does not guess. Until you set the number, decimals are
  refused and tables show the integer with the word minor:
    till currency set Btc --decimals 8

  Set a code that till does not know with its kind, or write it as crypto:CODE
  or fiat:CODE, with amounts in minor units:
    till currency set Eth --kind crypto --decimals 18
  till currency list shows the codes that are known.

Addresses
  till refuses an address that is not valid in the format of its currency. No
  format is assumed, so say how the addresses of a currency look:
    till currency set Btc --address-format bitcoin
  An address is sent as you wrote it. Addresses are compared without regard to
  case where case means nothing: in bech32, and in 0x with 40 digits.

Memos
  Some transfers are lost without a memo. A withdrawal in Xlr or a currency
  based on it, or in one set with --memo required, is refused without --memo.
  A memo has no white space at its ends, and nothing in it that cannot be seen.

Limits
  max_per_withdrawal, max_per_run and allow_addresses of a profile limit what
  can be sent: till help settings. As soon as one currency has a limit, till
  config show names those without one.
`
}

func payoutsTopic() string {
	return `The service does not promise to refuse an order id that it has seen before, so
perhaps nothing on its side prevents a second payment. So till keeps a journal
of every order, written before the first byte is sent and after each answer.

The same order id again
  accepted  sends nothing, prints the id of the payment
  unknown   sends nothing, 20: till withdraw reconcile ORDER
  sending   sends nothing, 13: another process is sending it
  conflict  sends nothing, 21: a person has to decide
  rejected  is sent again
  planned   is sent: it was not sent yet, or it never left, or the service
            refused the key or asked for fewer calls, or a person recorded
            that it was not sent
With another amount, currency, address or memo the order is refused, 12, unless
every attempt was rejected or never left. If a person has said that an order
was not sent, it can only be sent again with the same content.

Another order id with the same content
  While an order is unknown, the same content is refused under every other
  order id, 20; without --order-id also while an order is being sent, 13, and
  for ten minutes (duplicate_window) after one was accepted, 12. The message
  names the other order: add --allow-duplicate only if you mean two payments.

In a script
  Run till withdraw create with an --order-id of your own. After 20, run till
  withdraw reconcile with it. If that ends with 0, and after 13, 60 and every
  4x, run the same create again. Otherwise stop and tell a person. If a 20 has
  a message that begins with duplicate, nothing was sent: it names the other
  order to settle.

A file of payments
  till payout plan checks every row and writes a plan. A second person reads it
  with till payout show and sends the digest through a different channel; till
  payout apply --digest sends this plan and no other. After a crash, a power
  cut or code 20, apply the same plan again: accepted rows are not sent again.
  till payout status RUN           the state of every row
  till payout wait RUN ...         waits until the service says that it is done
  till payout reconcile RUN        settles a whole run with one reading

When the outcome is unknown
  till withdraw reconcile          reads the list, and settles what is on it
  till withdraw resolve ORDER ...  records what you know and the list does not
  till journal show ORDER          shows what happened

Try it on a sandbox
  till sandbox serve prints ADDRESS and KEY.
    export TILL_API_KEY=KEY TILL_PROFILE=practice
    till profile set practice base_url=ADDRESS settle_after=1s
    till sandbox fault add --do drop-before --times 1 \
      --on "POST /api/merchant_withdrawal/create"
    till withdraw create --currency Btc --amount-minor 5 \
      --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 1 --yes
    till withdraw reconcile 1
    sleep 1
    till withdraw resolve 1 --not-sent --reason "I saw it get lost"
    till withdraw create --currency Btc --amount-minor 5 \
      --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 1 --yes
  The first create and the reconciliation end with 20, the rest with 0.

More: till help guarantees, till help payout-files, till help runs.
`
}

func guaranteesTopic() string {
	return `till sends an order id again only if the order was rejected, never left, or was
recorded as not sent by a person. This holds for one journal: everything that
sends for an account has to use the same one.

When till reads the service's list before sending
  till payout apply looks up every order that it will send. For a single
  withdrawal the list is read in these cases, and never with --lookup never:
  - the order was sent before with this journal,
  - the journal has nothing accepted for the account yet, as when it is new,
  - till has found on the list an order that the journal did not know, or
  - the journal was not closed and its log is missing, as in a partial copy.
  Otherwise, and if till makes the order id, the journal alone decides. With
  --lookup always, till reads the list for every order id that you give.
  It reads the whole list, until two readings in a row agree about the order.
  If the list cannot prove what is not on it, nothing is sent (12). Then run
    till journal check
  and accept what you can explain with --accept REASON.

When a backup of the journal was restored
  It lacks the order ids that were used since the backup, and would send them
  again, except in the cases above or with --lookup always. Before you send
  anything with it, run
    till journal check
  What is missing in the journal was paid since the backup: remove it from what
  you still have to pay. Do not use any order id from after the backup again,
  listed or not. Send nothing until the check is clean or what it shows is
  explained and accepted. --from leaves out differences that are older.

What till cannot promise
  - A service, or a proxy before it, may act twice on one request.
  - A withdrawal may arrive late, and the interface gives no limit: the 15m of
    settle_after are not a bound. A missing row on the list proves nothing, and
    till concludes nothing from it.
  - Two machines with a journal each do not know of each other. Let them share
    one in PostgreSQL.
  - A restored backup lacks what was sent since.
  - A database that loses commits in a failover loses what they recorded.
  - A list that leaves out rows leaves out payments.
  - till believes a person who says that a payment was not sent.
  - What is paid without till is not in the journal.
  - Accepted means that the service has taken the order. Whether the money has
    arrived, only the service and the receiver can say.

What to ask the service's provider
  - Is a second withdrawal with the same external_order_id refused?
  - Does the list show a withdrawal at once, and every one of them?
  - How late can a request that got no answer still be carried out?
`
}

func environmentTopic() string {
	var b strings.Builder
	b.WriteString(`A setting is taken from the first place that has it: a flag, the environment,
the profile, the default. till config show prints each with where it is from.

Variables
`)
	for _, v := range config.Variables() {
		b.WriteString(fill("  "+v.Name, 22, v.About))
	}
	b.WriteString(`
Files
  ~/.config/till/config.yaml   profiles, and which of them is the current one
  ~/.local/state/till          what till remembers: the journal of what was
                               sent, and the sandbox

The configuration must not be writable by others. It is never looked for in
the directory you are in. Write it with till profile set and till currency set,
or by hand.

Keys
  No flag and no setting of the configuration holds a key. till takes it from
  the first of these that has one: --api-key-file, TILL_API_KEY, the profile's
  api_key_command, the profile's api_key_file, and the keyring, into which till
  auth login puts it. till auth status says which of them it is.
`)
	return b.String()
}
